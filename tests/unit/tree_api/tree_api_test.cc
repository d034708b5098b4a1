// The tool builders' API over loopback: a front end and several leaves in one process.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "backend/event_source.h"
#include "base/unique_fd.h"
#include "tests/support/no_threads.h"
#include "tests/support/tool_tree.h"

namespace xylem {
namespace {

using backend::Leaf;
using backend::LeafOptions;
using frontend::StreamOptions;

using TreeApiTest = testing::ToolTreeTest;
using testing::kPatience;
using testing::value_of;

TEST_F(TreeApiTest, AddsUpOneNumberOfEachLeaf) {
  start(4);
  StreamOptions options;
  options.name = "sum";
  options.aggregation = "sum";
  auto sum = tree_->open(options);
  ASSERT_TRUE(sum) << sum.error().message;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    const auto sent = stream_of(i, "sum").send({{1, std::int64_t(1) << (8 * i)}});
    ASSERT_TRUE(sent) << sent.error().message;
  }
  const auto wave = sum->receive(kPatience);
  ASSERT_TRUE(wave) << wave.error().message;
  EXPECT_EQ(wave->number, 0u);
  EXPECT_EQ(wave->sources.count(), 4u);
  EXPECT_EQ(*wave->fields.get<std::int64_t>(1), 0x01010101);
}

TEST_F(TreeApiTest, SendsDownAndTakesTheAnswersUp) {
  start(3);
  StreamOptions options;
  options.name = "ask";
  options.aggregation = "sum";
  auto ask = tree_->open(options);
  ASSERT_TRUE(ask) << ask.error().message;
  for (std::int64_t round = 1; round <= 20; ++round) {
    const auto number = ask->multicast({{7, round}});
    ASSERT_TRUE(number);
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      auto stream = stream_of(i, "ask");
      const auto question = stream.receive(kPatience);
      ASSERT_TRUE(question) << question.error().message;
      EXPECT_EQ(question->number, *number);
      ASSERT_TRUE(
          stream.send_wave(question->number, {{7, *question->fields.get<std::int64_t>(7) * 10}}));
    }
    const auto answer = ask->receive(kPatience);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->number, *number);
    EXPECT_EQ(*answer->fields.get<std::int64_t>(7), 30 * round);
  }
}

TEST_F(TreeApiTest, KeepsTheOrderAndCountOfManyWaves) {
  start(2);
  StreamOptions options;
  options.name = "many";
  options.aggregation = "sum";
  auto many = tree_->open(options);
  ASSERT_TRUE(many);
  constexpr std::int64_t kWaves = 5000;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    auto stream = stream_of(i, "many");
    for (std::int64_t wave = 0; wave < kWaves; ++wave) ASSERT_TRUE(stream.send({{1, wave}}));
  }
  for (std::int64_t wave = 0; wave < kWaves; ++wave) {
    const auto got = many->receive(kPatience);
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_EQ(got->number, static_cast<std::uint64_t>(wave));
    ASSERT_EQ(*got->fields.get<std::int64_t>(1), 2 * wave);
  }
  for (auto& leaf : leaves_) {
    const auto flushed = stream_of(0, "many").flush(kPatience);
    EXPECT_TRUE(flushed) << flushed.error().message;
    static_cast<void>(leaf);
  }
  EXPECT_EQ(many->account().contributions, 2u * kWaves);
  EXPECT_EQ(many->account().duplicates, 0u);
}

TEST_F(TreeApiTest, PassesOnEachLeafsWavesWhereThereIsNoAggregation) {
  start(3);
  auto raw = tree_->open({.name = "raw"});
  ASSERT_TRUE(raw);
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    auto stream = stream_of(i, "raw");
    for (std::int64_t wave = 0; wave < 10; ++wave) {
      ASSERT_TRUE(stream.send({{1, std::string("leaf") + std::to_string(i)}, {2, wave}}));
    }
  }
  std::map<LeafId, std::int64_t> next;
  for (int i = 0; i < 30; ++i) {
    const auto wave = raw->receive(kPatience);
    ASSERT_TRUE(wave) << wave.error().message;
    ASSERT_EQ(wave->sources.count(), 1u);
    const LeafId leaf{static_cast<std::uint32_t>(wave->sources.intervals().front().first)};
    EXPECT_EQ(*wave->fields.get<std::int64_t>(2), next[leaf]++);
  }
}

