// Services that run real programs.

#include "backend/agent/exec_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/log.h"
#include "tests/support/fake_network.h"

namespace xylem::backend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExecSeriesTest : public ::testing::Test {
 protected:
  ExecSeriesTest() {
    std::string name = "/tmp/xylem-exec-test-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    set_log_sink([this](Level, std::string_view line) { said_.emplace_back(line); });
  }
  ~ExecSeriesTest() override {
    set_log_sink({});
    std::filesystem::remove_all(folder_);
  }

  void service(const std::string& script, const std::string& arguments = "") {
    const std::string path = folder_ + "/program";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), 0700);
    spec_.name = "probe";
    spec_.program = path + arguments;
    series_ = std::make_unique<ExecSeries>(spec_);
  }
  /// Runs the program from `now_` until there is a reading or a failure. `now_` does not change.
  std::optional<Reading> run() {
    series_->begin(network_, now_);
    const Nanos deadline = monotonic_now() + 30 * kSecond;
    std::optional<Reading> reading;
    while (!reading && !network_.watched.empty() && monotonic_now() < deadline) {
      std::vector<pollfd> fds;
      for (const int fd : network_.watched) fds.push_back({fd, POLLIN, 0});
      ::poll(fds.data(), fds.size(), 20);
      for (const pollfd& it : fds) {
        if (it.revents != 0 && network_.watched.contains(it.fd)) {
          series_->on_readable(network_, it.fd, now_);
        }
      }
      reading = series_->take(network_, now_ + passed_);
    }
    EXPECT_LT(monotonic_now(), deadline) << "the program neither ends nor is ended";
    return reading;
  }
  /// 0: no program is running.
  static int only_child() {
    int child = 0;
    std::ifstream("/proc/thread-self/children") >> child;
    return child;
  }
  std::vector<double> numbers(const std::optional<Reading>& reading) {
    return reading ? reading->entries.at(0).numbers : std::vector<double>{};
  }

  std::string folder_;
  std::vector<std::string> said_;
  wire::ServiceSpec spec_;
  std::unique_ptr<ExecSeries> series_;
  testing::FakeNetwork network_;
  Nanos now_ = 100 * kSecond;
  Nanos passed_ = 0;
};

TEST_F(ExecSeriesTest, WhatAProgramPrintsIsTheSample) {
  service("echo watts $1; echo level 2\n", " 7 unused");
  EXPECT_THAT(numbers(run()), ElementsAre(7, 2));
  EXPECT_EQ(series_->layout().rows.at(0).name, "probe.watts");
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(ExecSeriesTest, CountersBecomeWhatTheyHaveGrownBy) {
  service(
      "echo '# TYPE n counter'; echo n_total $(($(cat $0.n) * 10)); echo $(($(cat $0.n) + 1)) "
      ">$0.n.new; mv $0.n.new $0.n\n");
  std::ofstream(folder_ + "/program.n") << "4\n";
  EXPECT_TRUE(std::isnan(numbers(run()).at(0)));
  now_ += 2 * kSecond;
  const auto second = run();
  EXPECT_THAT(numbers(second), ElementsAre(10));
  EXPECT_EQ(second->span_ns, 2 * kSecond);
  EXPECT_TRUE(series_->layout().rows.at(0).per_second);
}

TEST_F(ExecSeriesTest, MetricsThatComeLaterFollowTheEarlierOnesAndAbsentOnesAreNotKnown) {
  service("cat $0.out\n");
  std::ofstream(folder_ + "/program.out") << "a 1\nb 2\n";
  run();
  std::ofstream(folder_ + "/program.out") << "c 3\nb 4\n";
  now_ += kSecond;
  const auto second = numbers(run());
  ASSERT_EQ(second.size(), 3u);
  EXPECT_TRUE(std::isnan(second[0]));
  EXPECT_EQ(second[1], 4);
  EXPECT_EQ(second[2], 3);
}

TEST_F(ExecSeriesTest, WhatGoesWrongIsSaidOnceAndTriedAgainLessAndLessOften) {
  service("echo run >>$0.runs; exit 3\n");
  for (int second = 0; second < 40; ++second, now_ += kSecond) EXPECT_FALSE(run());
  EXPECT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_.at(0), HasSubstr("ended with code 3"));
  std::ifstream runs(folder_ + "/program.runs");
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(runs), {}, '\n'),
            6);  // At 0, 1, 3, 7, 15, 31.
  service("echo fine 1\n");
  now_ += 100 * kSecond;
  EXPECT_TRUE(run());
}

