#include "predict/source/run_program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/saturating.h"
#include "predict/source/run_calls_internal.h"
#include "predict/source/run_collectives_internal.h"
#include "storage/read/event_reader.h"
#include "storage/read/held.h"
#include "storage/read/inquiry.h"
#include "storage/read/unmatched_reasons.h"

namespace xylem::predict {
namespace {

using storage::EventReader;
using storage::Inquiry;
using storage::Value;

/// A smaller share of time in which ranks wait for a processor is not worth a sentence.
constexpr double kWorthTelling = 0.01;

constexpr std::string_view kHowToRecord =
    "record it with: xylem run --detail trace --store FILE -- COMMAND";

std::string world_text(WorldId world) { return std::to_string(raw(world)); }

struct World {
  WorldId id{};
  std::uint32_t ranks = 0;
  bool is_alone = false;  ///< The run has no other.
};

Result<World> choose_world(storage::RunFile& run, const std::optional<WorldId>& wanted) {
  Inquiry inquiry(run);
  const auto rows = inquiry.ask("SELECT id, size FROM world ORDER BY id");
  if (inquiry.failure) return unexpected(*inquiry.failure);
  const auto refuse = [&](const std::string& what) {
    return unexpected(Code::kInvalidArgument, run.path() + ": " + what);
  };
  if (rows.empty()) return refuse("the run has no MPI job; " + std::string(kHowToRecord));
  if (!wanted && rows.size() > 1) {
    return refuse("the run has " + std::to_string(rows.size()) +
                  " worlds; choose one with --world, from 0 to " +
                  world_text(storage::id_of<WorldId>(rows.back()[0])));
  }
  for (const auto& row : rows) {
    const World world{storage::id_of<WorldId>(row[0]),
                      static_cast<std::uint32_t>(storage::count_of(row[1])), rows.size() == 1};
    if (wanted && world.id != *wanted) continue;
    if (world.ranks == 0 || world.ranks > kMaxRanks) {
      return refuse("world " + world_text(world.id) + " has " + std::to_string(world.ranks) +
                    " ranks; it cannot be replayed");
    }
    return world;
  }
  return refuse("the run has no world " + world_text(*wanted) + "; `xylem report` lists them");
}

/// Refuses a trace in which something is missing, and says what. Returns the number of messages
/// that are not paired, although both halves are there: MPI completed receives with wildcards in
/// another order than that of their posting, so the number of their message is not known.
Result<std::uint64_t> check_whole(storage::RunFile& run, const World& world) {
  Inquiry inquiry(run);
  const std::string of_world = " WHERE world = " + world_text(world.id);
  const bool has_trace =
      !inquiry.ask("SELECT 1 FROM account_event" + of_world + " AND stored_events > 0 LIMIT 1")
           .empty();
  if (!inquiry.failure && !has_trace) {
    return unexpected(Code::kInvalidArgument,
                      run.path() + ": the run has no trace; " + std::string(kHowToRecord));
  }
  std::uint64_t sends = 0, receives = 0;
  std::size_t others = 0;
  std::string missing;
  inquiry.scan("SELECT rank, kind, count, reason FROM unmatched" + of_world,
               [&](std::span<const Value> row) {
                 constexpr std::size_t kMaxNamed = 3;
                 const std::string kind = storage::text_of(row[1]);
                 const std::string reason = storage::text_of(row[3]);
                 const std::uint64_t count = storage::count_of(row[2]);
                 const bool is_send = kind == "send" && reason == storage::kReceiveIsMissing;
                 const bool is_receive = kind == "receive" && reason == storage::kNumberIsUnknown;
                 if (is_send) sends += count;
                 if (is_receive) receives += count;
                 if (!is_send && !is_receive) ++others;
                 if (static_cast<std::size_t>(std::ranges::count(missing, ';')) >= kMaxNamed)
                   return;
                 missing += "rank " + storage::to_text(row[0]) + ": " + std::to_string(count) +
                            " of kind " + kind + ", " + reason + "; ";
               });
  if (inquiry.failure) return unexpected(*inquiry.failure);
  if (others == 0 && sends == receives) return sends;
  missing.resize(missing.size() - 2);
  return unexpected(Code::kInvalidArgument,
                    run.path() + ": the trace is not whole (" + missing +
                        "); `xylem query FILE \"SELECT * FROM unmatched\"` has all, "
                        "docs/storage-schema.md says what the reasons mean");
}

std::map<std::uint32_t, RecordCosts> read_costs(Inquiry& inquiry, WorldId world) {
  std::map<std::uint32_t, RecordCosts> found;
  if (!inquiry.has_table("record_cost")) return found;
  static const std::map<std::string_view, Nanos RecordCosts::*> kShapes = {
      {"counted", &RecordCosts::counted},
      {"call", &RecordCosts::call},
      {"message", &RecordCosts::message},
      {"start", &RecordCosts::start},
      {"completion", &RecordCosts::completion},
      {"collective", &RecordCosts::collective},
      {"part", &RecordCosts::part}};
  inquiry.scan("SELECT rank, shape, cost_ns FROM record_cost WHERE world = " + world_text(world),
               [&](std::span<const Value> row) {
                 const auto shape = kShapes.find(storage::text_of(row[1]));
                 if (shape == kShapes.end()) return;
                 found[static_cast<std::uint32_t>(storage::count_of(row[0]))].*shape->second =
                     saturating_cast<Nanos>(std::round(std::max(0.0, storage::real_of(row[2]))));
               });
  return found;
}

/// The time that a rank has spent in MPI, in slices of time.
class TimesInMpi {
 public:
  static std::map<std::uint32_t, TimesInMpi> read(Inquiry& inquiry, WorldId world) {
    std::map<std::uint32_t, TimesInMpi> found;
    inquiry.scan(
        "SELECT rank, begin_ns, end_ns, sum(time_ns) FROM profile_window WHERE world = " +
            world_text(world) + " GROUP BY rank, begin_ns, end_ns ORDER BY rank, begin_ns",
        [&](std::span<const Value> row) {
          found[static_cast<std::uint32_t>(storage::count_of(row[0]))].slices_.push_back(
              {storage::time_of(row[1]), storage::time_of(row[2]), storage::real_of(row[3])});
        });
    return found;
  }

