#include "backend/agent/guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "backend/agent/channel_internal.h"
#include "backend/agent/exec_series.h"
#include "backend/agent/guard_channel.h"
#include "backend/agent/run_folder.h"
#include "backend/leaf/mapping.h"
#include "base/log.h"
#include "base/run_contract.h"
#include "tests/support/fake_network.h"
#include "tests/support/hand_made_segment.h"

namespace xylem::backend {
namespace {

using testing::HandMadeSegment;

constexpr Nanos kGuardDeadline = 20 * kSecond;
constexpr rlim_t kNone = 4;  // Descriptors: poll() takes no more than the limit.
constexpr rlim_t kFew = 24;  // Descriptors: enough to start with.

std::uint64_t own_start_time() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  std::size_t at = line.rfind(')');
  for (int field = 2; field < 22; ++field) at = line.find(' ', at + 1);
  return std::strtoull(line.c_str() + at + 1, nullptr, 10);
}

// A real guard in a separate process. Its worker reports its events and obeys orders of one letter:
// 'f' forgets all processes, 'p' runs the program of a service, 'c' closes, 'r' removes the folder
// and exits with code 7, 'a' aborts.
class GuardTest : public ::testing::Test {
 protected:
  GuardTest() {
    char name[] = "/tmp/xylem-guard-XXXXXX";
    folder_ = ::mkdtemp(name);
    place_.emplace(folder_);
    make_pipe(reports_, says_);
    make_pipe(hears_, commands_);
    options_.folder = folder_;
    options_.journal_bytes = 1 << 20;
  }
  ~GuardTest() override {
    for (const pid_t pid : {guard_, worker_}) {
      if (pid > 0) ::kill(pid, SIGKILL);
    }
    if (guard_ > 0) ::waitpid(guard_, nullptr, 0);
    RunFolder(folder_).remove();
    std::filesystem::remove_all(folder_);
  }

  static void make_pipe(UniqueFd& read, UniqueFd& write) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }

