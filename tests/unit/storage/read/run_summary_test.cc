#include "storage/read/run_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A run of two ranks on two hosts, which began at 1000 s.
class RunSummaryTest : public StoredRun {
 protected:
  RunSummaryTest() : StoredRun(facts()) {
    for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
      put(registration_packet(leaf, {process_row(1, leaf)}));
    }
    EXPECT_TRUE(store_->commit());
  }
  static RunFacts facts() {
    RunFacts facts;
    facts.run_id = "a1b2";
    facts.command = {"mpirun", "./app"};
    facts.user = "ada";
    facts.host = "login1";
    facts.started_realtime_ns = 1000 * kSecond;
    return facts;
  }
  std::string folder() const { return std::filesystem::path(path_).parent_path().string(); }
};

TEST_F(RunSummaryTest, TellsOfALiveRunThatItsEndIsNotStored) {
  const auto summary = summarize_run(path_);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->run_id, "a1b2");
  EXPECT_EQ(summary->command, "mpirun ./app");
  EXPECT_EQ(summary->user, "ada");
  EXPECT_EQ(summary->host, "login1");
  EXPECT_EQ(summary->started_realtime_ns, 1000 * kSecond);
  EXPECT_FALSE(summary->elapsed_ns);
  EXPECT_FALSE(summary->exit_code);
  EXPECT_EQ(summary->ranks, 2u);
  EXPECT_EQ(summary->hosts, 2u);
}

TEST_F(RunSummaryTest, HasTheLengthAndTheExitCodeOfAnEndedRun) {
  ASSERT_TRUE(store_->end_run(3, 1012 * kSecond));
  store_.reset();
  const auto summary = summarize_run(path_);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->elapsed_ns, 12 * kSecond);
  EXPECT_EQ(summary->exit_code, 3);
}

TEST_F(RunSummaryTest, SaysWhatIsWrongWithADamagedFile) {
  store_.reset();
  change_file(path_, "DROP VIEW rank");
  EXPECT_FALSE(summarize_run(path_));
  change_file(path_, "DELETE FROM run");
  EXPECT_FALSE(summarize_run(path_));
}

TEST_F(RunSummaryTest, FindsRunsByTheirFirstBytesWhateverTheirNames) {
  EXPECT_THAT(*find_run_files(folder()), ElementsAre(path_)) << "also while a store writes it";
  ASSERT_TRUE(store_->end_run(0, 1012 * kSecond));
  store_.reset();
  std::ofstream(folder() + "/text.db") << "no run";
  std::ofstream(folder() + "/large.db") << std::string(1000, 'x');
  std::filesystem::copy_file(path_, folder() + "/another");
  std::filesystem::copy_file(path_, path_ + ".before-a1b2");
  std::filesystem::copy_file(path_, folder() + "/other.db");
  change_file(folder() + "/other.db", "PRAGMA application_id = 7");
  std::filesystem::create_directory(folder() + "/below");
  std::filesystem::copy_file(path_, folder() + "/below/run.db");
  EXPECT_THAT(*find_run_files(folder()), ElementsAre(folder() + "/another", path_));
  EXPECT_THAT(*find_run_files(folder() + "/below"), ElementsAre(folder() + "/below/run.db"));
}

TEST_F(RunSummaryTest, SaysWhichFolderCannotBeRead) {
  const auto none = find_run_files(folder() + "/none");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("/none: "));
  EXPECT_EQ(find_run_files(path_).error().code, Code::kInvalidArgument);
  std::filesystem::create_directory(folder() + "/empty");
  EXPECT_THAT(*find_run_files(folder() + "/empty"), IsEmpty());
}

}  // namespace
}  // namespace xylem::storage