  /// The time from `begin` to `end`; inside a slice it is spread evenly. Calls come in the order
  /// of time.
  double within(Nanos begin, Nanos end) {
    while (at_ < slices_.size() && slices_[at_].end <= begin) ++at_;
    double sum = 0;
    for (std::size_t i = at_; i < slices_.size() && slices_[i].begin < end; ++i) {
      const Slice& it = slices_[i];
      const Nanos both = std::min(end, it.end) - std::max(begin, it.begin);
      if (both > 0)
        sum += it.time * static_cast<double>(both) / static_cast<double>(it.end - it.begin);
    }
    return sum;
  }

 private:
  struct Slice {
    Nanos begin = 0, end = 0;
    double time = 0;
  };
  std::vector<Slice> slices_;
  std::size_t at_ = 0;
};

/// How long ranks have waited for a processor while they computed.
struct MeasuredWaits {
  std::map<std::uint32_t, ProcessorWaits> of_rank;
  double waited = 0, measured = 0;  ///< Sums over all ranks, in MPI or not, in ns.
  std::size_t measured_ranks = 0;
};

/// The service measures only how long a rank has waited in a second, not in which part of it. The
/// part that exceeds the time in MPI was certainly not in MPI.
MeasuredWaits read_waits(Inquiry& inquiry, WorldId world) {
  constexpr double kMillion = 1e6, kPercent = 100;
  MeasuredWaits found;
  auto in_mpi = TimesInMpi::read(inquiry, world);
  std::optional<std::uint32_t> rank;
  Nanos since = 0;
  inquiry.scan(
      "SELECT rank, at_ns, value FROM process_metric WHERE name = 'scheduler.wait' AND world = " +
          world_text(world) + " ORDER BY rank, at_ns",
      [&](std::span<const Value> row) {
        const auto of = static_cast<std::uint32_t>(storage::count_of(row[0]));
        const Nanos at = storage::time_of(row[1]);
        if (std::exchange(rank, of) != of) {
          since = 0;
          ++found.measured_ranks;
        }
        const double length = static_cast<double>(at - since);
        if (length <= 0) return;
        const double waited = std::clamp(storage::real_of(row[2]) / kPercent, 0.0, 1.0) * length;
        const double outside = length - std::min(in_mpi[of].within(since, at), length);
        const double computing = std::max(0.0, waited - (length - outside));
        const double share = outside > 0 ? computing / outside : 0;
        found.of_rank[of].add(at, static_cast<std::uint32_t>(std::lround(share * kMillion)));
        found.waited += waited;
        found.measured += length;
        since = at;
      });
  return found;
}

/// The functions that a world has called, by name.
struct CalledFunction {
  std::string name, function_class;
  bool is_sampled = false;
};

Result<std::vector<CalledFunction>> read_called(storage::RunFile& run, const World& world) {
  Inquiry inquiry(run);
  std::vector<CalledFunction> called;
  inquiry.scan("SELECT function, max(class), max(estimated) FROM function_total WHERE world = " +
                   world_text(world.id) + " GROUP BY function ORDER BY function",
               [&](std::span<const Value> row) {
                 called.push_back({storage::text_of(row[0]), storage::text_of(row[1]),
                                   storage::integer_of(row[2]) != 0});
               });
  if (inquiry.failure) return unexpected(*inquiry.failure);
  return called;
}

/// Refuses functions that a program cannot express, by name: `unmatched` would blame the trace.
Result<void> check_functions(const std::vector<CalledFunction>& called, const std::string& path) {
  for (const CalledFunction& it : called) {
    const bool is_persistent =
        it.function_class == "collective" && it.name.find("_init") != std::string::npos;
    const bool is_other = it.name.starts_with("MPI_Psend_init") ||
                          it.name.starts_with("MPI_Precv_init") ||
                          it.name.starts_with("MPI_Isendrecv");
    if (!is_persistent && !is_other &&
        use_of(it.name, it.function_class).kind != FunctionUse::Kind::kRefused) {
      continue;
    }
    return unexpected(Code::kInvalidArgument,
                      path + ": the run calls " + it.name +
                          "; runs with one-sided transfers, collectives on neighbours, persistent "
                          "collectives, partitioned messages or MPI_Isendrecv cannot be replayed");
  }
  return {};
}

/// Learns the sizes that only other ranks know, if a call needs them.
Result<void> learn_sizes(storage::RunFile& run, const World& world,
                         const std::vector<CalledFunction>& called, RunCollectives& collectives) {
  const bool needed = std::ranges::any_of(called, [](const CalledFunction& it) {
    const auto function = collective_function(it.name);
    return function && has_sizes(function->collective) &&
           function->collective != Collective::kAlltoallv;
  });
  if (!needed) return {};
  auto reader = run.events({.world = world.id,
                            .only_ranks = true,
                            .takes = [](const wire::Event& event, storage::CallRole) {
                              return (event.flags & wire::kEventCollective) != 0;
                            }});
  if (!reader) return unexpected(reader.error());
  EventReader::Item item;
  while ((*reader)->next(item)) {
    const auto function = collective_function((*reader)->function_name(item));
    const auto& process = (*reader)->processes()[raw(item.process)];
    if (function) collectives.learn(*function, raw(*process.rank), *item.event);
  }
  return (*reader)->take();
}

/// The uses of the reader's functions, each worked out once.
class Uses {
 public:
  explicit Uses(const std::vector<CalledFunction>& called) {
    for (const CalledFunction& it : called) {
      by_name_[it.name] = use_of(it.name, it.function_class);
      by_name_[it.name].is_sampled = it.is_sampled;
    }
  }

