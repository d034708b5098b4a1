#include "tests/support/large_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "base/check.h"
#include "storage/write/store.h"
#include "wire/chunk.h"
#include "wire/profile.h"
#include "wire/registration.h"
#include "wire/series.h"

namespace xylem::testing {
namespace {

struct Function {
  const char* name;
  std::uint8_t function_class;  ///< As wire::function_class_name has them.
  std::uint32_t time_ns;        ///< Of a call, about.
  std::uint32_t calls, bytes;   ///< In a window; of a call.
};
constexpr std::array<Function, kLargeRunFunctions> kFunctions = {{
    {"MPI_Isend", 1, 700, 80, 8192},
    {"MPI_Irecv", 1, 400, 80, 8192},
    {"MPI_Waitall", 3, 9000, 20, 0},
    {"MPI_Allreduce", 2, 14000, 20, 8},
    {"MPI_Barrier", 2, 20000, 1, 0},
    {"MPI_Bcast", 2, 6000, 2, 4096},
    {"MPI_Reduce", 2, 5000, 2, 64},
    {"MPI_Send", 1, 1200, 8, 65536},
    {"MPI_Recv", 1, 3000, 8, 65536},
    {"MPI_Iprobe", 4, 200, 400, 0},
    {"MPI_Gather", 2, 8000, 1, 512},
    {"MPI_Alltoall", 2, 90000, 1, 4096},
}};
constexpr std::size_t kEachWindow = 4;
constexpr std::size_t kMoreOften = 4;       ///< One of the others in so many windows.
constexpr std::uint64_t kMatrixEvery = 16;  ///< Windows: sums of a matrix grow no other way.
constexpr std::uint16_t kAllreduce = 3;
constexpr std::uint64_t kFactsEvery = 10;  ///< Seconds, as --facts-every has it.
constexpr std::uint16_t kSlowSteps = 16;   ///< So often the slow group moves on in a run.

class Writer {
 public:
  Writer(const LargeRun& run, const std::string& path) : run_(run), random_(run.seed) {
    auto made = storage::make_sqlite_store({path, true});
    CHECK(made);
    store_ = std::move(*made);
    captured_.resize(run.ranks);
    host_layout_.service = "host";
    host_layout_.rows = {{"cpu.busy", "share"},
                         {"memory.used", "bytes"},
                         {"network.sent", "bytes/s"},
                         {"load.one", "processes"}};
    for (std::uint32_t i = 4; i < run.values; ++i) {
      host_layout_.rows.push_back({"value." + std::to_string(i), "bytes"});
    }
    values_.resize(host_layout_.rows.size());
  }

  void write() {
    storage::RunFacts facts;
    facts.run_id = "large";
    facts.command = {"mpirun", "large"};
    facts.window_ns = run_.window_ns;
    facts.chunks = run_.events != 0;
    CHECK(store_->begin_run(facts));
    put_tree();
    for (std::uint32_t leaf = 0; leaf < run_.hosts(); ++leaf) put(registration(leaf));
    const auto waves = static_cast<std::uint64_t>(run_.length_ns() / run_.window_ns);
    const std::uint64_t chunks = run_.events / wire::kMaxChunkEvents;
    std::uint64_t chunk_number = 0;
    for (std::uint64_t wave = 0; wave < waves; ++wave) {
      const Nanos now = static_cast<Nanos>(wave + 1) * run_.window_ns;
      wait_until(now);
      for (std::uint32_t leaf = 0; leaf < run_.hosts(); ++leaf) {
        put(window(leaf, wave, wave + 1 == waves));
      }
      for (; chunk_number < chunks * (wave + 1) / waves; ++chunk_number) {
        put(chunk(chunk_number, chunks));
      }
      for (; static_cast<Nanos>(seconds_ + 1) * kSecond <= now; ++seconds_) put_second();
      if (is_live_ && wave % 2 == 1) CHECK(store_->commit());
    }
    CHECK(store_->end_run(0, run_.length_ns()));
  }

 private:
  void put(const wire::Packet& packet) {
    CHECK(store_->put(packet));
    if (store_->pending_bytes() > (4u << 20)) CHECK(store_->commit());
  }

