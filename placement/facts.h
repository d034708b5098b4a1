#pragma once

// Numeric facts about hosts. Fuzzy placement uses them to judge hosts (the factor set U of claim 4
// of the overlay patent).
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

/// A characteristic of a host, in the order in which texts list them.
enum class Fact : std::uint8_t {
  kIdle,       ///< "idle": share of the host's CPU time that is idle, 0 to 1.
  kRunQueue,   ///< "run_queue": runnable processes per core.
  kMemory,     ///< "memory": free memory, GiB.
  kNetwork,    ///< "network": rate of the interface that the tree uses, Gbit/s.
  kRoundTrip,  ///< "round_trip": round trip to the front end, us.
  kCores,      ///< "cores": number of cores that processes may use.
  kProcesses,  ///< "processes": number of the job's processes there. Counted, never measured.
};
constexpr std::size_t kFacts = 7;
constexpr std::array<Fact, kFacts> kAllFacts = {Fact::kIdle,     Fact::kRunQueue,  Fact::kMemory,
                                                Fact::kNetwork,  Fact::kRoundTrip, Fact::kCores,
                                                Fact::kProcesses};

/// Returns the fact's name in configuration, tables and the store: "run_queue".
std::string_view to_text(Fact fact);
/// Returns the fact with this name; nullopt if there is none.
std::optional<Fact> find_fact(std::string_view name);
/// Returns "idle, run_queue, ...", for messages.
std::string list_facts();

/// All facts of one host. Each fact may be unknown.
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

/// Returns true if a fact may have this value: finite, not negative, `idle` at most 1.
bool is_possible(Fact fact, double value);

/// Returns the number of communication processes for which there are cores: the whole cores, but 1
/// for a fraction of a core. It is 0 only for 0 cores.
std::uint32_t whole_cores(double cores);

/// Returns the facts that a host list contains: processes always, cores if known.
std::vector<FactValues> facts_of(std::span<const tree::Host> hosts);

/// A table of facts as it was read.
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
/// begins with a host, or with a list of hosts (tree/host_list.h) to which the line applies.
/// Columns are separated by blanks, or by a comma with or without blanks around it, so CSV works
/// too. A comma inside brackets belongs to the list. `-` or nothing between commas means unknown.
/// `#` begins a comment.
///
/// `source` is the table's name in errors, which read `SOURCE:LINE: what, what to do`. Fails with
/// kInvalidArgument: no line of names; a column that is not a fact, is `processes` or occurs twice;
/// a line with the wrong number of columns; a value that is not a number or not is_possible; an
/// invalid host list; a host that occurs twice; a text over kMaxTextBytes. Safe on any input.
Result<FactTable> parse_fact_table(std::string_view text, std::string_view source);

/// Reads a file and parses it. Fails like parse_fact_table and read_text_file (base/text_file.h).
Result<FactTable> read_fact_table(const std::string& path);

/// Adds the table's values to `facts[i]` of `hosts[i]`. Cores are also set in the host, because
/// they determine its capacity. Hosts that are not in the table keep their facts. Hosts of the
/// table that are not in the list are skipped, so that one table can serve every job. Names match
/// as in plan_tree (place.h): in full, or by the part before the first dot if one of the names has
/// no dot. A name that matches several hosts means all of them.
///
/// Fails with kNotFound if the table names none of the hosts. Both spans must have the same size.
Result<void> add_facts(const FactTable& table, std::span<tree::Host> hosts,
                       std::span<FactValues> facts);

}  // namespace xylem::placement
