#include "viz/stored_waits.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::viz {
namespace {

class StoredWaitsTest : public storage::StoredRun {
 protected:
  StoredWaitsTest() {
    put(storage::registration_packet(0, {storage::process_row(1, 0)}));
    put(storage::chunk_packet(0, 1, 0, {wire::Event{}}));
    EXPECT_TRUE(store_->commit());
  }
  void end_run() {
    ASSERT_TRUE(store_->end_run(0, kSecond));
    store_.reset();
  }
  std::shared_ptr<const storage::WaitStates> get(Nanos deadline) {
    auto run = storage::RunFile::open(path_);
    EXPECT_TRUE(run) << run.error().message;
    return run ? waits_.get(**run, deadline) : nullptr;
  }

  /// As if the file had last been changed so long ago.
  void make_older(Nanos age) {
    const auto then = std::filesystem::file_time_type::clock::now() - std::chrono::nanoseconds(age);
    for (const char* suffix : {"", "-wal"}) {
      std::error_code none;  // An ended run has no log.
      std::filesystem::last_write_time(path_ + suffix, then, none);
    }
  }

  StoredWaits waits_{path_};
};

TEST_F(StoredWaitsTest, AreComputedOnceForAFileThatDoesNotChange) {
  end_run();
  const auto first = get(kForever);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->worlds.size(), 1u);
  EXPECT_EQ(get(kForever), first);
  storage::change_file(path_, "CREATE TABLE larger AS SELECT zeroblob(100000) AS x");
  const auto second = get(kForever);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(second, first);
}

TEST_F(StoredWaitsTest, AreUnknownWhileTheRunIsInProgress) {
  EXPECT_EQ(get(kForever), nullptr);
  end_run();
  EXPECT_NE(get(kForever), nullptr);
}

TEST_F(StoredWaitsTest, AreThoseOfAllEventsIfTheFrontEndWasKilled) {
  EXPECT_EQ(get(kForever), nullptr);
  make_older(31 * kSecond);
  const std::string quiet = waits_.stamp();
  EXPECT_TRUE(quiet.ends_with(" quiet")) << quiet;
  const auto states = get(kForever);
  ASSERT_NE(states, nullptr);
  EXPECT_EQ(states->worlds.size(), 1u);
  put(storage::chunk_packet(0, 1, 1, 2));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(get(kForever), nullptr) << "its file changes again: the run is in progress";
  EXPECT_FALSE(waits_.stamp().ends_with(" quiet"));
}

TEST_F(StoredWaitsTest, AreNoNewsIfTheFileOfAnEndedRunIsNotChanged) {
  end_run();
  EXPECT_NE(get(kForever), nullptr);
  make_older(31 * kSecond);
  EXPECT_NE(get(kForever), nullptr);
  const std::string old = waits_.stamp();
  EXPECT_FALSE(old.ends_with(" quiet")) << old;
}

TEST_F(StoredWaitsTest, AreLateForAnAnswerThatDidNotWait) {
  end_run();
  const std::string before = waits_.stamp();
  EXPECT_EQ(get(0), nullptr);
  EXPECT_NE(get(kForever), nullptr);
  const std::string after = waits_.stamp();
  EXPECT_NE(after, before);
  EXPECT_NE(get(0), nullptr) << "a result that is known needs no time";
  EXPECT_EQ(waits_.stamp(), after);
}

TEST_F(StoredWaitsTest, DoNotHoldAClientThatHasGivenUp) {
  end_run();
  const std::atomic<bool> given_up = true;
  auto run = storage::RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(waits_.get(**run, kForever, &given_up), nullptr);
}

TEST_F(StoredWaitsTest, HoldNoClientForAnAnalysisThatAnotherHasWaitedForInVain) {
  constexpr std::uint64_t kEvents = 4000;
  for (std::uint64_t i = 0; i < 50; ++i) {
    put(storage::chunk_packet(0, 1, 1 + i * kEvents, 1 + (i + 1) * kEvents));
  }
  ASSERT_TRUE(store_->commit());
  end_run();
  auto run = storage::RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(waits_.get(**run, 0), nullptr);
  EXPECT_EQ(waits_.get_soon(**run), nullptr) << "it would be known within the patience";
  EXPECT_NE(waits_.get(**run, kForever), nullptr);
  EXPECT_NE(waits_.get_soon(**run), nullptr);
}

TEST_F(StoredWaitsTest, OfAMissingFileSayWhyAndAreTriedAgain) {
  end_run();
  auto run = storage::RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  const std::string away = path_ + ".away";
  std::filesystem::rename(path_, away);
  const auto states = waits_.get(**run, kForever);
  ASSERT_NE(states, nullptr);
  EXPECT_NE(states->fault.find(path_), std::string::npos) << states->fault;
  std::filesystem::rename(away, path_);
  const auto again = waits_.get(**run, kForever);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->fault, "");
}

TEST_F(StoredWaitsTest, OfADamagedFileHaveAFault) {
  end_run();
  storage::change_file(path_, "UPDATE event_chunk SET chunk = substr(chunk, 1, 20)");
  const auto states = get(kForever);
  ASSERT_NE(states, nullptr);
  EXPECT_NE(states->fault.find("is damaged"), std::string::npos) << states->fault;
}

}  // namespace
}  // namespace xylem::viz