  /// Of the run's time, once the part begins that is written as it passes.
  void wait_until(Nanos at_ns) {
    if (at_ns <= run_.length_ns() - static_cast<Nanos>(run_.live_seconds) * kSecond) return;
    if (!is_live_) {
      CHECK(store_->commit());
      live_since_ns_ = monotonic_now() - at_ns;
    }
    is_live_ = true;
    const Nanos ahead = live_since_ns_ + at_ns - monotonic_now();
    if (ahead > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(ahead));
  }

  /// The front end, communication processes level by level, then a back end a host.
  void put_tree() {
    std::vector<std::uint32_t> widths = {run_.hosts()};  // The lowest level first.
    while (widths.back() > kLargeRunFanOut) {
      widths.push_back((widths.back() + kLargeRunFanOut - 1) / kLargeRunFanOut);
    }
    put_node({kFrontEndNode, wire::Role::kFrontEnd, "head", kFrontEndNode, 0, 0, wire::kNoLeaf,
              "attached"});
    std::uint32_t level = 1;
    std::uint32_t above = 0;  // The first node of the level above.
    for (auto width = widths.rbegin(); width != widths.rend(); ++width, ++level) {
      const std::uint32_t first = nodes_;
      for (std::uint32_t i = 0; i < *width; ++i) {
        const bool is_leaf = std::next(width) == widths.rend();
        const std::uint32_t host = is_leaf ? i : i * (run_.hosts() / *width);
        const NodeId parent{level == 1 ? 0 : above + i / kLargeRunFanOut};
        storage::NodeRow row{NodeId{nodes_},
                             is_leaf ? wire::Role::kBackEnd : wire::Role::kCommProcess,
                             "node" + std::to_string(host),
                             parent,
                             level,
                             0,
                             is_leaf ? LeafId{i} : wire::kNoLeaf,
                             "attached"};
        if (!is_leaf) row.reason = "most idle of its group, 0.93 of 2 cores";
        put_node(std::move(row));
      }
      above = first;
    }
  }

  void put_node(storage::NodeRow row) {
    row.pid = 1000 + nodes_++;
    CHECK(store_->put_node(row));
  }

  /// What each host and each process of the tree tells in a second.
  void put_second() {
    put_samples();
    const Nanos now = static_cast<Nanos>(seconds_ + 1) * kSecond;
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      wire::LinkReport link;
      link.node = NodeId{node};
      link.sent_packets = 6 * (seconds_ + 1);
      link.sent_bytes = 4096 * link.sent_packets;
      link.round_trip_ns = 60'000 + static_cast<Nanos>(random_() % 20'000);
      link.transport = wire::Transport::kTcp;
      CHECK(store_->put_link(link, now));
    }
    if (seconds_ % kFactsEvery != 0) return;
    for (std::uint32_t leaf = 0; leaf < run_.hosts(); ++leaf) {
      const auto noise = static_cast<double>(random_() % 1000);
      CHECK(store_->put_host_facts({LeafId{leaf},
                                    {{"cores", 16},
                                     {"cores_used", 15 + noise / 1000},
                                     {"idle", noise / 4000},
                                     {"memory", 6e10 - 1e6 * noise},
                                     {"queue", noise / 500},
                                     {"receive", 1e6 * noise},
                                     {"send", 1e6 * noise}}},
                                   now));
    }
  }

  std::uint32_t on_host(std::uint32_t leaf) const {
    return std::min(run_.ranks_a_host, run_.ranks - leaf * run_.ranks_a_host);
  }

