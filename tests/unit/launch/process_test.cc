// The supervision of the front end, with a script in its place that dies as each test wants. Whole
// front ends are killed in tests/integration/killed_test.py.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "launch/front_end_process.h"

namespace xylem::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FrontEndProcessTest : public ::testing::Test {
 protected:
  FrontEndProcessTest() {
    std::string name = "/tmp/xylem-front-end-test-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  /// A front end outlives its starter. The last one may still write a file while they are removed.
  ~FrontEndProcessTest() override {
    const Nanos deadline = monotonic_now() + 20 * kSecond;
    std::error_code error;
    do {
      std::filesystem::remove_all(folder_, error);
    } while (error && monotonic_now() < deadline);
    EXPECT_FALSE(error) << error.message();
  }

  /// A front end that does this after it has read its setup and written it into the file `setups`.
  /// `say` speaks on its control channel, `hear` reads a line of it.
  Result<FrontEndProcess> start(const std::string& behaviour) {
    write("front-end",
          "#!/bin/sh\nsay() { echo \"$@\" >&3; }\nhear() { read -r line <&3; }\n"
          "hear\necho \"$line\" >> " +
              folder_ + "/setups\ncd " + folder_ + "\n" + behaviour + "\n");
    ::chmod((folder_ + "/front-end").c_str(), 0700);
    launch::Setup setup;
    setup.run = "3a";
    return FrontEndProcess::start(folder_ + "/front-end", setup, {}, std::move(plugins_), say_,
                                  patience_);
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::vector<launch::Setup> setups() const {
    std::ifstream file(folder_ + "/setups");
    std::vector<launch::Setup> all;
    for (std::string line; std::getline(file, line);) all.push_back(*parse_setup(line));
    return all;
  }

  /// Attends to it until `condition`, on the real clock or so far ahead of it; fails after 20 s.
  void attend_until(FrontEndProcess& process, const std::function<bool()>& condition,
                    Nanos ahead = 0) {
    const Nanos deadline = monotonic_now() + 60 * kSecond;
    while (!condition()) {
      if (monotonic_now() > deadline)  // Ends the test: what follows would read what has not come.
        throw std::runtime_error("not said within a minute: " + ::testing::PrintToString(said_));
      process.attend(monotonic_now() + ahead, say_);
      std::this_thread::yield();
    }
  }

  /// One plugin, so that descriptor 5 of a front end is the mark.
  void give_plugin() {
    write("plugin", "of this run");
    plugins_.emplace_back(::open((folder_ + "/plugin").c_str(), O_RDONLY | O_CLOEXEC));
    std::filesystem::remove(folder_ + "/plugin");
  }
  /// Of a front end: it is in the plugin of the stream of that number, below 8.
  static std::string enter(int stream) {
    return "printf '\\00" + std::to_string(stream) +
           "\\000\\000\\200' | dd of=/proc/self/fd/5 conv=notrunc 2>/dev/null";
  }

  std::string folder_;
  std::vector<UniqueFd> plugins_;
  FrontEndProcess::Patience patience_;
  std::vector<std::string> said_;
  FrontEndProcess::Say say_ = [this](const std::string& sentence) { said_.push_back(sentence); };
};

TEST_F(FrontEndProcessTest, FailsAtItsStartWithTheSentenceOfTheFrontEnd) {
  const auto refused = start("say error run.db: it exists");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "run.db: it exists");
  const auto dead = start("kill -9 $$");
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().code, Code::kUnavailable);
  EXPECT_THAT(dead.error().message, HasSubstr("signal 9"));
}