TEST_F(ExecSeriesTest, ACrashSilenceGarbageAndWhatIsNoProgramAreFailures) {
  for (const auto& [script, why] : std::vector<std::pair<std::string, std::string>>{
           {"kill -SEGV $$\n", "Segmentation"},
           {"exit 0\n", "printed nothing"},
           {"echo Traceback: no such device\n", "'Traceback: no such device'"}}) {
    said_.clear();
    service(script);
    EXPECT_FALSE(run()) << script;
    ASSERT_EQ(said_.size(), 1u) << script;
    EXPECT_THAT(said_[0], HasSubstr(why));
  }
  said_.clear();
  spec_.program = folder_ + "/missing";
  series_ = std::make_unique<ExecSeries>(spec_);
  EXPECT_FALSE(run());
  EXPECT_THAT(said_.at(0), HasSubstr("cannot be run"));
}

TEST_F(ExecSeriesTest, ATextThatChangesEachTimeIsTheSameTrouble) {
  service("echo $$ garbage\n");
  for (int i = 0; i < 3; ++i, now_ += 100 * kSecond) EXPECT_FALSE(run());
  EXPECT_EQ(said_.size(), 1u);
  said_.clear();
  service("echo $$ garbage; echo watts 5\n");
  for (int i = 0; i < 3; ++i, now_ += kSecond) EXPECT_THAT(numbers(run()), ElementsAre(5));
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(ExecSeriesTest, LinesThatAreNoMetricsArePassedOverAndSaidOnce) {
  service("echo warning: old driver; echo watts 5\n");
  for (int i = 0; i < 3; ++i, now_ += kSecond) EXPECT_THAT(numbers(run()), ElementsAre(5));
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_[0], HasSubstr("warning: old driver"));
}

TEST_F(ExecSeriesTest, EndlessOutputIsEndedAndSoIsWhatTheProgramStarted) {
  service("sleep 1000 & echo $! >$0.child; exec yes garbage\n");
  EXPECT_FALSE(run());
  EXPECT_THAT(said_.at(0), HasSubstr("printed more than 256 KiB"));
  int child = 0;
  std::ifstream(folder_ + "/program.child") >> child;
  ASSERT_GT(child, 0);
  const Nanos deadline = monotonic_now() + 10 * kSecond;
  const auto is_alive = [child] {
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    std::string pid, name, state;
    return (stat >> pid >> name >> state) && state != "Z";
  };
  while (is_alive() && monotonic_now() < deadline) ::poll(nullptr, 0, 5);
  EXPECT_FALSE(is_alive());
}

TEST_F(ExecSeriesTest, AProgramThatTakesTooLongIsEnded) {
  service("echo begun 1; exec sleep 1000\n");
  passed_ = spec_.timeout_ns;
  EXPECT_FALSE(run());
  EXPECT_THAT(said_.at(0), HasSubstr("took longer than 10000 ms"));
}

TEST_F(ExecSeriesTest, ASecondRunWaitsForTheFirst) {
  service("echo run >>$0.runs; cat $0.fifo; echo a 1\n");
  ASSERT_EQ(::mkfifo((folder_ + "/program.fifo").c_str(), 0600), 0);
  series_->begin(network_, now_);
  series_->begin(network_, now_ + kSecond);
  std::ofstream(folder_ + "/program.fifo") << "";
  EXPECT_TRUE(run());
  std::ifstream runs(folder_ + "/program.runs");
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(runs), {}, '\n'), 1);
}

