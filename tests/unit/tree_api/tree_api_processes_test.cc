// A tool's tree of processes: sixteen leaves below four communication processes, which are killed.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "frontend/tree.h"

namespace xylem {
namespace {

using frontend::Stream;
using frontend::Tree;
using frontend::TreeEvent;
using frontend::TreeOptions;
using frontend::Wave;

constexpr Nanos kLongPatience = 90 * kSecond;
constexpr std::size_t kLeavesOfJob = 16;

const std::string kProgram = XYLEM_TOOL_PROCESS;
const std::string kCommProcess = XYLEM_TEST_COMM_PROCESS;
const std::filesystem::path kPlugins = XYLEM_TEST_PLUGINS;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsOurs = false;
#else
constexpr bool kMemoryIsOurs = true;
#endif

struct Line {
  std::string role;
  pid_t pid = 0;
  std::uint32_t node = 0;
  std::uint32_t parent = 0;
  std::int64_t leaf = -1;
};

// What Tree::print() says.
std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream in(text);
  for (std::string row; std::getline(in, row);) {
    std::istringstream words(row);
    Line line;
    std::string host, word;
    if (!(words >> line.node >> line.role >> host)) continue;
    while (words >> word) {
      if (word == "pid") words >> line.pid;
      if (word == "below") words >> line.parent;
      if (word == "leaf") words >> line.leaf;
    }
    lines.push_back(line);
  }
  return lines;
}

std::size_t kilobytes_of(pid_t pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoul(line.substr(name.size() + 1));
  }
  return 0;
}

bool ends_in_time(const UniqueFd& pidfd, Nanos time) {
  pollfd one{pidfd.get(), POLLIN, 0};
  return ::poll(&one, 1, static_cast<int>(time / kMillisecond)) == 1;
}

class TreeOfProcesses : public ::testing::Test {
 protected:
  void start(std::vector<std::string> back_end, TreeOptions options = {}) {
    options.shape = "kary:4";
    options.back_end = {kProgram};
    options.back_end.insert(options.back_end.end(), back_end.begin(), back_end.end());
    options.back_ends_per_host = kLeavesOfJob;
    options.comm_process = kCommProcess;
    options.start_limit = kLongPatience;
    auto tree = Tree::start(std::move(options));
    ASSERT_TRUE(tree) << tree.error().message;
    tree_ = *std::move(tree);
    const auto lines = lines_of(tree_->print());
    const auto count = [&](const std::string& role) {
      return std::count_if(lines.begin(), lines.end(),
                           [&](const Line& line) { return line.role == role; });
    };
    ASSERT_EQ(count("back_end"), 16) << tree_->print();
    ASSERT_EQ(count("comm_process"), 4) << tree_->print();
  }

  Stream open(frontend::StreamOptions options) {
    auto stream = tree_->open(options, kLongPatience);
    EXPECT_TRUE(stream) << stream.error().message;
    return *std::move(stream);
  }

  pid_t process_of(const std::string& role, std::int64_t leaf = -1) {
    for (const Line& line : lines_of(tree_->print())) {
      if (line.role == role && (leaf < 0 || line.leaf == leaf)) return line.pid;
    }
    return 0;
  }

  // All events up to and with the first of that kind.
  TreeEvent await_event(TreeEvent::Kind kind) {
    for (;;) {
      const auto event = tree_->next_event(kLongPatience);
      EXPECT_TRUE(event) << event.error().message;
      if (!event || event->kind == kind) return event ? *event : TreeEvent{};
    }
  }

  // Asks, and adds up the parts of the answer until so many leaves are in it.
  std::int64_t ask(Stream& stream, std::size_t leaves, IntervalSet* sources = nullptr) {
    const auto number = stream.multicast({});
    EXPECT_TRUE(number) << number.error().message;
    std::int64_t sum = 0;
    IntervalSet seen;
    while (number && seen.count() < leaves) {
      const auto wave = stream.receive(kLongPatience);
      EXPECT_TRUE(wave) << wave.error().message;
      if (!wave) break;
      if (wave->number != *number) continue;
      EXPECT_FALSE(seen.intersects(wave->sources)) << "leaf twice";
      seen.insert(wave->sources);
      sum += *wave->fields.get<std::int64_t>(1);
    }
    if (sources != nullptr) *sources = seen;
    return sum;
  }