TEST_F(FrontEndProcessTest, FinishesOneThatLives) {
  auto process = start("say ready /run.db; hear; echo $line > last; say done");
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_FALSE(process->attend(monotonic_now(), say_)) << "nothing is to be looked after";
  ASSERT_TRUE(process->finish(7, say_));
  std::string last;
  std::getline(std::ifstream(folder_ + "/last"), last);
  EXPECT_EQ(last, "finish 7");
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(FrontEndProcessTest, StartsASuccessorWithTheStoreOfTheOneBefore) {
  auto process = start(
      "say ready /live/run.db\n[ -e died ] || { touch died; kill -9 $$; }\n"
      "hear; say done");
  ASSERT_TRUE(process) << process.error().message;
  attend_until(*process, [this] { return setups().size() == 2; });
  EXPECT_THAT(said_, ElementsAre(HasSubstr("the front end died (signal 9); the job goes on")));
  EXPECT_EQ(setups()[0].live_path, "");
  EXPECT_EQ(setups()[1].live_path, "/live/run.db");
  EXPECT_EQ(setups()[1].run, "3a");
  EXPECT_TRUE(process->finish(0, say_));
}

TEST_F(FrontEndProcessTest, PausesBeforeOneThatDiesAgainAndAgain) {
  auto process = start("say ready /run.db; exit 4");
  ASSERT_TRUE(process) << process.error().message;
  const Nanos began = monotonic_now();
  attend_until(*process, [this] { return said_.size() == 4; });
  EXPECT_GE(monotonic_now() - began, 750 * kMillisecond) << "0 + 0.25 + 0.5 s";
  EXPECT_THAT(said_[0], HasSubstr("(code 4); the job goes on, another front end takes over"));
  EXPECT_THAT(said_[2], HasSubstr("takes over in 0.5 s"));
}

TEST_F(FrontEndProcessTest, HandsASuccessorThePluginsAndTellsItWhichOneNotToCall) {
  give_plugin();
  // Each dies in the plugin of the second stream, and one in between elsewhere.
  auto process = start(
      "say ready /run.db; read -r text < /proc/self/fd/4; echo $text >> seen; [ $(wc -l < setups) "
      "= 2 ] || " +
      enter(1) + "; kill -9 $$");
  ASSERT_TRUE(process) << process.error().message;
  attend_until(*process, [this] { return setups().size() == 5; });
  const auto all = setups();
  EXPECT_EQ(all[0].first_plugin_fd, 4);
  EXPECT_EQ(all[0].fold_mark_fd, 5);
  for (int i = 0; i < 4; ++i)
    EXPECT_THAT(all[static_cast<std::size_t>(i)].unmerged_streams, IsEmpty()) << i;
  EXPECT_THAT(all[4].unmerged_streams, ElementsAre("2147483649"));
  EXPECT_THAT(said_.back(), HasSubstr("not merged from now on"));
  std::ifstream seen(folder_ + "/seen");
  for (std::string line; std::getline(seen, line);) EXPECT_EQ(line, "of this run");
}

TEST_F(FrontEndProcessTest, ForgetsDeathsInAPluginThatAreFarApart) {
  give_plugin();
  auto process = start("say ready /run.db; " + enter(1) + "; kill -9 $$");
  ASSERT_TRUE(process) << process.error().message;
  Nanos ahead = 0;
  for (std::size_t deaths = 1; deaths <= 5; ++deaths) {
    ahead += FrontEndProcess::kFoldDeathsForgotten;
    attend_until(
        *process, [&] { return said_.size() == deaths; }, ahead);
  }
  for (const auto& setup : setups()) EXPECT_THAT(setup.unmerged_streams, IsEmpty());
}

// Two plugins end three each, which is more than are given up otherwise.
TEST_F(FrontEndProcessTest, DoesNotGiveUpAtTheEndForPluginsThatAreLeftOut) {
  give_plugin();
  auto process =
      start("say ready /run.db; hear; n=$(wc -l < setups)\n[ $n -le 3 ] && { " + enter(1) +
            "; kill -9 $$; }\n[ $n -le 6 ] && { " + enter(2) + "; kill -9 $$; }\nsay done");
  ASSERT_TRUE(process) << process.error().message;
  const auto finished = process->finish(0, say_);
  EXPECT_TRUE(finished) << finished.error().message;
  const auto all = setups();
  ASSERT_EQ(all.size(), 7u);
  EXPECT_THAT(all[6].unmerged_streams, ElementsAre("2147483649", "2147483650"));
}

TEST_F(FrontEndProcessTest, GivesUpAtTheEndForAPluginThatIsLeftOutAndStillEndsThem) {
  give_plugin();
  auto process = start("say ready /run.db; hear; " + enter(1) + "; kill -9 $$");
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_FALSE(process->finish(0, say_));
  EXPECT_EQ(setups().size(), static_cast<std::size_t>(FrontEndProcess::kMaxFoldDeaths +
                                                      FrontEndProcess::kMaxDeaths));
}

TEST_F(FrontEndProcessTest, LeavesOneAloneThatStandsStill) {
  auto process = start("echo $$ > pid; say ready /run.db; hear; say done");
  ASSERT_TRUE(process) << process.error().message;
  pid_t pid = 0;
  std::ifstream(folder_ + "/pid") >> pid;
  ASSERT_GT(pid, 0);
  ::kill(pid, SIGSTOP);
  siginfo_t how{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &how, WSTOPPED | WNOWAIT), 0);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(process->attend(monotonic_now() + i * kSecond, say_));
  EXPECT_EQ(setups().size(), 1u);
  ::kill(pid, SIGCONT);
  EXPECT_TRUE(process->finish(0, say_));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(FrontEndProcessTest, IsNotWaitedForInVainAtItsStart) {
  patience_ = {300 * kMillisecond, kSecond, kSecond};
  const auto stopped = start("kill -STOP $$; say ready /run.db");
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kUnavailable);
  EXPECT_THAT(stopped.error().message, HasSubstr("died at its start (it hung)"));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("is stopped; it is killed after 1 s, and kill -CONT"),
                                 HasSubstr("and is killed")));
}