  wire::Packet registration(std::uint32_t leaf) const {
    wire::Registration registration;
    registration.host = "node" + std::to_string(leaf);
    for (std::uint16_t f = 0; f < std::uint16_t{kFunctions.size()}; ++f) {
      registration.functions.push_back(
          {FunctionId{f}, kFunctions[f].name, kFunctions[f].function_class});
    }
    for (std::uint32_t lane = 1; lane <= on_host(leaf); ++lane) {
      wire::ProcessRow row;
      row.lane = Lane{lane};
      row.initialised = true;
      row.rank = Rank{leaf * run_.ranks_a_host + lane - 1};
      row.world_size = run_.ranks;
      registration.processes.push_back(row);
    }
    registration.services = {{Lane{1}, "host"}};
    registration.layouts = {host_layout_};
    return wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(leaf)},
                        wire::encode(registration));
  }

  bool is_slow(std::uint32_t rank, std::uint64_t wave) const {
    const auto waves = static_cast<std::uint64_t>(run_.length_ns() / run_.window_ns);
    const std::uint64_t step = wave * kSlowSteps / std::max<std::uint64_t>(waves, 1);
    const std::uint32_t group = std::max(run_.ranks / 32, 1u);
    return rank / group == step * 7 % std::max(run_.ranks / group, 1u);
  }

  wire::ProfileRow profile_row(std::uint32_t leaf, std::uint32_t lane, std::uint16_t number,
                               std::uint64_t wave) {
    const Function& function = kFunctions[number];
    const std::uint32_t rank = leaf * run_.ranks_a_host + lane - 1;
    const auto noise = static_cast<std::uint32_t>(random_());
    wire::ProfileRow row;
    row.leaf = LeafId{leaf};
    row.lane = Lane{lane};
    row.function = FunctionId{number};
    row.estimated = kFunctions[number].function_class == 4;
    row.calls = function.calls + noise % (function.calls / 4 + 1);
    std::uint64_t each = function.time_ns + noise / 7 % (function.time_ns / 2);
    if (number == kAllreduce) each *= is_slow(rank, wave) ? 1 : 200;
    row.time_ns = row.calls * each;
    row.min_ns = each / 2;
    row.max_ns = 2 * each + noise / 3 % each;
    row.bytes = row.calls * function.bytes;
    row.histogram.add(row.min_ns);
    row.histogram.add(row.max_ns);
    row.histogram.add(each, row.calls - std::min<std::uint64_t>(row.calls, 2));
    return row;
  }

  wire::Packet window(std::uint32_t leaf, std::uint64_t wave, bool last) {
    wire::ProfileWindow window;
    window.begin_ns = static_cast<Nanos>(wave) * run_.window_ns;
    window.end_ns = window.begin_ns + run_.window_ns;
    for (std::uint32_t lane = 1; lane <= on_host(leaf); ++lane) {
      const std::uint32_t rank = leaf * run_.ranks_a_host + lane - 1;
      const auto more = static_cast<std::uint16_t>(
          kEachWindow + random_() % (kMoreOften * (kFunctions.size() - kEachWindow)));
      for (std::uint16_t f = 0; f < std::uint16_t{kFunctions.size()}; ++f) {
        if (f >= kEachWindow && f != more) continue;
        window.rows.push_back(profile_row(leaf, lane, f, wave));
        captured_[rank] += window.rows.back().calls;
      }
      if (wave == 0) put_first_messages(leaf, lane, window);
      if (wave % kMatrixEvery == 0) put_neighbours(leaf, lane, window);
      wire::AccountRow account;
      account.leaf = LeafId{leaf};
      account.lane = Lane{lane};
      account.captured = account.windowed = captured_[rank];
      account.ended = last;
      window.accounts.push_back(account);
    }
    wire::Packet packet({wire::kWindowStream, kLeafLane, wave, wave + 1, IntervalSet::of(leaf)},
                        wire::encode(window));
    packet.last = last;
    return packet;
  }

  /// A band of the matrix, and cells all over it.
  void put_first_messages(std::uint32_t leaf, std::uint32_t lane, wire::ProfileWindow& window) {
    const std::uint32_t rank = leaf * run_.ranks_a_host + lane - 1;
    for (std::uint32_t i = 0; i < run_.neighbours + run_.strangers; ++i) {
      const std::uint32_t beside = (i / 2 + 1) * (i % 2 == 0 ? 1 : run_.ranks - 1);
      const std::uint32_t by = i < run_.neighbours ? beside : static_cast<std::uint32_t>(random_());
      const Rank peer{(rank + by) % run_.ranks};
      window.matrix.push_back({LeafId{leaf}, Lane{lane}, peer, 65536, 8});
      window.waits.push_back({LeafId{leaf}, Lane{lane}, peer, 90000, 8});
    }
  }

  void put_neighbours(std::uint32_t leaf, std::uint32_t lane, wire::ProfileWindow& window) const {
    const std::uint32_t rank = leaf * run_.ranks_a_host + lane - 1;
    for (const std::uint32_t by : {1u, run_.ranks - 1, 32 % run_.ranks, run_.ranks / 2}) {
      const Rank peer{(rank + by) % run_.ranks};
      window.matrix.push_back({LeafId{leaf}, Lane{lane}, peer, 320 * 8192, 320});
      window.waits.push_back({LeafId{leaf}, Lane{lane}, peer, 720000, 80});
    }
  }

  /// One after the other over all ranks, round by round over the run.
  wire::Packet chunk(std::uint64_t number, std::uint64_t chunks) {
    const auto rank = static_cast<std::uint32_t>(number % run_.ranks);
    const std::uint64_t round = number / run_.ranks;
    const std::uint64_t rounds = (chunks + run_.ranks - 1) / run_.ranks;
    const Nanos length = run_.length_ns() / static_cast<Nanos>(rounds);
    const Nanos step = length / static_cast<Nanos>(wire::kMaxChunkEvents);
    Nanos begin = static_cast<Nanos>(round) * length;
    std::vector<wire::Event> events(wire::kMaxChunkEvents);
    for (std::size_t i = 0; i < events.size(); ++i, begin += step) {
      wire::Event& event = events[i];
      event.function = FunctionId{static_cast<std::uint16_t>(i % kEachWindow)};
      event.begin_ns = begin;
      event.end_ns = begin + std::min<Nanos>(step, 400 + static_cast<Nanos>(random_() % 4096));
      event.comm = CommId{0};
      event.peer =
          static_cast<std::int32_t>((rank + (i % 2 == 0 ? 1 : run_.ranks - 1)) % run_.ranks);
      event.tag = static_cast<std::int32_t>(i % 4);
      event.bytes = 8192;
      event.flags = i % 2 == 0 ? wire::kEventSend : wire::kEventReceive;
    }
    const std::uint64_t first = round * events.size();
    return wire::Packet({wire::kChunkStream, Lane{rank % run_.ranks_a_host + 1}, first,
                         first + events.size(), IntervalSet::of(rank / run_.ranks_a_host)},
                        encoder_.encode(events));
  }

  void put_samples() {
    for (std::uint32_t leaf = 0; leaf < run_.hosts(); ++leaf) {
      wire::SeriesSample sample;
      sample.at_ns = static_cast<Nanos>(seconds_ + 1) * kSecond - kMillisecond;
      sample.span_ns = kSecond;
      sample.slice = static_cast<std::uint64_t>(sample.at_ns / run_.window_ns);
      sample.layout = wire::key_of(host_layout_);
      sample.captured = seconds_ + 1;
      const auto noise = static_cast<double>(random_() % 1000);
      for (std::size_t i = 4; i < values_.size(); ++i) values_[i] = static_cast<double>(i) * noise;
      values_[0] = noise / 1000;
      values_[1] = 4e9 + noise;
      values_[2] = 1e6 * noise;
      values_[3] = noise / 100;
      sample.entries = {{kLeafLane, values_}};
      put(wire::Packet(
          {wire::kSeriesStream, Lane{1}, seconds_, seconds_ + 1, IntervalSet::of(leaf)},
          wire::encode(sample)));
    }
  }

  LargeRun run_;
  std::unique_ptr<storage::Store> store_;
  std::mt19937 random_;
  wire::ChunkEncoder encoder_;
  wire::SeriesLayout host_layout_;
  std::vector<std::uint64_t> captured_;  ///< By rank.
  std::vector<double> values_;           ///< Of a sample.
  std::uint64_t seconds_ = 0;            ///< Samples of each host so far.
  std::uint32_t nodes_ = 0;
  bool is_live_ = false;
  Nanos live_since_ns_ = 0;  ///< When the run would have begun.
};

}  // namespace

void write_large_run(const LargeRun& run, const std::string& path) {
  CHECK(run.ranks >= 2 && run.seconds >= 1 && run.window_ns > 0 && run.ranks_a_host > 0 &&
        run.values >= 4);
  Writer(run, path).write();
}

std::string describe(const LargeRun& run) {
  return std::to_string(run.ranks) + " ranks, " + std::to_string(run.seconds) + " s, " +
         std::to_string(run.events) + " events, seed " + std::to_string(run.seed);
}

}  // namespace xylem::testing
