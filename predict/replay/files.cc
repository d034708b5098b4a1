#include "predict/replay/files.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/saturating.h"
#include "predict/network/channels.h"
#include "predict/replay/event_queue_internal.h"

namespace xylem::predict {
namespace {

Unexpected wrong(const std::string& what) { return unexpected(Code::kInvalidArgument, what); }

/// What file_lengths() finds while it looks at accesses.
class Lengths {
 public:
  explicit Lengths(const StorageOptions& options)
      : page_bytes_(options.page_bytes), stripe_bytes_(options.stripe_bytes) {}

  Result<void> add(const FileAccess& access, std::uint64_t bytes, std::size_t rank,
                   std::size_t operation) {
    const std::string where =
        "rank " + std::to_string(rank) + ", operation " + std::to_string(operation + 1) + ": ";
    const std::uint64_t end = saturating_add(access.offset, bytes);
    if (end > kMaxFileBytes) {
      return wrong(where + "the access ends at byte " + std::to_string(end) +
                   ", beyond the maximum of 2^62; correct its offset");
    }
    if (access.file >= kMaxFiles) {
      return wrong(where + "the number of the file, " + std::to_string(access.file) +
                   ", is above the maximum of " + std::to_string(kMaxFiles - 1) +
                   "; number the files from 0");
    }
    if (stripe_bytes_ > 0 && bytes / stripe_bytes_ >= kMaxStripesOfAccess) {
      return wrong(where + "the access has " + std::to_string(bytes) + " bytes, " +
                   std::to_string(kMaxStripesOfAccess) +
                   " stripes or more; raise storage.stripe_bytes, or access less at once");
    }
    if (access.file >= bytes_.size()) bytes_.resize(access.file + 1);
    bytes_[access.file] = std::max(bytes_[access.file], end);
    pages_ += bytes / page_bytes_ + 1;
    if (pages_ > kMaxAccessedPages) {
      return wrong(where + "up to here, files are accessed in more than " +
                   std::to_string(kMaxAccessedPages) +
                   " pages, the maximum; raise storage.page_bytes");
    }
    return {};
  }

  std::vector<std::uint64_t> take() { return std::move(bytes_); }

 private:
  /// More would take more memory than a program of that many files.
  static constexpr std::uint32_t kMaxFiles = std::uint32_t{1} << 28;

  const std::uint64_t page_bytes_;
  const std::uint64_t stripe_bytes_;  ///< 0 without storage.
  std::uint64_t pages_ = 0;
  std::vector<std::uint64_t> bytes_;
};

/// The events of a storage that has all for itself.
class IdleStorage {
 public:
  explicit IdleStorage(Storage& storage) : storage_(storage) {}

  /// Runs an access to its end. Nothing if it would end too late.
  std::optional<AccessReport> run(const StorageAccess& access) {
    storage_.begin(access, now_);
    while (true) {
      for (const StorageStep& it : storage_.steps()) {
        queue_.push({it.time, it.keeps_order ? order_ : created_++, it.id, 0, EventKind::kStorage});
      }
      // Accesses come one after the other, so it is this one that ends.
      if (!storage_.ended().empty()) return storage_.ended()[0].report;
      const Event event = queue_.pop();
      if (event.time >= kMaxTicks) return std::nullopt;
      now_ = event.time;
      order_ = event.order;
      storage_.go_on(event.operation, now_);
    }
  }

 private:
  Storage& storage_;
  EventQueue queue_;
  Ticks now_ = 0;
  std::uint64_t created_ = 0, order_ = 0;
};

}  // namespace

Result<std::vector<std::uint64_t>> file_lengths(const Program& program,
                                                const StorageOptions& options) {
  Lengths lengths(options);
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const RankProgram& of = program.ranks[rank];
    if (of.accesses().empty()) continue;
    for (std::size_t i = 0; i < of.operations().size(); ++i) {
      const Operation& it = of.operations()[i];
      if (it.kind != Kind::kFile) continue;
      const auto added = lengths.add(of.accesses()[it.peer], it.amount, rank, i);
      if (!added) return unexpected(added.error());
    }
  }
  return lengths.take();
}

FabricCosts costs_of(const Machine& machine, bool with_storage) {
  const auto times = times_of(with_storage ? machine.storage : StorageOptions{});
  return FabricCosts(machine.ends, machine.fabric, machine.memory, times);
}

Result<void> check_topology(const Machine& machine, Model model) {
  if (machine.topology != nullptr || model == Model::kLogGps) return {};
  return wrong(
      "the target has no topology, which this model needs; add the section [topology], or use the "
      "model loggps");
}

std::unique_ptr<Network> idle_network(const Machine& machine, Model model,
                                      const FabricCosts& costs) {
  if (model == Model::kChannels) {
    return std::make_unique<ChannelNetwork>(costs, *machine.topology);
  }
  if (model == Model::kLogGps) return std::make_unique<LogGpsNetwork>(costs, machine.topology);
  const std::vector<ChannelLoad> idle(machine.topology->channels());
  return std::make_unique<AnalyticNetwork>(costs, *machine.topology, idle);
}

Result<AccessTimes> access_files(const Machine& machine, Model model,
                                 std::span<const TimedAccess> accesses) {
  if (machine.storage.nodes == 0) {
    return wrong("the target has no storage; add the section [storage] to it");
  }
  if (auto possible = check_topology(machine, model); !possible)
    return unexpected(possible.error());
  Lengths lengths(machine.storage);
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const TimedAccess& it = accesses[i];
    const auto added = lengths.add(it.access, it.bytes, it.rank, i);
    if (!added) return unexpected(added.error());
  }
  const FabricCosts costs = costs_of(machine, true);
  const auto network = idle_network(machine, model, costs);
  Storage storage(machine.storage, costs.ends(), machine.storage_nodes, lengths.take(), *network);
  IdleStorage idle(storage);
  AccessTimes times;
  times.ticks_per_ns = costs.ends().ticks_per_ns();
  for (const TimedAccess& it : accesses) {
    const Node node =
        machine.node_of_rank.empty() ? Node{it.rank} : machine.node_of_rank.at(it.rank);
    const auto report = idle.run(
        {node, it.rank, 0, it.access.file, it.access.offset, it.bytes, it.access.is_write});
    if (!report) {
      return wrong("the accesses take longer than can be counted; use shorter times in [storage]");
    }
    times.reports.push_back(*report);
  }
  return times;
}

}  // namespace xylem::predict