  const FunctionUse& of(EventReader& reader, const EventReader::Item& item) {
    const std::size_t index = raw(item.function);
    if (index >= uses_.size()) uses_.resize(index + 1);
    if (uses_[index] == nullptr) uses_[index] = &by_name_[reader.function_name(item)];
    return *uses_[index];
  }

 private:
  std::map<std::string, FunctionUse> by_name_;
  std::vector<const FunctionUse*> uses_;
};

Result<std::vector<RunCalls>> read_calls(EventReader& reader, Uses& uses,
                                         std::vector<RunCalls> ranks) {
  EventReader::Item item;
  while (reader.next(item)) {
    const auto& process = reader.processes()[raw(item.process)];
    const std::uint32_t rank = raw(*process.rank);
    if (rank >= ranks.size()) {
      return unexpected(Code::kCorrupt, "there are calls of rank " + std::to_string(rank) +
                                            ", but the world has " + std::to_string(ranks.size()) +
                                            " ranks; the file is damaged");
    }
    auto added = ranks[rank].add(*item.event, uses.of(reader, item), reader.function_name(item));
    if (!added) return unexpected(added.error());
  }
  const auto read = reader.take();
  if (!read) return unexpected(read.error());
  return ranks;
}

std::string percent(double share) {
  const auto tenths = std::lround(share * 1000);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

/// How exact the computing of ranks is.
void add_assumptions(std::vector<std::string>& to, const MeasuredWaits& waits,
                     std::size_t ranks_with_costs, const std::vector<CalledFunction>& called,
                     const World& world) {
  const auto of_ranks = [&](std::size_t known) {
    return known == 0 ? std::string()
                      : " of " + std::to_string(world.ranks - known) + " of " +
                            std::to_string(world.ranks) + " ranks";
  };
  if (waits.measured_ranks < world.ranks) {
    to.push_back("the run did not measure how long ranks waited for a processor, so this time" +
                 of_ranks(waits.measured_ranks) + " counts as computing");
  }
  if (waits.measured > 0 && waits.waited / waits.measured >= kWorthTelling) {
    to.push_back("in the run, ranks waited for a processor for " +
                 percent(waits.waited / waits.measured) +
                 " of the time; what was certainly not in MPI is left out of computing, the rest "
                 "may be in it");
  }
  if (ranks_with_costs < world.ranks) {
    to.push_back("the time that capture added to calls" + of_ranks(ranks_with_costs) +
                 " is not known, so it counts as computing");
  }
  const bool has_sampled_polls = std::ranges::any_of(called, [](const CalledFunction& it) {
    return it.is_sampled && use_of(it.name, it.function_class).kind == FunctionUse::Kind::kPoll;
  });
  if (has_sampled_polls) {
    to.emplace_back(
        "tests and probes were sampled, so waiting in short loops of them may count as computing; "
        "`xylem run --sample none` records all");
  }
  if (!world.is_alone) {
    to.emplace_back("messages to other worlds are left out");
  }
}

}  // namespace

Result<SourceProgram> read_run(storage::RunFile& run, const RunOptions& options) {
  const storage::Held held(run);
  if (!held.result()) return unexpected(held.result().error());
  const auto world = choose_world(run, options.world);
  if (!world) return unexpected(world.error());
  const auto called = read_called(run, *world);
  if (!called) return unexpected(called.error());
  if (const auto known = check_functions(*called, run.path()); !known)
    return unexpected(known.error());
  const auto unpaired = check_whole(run, *world);
  if (!unpaired) return unexpected(unpaired.error());
  auto collectives = RunCollectives::read(run, world->id, world->ranks);
  if (!collectives) return unexpected(collectives.error());
  if (auto learned = learn_sizes(run, *world, *called, *collectives); !learned)
    return unexpected(learned.error());

  Inquiry inquiry(run);
  const auto costs = read_costs(inquiry, world->id);
  auto waits = read_waits(inquiry, world->id);
  if (inquiry.failure) return unexpected(*inquiry.failure);

  TagNumbers tags;
  std::uint64_t operations_left = kMaxOperationsOfRun;
  const RunCalls::Shared shared{
      world->ranks,   *collectives, tags, options.collectives, options.processor_ratio,
      operations_left};
  std::vector<RunCalls> ranks;
  for (std::uint32_t i = 0; i < world->ranks; ++i) {
    const auto cost = costs.find(i);
    ranks.emplace_back(i, shared, cost == costs.end() ? RecordCosts{} : cost->second,
                       std::move(waits.of_rank[i]));
  }
  auto reader = run.events({.world = world->id, .only_ranks = true});
  if (!reader) return unexpected(reader.error());
  Uses uses(*called);
  auto read = read_calls(**reader, uses, std::move(ranks));
  if (!read) {
    return unexpected(read.error().code, run.path() + ": " + read.error().message);
  }

  SourceProgram made;
  bool has_files = false;
  for (RunCalls& it : *read) {
    has_files |= it.has_files();
    auto program = it.finish();
    if (!program)
      return unexpected(program.error().code, run.path() + ": " + program.error().message);
    made.program.ranks.push_back(*std::move(program));
  }
  add_assumptions(made.assumptions, waits, costs.size(), *called, *world);
  if (*unpaired > 0) {
    made.assumptions.push_back("messages to receives with wildcards (" + std::to_string(*unpaired) +
                               ") are matched in the order in which these were posted");
  }
  if (has_files) {
    made.assumptions.emplace_back(
        "blocking calls about files take as long as in the run, and others no time");
  }
  return made;
}

}  // namespace xylem::predict