TEST_F(ExecSeriesTest, AProgramThatDoesNotEndThoughItIsKilledIsToldOfOnce) {
  service("exec sleep 1000\n");
  series_->begin(network_, now_);
  const int program = only_child();
  ASSERT_GT(program, 0);
  // The killed program stops before its end, until its tracer lets it go.
  if (::ptrace(PTRACE_SEIZE, program, nullptr, PTRACE_O_TRACEEXIT) != 0) {
    GTEST_SKIP() << "must not trace: " << std::strerror(errno);
  }
  const Nanos killed = series_->next_due();
  series_->take(network_, killed);
  const Nanos told = series_->next_due();
  EXPECT_GT(told, killed);
  EXPECT_THAT(said_, IsEmpty());
  for (int i = 0; i < 3; ++i) series_->take(network_, told + i * 10 * kSecond);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_[0], HasSubstr("was killed and does not end"));
  EXPECT_EQ(series_->next_due(), 0);
  series_->begin(network_, told + 60 * kSecond);
  EXPECT_EQ(only_child(), program) << "no other run while it is there";

  siginfo_t stopped{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(program), &stopped, WSTOPPED), 0);
  ::ptrace(PTRACE_DETACH, program, nullptr, nullptr);
  now_ = told + 90 * kSecond;
  EXPECT_FALSE(run());
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_THAT(said_[1], HasSubstr("took longer"));
  EXPECT_EQ(only_child(), 0);
}

TEST_F(ExecSeriesTest, AProgramThatPrintsTooMuchAndDoesNotEndIsToldOfSoonAfterItIsKilled) {
  spec_.timeout_ns = 3600 * kSecond;
  service("exec yes garbage\n");
  series_->begin(network_, now_);
  const int program = only_child();
  ASSERT_GT(program, 0);
  if (::ptrace(PTRACE_SEIZE, program, nullptr, PTRACE_O_TRACEEXIT) != 0) {
    GTEST_SKIP() << "must not trace: " << std::strerror(errno);
  }
  now_ += kSecond;
  siginfo_t stopped{};
  const Nanos deadline = monotonic_now() + 30 * kSecond;
  // The killed program stops before its end.
  while (stopped.si_pid == 0 && monotonic_now() < deadline) {
    for (const int fd : std::set(network_.watched)) {
      pollfd readable{fd, POLLIN, 0};
      if (::poll(&readable, 1, 5) > 0) series_->on_readable(network_, fd, now_);
    }
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(program), &stopped, WSTOPPED | WNOHANG | WNOWAIT),
              0);
  }
  ASSERT_EQ(stopped.si_pid, program);
  EXPECT_EQ(series_->next_due(), now_ + ExecSeries::kLongestDeath);
  series_->take(network_, now_ + ExecSeries::kLongestDeath);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_[0], HasSubstr("was killed and does not end"));
  EXPECT_THAT(said_[0], HasSubstr("256 KiB"));
  ::ptrace(PTRACE_DETACH, program, nullptr, nullptr);
  EXPECT_FALSE(run());
  EXPECT_EQ(only_child(), 0);
}

TEST_F(ExecSeriesTest, NothingRunsOnWhenItIsStopped) {
  service("echo $$ >$0.self; exec sleep 1000\n");
  series_->begin(network_, now_);
  int self = 0;
  const Nanos deadline = monotonic_now() + 10 * kSecond;
  while (self == 0 && monotonic_now() < deadline) std::ifstream(folder_ + "/program.self") >> self;
  ASSERT_GT(self, 0);
  series_->stop(network_);
  EXPECT_NE(::kill(self, 0), 0);
  EXPECT_TRUE(network_.watched.empty());
}

}  // namespace
}  // namespace xylem::backend
