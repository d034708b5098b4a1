#pragma once

// A process whose calls the test makes at chosen moments, and the windows that its collector
// writes. Tests compare the time in these windows with the calls.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/agent/collector.h"
#include "tests/support/hand_made_segment.h"
#include "wire/chunk.h"

namespace xylem::testing {

/// The process may use functions below this number.
constexpr std::uint32_t kMomentFunctions = 40;
/// Records of a ring that no test fills.
constexpr std::uint32_t kUnlimitedRing = 1u << 14;

struct MomentOptions {
  std::uint32_t ring_records = kUnlimitedRing;
  bool by_ticks = false;  ///< Times are ticks of a counter, which the agent converts.
  Nanos window = 1 * kMillisecond;
  std::size_t journal_bytes = 32u << 20;
  std::size_t records_per_drain = 200'000;
};

/// A process whose calls the test makes, its collector, and the windows that the collector writes.
class MomentHost {
 public:
  static constexpr Nanos kMoment = 1 * kMillisecond;  // The usual length of a window.
  static constexpr Lane kLane{1};

  explicit MomentHost(MomentOptions options = {})
      : options_(options),
        memory_(options.journal_bytes),
        process_(options.ring_records, kMomentFunctions) {
    if (options.by_ticks) process_.header().clock = capture::ClockKind::kTsc;
    process_.enter_world(0, 8);
    start();
  }

  /// Starts a collector with the journal and the segment of its predecessor.
  void start() {
    collector_.reset();
    backend::JournalOptions keeps_all;
    keeps_all.may_give_up = [](StreamId) { return false; };
    journal_ =
        std::make_unique<backend::Journal>(*backend::Journal::open(memory_.bytes(), keeps_all));
    backend::CollectorOptions options;
    options.records_per_drain = options_.records_per_drain;
    options.clock = [this] {
      if (on_clock) on_clock();
      return now;
    };
    options.read_pair = [this] {  // Each reading is off by up to 50 ns.
      return backend::TickPair{ticks(), now + static_cast<Nanos>(jitter_() % 101) - 50, 50};
    };
    collector_ = std::make_unique<backend::Collector>(options, *journal_);
    collector_->add(kLane, process_.view(), false, now);
    wire::Control control;
    control.version = 1;
    control.window_ns = options_.window;
    control.enabled = true;
    control.chunks = true;
    collector_->set_offset(offset);
    collector_->configure(LeafId{1}, control);
  }

  backend::DrainOutcome drain() {
    collector_->set_offset(offset);
    return collector_->drain(now);
  }
  void drain_all() {
    while (drain().unfinished) {
    }
  }
  /// The front end takes all packets that are journalled.
  void acknowledge() {
    for (const backend::PacketKey& key : journal_->keys()) {
      taken_.push_back(journal_->read(key));
      journal_->acknowledge(key);
    }
  }
  void end() {
    process_.header().state.store(capture::ProcessState::kExited);
    collector_->process_ended(kLane);
    now += 20 * kMicrosecond;
    for (int i = 0; i < 100'000 && (collector_->flush(now).unfinished || i < 3); ++i) acknowledge();
    // The tick clock needs a second pair.
    for (int i = 0; i < 100 && !collector_->is_idle(); ++i) {
      now += kMillisecond;
      std::ignore = collector_->flush(now);
      acknowledge();
    }
    EXPECT_TRUE(collector_->is_idle());
    EXPECT_EQ(collector_->take_finished().size(), 1u);
  }

  std::uint64_t ticks() const {
    return static_cast<std::uint64_t>(now) * (options_.by_ticks ? 3 : 1);
  }
  void begin(std::uint32_t thread, std::uint16_t function, std::int32_t peer = -1) {
    process_.begin(thread, function, ticks(), peer);
    begun_[thread] = {ticks(), function};
  }
  /// Ends the thread's call. Its record stands for `calls` calls.
  void finish(std::uint32_t thread, std::uint32_t calls = 1) {
    const auto& [began, function] = begun_.at(thread);
    process_.take_back(thread);
    HandMadeCall call;
    call.function = function;
    call.begin = began;
    call.end = ticks();
    call.calls = calls;
    call.is_counted = true;
    process_.write(thread, call);
  }

  std::vector<wire::ProfileWindow> windows() const {
    std::vector<wire::ProfileWindow> all;
    for (const wire::Packet& packet : packets(wire::kWindowStream)) {
      auto window = wire::decode_profile_window(packet.payload);
      EXPECT_TRUE(window) << window.error().message;
      if (window) all.push_back(*std::move(window));
    }
    return all;
  }
  std::vector<wire::Event> events() const {
    std::vector<wire::Event> all;
    for (const wire::Packet& packet : packets(wire::kChunkStream)) {
      const auto chunk = wire::decode_chunk(packet.payload);
      EXPECT_TRUE(chunk);
      if (chunk) all.insert(all.end(), chunk->begin(), chunk->end());
    }
    return all;
  }

  /// Time by window and function, of rows and of earlier rows.
  std::map<Nanos, std::map<std::uint16_t, std::uint64_t>> times() const {
    std::map<Nanos, std::map<std::uint16_t, std::uint64_t>> sums;
    for (const wire::ProfileWindow& window : windows()) {
      for (const auto& row : window.rows) sums[window.begin_ns][raw(row.function)] += row.time_ns;
      for (const auto& row : window.earlier) {
        EXPECT_EQ(row.end_ns - row.begin_ns, options_.window);
        EXPECT_EQ(row.begin_ns % options_.window, 0);
        sums[row.begin_ns][raw(row.function)] += row.time_ns;
      }
    }
    return sums;
  }
  std::map<std::uint16_t, std::uint64_t> calls() const {
    std::map<std::uint16_t, std::uint64_t> sums;
    for (const wire::ProfileWindow& window : windows()) {
      for (const auto& row : window.rows) sums[raw(row.function)] += row.calls;
    }
    return sums;
  }

  Nanos window() const { return options_.window; }
  HandMadeSegment& process() { return process_; }
  backend::Collector& collector() { return *collector_; }

  std::function<void()> on_clock;  // Called when the collector reads its clock.
  Nanos now = 50 * kMillisecond;
  Nanos offset = 0;

 private:
  std::vector<wire::Packet> packets(StreamId stream) const {
    std::vector<wire::Packet> all;
    for (const wire::Packet& packet : taken_) {
      if (packet.id.stream == stream) all.push_back(packet);
    }
    for (const backend::PacketKey& key : journal_->keys()) {
      if (key.stream == stream) all.push_back(journal_->read(key));
    }
    return all;
  }

  MomentOptions options_;
  std::vector<wire::Packet> taken_;
  Memory memory_;
  HandMadeSegment process_;
  std::mt19937_64 jitter_{7};
  std::unique_ptr<backend::Journal> journal_;
  std::unique_ptr<backend::Collector> collector_;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint16_t>> begun_;
};

}  // namespace xylem::testing
