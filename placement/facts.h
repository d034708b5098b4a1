#pragma once

// Numeric facts about hosts. Fuzzy placement uses them to judge hosts. They are the factor set U of
// claim 4 of patent CN103051509A.
//
// Facts come from measurements of back ends, from a recorded run, or from a table:
//
//   # blanks or commas between columns; - means that a number is not known
//   host         idle  memory  network
//   node[01-12]  0.95      96       25
//   node13       0.10       4        1

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tree/host.h"

namespace xylem::placement {

/// A characteristic of a host. Texts list the facts in this order.
enum class Fact : std::uint8_t {
  kIdle,       ///< "idle": share of the host's CPU time that is idle, 0 to 1.
  kRunQueue,   ///< "run_queue": number of runnable processes per core.
  kMemory,     ///< "memory": free memory, GiB.
  kNetwork,    ///< "network": rate of the interface that the tree uses, Gbit/s.
  kRoundTrip,  ///< "round_trip": round-trip time to the front end, us.
  kCores,      ///< "cores": number of cores that processes may use.
  /// "processes": number of the job's processes on the host. It is counted, not measured.
  kProcesses,
};
constexpr std::size_t kFacts = 7;
constexpr std::array<Fact, kFacts> kAllFacts = {Fact::kIdle,     Fact::kRunQueue,  Fact::kMemory,
                                                Fact::kNetwork,  Fact::kRoundTrip, Fact::kCores,
                                                Fact::kProcesses};

/// Returns the fact's name in configuration, tables and the store: "run_queue".
std::string_view to_text(Fact fact);
/// Returns the fact with this name; nullopt if the name is unknown.
std::optional<Fact> find_fact(std::string_view name);
/// Returns "idle, run_queue, ...", for error messages.
std::string list_facts();

/// All facts of one host. Each fact may be unknown. A value type; not thread-safe.
class FactValues {
 public:
  std::optional<double> operator[](Fact fact) const {
    return values_[static_cast<std::size_t>(fact)];
  }
  void set(Fact fact, double value) { values_[static_cast<std::size_t>(fact)] = value; }
  bool operator==(const FactValues&) const = default;

 private:
  std::array<std::optional<double>, kFacts> values_;
};

/// Returns true if the fact can have this value. Values must be finite and not negative; `idle`
/// must be at most 1, and `cores` above 0.
bool is_possible(Fact fact, double value);

/// Returns how many communication processes can run on this number of cores: one for each whole
/// core, but at least one if `cores` is above 0.
std::uint32_t whole_cores(double cores);

/// Returns the facts that a list of hosts contains: the number of processes, and the number of
/// cores if known.
std::vector<FactValues> facts_of(std::span<const tree::Host> hosts);

/// A parsed table of facts.
struct FactTable {
  struct Row {
    std::string host;
    FactValues facts;
    std::size_t line = 0;  ///< Counted from 1.
  };
  std::string source;
  /// One row for each host, in the order of the text. No host occurs twice.
  std::vector<Row> rows;
};

/// Parses a table. The first line has the column names: `host`, then facts. Each further line
/// begins with one host or a list of hosts (tree/host_list.h), and applies to all of them. Columns
/// are separated by blanks or by a comma; blanks around a comma are allowed. So CSV works too. A
/// comma inside brackets belongs to the list of hosts. `-` or an empty column means unknown. `#`
/// begins a comment.
///
/// `source` is the table's name in error messages, which have the form `SOURCE:LINE: what, what to
/// do`. Safe on any input. Fails with kInvalidArgument in these cases:
/// - no line with column names, or a line with the wrong number of columns;
/// - a column that is not a fact, is `processes`, or occurs twice;
/// - a value that is not a number, or that is_possible() refuses;
/// - an invalid host list, too many hosts, or a host that occurs twice;
/// - a text of more than kMaxTextBytes.
Result<FactTable> parse_fact_table(std::string_view text, std::string_view source);

/// Reads a file and parses it. Fails if read_text_file() (base/text_file.h) or parse_fact_table()
/// fails.
Result<FactTable> read_fact_table(const std::string& path);

/// Writes the table's values for `hosts[i]` into `facts[i]`. The number of cores is also written
/// into `hosts[i]`, as whole_cores(), because it limits the host's room. A host that is not in the
/// table keeps its facts. Hosts of the table that are not in `hosts` are skipped, so that one table
/// can be used for all jobs.
///
/// Names match if they are equal, or if one is the other name without the domain. If a name matches
/// several hosts, it means all these hosts.
///
/// Fails with kNotFound if the table names none of the hosts. Both spans must have the same size.
Result<void> add_facts(const FactTable& table, std::span<tree::Host> hosts,
                       std::span<FactValues> facts);

}  // namespace xylem::placement
