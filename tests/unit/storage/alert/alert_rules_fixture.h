#pragma once

// The fixture of the tests of alert rules: a world with one rank on each host.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "storage/alert/alert_rules.h"

namespace xylem::storage {

/// What a rank does in a window, as shares of the window.
struct Share {
  double mpi = 0.5, collective = 0.4;
  std::uint64_t calls = 100;
  Nanos longest_ns = kMillisecond;
  std::uint64_t collectives = 1;
};

/// A world with one rank on each host. Its windows are given to the rules one after the other.
class AlertRulesTest : public ::testing::Test {
 protected:
  static constexpr Nanos kAlertWindow = 250 * kMillisecond;
  static constexpr WorldId kWorld{0};
  static constexpr Share kBusy{.mpi = 0.05, .collective = 0.02};
  static constexpr Share kWaits{.mpi = 0.9, .collective = 0.85};
  static constexpr Share kSilent{.mpi = 0, .collective = 0, .calls = 0};

  /// Gives the next window of each rank to the rules.
  void next(const std::vector<Share>& shares) {
    const Nanos begin = now_;
    now_ += kAlertWindow;
    for (std::uint32_t rank = 0; rank < shares.size(); ++rank) {
      const Share& share = shares[rank];
      WindowNote note{kWorld, Rank{rank}, LeafId{rank}, begin, now_, 0, 0, 0, 0, "MPI_Allreduce"};
      note.calls = share.calls;
      note.mpi_ns = static_cast<std::uint64_t>(share.mpi * kAlertWindow);
      note.collective_ns = static_cast<std::uint64_t>(share.collective * kAlertWindow);
      note.max_ns = static_cast<std::uint64_t>(share.longest_ns);
      note.collectives = share.collectives;
      note.collective_calls = share.collectives == 0 ? 0 : share.calls;
      if (share.calls != 0) rules_.note(note);
      rules_.note_leaf(note.leaf, now_);
    }
    for (const Alert& alert : rules_.judge()) alerts_[alert.id] = alert;
  }
  void run(Nanos length, const std::vector<Share>& shares) {
    for (const Nanos end = now_ + length; now_ < end;) next(shares);
  }
  /// The report of an agent about a rank that has made no call since then.
  void silent(std::uint32_t rank, Nanos since, const std::string& inside, bool stopped = false) {
    rules_.note_silence(
        {kWorld, Rank{rank}, LeafId{rank}, since, ++captured_, inside, stopped, inside.empty()});
  }
  /// The report of an agent that cannot say whether a call is under way.
  void silent_somewhere(std::uint32_t rank, Nanos since) {
    rules_.note_silence({kWorld, Rank{rank}, LeafId{rank}, since, ++captured_, "", false, false});
  }
  /// The alert of a kind that was raised once.
  Alert the(AlertKind kind) const {
    const auto found = alerts(kind);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? Alert{} : found.back();
  }
  void finish() {
    for (const Alert& alert : rules_.finish()) alerts_[alert.id] = alert;
  }
  std::vector<Alert> alerts(AlertKind kind) const {
    std::vector<Alert> of_kind;
    for (const auto& [id, alert] : alerts_) {
      if (alert.kind == kind) of_kind.push_back(alert);
    }
    return of_kind;
  }

  AlertRules rules_{AlertLimits{}};
  Nanos now_ = 0;
  std::uint64_t captured_ = 1000;
  std::map<std::int64_t, Alert> alerts_;
};

}  // namespace xylem::storage
