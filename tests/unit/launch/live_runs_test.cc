#include "launch/live_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "backend/agent/run_folder.h"
#include "launch/front_end_process.h"

namespace xylem::launch {
namespace {

using ::testing::HasSubstr;

/// The folder of a run, as `xylem run` makes and holds it.
class LiveRunsTest : public ::testing::Test {
 protected:
  ~LiveRunsTest() override { std::filesystem::remove_all(front_end_folder(id_)); }
  void make_folder() {
    const std::string folder = front_end_folder(id_);
    ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0) << folder;
    folder_ = std::make_unique<backend::RunFolder>(folder);
    folder_->hold();
  }
  Result<LiveRun> find() const { return find_live_run(id_, live_runs()); }

  const std::string id_ = "t" + std::to_string(::getpid());
  std::unique_ptr<backend::RunFolder> folder_;
};

TEST_F(LiveRunsTest, AreThoseWhoseFrontEndHasNotedItsFile) {
  note_live_run(id_, "/nowhere/run.db");  // Without a folder nothing is written.
  EXPECT_FALSE(find());
  make_folder();
  EXPECT_FALSE(find());
  note_live_run(id_, "/nowhere/old.db");
  note_live_run(id_, "/nowhere/run.db");
  const auto found = find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->id, id_);
  EXPECT_EQ(found->file, "/nowhere/run.db");
}

TEST_F(LiveRunsTest, AreNotThoseWhoseProcessesWereAllKilled) {
  make_folder();
  note_live_run(id_, "/nowhere/run.db");
  ASSERT_TRUE(find());
  folder_.reset();
  EXPECT_FALSE(find()) << "nobody holds the folder any more";
}

TEST_F(LiveRunsTest, AreAwaitedUntilOneBegins) {
  std::thread starter;
  // Whoever runs this test may have other runs.
  const auto ours = [this] {
    std::vector<LiveRun> runs = live_runs();
    std::erase_if(runs, [this](const LiveRun& run) { return run.id != id_; });
    return runs;
  };
  const auto start = [&] {
    starter = std::thread([this] {
      make_folder();
      note_live_run(id_, "/nowhere/run.db");
    });
  };
  const auto found = await_live_run("", 600 * kSecond, start, ours);
  ASSERT_TRUE(starter.joinable());
  starter.join();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->file, "/nowhere/run.db");
}

TEST_F(LiveRunsTest, AreNotAwaitedByIdOrWithoutPatience) {
  bool has_waited = false;
  const auto wait = [&] { has_waited = true; };
  EXPECT_EQ(await_live_run(id_, 600 * kSecond, wait).error().code, Code::kNotFound);
  EXPECT_FALSE(has_waited);
  static_cast<void>(await_live_run("", 0, wait));
  EXPECT_FALSE(has_waited);
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
}  // namespace xylem::launch