TEST_F(FrontEndProcessTest, HasASuccessorWhenItStandsStillAtTheEnd) {
  patience_ = {300 * kMillisecond, kSecond, kSecond};
  auto process = start(
      "say ready /run.db\n[ -e stopped ] || { touch stopped; hear; kill -STOP $$; }\n"
      "hear; say done");
  ASSERT_TRUE(process) << process.error().message;
  const auto finished = process->finish(0, say_);
  EXPECT_TRUE(finished) << finished.error().message;
  EXPECT_EQ(setups().size(), 2u);
  EXPECT_THAT(said_, ElementsAre(HasSubstr("is stopped"), HasSubstr("is killed"),
                                 HasSubstr("died (it hung)")));
}

TEST_F(FrontEndProcessTest, IsGivenUpWhenItsSuccessorStandsStillToo) {
  patience_ = {300 * kMillisecond, kSecond, kSecond};
  auto process = start("say ready /run.db; hear; exec sleep 60");
  ASSERT_TRUE(process) << process.error().message;
  const auto finished = process->finish(0, say_);
  ASSERT_FALSE(finished);
  EXPECT_THAT(finished.error().message, HasSubstr("(it hung)"));
  EXPECT_EQ(setups().size(), static_cast<std::size_t>(FrontEndProcess::kMaxStandstills));
}

TEST_F(FrontEndProcessTest, IsWaitedForAsLongAsItSaysThatItLives) {
  patience_ = {kSecond, 2 * kSecond, kSecond};
  auto process = start(
      "say ready /run.db; hear; for i in 1 2 3 4 5 6; do sleep 0.5; say alive; done; say done");
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_TRUE(process->finish(0, say_));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(FrontEndProcessTest, IsToldThatThereIsNoJob) {
  auto process = start("say ready /run.db; hear; echo $line > last; say done");
  ASSERT_TRUE(process) << process.error().message;
  ASSERT_TRUE(process->abandon(say_));
  std::string last;
  std::getline(std::ifstream(folder_ + "/last"), last);
  EXPECT_EQ(last, "abandon");
}

TEST_F(FrontEndProcessTest, SaysOnceThatASuccessorCannotOpenTheStoreAndWhenOneCan) {
  auto process = start(
      "[ -e away ] && { say error run.db: no such file; exit 2; }\n"
      "say ready /run.db\n[ -e died ] || { touch died away; kill -9 $$; }\n"
      "hear; say done");
  ASSERT_TRUE(process) << process.error().message;
  attend_until(*process, [this] { return setups().size() == 4; });
  EXPECT_THAT(said_, ElementsAre(HasSubstr("died (signal 9)"),
                                 HasSubstr("for now: run.db: no such file; the job goes on")));
  std::filesystem::remove(folder_ + "/away");
  attend_until(*process, [this] { return said_.size() == 3; });
  EXPECT_EQ(said_[2], "a front end has taken over");
  EXPECT_TRUE(process->finish(0, say_));
}

TEST_F(FrontEndProcessTest, TellsASuccessorOfTheEndToo) {
  auto process = start(
      "say ready /run.db; hear; echo $line >> lasts\n"
      "[ -e died ] || { touch died; kill -9 $$; }\nsay done");
  ASSERT_TRUE(process) << process.error().message;
  ASSERT_TRUE(process->finish(3, say_));
  std::stringstream lasts;
  lasts << std::ifstream(folder_ + "/lasts").rdbuf();
  EXPECT_EQ(lasts.str(), "finish 3\nfinish 3\n");
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(FrontEndProcessTest, GivesUpAtTheEndWhenNoneLives) {
  auto process = start("say ready /run.db; hear; kill -9 $$");
  ASSERT_TRUE(process) << process.error().message;
  const auto finished = process->finish(0, say_);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, Code::kUnavailable);
  EXPECT_THAT(finished.error().message, HasSubstr("before everything was stored (signal 9)"));
  EXPECT_EQ(setups().size(), static_cast<std::size_t>(FrontEndProcess::kMaxDeaths));
}

}  // namespace
}  // namespace xylem::launch