  std::int64_t sum_of_ids() {
    std::int64_t sum = 0;
    for (const auto& leaf : tree_->leaves()) sum += static_cast<std::int64_t>(raw(leaf.id));
    return sum;
  }

  std::unique_ptr<Tree> tree_;
};

TEST_F(TreeOfProcesses, AddsUpWhatLeavesInOtherProcessesSend) {
  start({"answer", "sum"});
  auto sum = open({.name = "sum", .aggregation = "sum"});
  for (int round = 0; round < 20; ++round) EXPECT_EQ(ask(sum, kLeavesOfJob), sum_of_ids());
  EXPECT_EQ(sum.account().contributions, 20 * kLeavesOfJob);
  const auto closed = tree_->close(kLongPatience);
  EXPECT_TRUE(closed) << closed.error().message;
}

// What came of a stream whose leaves send wave * 1000 + id: each leaf once in each wave, and sums
// that are made of just those leaves.
class Ledger {
 public:
  void take(const Wave& wave) {
    IntervalSet& seen = waves_[wave.number];
    EXPECT_FALSE(seen.intersects(wave.sources)) << "twice: leaf in wave " << wave.number;
    seen.insert(wave.sources);
    std::int64_t expected = 0;
    for (const auto& run : wave.sources.intervals()) {
      for (auto leaf = run.first; leaf < run.end; ++leaf) {
        expected += static_cast<std::int64_t>(wave.number * 1000 + leaf);
      }
    }
    EXPECT_EQ(*wave.fields.get<std::int64_t>(1), expected) << "wave " << wave.number;
    contributions_ += wave.sources.count();
    parts_ += wave.sources.count() < kLeavesOfJob ? 1 : 0;
  }
  std::uint64_t contributions() const { return contributions_; }
  std::uint64_t parts() const { return parts_; }
  std::size_t waves() const { return waves_.size(); }

 private:
  std::map<std::uint64_t, IntervalSet> waves_;
  std::uint64_t contributions_ = 0;
  std::uint64_t parts_ = 0;
};

// Numbers of multicasts by leaf, as leaves sent them back, and those that they missed.
class Echoes {
 public:
  void take(const Wave& wave) {
    const auto leaf = wave.sources.intervals().front().first;
    const auto number = *wave.fields.get<std::int64_t>(1);
    EXPECT_TRUE(seen_[leaf].insert(number).second)
        << "leaf " << leaf << " saw multicast " << number << " twice";
  }
  void take(const TreeEvent& gap) {
    // "missed multicasts FIRST to LAST of 'STREAM'"
    std::int64_t first = 0, last = 0;
    ASSERT_EQ(std::sscanf(gap.text.c_str(), "missed multicasts %ld to %ld", &first, &last), 2);
    for (; first <= last; ++first) missed_[raw(gap.leaf)].insert(first);
  }
  std::size_t told() const {
    std::size_t all = 0;
    for (const auto& [leaf, numbers] : seen_) all += numbers.size();
    for (const auto& [leaf, numbers] : missed_) all += numbers.size();
    return all;
  }
  // Of each leaf, all numbers from 1 on, either seen or missed.
  void expect_all(std::int64_t last) const {
    ASSERT_EQ(seen_.size(), kLeavesOfJob);
    for (const auto& [leaf, numbers] : seen_) {
      const auto gap = missed_.find(leaf);
      for (std::int64_t number = 1; number <= last; ++number) {
        const bool missed = gap != missed_.end() && gap->second.contains(number);
        EXPECT_NE(numbers.contains(number), missed) << "leaf " << leaf << ", multicast " << number;
      }
    }
  }

 private:
  std::map<std::uint64_t, std::set<std::int64_t>> seen_;
  std::map<std::uint64_t, std::set<std::int64_t>> missed_;
};