  /// The right of root to exceed limits.
  static bool drop_privileges() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    return ::syscall(SYS_capset, &header, none) == 0;
  }

  void start() {
    auto listener = RunFolder(folder_).listen();
    ASSERT_TRUE(listener) << listener.error().message;
    guard_ = ::fork();
    ASSERT_GE(guard_, 0);
    if (guard_ == 0) {
      configure_log("guard-test", Level::kError, "/dev/null");
      if (!is_privileged_ && !drop_privileges()) ::_exit(98);
      auto code = run_guard(options_, *std::move(listener), [this](WorkerInheritance inheritance) {
        return work(std::move(inheritance));
      });
      ::_exit(code ? *code : 99);
    }
    expect_worker();
  }

  // ---- in the worker ----
  void say(const std::string& line) {
    const std::string text = line + "\n";
    [[maybe_unused]] const ssize_t written = ::write(says_.get(), text.data(), text.size());
  }
  int work(WorkerInheritance inheritance) {
    const Mapping journal = *Mapping::of(inheritance.journal.get(), options_.journal_bytes);
    say("worker " + std::to_string(::getpid()));
    say("journal " + std::to_string(++reinterpret_cast<unsigned char&>(journal.bytes()[100])));
    GuardChannel channel(std::move(inheritance.channel), std::move(inheritance.listener), *place_,
                         patience_);
    std::vector<Lane> lanes;
    std::vector<UniqueFd> kept;
    testing::FakeNetwork network;
    wire::ServiceSpec spec;
    spec.name = "probe";
    spec.program = folder_ + "/program";
    ExecSeries series(spec, inheritance.programs, 2);
    for (;;) {
      for (SourceEvent event = channel.take(); event.kind != SourceEvent::Kind::kNothing;
           event = channel.take()) {
        if (event.kind == SourceEvent::Kind::kReady) say("ready");
        if (event.kind == SourceEvent::Kind::kClosed) say("closed");
        if (event.kind == SourceEvent::Kind::kOpen) say("open");
        if (event.kind != SourceEvent::Kind::kProcess) continue;
        const auto segment = Segment::map(event.process.segment);
        lanes.push_back(event.process.lane);
        say("process " + std::to_string(raw(event.process.lane)) +
            (segment ? " " + segment->describe().program : " unreadable") +
            (event.process.pidfd ? " alive" : " ended"));
        kept.push_back(std::move(event.process.segment));
      }
      pollfd fds[] = {{hears_.get(), POLLIN, 0}, {channel.fd(), POLLIN, 0}};
      ::poll(fds, 2, -1);
      char command = 0;
      if (fds[0].revents == 0 || ::read(hears_.get(), &command, 1) != 1) continue;
      if (command == 'f') {
        for (const Lane lane : lanes) channel.forget(lane);
        say("forgotten");
      }
      if (command == 'p') series.begin(network, monotonic_now());
      if (command == 'c') channel.close();
      if (command == 'a') std::abort();
      if (command == 'r') {
        channel.remove_folder();
        return 7;
      }
    }
  }

  // ---- in the test ----
  std::string next_report() {
    const Nanos deadline = monotonic_now() + kGuardDeadline;
    for (;;) {
      if (const auto end = buffer_.find('\n'); end != std::string::npos) {
        const std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      pollfd fd{reports_.get(), POLLIN, 0};
      const Nanos left = deadline - monotonic_now();
      if (left <= 0 || ::poll(&fd, 1, static_cast<int>(left / kMillisecond)) <= 0) return "nothing";
      char bytes[256];
      const ssize_t got = ::read(reports_.get(), bytes, sizeof bytes);
      if (got > 0) buffer_.append(bytes, static_cast<std::size_t>(got));
    }
  }
  void expect_worker() {
    const std::string line = next_report();
    ASSERT_EQ(line.rfind("worker ", 0), 0u) << line;
    worker_ = std::stoi(line.substr(7));
    ++workers_;
    EXPECT_EQ(next_report(), "journal " + std::to_string(workers_)) << "the journal was not kept";
  }
  void ask(char command) { ASSERT_EQ(::write(commands_.get(), &command, 1), 1); }

  UniqueFd connect() {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder_ + "/" + kAgentSocketName;
    std::copy(path.begin(), path.end(), address.sun_path);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return UniqueFd();
    return socket;
  }
  void register_process(HandMadeSegment& process, std::uint64_t start_time = own_start_time()) {
    process.header().start_time = start_time;
    const UniqueFd socket = connect();
    ASSERT_TRUE(socket);
    const capture::Registration registration{capture::kSegmentMagic, capture::kLayoutVersion,
                                             static_cast<std::uint32_t>(::getpid())};
    ASSERT_TRUE(
        send_with_fds(socket.get(), &registration, sizeof registration, {process.fd().get()}));
  }
  /// From now on, the process gets no descriptor with this or a larger number.
  static void limit_descriptors(pid_t pid, rlim_t first) {
    rlimit before{};
    ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, nullptr, &before), 0);
    const rlimit wanted{std::min(first, before.rlim_max), before.rlim_max};
    ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, &wanted, nullptr), 0);
  }
  std::size_t descriptors_of_guard() const {
    const auto all = std::filesystem::directory_iterator("/proc/" + std::to_string(guard_) + "/fd");
    return static_cast<std::size_t>(std::count_if(begin(all), end(all), [](const auto& fd) {
      return std::stoul(fd.path().filename()) < kFew;
    }));
  }
  /// Connects until the guard has no descriptor left.
  void fill_guard() {
    limit_descriptors(guard_, kFew);
    while (descriptors_of_guard() < kFew) {
      ASSERT_LT(silent_.size(), 2 * kFew);
      const std::size_t before = descriptors_of_guard();
      silent_.push_back(connect());
      const Nanos deadline = monotonic_now() + kGuardDeadline;
      while (descriptors_of_guard() == before && monotonic_now() < deadline) ::poll(nullptr, 0, 1);
    }
  }
  Nanos processor_time_of_guard() const {
    clockid_t clock{};
    timespec used{};
    EXPECT_EQ(::clock_getcpuclockid(guard_, &clock), 0);
    EXPECT_EQ(::clock_gettime(clock, &used), 0);
    return used.tv_sec * kSecond + used.tv_nsec;
  }
  /// Checks that nothing is reported for a while, and that the guard uses little processor time.
  void expect_peace() {
    const Nanos before = processor_time_of_guard();
    pollfd fd{reports_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&fd, 1, 400), 0);
    EXPECT_LT(processor_time_of_guard() - before, 100 * kMillisecond) << "the guard spins";
  }

  int wait_for_guard() {
    const Nanos deadline = monotonic_now() + kGuardDeadline;
    int status = 0;
    while (::waitpid(guard_, &status, WNOHANG) == 0) {
      if (monotonic_now() > deadline) return -1;
      pollfd none{-1, 0, 0};
      ::poll(&none, 1, 1);
    }
    guard_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  bool folder_is_there() const {
    struct stat file {};
    return ::stat(folder_.c_str(), &file) == 0;
  }

  std::string folder_;
  std::optional<RunFolder> place_;
  GuardOptions options_;
  Nanos patience_ = GuardChannel::kPatience;
  pid_t guard_ = -1;
  pid_t worker_ = -1;
  int workers_ = 0;
  bool is_privileged_ = true;
  std::vector<UniqueFd> silent_;
  UniqueFd reports_, says_, hears_, commands_;
  std::string buffer_;
};

