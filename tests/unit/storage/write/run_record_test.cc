#include "storage/write/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "storage/read/query.h"
#include "tests/unit/storage/packets.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

class RunRecordTest : public testing::Test {
 protected:
  RecordOptions options(const std::string& run_id, bool overwrite = false) const {
    RecordOptions options;
    options.path = path_;
    options.facts.run_id = run_id;
    options.facts.epoch_ns = 42;
    options.overwrite = overwrite;
    return options;
  }
  RunRecord open(const RecordOptions& options) {
    auto record = RunRecord::open(options);
    if (!record) throw std::runtime_error(record.error().message);
    return *std::move(record);
  }
  /// The first process of a run has registered.
  static void record_a_process(RunRecord& record) {
    EXPECT_TRUE(record.store().put(registration_packet(1, {process_row(1, 0, 1, 1)})));
    EXPECT_TRUE(record.store().commit());
    record.keep();
  }
  static void end_store(RunRecord& record) { EXPECT_TRUE(record.store().end_run(0, 1)); }
  void make_earlier_run() {
    RunRecord record = open(options("old"));
    record_a_process(record);
    end_store(record);
    EXPECT_FALSE(record.end(true, true));
  }
  /// The id of the run in the file; "" if there is none.
  std::string run_in_file() const {
    if (!std::filesystem::exists(path_)) return "";
    auto run = RunFile::open(path_);
    if (!run) return run.error().message;
    const auto rows = (*run)->rows("SELECT run_id FROM run");
    return rows ? to_text(rows->front().front()) : rows.error().message;
  }
  std::size_t files() const {
    using Files = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(Files(folder_.path()), Files()));
  }

  Folder folder_;
  const std::string path_ = folder_.file("run.db");
};

TEST_F(RunRecordTest, ReplacesTheEarlierRunWhenTheNewRunHasData) {
  make_earlier_run();
  RunRecord record = open(options("new", true));
  record_a_process(record);
  end_store(record);
  EXPECT_FALSE(record.end(true, true));
  EXPECT_EQ(run_in_file(), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(RunRecordTest, KeepsDataThoughTheEarlierRunCouldNotBeDeleted) {
  make_earlier_run();
  RunRecord record = open(options("new", true));
  const std::string aside = path_ + ".before-new", copy = path_ + ".copy";
  std::filesystem::copy_file(aside, copy);
  record_a_process(record);
  std::filesystem::rename(copy, aside);  // As if it were still there.
  end_store(record);
  EXPECT_FALSE(record.end(true, true));
  EXPECT_EQ(run_in_file(), "new");
}

TEST_F(RunRecordTest, RestoresTheEarlierRunWhenTheNewRunHasNoData) {
  make_earlier_run();
  RunRecord record = open(options("new", true));
  end_store(record);
  EXPECT_TRUE(record.end(true, false));
  EXPECT_EQ(run_in_file(), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(RunRecordTest, KeepsARunWithoutDataIfThereWasNoneBefore) {
  RunRecord record = open(options("new"));
  end_store(record);
  EXPECT_FALSE(record.end(true, false));
  EXPECT_EQ(run_in_file(), "new");
}

TEST_F(RunRecordTest, LeavesNoFileOfAJobThatWasNotStarted) {
  RunRecord record = open(options("new"));
  end_store(record);
  EXPECT_FALSE(record.end(false, false));
  EXPECT_EQ(files(), 0u);
}

TEST_F(RunRecordTest, KeepsTheDataOfAJobThatWasNotStarted) {
  RunRecord record = open(options("new"));
  record_a_process(record);
  end_store(record);
  EXPECT_FALSE(record.end(false, true));
  EXPECT_EQ(run_in_file(), "new");
}

TEST_F(RunRecordTest, RestoresTheEarlierRunWhenItFails) {
  make_earlier_run();
  RecordOptions wrong = options("new", true);
  wrong.live_path = folder_.file("nowhere.db");
  EXPECT_FALSE(RunRecord::open(wrong)) << "the earlier run is another run's file";
  EXPECT_EQ(run_in_file(), "old");
  { const RunRecord undecided = open(options("new", true)); }
  EXPECT_EQ(run_in_file(), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(RunRecordTest, RefusesAnEarlierRunWithoutOverwrite) {
  make_earlier_run();
  const auto refused = RunRecord::open(options("new"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  EXPECT_EQ(run_in_file(), "old");
}

TEST_F(RunRecordTest, IsContinuedByASuccessorWhichDecides) {
  make_earlier_run();
  RunRecord former = open(options("new", true));
  EXPECT_EQ(former.take_past().epoch_ns, 42);
  RecordOptions again = options("new");
  again.facts.epoch_ns = 77;
  again.live_path = former.store().live_path();
  RunRecord successor = open(again);
  former.leave_to_successor();
  const Past past = successor.take_past();
  EXPECT_EQ(past.epoch_ns, 42) << "the run's, not the successor's";
  EXPECT_EQ(past.front_ends, 2u);
  end_store(successor);
  EXPECT_TRUE(successor.end(true, false));
  EXPECT_EQ(run_in_file(), "old");
}

// Another successor may still continue the run.
TEST_F(RunRecordTest, LeavesAllFilesAsTheyAreWhenItCannotContinueTheRun) {
  make_earlier_run();
  RunRecord former = open(options("new", true));
  RecordOptions again = options("new");
  again.live_path = folder_.file("damaged.db");
  std::ofstream(again.live_path)
      << "This is not a database, but it is long enough to look like one.";
  const std::size_t before = files();
  EXPECT_FALSE(RunRecord::open(again));
  EXPECT_EQ(files(), before);
  EXPECT_EQ(run_in_file(), "new");
  record_a_process(former);
  end_store(former);
  EXPECT_FALSE(former.end(true, true));
  EXPECT_EQ(run_in_file(), "new");
}

TEST_F(RunRecordTest, ASuccessorThatFailsLaterLeavesTheRunToTheNextOne) {
  make_earlier_run();
  RunRecord former = open(options("new", true));
  RecordOptions again = options("new");
  again.live_path = former.store().live_path();
  { const RunRecord failing = open(again); }
  RunRecord successor = open(again);
  former.leave_to_successor();
  record_a_process(successor);
  end_store(successor);
  EXPECT_FALSE(successor.end(true, true));
  EXPECT_EQ(run_in_file(), "new");
}

}  // namespace
}  // namespace xylem::storage
