#pragma once

// What is known of hosts in numbers: the characteristics that fuzzy placement judges by (the factor
// set U of claim 4 of the overlay patent, requirements 1.2.2, step 1).
//
// Back ends measure them, a recorded run tells them, or a person writes them into a table:
//
//   # blanks or commas between columns; - where a number is not known
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
  kRunQueue,   ///< "run_queue": processes that run or want to, per core.
  kMemory,     ///< "memory": free memory, GiB.
  kNetwork,    ///< "network": rate of the interface that the tree uses, Gbit/s.
  kRoundTrip,  ///< "round_trip": to the front end and back, us.
  kCores,      ///< "cores": that processes may use there.
  kProcesses,  ///< "processes": of the job, there already. Counted, never measured.
};
constexpr std::size_t kFacts = 7;
constexpr std::array<Fact, kFacts> kAllFacts = {Fact::kIdle,     Fact::kRunQueue,  Fact::kMemory,
                                                Fact::kNetwork,  Fact::kRoundTrip, Fact::kCores,
                                                Fact::kProcesses};

/// Its name in configuration, tables and the store: "run_queue".
std::string_view to_text(Fact fact);
/// The fact of that name; nullopt when there is none.
std::optional<Fact> find_fact(std::string_view name);
/// "idle, run_queue, ...": for sentences.
std::string list_facts();

/// Every fact of one host, each known or not.
class HostFacts {
 public:
  std::optional<double> operator[](Fact fact) const {
    return values_[static_cast<std::size_t>(fact)];
  }
  void set(Fact fact, double value) { values_[static_cast<std::size_t>(fact)] = value; }
  bool operator==(const HostFacts&) const = default;

 private:
  std::array<std::optional<double>, kFacts> values_;
};

/// Whether a number can be that fact: finite, not negative, `idle` at most 1.
bool is_possible(Fact fact, double value);

/// Communication processes that cores have room for: whole ones, and one where there is but a part
/// of one. 0 only for none.
std::uint32_t whole_cores(double cores);

/// What a host list tells by itself: processes always, cores where they are known.
std::vector<HostFacts> facts_of(std::span<const tree::Host> hosts);

/// A table of facts as it was read.
struct FactTable {
  struct Row {
    std::string host;
    HostFacts facts;
    std::size_t line = 0;  ///< From 1.
  };
  std::string source;
  std::vector<Row> rows;  ///< A host each, in the order of the text; no host twice.
};

/// Reads a table: a line of names, `host` first and then facts; then a line a host or list of hosts
/// (tree/host_list.h), which holds for each of them. Columns are separated by blanks, or by a comma
/// with or without blanks around it (a comma within brackets belongs to the list), so CSV can be
/// read too. `-` or nothing between commas: not known. `#` begins a comment.
///
/// `source` is the table's name in errors, which read `SOURCE:LINE: what, what to do`. Fails with
/// kInvalidArgument: no line of names; a column that is no fact, or `processes`, or there twice;
/// a line with another number of columns; what is no number, or none that is_possible; what is no
/// host list; a host that is there already; a text over kMaxTextBytes. Any bytes may come: it
/// always returns.
Result<FactTable> parse_fact_table(std::string_view text, std::string_view source);

/// Reads a file and parses it. Fails as parse_fact_table and read_text_file (base/text_file.h).
Result<FactTable> read_fact_table(const std::string& path);

/// Adds what the table says to what is known: `facts[i]` of `hosts[i]`, and its cores to the host
/// itself, where the capacity comes from. Hosts that the table does not name keep what they have;
/// hosts of the table that are not in the list are passed over, so that one table may serve every
/// job. Names match as in plan_tree (place.h): in full, or by the first part where one has no dot.
/// A name that could be several hosts is all of them.
///
/// Fails with kNotFound when the table names none of the hosts. Both spans have one size.
Result<void> add_facts(const FactTable& table, std::span<tree::Host> hosts,
                       std::span<HostFacts> facts);

}  // namespace xylem::placement