TEST_F(TreeOfProcesses, LosesNothingWhenANodeIsKilledInTheMiddleOfAStream) {
  constexpr std::uint64_t kWaves = 10'000;
  constexpr std::int64_t kMulticasts = 500;
  TreeOptions options;
  options.queue_bytes = 64u << 10;  // So that what leaves have sent is on its way, not here.
  start({"send", "sum", std::to_string(kWaves), std::to_string(256u << 10)}, std::move(options));
  auto down = open({.name = "down"});
  auto seen = open({.name = "seen"});
  auto sum = open({.name = "sum", .aggregation = "sum"});
  Ledger ledger;
  Echoes echoes;
  std::int64_t multicasts = 0;
  bool killed = false;
  while (ledger.contributions() < kWaves * kLeavesOfJob) {
    const auto wave = sum.receive(kLongPatience);
    ASSERT_TRUE(wave) << wave.error().message << " after " << ledger.contributions();
    ledger.take(*wave);
    if (ledger.waves() >= kWaves / 4 && !std::exchange(killed, true)) {
      const pid_t victim = process_of("comm_process");
      ASSERT_GT(victim, 0);
      ASSERT_EQ(::kill(victim, SIGKILL), 0);
    }
    if (ledger.waves() % 10 == 0 && multicasts < kMulticasts) {
      ASSERT_TRUE(down.multicast({{1, std::string(100, 'm')}}));
      ++multicasts;
    }
    while (const auto echo = seen.receive(0)) echoes.take(*echo);
  }
  std::set<std::int64_t> healed;
  while (echoes.told() < kLeavesOfJob * static_cast<std::size_t>(multicasts)) {
    if (const auto echo = seen.receive(100 * kMillisecond)) echoes.take(*echo);
    while (const auto event = tree_->next_event(0)) {
      if (event->kind == TreeEvent::Kind::kGap) echoes.take(*event);
      if (event->kind == TreeEvent::Kind::kHealed) healed.insert(raw(event->leaf));
    }
    if (HasFailure()) break;
  }
  echoes.expect_all(multicasts);
  while (healed.size() < 4) {
    healed.insert(raw(await_event(TreeEvent::Kind::kHealed).leaf));
    if (HasFailure()) break;
  }
  const auto account = sum.account();
  EXPECT_EQ(account.contributions, kWaves * kLeavesOfJob);
  EXPECT_EQ(account.lost, 0u);
  EXPECT_EQ(account.unreadable, 0u);
  EXPECT_EQ(ledger.waves(), kWaves);
  std::printf("%llu contributions, %llu waves in parts, %llu duplicates, %lld multicasts\n",
              static_cast<unsigned long long>(account.contributions),
              static_cast<unsigned long long>(ledger.parts()),
              static_cast<unsigned long long>(account.duplicates),
              static_cast<long long>(multicasts));
  const auto closed = tree_->close(kLongPatience);
  EXPECT_TRUE(closed) << closed.error().message;
}

TEST_F(TreeOfProcesses, GoesOnWithoutALeafThatWasKilled) {
  TreeOptions options;
  options.lost_limit = 2 * kSecond;
  start({"answer", "sum"}, std::move(options));
  auto sum = open({.name = "sum", .aggregation = "sum"});
  EXPECT_EQ(ask(sum, kLeavesOfJob), sum_of_ids());
  const auto all = tree_->leaves();
  const std::int64_t victim = raw(all[5].id);
  ASSERT_EQ(::kill(process_of("back_end", victim), SIGKILL), 0);
  IntervalSet sources;
  EXPECT_EQ(ask(sum, kLeavesOfJob - 1, &sources), sum_of_ids() - victim);
  EXPECT_FALSE(sources.contains(static_cast<std::uint64_t>(victim)));
  EXPECT_EQ(raw(await_event(TreeEvent::Kind::kLost).leaf), static_cast<std::uint32_t>(victim));
  EXPECT_EQ(ask(sum, kLeavesOfJob - 1), sum_of_ids() - victim);
  const auto closed = tree_->close(kLongPatience);
  EXPECT_TRUE(closed) << closed.error().message;
}

TEST_F(TreeOfProcesses, TellsOfALeafThatLeavesBelowANode) {
  start({"leave", "sum", "7"});
  auto sum = open({.name = "sum", .aggregation = "sum"});
  EXPECT_EQ(ask(sum, kLeavesOfJob), sum_of_ids()) << "its last wave is there";
  EXPECT_EQ(raw(await_event(TreeEvent::Kind::kLeft).leaf), 7u);
  EXPECT_EQ(ask(sum, kLeavesOfJob - 1), sum_of_ids() - 7);
}