TEST_F(TreeApiTest, RefusesAnUnknownAggregationWithASentence) {
  start(1);
  const auto stream = tree_->open({.name = "x", .aggregation = "product"});
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, Code::kNotFound);
  EXPECT_NE(stream.error().message.find("product"), std::string::npos);
}

TEST_F(TreeApiTest, RefusesAValueThatTheAggregationDoesNotTakeAtTheLeaf) {
  start(1);
  auto sum = tree_->open({.name = "sum", .aggregation = "sum"});
  ASSERT_TRUE(sum);
  const auto sent = stream_of(0, "sum").send({{1, std::string("five")}});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::kInvalidArgument);
}

TEST_F(TreeApiTest, TellsOfLeavesThatJoinAndLeave) {
  start(2);
  leaves_.pop_back();
  std::map<frontend::TreeEvent::Kind, int> seen;
  while (seen[frontend::TreeEvent::Kind::kLeft] == 0) {
    const auto event = tree_->next_event(kPatience);
    ASSERT_TRUE(event) << event.error().message;
    ++seen[event->kind];
  }
  EXPECT_EQ(seen[frontend::TreeEvent::Kind::kJoined], 2);
}

TEST_F(TreeApiTest, ClosesTheTreeForItsLeaves) {
  start(2);
  auto raw = tree_->open({.name = "raw"});
  ASSERT_TRUE(raw);
  auto stream = stream_of(0, "raw");
  const auto closed = tree_->close(kPatience);
  EXPECT_TRUE(closed) << closed.error().message;
  for (auto& leaf : leaves_) EXPECT_TRUE(leaf->wait_until_closed(kPatience));
  EXPECT_EQ(stream.send({{1, std::int64_t{1}}}).error().code, Code::kUnavailable);
  EXPECT_EQ(raw->receive(kSecond).error().code, Code::kUnavailable);
}

TEST_F(TreeApiTest, RefusesASecondStreamOfTheSameNameUntilTheFirstIsClosed) {
  start(1);
  auto first = open({.name = "twin"});
  const auto second = tree_->open({.name = "twin"});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_NE(second.error().message.find("twin"), std::string::npos);
  first.close();
  EXPECT_TRUE(tree_->open({.name = "twin"}));
}

TEST_F(TreeApiTest, RefusesAStreamWithoutAName) {
  start(1);
  const auto stream = tree_->open({});
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, Code::kInvalidArgument);
}

TEST_F(TreeApiTest, ListsItsNodesWithTheirProcesses) {
  start(1);
  const std::string text = tree_->print();
  EXPECT_NE(text.find("back_end leaf0 pid " + std::to_string(::getpid()) + " level 1 below 0 leaf"),
            std::string::npos)
      << text;
}

TEST_F(TreeApiTest, FailsAtOnceWhenABackEndCannotStay) {
  const Nanos before = monotonic_now();
  const auto tree = frontend::Tree::start({.back_end = {"/bin/sh", "-c", "exit 7"}});
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, Code::kUnavailable);
  EXPECT_NE(tree.error().message.find("code 7"), std::string::npos) << tree.error().message;
  EXPECT_LT(monotonic_now() - before, 20 * kSecond) << "start_limit is 30 s";
}

TEST_F(TreeApiTest, NamesAProgramThatIsNotThere) {
  const auto tree = frontend::Tree::start({.back_end = {"/no/such/program"}});
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, Code::kNotFound);
  EXPECT_NE(tree.error().message.find("/no/such/program"), std::string::npos);
}

backend::EventSourceOptions source_options(const LeafOptions& leaf) {
  backend::EventSourceOptions options;
  options.leaf = leaf;
  options.world_size = 1;
  options.ranks = 1;
  options.functions = {{"work"}};
  return options;
}

TEST_F(TreeApiTest, RefusesALeafWithAnotherKey) {
  start(1);
  LeafOptions options;
  options.address = value_of(tree_->environment(), "XYLEM_ADDRESS");
  options.run = value_of(tree_->environment(), "XYLEM_RUN");
  options.key = std::string(64, 'a');
  const auto leaf = Leaf::join(options);
  ASSERT_FALSE(leaf);
  EXPECT_EQ(leaf.error().code, Code::kPermissionDenied);
}

TEST_F(TreeApiTest, SaysThatTheSystemRefusesAThread) {
  start(0);
  const backend::LeafOptions options = options_of("leaf");
  const testing::NoThreads no_threads;
  const auto leaf = Leaf::join(options);
  ASSERT_FALSE(leaf);
  EXPECT_EQ(leaf.error().code, Code::kExhausted);
  const auto tree = frontend::Tree::start({.listen = "127.0.0.1"});
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, Code::kExhausted);
  const auto source = backend::EventSource::join(source_options(options));
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Code::kExhausted);
}

