// What `xylem export` says, and what it does with its outputs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/text_file.h"
#include "cli/exit_code.h"
#include "cli/export_command.h"
#include "exports/trace_export.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ExportCommandTest : public storage::StoredRun {
 protected:
  ExportCommandTest() { put(storage::registration_packet(0, {storage::process_row(1, 0, 1, 1)})); }
  void put_trace() { put(storage::chunk_packet(0, 1, 0, 4)); }

  struct Said {
    int code = 0;
    std::string out, err;
  };
  Said run(ExportFormat format, const std::string& target, bool overwrite = false) {
    EXPECT_TRUE(store_->commit());
    std::ostringstream out, err;
    const int code = run_export({path_, format, target, overwrite}, out, err);
    return {code, out.str(), err.str()};
  }
  std::string content(const std::string& file) {
    const auto text = read_text_file(file, "file");
    return text ? *text : text.error().message;
  }

  const std::string target_ = folder_.file("out");
};

TEST_F(ExportCommandTest, WritesAFileOrStandardOutput) {
  put_trace();
  for (const auto format : {ExportFormat::kChrome, ExportFormat::kText, ExportFormat::kCsv}) {
    const Said direct = run(format, "-");
    EXPECT_EQ(direct.code, kExitSuccess);
    EXPECT_THAT(direct.err, HasSubstr("\nxylem export: 4 calls of 1 process"));
    const Said said = run(format, target_, true);
    EXPECT_EQ(said.code, kExitSuccess) << said.err;
    EXPECT_EQ(said.out, "");
    EXPECT_THAT(said.err, EndsWith("; " + target_ + "\n"));
    EXPECT_EQ(content(target_), direct.out);
    EXPECT_NE(direct.out, "");
  }
}

TEST_F(ExportCommandTest, ReplacesAnOutputOnlyWhenThisIsWanted) {
  put_trace();
  ASSERT_TRUE(write_text_file(target_, "mine", false));
  const Said refused = run(ExportFormat::kCsv, target_);
  EXPECT_EQ(refused.code, kExitFailure);
  EXPECT_THAT(refused.err, EndsWith(target_ + ": is there already; --overwrite takes its place\n"));
  EXPECT_EQ(content(target_), "mine");
  EXPECT_EQ(run(ExportFormat::kCsv, target_, true).code, kExitSuccess);
  EXPECT_THAT(content(target_), StartsWith("world,rank,"));
}

TEST_F(ExportCommandTest, NeverReplacesTheRun) {
  put_trace();
  const Said refused = run(ExportFormat::kText, path_, true);
  EXPECT_EQ(refused.code, kExitFailure);
  EXPECT_THAT(refused.err, HasSubstr("is the run itself"));
  EXPECT_EQ(ask("SELECT count(*) FROM event"), "4\n");
}

TEST_F(ExportCommandTest, LeavesNoIncompleteFile) {
  put_trace();
  ASSERT_TRUE(store_->commit());
  storage::change_file(path_, "UPDATE event_chunk SET chunk = x'00'");
  const Said failed = run(ExportFormat::kChrome, target_);
  EXPECT_EQ(failed.code, kExitFailure);
  EXPECT_THAT(failed.err, HasSubstr("chunk 1 of world 0, rank 0 is damaged"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_THAT(entry.path().filename(), StartsWith("run.db"));
  }
}

TEST_F(ExportCommandTest, RefusesARunWithoutATrace) {
  const Said refused = run(ExportFormat::kText, target_);
  EXPECT_EQ(refused.code, kExitFailure);
  EXPECT_EQ(refused.err, "xylem export: " + path_ +
                             ": has no trace, only sums; record single calls with"
                             " `xylem run --detail trace -- COMMAND`\n");
  EXPECT_FALSE(std::filesystem::exists(target_));
}

TEST_F(ExportCommandTest, WarnsOfLosses) {
  put_trace();
  put(storage::tombstone_of(storage::chunk_packet(0, 1, 4, 8), 4));
  const Said said = run(ExportFormat::kText, "-");
  EXPECT_EQ(said.code, kExitSuccess);
  EXPECT_THAT(said.err, StartsWith("xylem export: warning: the trace is not whole: rank 0: 4 calls"
                                   " lost: the journal was full\n"));
}

TEST_F(ExportCommandTest, WritesAnArchiveOnlyIntoAFolder) {
  put_trace();
  const Said usage = run(ExportFormat::kOtf2, "-");
  EXPECT_EQ(usage.code, kExitUsage);
  EXPECT_THAT(usage.err, HasSubstr("writes a folder, not standard output"));
  const Said said = run(ExportFormat::kOtf2, target_);
  EXPECT_EQ(said.code, exports::has_otf2() ? kExitSuccess : kExitFailure) << said.err;
  EXPECT_EQ(std::filesystem::exists(target_ + "/traces.otf2"), exports::has_otf2());
}

TEST_F(ExportCommandTest, NamesAFileThatIsNoRun) {
  std::ostringstream out, err;
  EXPECT_EQ(run_export({folder_.file("none.db"), ExportFormat::kText, "-"}, out, err),
            kExitFailure);
  EXPECT_THAT(err.str(), HasSubstr("none.db"));
}

}  // namespace
}  // namespace xylem
