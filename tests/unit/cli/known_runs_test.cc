// Which runs `xylem ls` lists, and which of them a verb without FILE takes.

#include "cli/known_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/ls_command.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/packets.h"

namespace xylem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KnownRunsTest : public ::testing::Test {
 protected:
  /// Writes a run that has begun at `start_s` on host node0, and has ended if `has_end`.
  std::string make(const std::string& path, Nanos start_s, bool has_end) {
    auto store = storage::make_sqlite_store({path});
    EXPECT_TRUE(store) << store.error().message;
    storage::RunFacts facts;
    facts.run_id = "id" + std::to_string(start_s);
    facts.command = {"mpirun", "./app"};
    facts.host = "node0";
    facts.started_realtime_ns = start_s * kSecond;
    EXPECT_TRUE((*store)->begin_run(facts));
    if (has_end) {
      EXPECT_TRUE((*store)->end_run(3, (start_s + 12) * kSecond));
    }
    return path;
  }
  std::vector<KnownRun> known(const std::vector<launch::LiveRun>& live = {},
                              const std::string& host = "node0") {
    auto runs = known_runs(folder_.path(), live, host);
    EXPECT_TRUE(runs) << runs.error().message;
    return runs ? *std::move(runs) : std::vector<KnownRun>{};
  }
  static std::vector<std::string> words(const std::vector<KnownRun>& runs) {
    std::vector<std::string> words;
    for (const KnownRun& run : runs) {
      words.push_back(std::filesystem::path(run.file).filename().string() + " " +
                      to_text(run.state));
    }
    return words;
  }

  storage::Folder folder_, elsewhere_;
};

TEST_F(KnownRunsTest, AreTheFilesOfTheFolderAndTheLiveRunsLastStartFirst) {
  make(folder_.file("old.db"), 1000, true);
  make(folder_.file("new.db"), 3000, true);
  const std::string here = make(folder_.file("here.db"), 4000, false);
  const std::string far = make(elsewhere_.file("far.db"), 2000, false);
  make(folder_.file("cut.db"), 500, false);
  const auto runs = known({{"id4000", here}, {"id2000", far}});
  EXPECT_THAT(words(runs), ElementsAre("here.db live", "new.db ended", "far.db live",
                                       "old.db ended", "cut.db given up"));
  EXPECT_TRUE(runs[0].in_folder);
  EXPECT_FALSE(runs[2].in_folder);
  EXPECT_EQ(runs[1].summary.exit_code, 3);
  EXPECT_THAT(words(known({}, "node7")),
              ElementsAre("here.db unknown", "new.db ended", "old.db ended", "cut.db unknown"))
      << "nobody here knows whether the front end of another host still runs";
}

TEST_F(KnownRunsTest, HaveOneLineForALiveFileAndItsCopy) {
  const std::string live = make(elsewhere_.file("run.db"), 1000, false);
  std::filesystem::copy_file(live, folder_.file("run.db"));
  const auto runs = known({{"id1000", live}});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].file, live);
  EXPECT_EQ(runs[0].state, RunState::kLive);
  EXPECT_TRUE(runs[0].in_folder);
}

TEST_F(KnownRunsTest, SayWhyAFileCannotBeRead) {
  make(folder_.file("good.db"), 1000, true);
  make(folder_.file("newer.db"), 2000, true);
  storage::change_file(folder_.file("newer.db"), "PRAGMA user_version = 9999");
  const auto runs = known();
  ASSERT_THAT(words(runs), ElementsAre("good.db ended", "newer.db unreadable"));
  EXPECT_THAT(runs[1].fault, HasSubstr("written by a newer xylem"));
  EXPECT_EQ(newest_run(runs, Newest::kInFolder)->file, runs[0].file);
  std::ostringstream json, err;
  EXPECT_EQ(run_ls({folder_.path(), true}, json, err), 0) << err.str();
  EXPECT_THAT(json.str(), HasSubstr("\"ranks\":null,\"hosts\":null,\"fault\":\""));
}

TEST_F(KnownRunsTest, TheNewestIsThatOfTheFolderOrALiveOne) {
  const std::string far = make(elsewhere_.file("far.db"), 9000, false);
  const std::vector<launch::LiveRun> live = {{"id9000", far}};
  EXPECT_EQ(newest_run(known(live), Newest::kInFolder)->file, far) << "the folder has none";
  make(folder_.file("old.db"), 1000, true);
  make(folder_.file("new.db"), 3000, true);
  EXPECT_EQ(newest_run(known(live), Newest::kInFolder)->file, folder_.file("new.db"));
  EXPECT_EQ(newest_run(known(live), Newest::kLive)->file, far);
  EXPECT_EQ(newest_run(known(), Newest::kLive)->file, folder_.file("new.db")) << "none is live";
}

TEST_F(KnownRunsTest, ANewestOneIsMissingWhereThereIsNoRun) {
  const auto none = newest_run(known(), Newest::kInFolder);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("name the run's FILE, or start a run"));
  EXPECT_EQ(known_runs(folder_.file("none"), {}, "node0").error().code, Code::kNotFound);
}

TEST_F(KnownRunsTest, AFileThatIsNamedIsTakenAsItIs) {
  std::ostringstream err;
  EXPECT_EQ(*choose_run("report", {"/nowhere/x.db"}, Newest::kInFolder, err), "/nowhere/x.db");
  EXPECT_EQ(err.str(), "");
}

TEST_F(KnownRunsTest, AVerbSaysWhichRunItHasTaken) {
  make(folder_.file("run.db"), 1'780'000'000, true);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  std::ostringstream err;
  const auto file = choose_run("report", {}, Newest::kInFolder, err);
  std::filesystem::current_path(before);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(*file, folder_.file("run.db"));
  EXPECT_EQ(err.str(),
            "xylem report: the newest run is run.db (ended, started 2026-05-28 20:26:40 UTC)\n");
}

TEST_F(KnownRunsTest, AreListedAsATableAndAsJson) {
  make(folder_.file("run.db"), 1'780'000'000, true);
  std::ostringstream out, err, json;
  EXPECT_EQ(run_ls({folder_.path()}, out, err), 0) << err.str();
  EXPECT_THAT(out.str(), HasSubstr("ended  2026-05-28 20:26:40 UTC  12.0 s     3      0      0  "
                                   "mpirun ./app\n"));
  EXPECT_EQ(run_ls({folder_.path(), true}, json, err), 0) << err.str();
  EXPECT_THAT(json.str(), HasSubstr("{\"version\":1,\"view\":\"ls\",\"runs\":["));
  EXPECT_THAT(json.str(),
              HasSubstr("{\"file\":\"" + folder_.file("run.db") +
                        "\",\"state\":\"ended\",\"run_id\":\"id1780000000\",\"command\":\"mpirun "
                        "./app\",\"user\":\"\",\"host\":\"node0\",\"started_ns\":"
                        "1780000000000000000,\"elapsed_ns\":12000000000,\"exit_code\":3,"
                        "\"ranks\":0,\"hosts\":0,\"fault\":null}"));
  EXPECT_EQ(run_ls({folder_.file("none")}, out, err), 1);
  EXPECT_THAT(err.str(), HasSubstr("xylem ls: " + folder_.file("none")));
}

}  // namespace
}  // namespace xylem
