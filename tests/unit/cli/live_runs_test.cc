#include "cli/live_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "launch/front_end_process.h"

namespace xylem {
namespace {

using ::testing::HasSubstr;

TEST(LiveRuns, AreThoseWhoseFrontEndHasNotedItsFile) {
  const std::string id = "t" + std::to_string(::getpid());
  note_live_run(id, "/nowhere/run.db");  // Without a folder nothing is written.
  EXPECT_FALSE(find_live_run(id, live_runs()));
  const std::string folder = launch::front_end_folder(id);
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0) << folder;
  EXPECT_FALSE(find_live_run(id, live_runs()));
  note_live_run(id, "/nowhere/old.db");
  note_live_run(id, "/nowhere/run.db");
  const auto found = find_live_run(id, live_runs());
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->id, id);
  EXPECT_EQ(found->file, "/nowhere/run.db");
}

TEST(LiveRuns, AreNamedByTheBeginOfTheirIds) {
  const std::vector<LiveRun> runs = {{"a1b2", "/x.db"}, {"a1c3", "/y.db"}};
  EXPECT_EQ(find_live_run("a1c", runs)->file, "/y.db");
  EXPECT_EQ(find_live_run("", {{"a1b2", "/x.db"}})->file, "/x.db");
  const auto several = find_live_run("a1", runs);
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().code, Code::kInvalidArgument);
  EXPECT_THAT(several.error().message, HasSubstr("a1b2 (/x.db), a1c3 (/y.db)"));
  const auto none = find_live_run("ff", runs);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_THAT(find_live_run("", {}).error().message, HasSubstr("no run of yours"));
}

}  // namespace
}  // namespace xylem