TEST_F(TreeOfProcesses, BoundsTheMemoryOfBothEndsWhenNobodyReceives) {
  char name[] = "/tmp/xylem-test-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const std::filesystem::path folder = name;
  constexpr std::size_t kQueue = 4u << 20;
  TreeOptions options;
  options.queue_bytes = kQueue;
  start({"fill", "bulk", folder.string()}, std::move(options));
  const std::size_t before = kilobytes_of(::getpid(), "VmRSS");
  auto bulk = open({.name = "bulk"});
  const Nanos deadline = monotonic_now() + kLongPatience;
  const auto full = [&] {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  };
  // Nothing is received until every leaf's send() has timed out.
  while (full() < kLeavesOfJob && monotonic_now() < deadline) {
    static_cast<void>(tree_->next_event(50 * kMillisecond));
  }
  EXPECT_EQ(full(), kLeavesOfJob);
  const std::size_t grown = kilobytes_of(::getpid(), "VmRSS") - before;
  std::size_t max = 0;
  for (const Line& line : lines_of(tree_->print())) {
    if (line.role != "front_end") max = std::max(max, kilobytes_of(line.pid, "VmHWM"));
  }
  std::printf("front end grew by %zu KiB; the largest of the others has %zu KiB\n", grown, max);
  if (kMemoryIsOurs) {
    // Twice the queue at the moment of filling, and what links hold for the node.
    EXPECT_LT(grown, (3 * kQueue + (8u << 20)) / 1024);
    // A journal of 1 MiB and as much on its way there, besides the program.
    EXPECT_LT(max, 24u * 1024);
  }
  std::filesystem::remove_all(folder);
  static_cast<void>(tree_->close(kMillisecond));
}

class OverAStoppedNode : public TreeOfProcesses,
                         public ::testing::WithParamInterface<frontend::WhenFull> {};

TEST_P(OverAStoppedNode, EveryWaveIsDeliveredOrCountedAsItsStreamSays) {
  constexpr std::uint64_t kWaves = 50'000;
  constexpr std::size_t kJournal = 128u << 10;
  constexpr Nanos kStopped = 5 * kSecond;  // Longer than a peer may be silent.
  start({"send", "raw", std::to_string(kWaves), std::to_string(kJournal)});
  auto down = open({.name = "down"});
  auto seen = open({.name = "seen"});
  const pid_t victim = process_of("comm_process");
  ASSERT_GT(victim, 0);
  auto raw = open({.name = "raw", .when_full = GetParam()});
  ASSERT_EQ(::kill(victim, SIGSTOP), 0);
  const Nanos stopped_at = monotonic_now();
  const auto told = [&] { return raw.account().contributions + raw.account().lost; };
  EXPECT_LT(told(), kWaves * kLeavesOfJob) << "all had come before the node was stopped";
  bool is_stopped = true;
  std::uint64_t received = 0;
  while (is_stopped || told() < kWaves * kLeavesOfJob || received < raw.account().contributions) {
    ASSERT_LT(monotonic_now() - stopped_at, kLongPatience) << told() << " told of";
    if (is_stopped && monotonic_now() - stopped_at > kStopped) {
      ASSERT_EQ(::kill(victim, SIGCONT), 0);
      is_stopped = false;
    }
    if (const auto wave = raw.receive(50 * kMillisecond)) received += wave->sources.count();
  }
  const auto account = raw.account();
  EXPECT_EQ(account.contributions + account.lost, kWaves * kLeavesOfJob);
  EXPECT_EQ(account.contributions, received);
  if (GetParam() == frontend::WhenFull::kBlock) {
    EXPECT_EQ(account.lost, 0u);
  } else {
    EXPECT_GT(account.lost, 0u);
  }
  std::printf("%llu received, %llu lost, %llu duplicates\n",
              static_cast<unsigned long long>(received),
              static_cast<unsigned long long>(account.lost),
              static_cast<unsigned long long>(account.duplicates));
  const auto closed = tree_->close(kLongPatience);
  EXPECT_TRUE(closed) << closed.error().message;
}

INSTANTIATE_TEST_SUITE_P(Policies, OverAStoppedNode,
                         ::testing::Values(frontend::WhenFull::kBlock,
                                           frontend::WhenFull::kDropOldest,
                                           frontend::WhenFull::kDropNewest));

