#pragma once

// Timelines as values and as text, for tests.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "predict/replay/timeline.h"

namespace xylem::predict::testing {

/// Keeps all rows.
class Timelines final : public TimelineSink {
 public:
  void begin(std::uint64_t ticks_per_ns) override { ticks_per_ns_ = ticks_per_ns; }
  void add(const TimelineRow& row) override { rows_.push_back(row); }

  std::uint64_t ticks_per_ns() const { return ticks_per_ns_; }
  const std::vector<TimelineRow>& rows() const { return rows_; }

  /// The rows of a rank, for example "run 0-5 compute, io 5-9 receive 0".
  std::string of(std::uint32_t rank) const {
    static constexpr const char* kStates[] = {"run", "io", "ready"};
    static constexpr const char* kActivities[] = {"compute", "send", "receive", "file"};
    std::string text;
    for (const TimelineRow& it : rows_) {
      if (it.rank != rank) continue;
      text += (text.empty() ? "" : ", ") + std::string(kStates[static_cast<int>(it.state)]) + " " +
              std::to_string(it.begin) + "-" + std::to_string(it.end) + " " +
              kActivities[static_cast<int>(it.doing.what)];
      if (it.doing.what == Activity::kSend || it.doing.what == Activity::kReceive)
        text += " " + std::to_string(it.doing.peer);
    }
    return text;
  }

  Ticks sum(std::uint32_t rank, TimelineState state) const {
    Ticks sum = 0;
    for (const TimelineRow& it : rows_) {
      if (it.rank == rank && it.state == state) sum += it.end - it.begin;
    }
    return sum;
  }

  /// Each rank's rows begin at 0, and follow each other without gap. Returns their ends.
  std::vector<Ticks> expect_gapless(std::size_t ranks) const {
    std::vector<Ticks> ends(ranks);
    for (const TimelineRow& it : rows_) {
      EXPECT_EQ(it.begin, ends[it.rank]) << "rank " << it.rank;
      EXPECT_LT(it.begin, it.end) << "rank " << it.rank;
      ends[it.rank] = it.end;
    }
    return ends;
  }

 private:
  std::uint64_t ticks_per_ns_ = 0;
  std::vector<TimelineRow> rows_;
};

}  // namespace xylem::predict::testing