TEST_F(GuardTest, PassesProcessesOnToItsWorker) {
  start();
  EXPECT_EQ(next_report(), "ready");
  HandMadeSegment process;
  register_process(process);
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
}

TEST_F(GuardTest, StartsTheWorkerAnewWithEverythingItHeld) {
  start();
  EXPECT_EQ(next_report(), "ready");
  HandMadeSegment first, second;
  register_process(first);
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
  for (int deaths = 0; deaths < 3; ++deaths) {
    ::kill(worker_, SIGKILL);
    expect_worker();
    EXPECT_EQ(next_report(), "process 1 hand-made alive");
    EXPECT_EQ(next_report(), "ready");
  }
  register_process(second);
  EXPECT_EQ(next_report(), "process 2 hand-made alive");
}

TEST_F(GuardTest, EndsWhatAProgramHasStartedWhenTheWorkerIsKilled) {
  const std::string program = folder_ + "/program";
  std::ofstream(program) << "#!/bin/sh\nsleep 1000 &\necho $! >$0.new; mv $0.new $0.child; wait\n";
  ::chmod(program.c_str(), 0700);
  start();
  EXPECT_EQ(next_report(), "ready");
  for (int deaths = 0; deaths < 2; ++deaths) {
    ::unlink((program + ".child").c_str());
    ask('p');
    pid_t child = 0;
    const Nanos deadline = monotonic_now() + kGuardDeadline;
    const auto wait_until = [deadline](const std::function<bool()>& true_now) {
      while (!true_now() && monotonic_now() < deadline) ::poll(nullptr, 0, 2);
      return true_now();
    };
    ASSERT_TRUE(
        wait_until([&] { return static_cast<bool>(std::ifstream(program + ".child") >> child); }));
    ::kill(worker_, SIGKILL);
    const bool ended = wait_until([child] {
      std::string pid, name, state;
      std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
      return !(stat >> pid >> name >> state) || state == "Z";
    });
    EXPECT_TRUE(ended) << "a service's child lives on";
    if (!ended) ::kill(child, SIGKILL);
    expect_worker();
    EXPECT_EQ(next_report(), "ready");
  }
}

TEST_F(GuardTest, ForgetsWhatIsAccountedFor) {
  start();
  EXPECT_EQ(next_report(), "ready");
  HandMadeSegment first, second;
  register_process(first);
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
  ask('f');
  EXPECT_EQ(next_report(), "forgotten");
  register_process(second);
  EXPECT_EQ(next_report(), "process 2 hand-made alive") << "a lane was given twice";
  ::kill(worker_, SIGKILL);
  expect_worker();
  EXPECT_EQ(next_report(), "process 2 hand-made alive");
  EXPECT_EQ(next_report(), "ready");
}

TEST_F(GuardTest, WorkerGoesOnAloneWhenTheGuardDies) {
  start();
  EXPECT_EQ(next_report(), "ready");
  HandMadeSegment first, second;
  register_process(first);
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
  ::kill(guard_, SIGKILL);
  EXPECT_EQ(wait_for_guard(), -SIGKILL);
  register_process(second);
  EXPECT_EQ(next_report(), "process 2 hand-made alive");
  ask('c');
  EXPECT_EQ(next_report(), "closed");
  EXPECT_FALSE(connect()) << "the listener is open still";
}

TEST_F(GuardTest, WorkerEndsAGuardThatDoesNotAnswerAndGoesOnAlone) {
  patience_ = 100 * kMillisecond;
  start();
  EXPECT_EQ(next_report(), "ready");
  ::kill(guard_, SIGSTOP);
  HandMadeSegment meanwhile;
  register_process(meanwhile);
  ask('c');
  EXPECT_EQ(next_report(), "process 1 hand-made alive") << "who came at a stopped guard is lost";
  EXPECT_EQ(next_report(), "open");
  EXPECT_EQ(wait_for_guard(), -SIGKILL);
  ask('c');
  EXPECT_EQ(next_report(), "closed");
}

TEST_F(GuardTest, EndsWithItsWorkersCodeAndLeavesNothing) {
  start();
  EXPECT_EQ(next_report(), "ready");
  ask('c');
  EXPECT_EQ(next_report(), "closed");
  EXPECT_FALSE(connect());
  ask('r');
  EXPECT_EQ(wait_for_guard(), 7);
  EXPECT_FALSE(folder_is_there());
}