TEST(FrontEndProcess, LeavesNobodyBehindWhenItIsKilled) {
  std::FILE* said = ::popen(("exec " + kProgram + " front_end 8 2 " + kCommProcess).c_str(), "re");
  ASSERT_NE(said, nullptr);
  std::string text;
  char line[512];
  while (std::fgets(line, sizeof line, said) != nullptr && std::string(line) != "end\n") {
    text += line;
  }
  const auto lines = lines_of(text);
  ASSERT_EQ(lines.size(), 11u) << text;
  std::vector<std::pair<Line, UniqueFd>> others;
  pid_t front_end = 0;
  for (const Line& one : lines) {
    if (one.role == "front_end") {
      front_end = one.pid;
    } else {
      others.emplace_back(one, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, one.pid, 0))));
    }
  }
  ASSERT_GT(front_end, 0);
  ASSERT_EQ(::kill(front_end, SIGKILL), 0);
  for (const auto& [one, pidfd] : others) {
    EXPECT_TRUE(ends_in_time(pidfd, kLongPatience)) << one.role << " " << one.pid;
  }
  ::pclose(said);
}

// Back ends on four hosts, which are namespaces: one of them sees something else at the plugin's
// path, or has another environment. Needs root.
class PluginOnFourHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0 || std::system("unshare --mount --uts true 2>/dev/null") != 0) {
      GTEST_SKIP() << "needs root, to make namespaces";
    }
    char name[] = "/tmp/xylem-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    std::filesystem::copy_file(kPlugins / "crashes.so", folder_ / "plugin.so");
    std::filesystem::copy_file(kPlugins / "span.so", folder_ / "other.so");
  }
  void TearDown() override {
    tree_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // `odd` runs, in a shell, on the host of that name before its back end.
  void start(const std::string& odd_host, const std::string& odd) {
    const std::string launcher = folder_ / "launcher";
    std::ofstream(launcher) << "#!/bin/sh\nhost=$1; shift\n"
                            << "odd=:; [ $host = " << odd_host << " ] && odd='" << odd << "'\n"
                            << "exec unshare --mount --uts sh -c "
                            << "\"hostname $host && $odd && exec \\\"\\$@\\\"\" sh \"$@\"\n";
    std::filesystem::permissions(launcher, std::filesystem::perms::owner_all);
    TreeOptions options;
    options.shape = "kary:2";
    options.hosts = {"h1", "h2", "h3", "h4"};
    options.launcher = launcher;
    options.listen = "127.0.0.1";
    options.back_end = {kProgram, "answer", "odd"};
    options.comm_process = kCommProcess;
    options.start_limit = kLongPatience;
    auto tree = Tree::start(std::move(options));
    ASSERT_TRUE(tree) << tree.error().message;
    tree_ = *std::move(tree);
  }

  std::string refusal() {
    const auto stream = tree_->open(
        {.name = "odd", .aggregation = "odd", .plugin = folder_ / "plugin.so"}, kLongPatience);
    EXPECT_FALSE(stream);
    return stream ? "" : stream.error().message;
  }

  static void expect_says(const std::string& sentence, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
      EXPECT_NE(sentence.find(part), std::string::npos) << "'" << part << "' in: " << sentence;
    }
  }

  std::filesystem::path folder_;
  std::unique_ptr<Tree> tree_;
};

TEST_F(PluginOnFourHosts, IsTakenWhereAllHaveTheSame) {
  start("nobody", ":");
  EXPECT_TRUE(tree_->open({.name = "odd", .aggregation = "odd", .plugin = folder_ / "plugin.so"},
                          kLongPatience));
}

TEST_F(PluginOnFourHosts, IsRefusedWhereItIsAnother) {
  const std::string path = folder_ / "plugin.so";
  for (const std::string host : {"h1", "h4"}) {
    start(host, "mount --bind " + (folder_ / "other.so").string() + " " + path);
    expect_says(refusal(), {"host " + host + ": ", path, "SHA-256 here is"});
    EXPECT_TRUE(tree_->open({.name = "odd", .aggregation = "sum"}, kLongPatience))
        << "nobody has the stream that was refused";
    tree_.reset();
  }
}

TEST_F(PluginOnFourHosts, IsRefusedWhereItIsMissing) {
  start("h3", "mount -t tmpfs none " + folder_.string());
  expect_says(refusal(), {"host h3: ", folder_ / "plugin.so", "cannot be opened"});
}

