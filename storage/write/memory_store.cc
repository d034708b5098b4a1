// The store for tests, and the model with which the real store is compared. It has plain maps, and
// a commit copies all of them: slow and obvious on purpose. Data that a Store cannot return (names,
// clocks, links) is not kept.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "storage/write/intake_internal.h"
#include "storage/write/store.h"
#include "wire/waves.h"

namespace xylem::storage {

namespace {

struct Process {
  std::optional<WorldId> world;
  wire::WorldKey world_key{};
  Rank rank{};
  std::optional<std::uint64_t> account_wave;
  wire::AccountRow account;  ///< The newest account.
  std::uint64_t stored = 0;
  std::uint64_t given_up = 0;  ///< In tombstones that name the process.
  std::uint64_t closed = 0;    ///< Reported, and lost with its host at the end.
};

}  // namespace

struct MemoryRun::State {
  Nanos epoch_ns = 0;
  std::map<NodeId, NodeRow> nodes;
  IntervalSet ended;
  std::map<std::pair<LeafId, Lane>, Process> processes;
  std::map<wire::WorldKey, WorldId> worlds;
  std::map<wire::WorldKey, std::uint32_t> world_sizes;
  std::map<std::pair<StreamId, std::uint64_t>, IntervalSet> sources_of_wave;
  std::map<std::pair<LeafId, Lane>, IntervalSet> records;
  std::map<std::pair<LeafId, Lane>, IntervalSet> samples;
  std::map<StreamId, std::map<LeafId, IntervalSet>> waves;  ///< Waves of the run's streams.
  std::map<LeafId, std::uint64_t> given_up;  ///< Calls in tombstones that name no process.
  std::set<LeafId> lost_hosts;
};

MemoryRun::MemoryRun(bool checks_epoch)
    : committed_(std::make_unique<State>()), checks_epoch_(checks_epoch) {}
MemoryRun::~MemoryRun() = default;

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryRun& run)
      : run_(run), epoch_(++run.front_ends_), now_(*run.committed_) {}
  /// A run that no other store opens.
  explicit MemoryStore(std::unique_ptr<MemoryRun> own) : MemoryStore(*own) {
    own_ = std::move(own);
  }

  Past past() const {
    Past past;
    past.front_ends = epoch_;
    past.epoch_ns = now_.epoch_ns;
    for (const auto& [id, row] : now_.nodes) past.nodes.push_back(row);
    for (const auto& [where, process] : now_.processes) {
      PastProcess& row = past.processes.emplace_back();
      row.leaf = where.first;
      row.lane = where.second;
      row.initialised = process.world.has_value();
      if (!row.initialised) continue;
      row.world_key = process.world_key;
      row.world_size = now_.world_sizes.at(process.world_key);
      row.rank = process.rank;
    }
    past.ended = now_.ended;
    return past;
  }

  Result<void> begin_run(const RunFacts& facts) override {
    now_.epoch_ns = facts.epoch_ns;
    return commit();
  }

  Result<PutOutcome> put(const wire::Packet& packet) override {
    if (auto possible = check_identity(packet.id); !possible) return unexpected(possible.error());
    pending_bytes_ += packet.payload.size();
    const wire::PacketId& id = packet.id;
    const bool is_state = id.stream == wire::kRegistrationStream && !packet.tombstone;
    PutOutcome outcome;
    if (is_stored_stream(id.stream)) return put_waves(packet);
    if (id.stream == wire::kStreamAccountStream) {
      if (packet.last) now_.ended.insert(id.sources);
      return outcome;
    }
    if (id.stream == wire::kChunkStream) {
      process(id);
      IntervalSet& known = now_.records[key(id)];
      outcome = judge_range(id, known);
      if (outcome.kind == PutOutcome::Kind::kStored) known.insert(id.wave, id.wave_end);
    } else if (id.stream == wire::kSeriesStream) {
      IntervalSet& known = now_.samples[key(id)];
      outcome = judge_range(id, known);
      if (outcome.kind == PutOutcome::Kind::kStored) known.insert(id.wave, id.wave_end);
    } else if (!is_state) {
      IntervalSet& known = now_.sources_of_wave[{id.stream, id.wave}];
      outcome = judge_sources(id.sources, known);
      if (outcome.kind == PutOutcome::Kind::kStored) known.insert(id.sources);
    }
    if (outcome.kind == PutOutcome::Kind::kStored) keep(packet);
    return outcome;
  }

  Result<void> put_node(const NodeRow& row) override {
    now_.nodes[row.id] = row;
    return keep_nothing(sizeof(NodeRow));
  }
  Result<void> put_clock(const ClockRow&) override { return keep_nothing(sizeof(ClockRow)); }
  Result<void> put_link(const wire::LinkReport&, Nanos) override {
    return keep_nothing(sizeof(wire::LinkReport));
  }
  Result<void> put_host_facts(const wire::HostFacts& host, Nanos) override {
    return keep_nothing(host.facts.size() * sizeof(wire::HostFact));
  }
  Result<void> put_notice(const wire::Notice& notice, Nanos) override {
    return keep_nothing(sizeof(wire::Notice) + notice.text.size());
  }
  Result<void> put_host_lost(LeafId leaf, const std::string& reason) override {
    if (reason.empty()) {
      now_.lost_hosts.erase(leaf);
    } else {
      now_.lost_hosts.insert(leaf);
    }
    return keep_nothing(reason.size());
  }

  std::size_t pending_bytes() const override { return pending_bytes_; }

  Result<void> commit() override {
    pending_bytes_ = 0;
    if (run_.front_ends_ != epoch_ && run_.checks_epoch_) {
      now_ = *run_.committed_;
      return unexpected(Code::kSuperseded, "another front end has taken over this run");
    }
    *run_.committed_ = now_;
    return {};
  }

  Result<void> end_run(int, Nanos) override {
    auto before = commit();
    for (auto& [where, process] : now_.processes) {
      const std::uint64_t known = process.stored + process.given_up + process.account.lost;
      const bool is_lost = now_.lost_hosts.contains(where.first);
      process.closed =
          is_lost && process.account.captured > known ? process.account.captured - known : 0;
    }
    auto ended = commit();
    return before ? ended : before;
  }

  Result<std::vector<AccountLine>> account() override { return account_of(*run_.committed_); }
  Result<std::vector<AccountLine>> pending_account() override { return account_of(now_); }

 private:
  static std::vector<AccountLine> account_of(const MemoryRun::State& state) {
    std::map<LeafId, std::uint64_t> gaps;
    for (const auto& [where, process] : state.processes) gaps[where.first] += gap(process);
    std::map<std::pair<WorldId, Rank>, AccountLine> lines;
    for (const auto& [where, process] : state.processes) {
      if (!process.world) continue;
      const auto given_up = state.given_up.find(where.first);
      const bool attributed =
          given_up != state.given_up.end() && given_up->second == gaps[where.first];
      AccountLine line{*process.world, process.rank, process.account.captured, process.stored,
                       process.account.lost + process.given_up};
      line.lost += process.closed != 0 ? process.closed : (attributed ? gap(process) : 0);
      line.complete = process.account.ended && !state.lost_hosts.contains(where.first) &&
                      line.stored + line.lost == process.account.windowed + process.account.lost &&
                      line.captured == line.stored + line.lost;
      lines[{line.world, line.rank}] = line;
    }
    std::vector<AccountLine> sorted;
    sorted.reserve(lines.size());
    for (auto& [where, line] : lines) sorted.push_back(line);
    return sorted;
  }

  static LeafId leaf_of(const wire::PacketId& id) {
    return LeafId{static_cast<std::uint32_t>(id.sources.intervals().front().first)};
  }
  static std::pair<LeafId, Lane> key(const wire::PacketId& id) { return {leaf_of(id), id.lane}; }
  Process& process(const wire::PacketId& id) { return now_.processes[key(id)]; }

  /// Calls that were in windows and are neither stored nor given up.
  static std::uint64_t gap(const Process& process) {
    const std::uint64_t windowed = process.account.windowed;
    const std::uint64_t settled = process.stored + process.given_up;
    return windowed > settled ? windowed - settled : 0;
  }

  Result<void> keep_nothing(std::size_t bytes) {
    pending_bytes_ += bytes;
    return {};
  }

  // Handles the waves of a run's stream one after the other. A tombstone may cover very many waves,
  // so all its new waves are taken at once.
  PutOutcome put_waves(const wire::Packet& packet) {
    const wire::PacketId& id = packet.id;
    auto& known = now_.waves[id.stream];
    const auto known_of = [&](std::uint64_t wave) {
      IntervalSet leaves;
      for (const auto& [leaf, waves] : known) {
        if (waves.contains(wave)) leaves.insert(raw(leaf));
      }
      return leaves;
    };
    const auto take = [&](std::uint64_t first, std::uint64_t end) {
      for (const auto& run : id.sources.intervals()) {
        for (auto leaf = run.first; leaf < run.end; ++leaf) {
          known[LeafId{static_cast<std::uint32_t>(leaf)}].insert(first, end);
        }
      }
    };
    const std::uint64_t waves = id.wave_end - id.wave;
    if (packet.tombstone || !wire::decode_waves(packet.payload, waves)) {
      take(id.wave, id.wave_end);
      return {};
    }
    PutOutcome outcome;
    for (std::uint64_t wave = id.wave; wave < id.wave_end; ++wave) {
      PutOutcome of_wave = judge_sources(id.sources, known_of(wave));
      wire::PacketId part = id;
      part.wave = wave;
      part.wave_end = wave + 1;
      const bool is_partly_known = of_wave.kind == PutOutcome::Kind::kPartlyKnown;
      if (is_partly_known) part.sources = std::move(of_wave.missing);
      (is_partly_known ? outcome.again : outcome.settled).push_back(std::move(part));
      if (of_wave.kind == PutOutcome::Kind::kStored) take(wave, wave + 1);
    }
    return outcome;
  }

  void keep(const wire::Packet& packet) {
    if (packet.last && packet.id.stream == wire::kWindowStream)
      now_.ended.insert(packet.id.sources);
    const Content content = open_payload(packet);
    if (const auto* window = std::get_if<wire::ProfileWindow>(&content)) {
      keep_window(packet.id.wave, *window);
    } else if (const auto* registration = std::get_if<wire::Registration>(&content)) {
      keep_registration(leaf_of(packet.id), *registration);
    } else if (const auto* tombstone = std::get_if<wire::Tombstone>(&content)) {
      keep_tombstone(packet.id, *tombstone);
    }
  }

  void keep_window(std::uint64_t wave, const wire::ProfileWindow& window) {
    for (const wire::ProfileRow& row : window.rows) {
      now_.processes[{row.leaf, row.lane}].stored += row.calls;
    }
    // Rows of the matrix and of waits make their process known, as in a table.
    for (const wire::MatrixRow& row : window.matrix) now_.processes[{row.leaf, row.lane}];
    for (const wire::WaitRow& row : window.waits) now_.processes[{row.leaf, row.lane}];
    for (const wire::UnderWayRow& row : window.under_way) now_.processes[{row.leaf, row.lane}];
    for (const wire::EarlierRow& row : window.earlier) now_.processes[{row.leaf, row.lane}];
    keep_accounts(wave, window.accounts);
  }

  void keep_accounts(std::uint64_t wave, const std::vector<wire::AccountRow>& accounts) {
    for (const wire::AccountRow& row : accounts) {
      Process& process = now_.processes[{row.leaf, row.lane}];
      if (process.account_wave && *process.account_wave >= wave) continue;
      process.account_wave = wave;
      process.account = row;
    }
  }

  void keep_registration(LeafId leaf, const wire::Registration& registration) {
    for (const wire::ProcessRow& row : registration.processes) {
      Process& process = now_.processes[{leaf, row.lane}];
      if (!row.initialised) continue;
      const WorldId next{static_cast<std::uint32_t>(now_.worlds.size())};
      process.world = now_.worlds.try_emplace(row.world_key, next).first->second;
      std::uint32_t& size = now_.world_sizes[row.world_key];
      size = std::max(size, row.world_size);
      process.world_key = row.world_key;
      process.rank = row.rank;
    }
  }

  void keep_tombstone(const wire::PacketId& id, const wire::Tombstone& tombstone) {
    if (id.stream != wire::kWindowStream) return;
    std::uint64_t attributed = 0;
    for (const wire::LaneCalls& row : tombstone.lanes) {
      now_.processes[{row.leaf, row.lane}].given_up += row.calls;
      attributed += row.calls;
    }
    if (id.sources.count() == 1 && tombstone.calls > attributed) {
      now_.given_up[leaf_of(id)] += tombstone.calls - attributed;
    }
    keep_accounts(id.wave, tombstone.accounts);
  }

  std::unique_ptr<MemoryRun> own_;
  MemoryRun& run_;
  std::uint64_t epoch_;
  MemoryRun::State now_;
  std::size_t pending_bytes_ = 0;
};

std::unique_ptr<Store> make_memory_store() {
  return std::make_unique<MemoryStore>(std::make_unique<MemoryRun>());
}

ResumedStore open_memory_store(MemoryRun& run) {
  auto store = std::make_unique<MemoryStore>(run);
  Past past = store->past();
  return {std::move(store), std::move(past)};
}

}  // namespace xylem::storage