TEST_F(GuardTest, DoesNotCloseWhileSomebodyIsRegistering) {
  start();
  EXPECT_EQ(next_report(), "ready");
  RunFolder registering(folder_);
  ASSERT_TRUE(registering.try_lock());
  ask('c');
  EXPECT_EQ(next_report(), "open");
  HandMadeSegment process;
  register_process(process);
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
}

// A closed agent still delivers for a while. The agent of a new job may have made the folder again.
TEST_F(GuardTest, LeavesAFolderAloneThatIsNoLongerItsOwn) {
  start();
  EXPECT_EQ(next_report(), "ready");
  RunFolder(folder_).remove();
  ASSERT_EQ(::mkdir((folder_ + "-next").c_str(), 0700), 0);
  ASSERT_EQ(::rename((folder_ + "-next").c_str(), folder_.c_str()), 0);
  auto listener = RunFolder(folder_).listen();
  ASSERT_TRUE(listener) << listener.error().message;
  ask('c');
  EXPECT_EQ(next_report(), "closed");
  ask('r');
  EXPECT_EQ(wait_for_guard(), 7);
  EXPECT_TRUE(connect()) << "the later agent's socket is gone";
}

TEST_F(GuardTest, OpensTheListenerAgainThoughNoDescriptorIsLeft) {
  start();
  EXPECT_EQ(next_report(), "ready");
  fill_guard();
  // A process registers while the worker closes, so the worker must open again.
  ::kill(guard_, SIGSTOP);
  HandMadeSegment meanwhile, process;
  register_process(meanwhile);
  ask('c');
  const std::string socket = folder_ + "/" + kAgentSocketName;
  const Nanos deadline = monotonic_now() + kGuardDeadline;
  while (std::filesystem::exists(socket) && monotonic_now() < deadline) ::poll(nullptr, 0, 1);
  ::kill(guard_, SIGCONT);
  EXPECT_EQ(next_report(), "process 1 unreadable ended");
  EXPECT_EQ(next_report(), "open");
  limit_descriptors(guard_, 100);
  register_process(process);
  EXPECT_EQ(next_report(), "process 2 hand-made alive") << "nobody accepts any more";
}

TEST_F(GuardTest, StartsTheWorkerAnewThoughNoDescriptorIsLeft) {
  start();
  EXPECT_EQ(next_report(), "ready");
  HandMadeSegment process;
  register_process(process);
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
  fill_guard();
  ::kill(worker_, SIGKILL);
  expect_worker();
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
  EXPECT_EQ(next_report(), "ready");
}

TEST_F(GuardTest, LetsThoseWaitInPeaceWhomItCannotAccept) {
  start();
  EXPECT_EQ(next_report(), "ready");
  limit_descriptors(guard_, kNone);
  HandMadeSegment process;
  register_process(process);
  expect_peace();
  limit_descriptors(guard_, 100);
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
}

TEST_F(GuardTest, IsNotClosedWhileSomebodyWaitsWhomItCannotAccept) {
  start();
  EXPECT_EQ(next_report(), "ready");
  limit_descriptors(guard_, kNone);
  HandMadeSegment process;
  register_process(process);
  ask('c');
  expect_peace();
  limit_descriptors(guard_, 100);
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
  EXPECT_EQ(next_report(), "open");
}

// The kernel limits the descriptors that a user has sent and nobody has received.
TEST_F(GuardTest, WaitsInPeaceWhileTooManyDescriptorsAreOnTheWay) {
  is_privileged_ = false;
  start();
  EXPECT_EQ(next_report(), "ready");
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  std::optional<UniqueFd> sender(ends[0]), receiver(ends[1]);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(send_with_fds(ends[0], "x", 1, {ends[0], ends[0]}));
  limit_descriptors(guard_, 50);
  HandMadeSegment process;
  register_process(process);
  expect_peace();
  receiver.reset();
  sender.reset();
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
}

TEST_F(GuardTest, TellsOfAProcessForWhichTheWorkerHasNoDescriptor) {
  start();
  EXPECT_EQ(next_report(), "ready");
  limit_descriptors(worker_, kNone);
  HandMadeSegment process;
  register_process(process);
  EXPECT_EQ(next_report(), "process 1 unreadable ended");
}

// A directory for the run folders of this test, so that a sweep finds only these.
class Sweep : public ::testing::Test {
 protected:
  Sweep() {
    char name[] = "/tmp/xylem-sweep-XXXXXX";
    top_ = ::mkdtemp(name);
  }
  ~Sweep() override { std::filesystem::remove_all(top_); }
  std::string make(const std::string& name) {
    const std::string path = top_ + "/run-" + name;
    EXPECT_EQ(::mkdir(path.c_str(), 0700), 0);
    return path;
  }
  std::size_t sweep() { return sweep_run_folders(top_ + "/run-"); }
  std::string top_;
};