TEST_F(PluginOnFourHosts, IsRefusedInTheSameWayWhenItNarrows) {
  const std::string path = folder_ / "plugin.so";
  start("h3", "mount --bind " + (folder_ / "other.so").string() + " " + path);
  const auto stream =
      tree_->open({.name = "odd", .narrowing = "narrow", .narrowing_plugin = path}, kLongPatience);
  ASSERT_FALSE(stream);
  expect_says(stream.error().message, {"host h3: ", path, "SHA-256 here is"});
}

// Whether a host has a communication process or only a leaf depends on who joins first.
TEST_F(PluginOnFourHosts, IsRefusedWhereItCrashes) {
  for (const std::string host : {"h1", "h2", "h3", "h4"}) {
    start(host, "export XYLEM_TEST_CRASH=1");
    expect_says(refusal(), {"host " + host + ": ", folder_ / "plugin.so", "it crashes"});
    EXPECT_EQ(tree_->leaves().size(), 4u);
    EXPECT_TRUE(tree_->open({.name = "odd", .aggregation = "sum"}, kLongPatience))
        << "everybody lives";
    tree_.reset();
  }
}

// Trying it takes longer than a silent node is waited for.
TEST_F(PluginOnFourHosts, IsRefusedWhereItHangs) {
  std::filesystem::copy_file(kPlugins / "hangs_there.so", folder_ / "plugin.so",
                             std::filesystem::copy_options::overwrite_existing);
  for (const std::string host : {"h1", "h4"}) {
    start(host, "export XYLEM_TEST_HANG=1");
    expect_says(refusal(), {"host " + host + ": ", folder_ / "plugin.so", "it does not return"});
    auto odd = tree_->open({.name = "odd", .aggregation = "sum"}, kLongPatience);
    ASSERT_TRUE(odd) << odd.error().message;
    ASSERT_TRUE(tree_->wait_for_leaves(4, kLongPatience)) << tree_->print();
    ASSERT_TRUE(odd->multicast({}));
    std::size_t answers = 0;
    while (answers < 4) {
      const auto wave = odd->receive(kLongPatience);
      ASSERT_TRUE(wave) << wave.error().message;
      answers += wave->sources.count();
    }
    tree_.reset();
  }
}

TEST_F(PluginOnFourHosts, IsRefusedWhereItHangsThoughItIsAskedForTwice) {
  std::filesystem::copy_file(kPlugins / "hangs_there.so", folder_ / "plugin.so",
                             std::filesystem::copy_options::overwrite_existing);
  start("h1", "export XYLEM_TEST_HANG=1");
  const std::string path = folder_ / "plugin.so";
  const auto stream = tree_->open({.name = "odd",
                                   .aggregation = "odd",
                                   .plugin = path,
                                   .narrowing = "narrow",
                                   .narrowing_plugin = path},
                                  kLongPatience);
  ASSERT_FALSE(stream);
  expect_says(stream.error().message, {"host h1: ", path, "it does not return"});
}

TEST_F(PluginOnFourHosts, IsRefusedAtTheFrontEndFirst) {
  start("nobody", ":");
  ASSERT_EQ(::setenv("XYLEM_TEST_CRASH", "1", 1), 0);
  char own[256] = {};
  ::gethostname(own, sizeof own - 1);
  expect_says(refusal(), {std::string("host ") + own + ": ", folder_ / "plugin.so", "it crashes"});
  ASSERT_EQ(::unsetenv("XYLEM_TEST_CRASH"), 0);
  std::filesystem::copy_file(kPlugins / "other_abi.so", folder_ / "plugin.so",
                             std::filesystem::copy_options::overwrite_existing);
  expect_says(refusal(), {std::string("host ") + own + ": ", "built for version 3"});
  std::filesystem::copy_file(kPlugins / "no_plugin.so", folder_ / "plugin.so",
                             std::filesystem::copy_options::overwrite_existing);
  expect_says(refusal(), {std::string("host ") + own + ": ", "exports no xylem_plugin"});
  std::filesystem::remove(folder_ / "plugin.so");
  expect_says(refusal(), {std::string("host ") + own + ": ", "cannot be opened"});
}

}  // namespace
}  // namespace xylem