/// While this object lives, the process may open only one more descriptor.
class OneDescriptor {
 public:
  OneDescriptor() {
    const UniqueFd first_free(::dup(STDERR_FILENO));
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{static_cast<rlim_t>(first_free.get()) + 1, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~OneDescriptor() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  OneDescriptor(const OneDescriptor&) = delete;
  OneDescriptor& operator=(const OneDescriptor&) = delete;

 private:
  rlimit before_{};
};

// The one descriptor is the journal or the listening socket. An event loop needs more.
TEST_F(TreeApiTest, SaysThatTheSystemHasNoDescriptorForALoop) {
  start(0);
  const LeafOptions options = options_of("leaf");
  const OneDescriptor one;
  const auto leaf = Leaf::join(options);
  ASSERT_FALSE(leaf);
  EXPECT_EQ(leaf.error().code, Code::kExhausted);
  const auto source = backend::EventSource::join(source_options(options));
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Code::kExhausted);
  const auto tree = frontend::Tree::start({.listen = "127.0.0.1"});
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, Code::kExhausted);
}

TEST_F(TreeApiTest, ALeafThatReachesNoFrontEndIsNotRefusedByIt) {
  LeafOptions options;
  options.address = "127.0.0.1:1";
  options.run = "1";
  options.key = std::string(64, 'a');
  options.orphan_limit = 100 * kMillisecond;
  const auto leaf = Leaf::join(options);
  ASSERT_FALSE(leaf);
  EXPECT_EQ(leaf.error().code, Code::kUnavailable);
  const auto source = backend::EventSource::join(source_options(options));
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Code::kUnavailable);
}

TEST_F(TreeApiTest, RefusesAJournalThatIsTooSmall) {
  LeafOptions options;
  options.address = "127.0.0.1:1";
  options.run = "1";
  options.key = std::string(64, 'a');
  for (const std::size_t bytes : {0, 1, 4096}) {
    options.journal_bytes = bytes;
    const auto leaf = Leaf::join(options);
    ASSERT_FALSE(leaf);
    EXPECT_EQ(leaf.error().code, Code::kInvalidArgument) << leaf.error().message;
    EXPECT_EQ(leaf.error().message.find("journal_bytes of " + std::to_string(bytes)), 0u);
  }
}

/// A front end in a process of its own, which can be killed.
class MortalFrontEnd {
 public:
  MortalFrontEnd() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    UniqueFd read(ends[0]), write(ends[1]);
    child_ = ::fork();
    if (child_ == 0) live(write.get());
    write.reset();
    char text[1024];
    for (ssize_t got; (got = ::read(read.get(), text, sizeof text)) > 0;) {
      said_.append(text, static_cast<std::size_t>(got));
    }
  }
  ~MortalFrontEnd() { die(); }
  MortalFrontEnd(const MortalFrontEnd&) = delete;
  MortalFrontEnd& operator=(const MortalFrontEnd&) = delete;

  LeafOptions options() const {
    std::vector<std::string> environment;
    std::istringstream lines(said_);
    for (std::string line; std::getline(lines, line);) environment.push_back(line);
    LeafOptions options;
    options.address = value_of(environment, "XYLEM_ADDRESS");
    options.run = value_of(environment, "XYLEM_RUN");
    options.key = value_of(environment, "XYLEM_KEY");
    return options;
  }
  void die() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(std::exchange(child_, 0), nullptr, 0);
  }

 private:
  [[noreturn]] static void live(int told) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    frontend::TreeOptions options;
    options.shape = "flat";
    options.listen = "127.0.0.1";
    const auto tree = frontend::Tree::start(std::move(options));
    if (!tree) ::_exit(1);
    std::string text;
    for (const std::string& variable : (*tree)->environment()) text += variable + "\n";
    const bool is_told = ::write(told, text.data(), text.size()) == std::ssize(text);
    ::close(told);
    while (is_told) ::pause();
    ::_exit(1);
  }
  pid_t child_ = 0;
  std::string said_;
};

TEST(EventSource, TellsALostFrontEndFromTooLittleTime) {
  for (const bool is_lost : {true, false}) {
    MortalFrontEnd front_end;
    LeafOptions options = front_end.options();
    options.orphan_limit = is_lost ? 300 * kMillisecond : kPatience;
    auto source = backend::EventSource::join(source_options(options));
    ASSERT_TRUE(source) << source.error().message;
    front_end.die();
    const auto closed = (*source)->close(is_lost ? kPatience : 300 * kMillisecond);
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().code, is_lost ? Code::kUnavailable : Code::kTimedOut)
        << closed.error().message;
  }
}