TEST_F(Sweep, TakesWhatTheDeadLeft) {
  const std::string folder = make("dead");
  std::ofstream(folder + "/lock").flush();
  std::ofstream(folder + "/commproc-3").flush();
  { auto listener = RunFolder(folder).listen(); }  // The name stays; no process listens.
  const std::string other = top_ + "/another";
  ASSERT_EQ(::mkdir(other.c_str(), 0700), 0);
  EXPECT_EQ(sweep(), 1u);
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_TRUE(std::filesystem::exists(other));
}

TEST_F(Sweep, LeavesWhoHoldsTheFolderAloneUntilTheLastIsGone) {
  const std::string path = make("held");
  pid_t child = -1;
  {
    RunFolder folder(path);
    folder.hold();
    child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    EXPECT_EQ(sweep(), 0u);
  }
  EXPECT_EQ(sweep(), 0u) << "what was forked holds it too";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(sweep(), 1u);
}

TEST_F(Sweep, LeavesAFolderWithASocketInUseUntilItsProcessEnds) {
  const std::string path = make("commproc"), socket = path + "/commproc-3";
  std::ofstream(socket).flush();
  {
    const SocketFolder folder(socket);
    EXPECT_EQ(sweep(), 0u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Sweep, LeavesAFolderWithASocketToTheAgentThatLives) {
  const std::string path = make("commproc"), socket = path + "/commproc-3";
  RunFolder agent(path);
  agent.hold();
  std::ofstream(socket).flush();
  { const SocketFolder folder(socket); }
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST_F(Sweep, LeavesWhoRegistersAlone) {
  RunFolder folder(make("starting"));
  ASSERT_TRUE(folder.try_lock());
  EXPECT_EQ(sweep(), 0u);
  folder.unlock();
  EXPECT_EQ(sweep(), 1u);
}

TEST_F(Sweep, LeavesWhoAnswersAlone) {
  RunFolder folder(make("answers"));
  auto listener = folder.listen();
  ASSERT_TRUE(listener);
  EXPECT_EQ(sweep(), 0u);
  listener->reset();
  EXPECT_EQ(sweep(), 1u);
}

TEST_F(GuardTest, GivesUpAWorkerThatDiesAgainAndAgain) {
  options_.restarts_a_minute = 2;
  start();
  for (int deaths = 0; deaths < 2; ++deaths) {
    EXPECT_EQ(next_report(), "ready");
    ask('a');
    expect_worker();
  }
  EXPECT_EQ(next_report(), "ready");
  ask('a');
  EXPECT_EQ(wait_for_guard(), 3);
  EXPECT_FALSE(folder_is_there());
}

TEST_F(GuardTest, TakesAProcessWhoseNumberBelongsToAnotherAsEnded) {
  start();
  EXPECT_EQ(next_report(), "ready");
  HandMadeSegment process;
  register_process(process, own_start_time() - 1);
  EXPECT_EQ(next_report(), "process 1 hand-made ended");
}

TEST_F(GuardTest, TurnsStrangersAwayAndGoesOn) {
  start();
  EXPECT_EQ(next_report(), "ready");
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(connect());
  const UniqueFd garbage = connect();
  ASSERT_EQ(::write(garbage.get(), "GET / HTTP/1.1\r\n\r\n", 18), 18);
  const UniqueFd half = connect();
  ASSERT_EQ(::write(half.get(), "xyl", 3), 3);
  const UniqueFd no_segment = connect();
  const capture::Registration registration{capture::kSegmentMagic, capture::kLayoutVersion, 1};
  ASSERT_TRUE(send_with_fds(no_segment.get(), &registration, sizeof registration, {}));
  const UniqueFd wrong_file = connect();
  ASSERT_TRUE(
      send_with_fds(wrong_file.get(), &registration, sizeof registration, {reports_.get()}));
  HandMadeSegment process;
  register_process(process);
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
}

TEST_F(GuardTest, InterruptsAndHangUpsDoNotEndIt) {
  start();
  EXPECT_EQ(next_report(), "ready");
  for (const int signal : {SIGINT, SIGHUP, SIGPIPE}) {
    ::kill(guard_, signal);
    ::kill(worker_, signal);
  }
  HandMadeSegment process;
  register_process(process);
  EXPECT_EQ(next_report(), "process 1 hand-made alive");
}

}  // namespace
}  // namespace xylem::backend