TEST_F(TreeApiTest, AReceiveOnAStreamThatIsClosedEndsAtOnce) {
  start(1);
  auto first = open({.name = "first"});
  open({.name = "second"});
  auto leaf = stream_of(0, "first");
  auto waiting =
      std::async(std::launch::async, [leaf]() mutable { return leaf.receive(kPatience); });
  first.multicast({{1, std::int64_t{1}}}).value();
  EXPECT_TRUE(waiting.get());
  waiting = std::async(std::launch::async, [leaf]() mutable { return leaf.receive(kPatience); });
  const Nanos begin = monotonic_now();
  first.close();
  const auto received = waiting.get();
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, Code::kUnavailable);
  EXPECT_EQ(received.error().message, "stream 'first' is closed");
  EXPECT_LT(monotonic_now() - begin, kPatience / 2);
  EXPECT_EQ(leaf.receive(kPatience).error().code, Code::kUnavailable);
  EXPECT_EQ(leaves_[0]->receive(0).error().code, Code::kTimedOut) << "the second is open";
}

TEST_F(TreeApiTest, OpensAStreamBeforeTheFirstLeafAndAfterTheLast) {
  frontend::TreeOptions options;
  options.shape = "flat";
  start(std::move(options), 0);
  auto early = tree_->open({.name = "early"}, 0);
  ASSERT_TRUE(early) << early.error().message;
  join(options_of("first"));
  ASSERT_TRUE(stream_of(0, "early").send({{1, std::int64_t{5}}}));
  EXPECT_TRUE(early->receive(kPatience));

  leaves_[0]->close(kPatience).value();
  await_event(frontend::TreeEvent::Kind::kLeft);
  const auto late = tree_->open({.name = "late"}, kPatience);
  EXPECT_TRUE(late) << late.error().message;
}

TEST_F(TreeApiTest, TakesTheLargestTimeOutForNever) {
  start(1);
  constexpr Nanos kNever = std::numeric_limits<Nanos>::max();
  const auto opened = tree_->open({.name = "ask"}, kNever);
  ASSERT_TRUE(opened) << opened.error().message;
  frontend::Stream ask = *opened;
  EXPECT_TRUE(tree_->wait_for_leaves(1, kNever));
  EXPECT_TRUE(ask.multicast({{1, std::int64_t{5}}}, kNever));
  auto wave = std::async(std::launch::async, [ask]() mutable { return ask.receive(kNever); });
  auto event = std::async(std::launch::async, [this] {
    while (auto next = tree_->next_event(kNever)) {
      if (next->kind == frontend::TreeEvent::Kind::kLeft) return true;
    }
    return false;
  });
  EXPECT_EQ(wave.wait_for(std::chrono::milliseconds(1)), std::future_status::timeout);
  ASSERT_TRUE(stream_of(0, "ask").send({{1, std::int64_t{6}}}));
  EXPECT_TRUE(wave.get());
  leaves_[0]->close(kPatience).value();
  EXPECT_TRUE(event.get());
  EXPECT_TRUE(tree_->close(kNever));
}

TEST_F(TreeApiTest, TellsOfStreamsThatWereClosedAndLastOfTheTree) {
  using Kind = frontend::TreeEvent::Kind;
  start(1);
  auto first = open({.name = "first"});
  open({.name = "second"});
  first.close();
  first.close();
  const auto closed = await_event(Kind::kClosed);
  EXPECT_EQ(closed.leaf, LeafId{0xffffffff});
  EXPECT_NE(closed.text.find("'first'"), std::string::npos) << closed.text;

  tree_->close(kPatience).value();
  std::vector<frontend::TreeEvent> rest;
  while (auto event = tree_->next_event(0)) rest.push_back(*std::move(event));
  ASSERT_FALSE(rest.empty());
  EXPECT_EQ(rest.back().kind, Kind::kClosed);
  EXPECT_NE(rest.back().text.find("the tree"), std::string::npos) << rest.back().text;
  const auto is_closed = [](const auto& event) { return event.kind == Kind::kClosed; };
  EXPECT_EQ(std::count_if(rest.begin(), rest.end(), is_closed), 1);
  EXPECT_EQ(tree_->next_event(0).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace xylem
