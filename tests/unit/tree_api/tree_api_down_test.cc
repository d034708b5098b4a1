// Multicasts to some of a stream's leaves, and narrowed for each, over loopback: what the headers
// of Stream::multicast and filters/narrowing.h promise.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "tests/support/task.h"
#include "tests/support/tool_tree.h"

namespace xylem {
namespace {

using frontend::TreeEvent;
using ::testing::HasSubstr;
using testing::kPatience;
using testing::Task;
using Numbers = std::vector<std::int64_t>;

class TreeApiDownTest : public testing::ToolTreeTest {
 protected:
  ~TreeApiDownTest() override {
    tree_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  IntervalSet only(std::initializer_list<std::size_t> leaves) const {
    IntervalSet ids;
    for (const std::size_t leaf : leaves) ids.insert(raw(leaves_[leaf]->id()));
    return ids;
  }

  // "NUMBER: ITEM ITEM ..." of field 1, or what went wrong.
  std::string next(std::size_t leaf, const std::string& name, Nanos time = kPatience) {
    const auto received = stream_of(leaf, name).receive(time);
    if (!received) return received.error().code == Code::kTimedOut ? "none" : "closed";
    const auto items = received->fields.get<Numbers>(1);
    std::string told = std::to_string(received->number) + ":";
    if (!items) return told + " " + items.error().message;
    for (const std::int64_t item : *items) told += " " + std::to_string(item);
    return told;
  }

  // Field 14 of "alternate" is for the leaf at the first place alone.
  frontend::Stream open_alternate() {
    std::string name = (std::filesystem::temp_directory_path() / "xylem-down-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    plugin_ = folder_ / "span.so";  // That only this user may write.
    std::filesystem::copy_file(std::filesystem::path(XYLEM_TEST_PLUGINS) / "span.so", plugin_);
    std::filesystem::permissions(plugin_, std::filesystem::perms::owner_read);
    return open({.name = "odd", .narrowing = "alternate", .narrowing_plugin = plugin_});
  }

  std::filesystem::path folder_, plugin_;
};

TEST_F(TreeApiDownTest, OnlyTheNamedLeavesSeeItAndTheOthersMissNothing) {
  start(3);
  auto work = open({.name = "work"});
  EXPECT_EQ(*work.multicast({{1, Numbers{7}}}, only({0, 2})), 1u);
  EXPECT_EQ(*work.multicast({{1, Numbers{8}}}), 2u);
  EXPECT_EQ(next(0, "work"), "1: 7");
  EXPECT_EQ(next(0, "work"), "2: 8");
  EXPECT_EQ(next(1, "work"), "2: 8") << "its numbers have a gap";
  EXPECT_EQ(next(2, "work"), "1: 7");
  while (const auto event = tree_->next_event(0)) EXPECT_NE(event->kind, TreeEvent::Kind::kGap);
}

TEST_F(TreeApiDownTest, ALeafThatIsNotOfTheStreamIsRefusedWithASentence) {
  start(3);
  auto listed = open({.name = "listed", .leaves = only({0, 1})});
  const auto refused = listed.multicast({}, only({1, 2}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  const std::string strange = only({2}).to_string();
  EXPECT_THAT(refused.error().message, HasSubstr("stream 'listed' has no leaf " + strange));
  auto all = open({.name = "all"});
  EXPECT_EQ(all.multicast({}, IntervalSet::of(4711)).error().code, Code::kInvalidArgument);
  EXPECT_EQ(*all.multicast({{1, Numbers{1}}}), 1u) << "what was refused has no number";
}

TEST_F(TreeApiDownTest, ScatterCutsAnArrayByTheOrderOfLeafIds) {
  start(3);
  auto work = open({.name = "work", .narrowing = "scatter"});
  ASSERT_TRUE(work.multicast({{1, Numbers{1, 2, 3, 4}}}));
  ASSERT_TRUE(work.multicast({{1, Numbers{5, 6, 7, 8}}}, only({1, 2})));
  EXPECT_EQ(next(0, "work"), "1: 1 2");
  EXPECT_EQ(next(1, "work"), "1: 3");
  EXPECT_EQ(next(2, "work"), "1: 4");
  EXPECT_EQ(next(1, "work"), "2: 5 6");
  EXPECT_EQ(next(2, "work"), "2: 7 8");
  EXPECT_EQ(next(0, "work", 0), "none");
}

TEST_F(TreeApiDownTest, ScatterComesBackInOrderByConcatenation) {
  start(4);
  auto work = open({.name = "work", .aggregation = "concatenation", .narrowing = "scatter"});
  Numbers all;
  for (std::int64_t i = 0; i < 1001; ++i) all.push_back(i * i);
  ASSERT_TRUE(work.multicast({{1, all}}));
  for (std::size_t leaf = 0; leaf < 4; ++leaf) {
    auto stream = stream_of(leaf, "work");
    const auto mine = stream.receive(kPatience);
    ASSERT_TRUE(mine) << mine.error().message;
    ASSERT_TRUE(stream.send_wave(mine->number, mine->fields));
  }
  const auto wave = work.receive(kPatience);
  ASSERT_TRUE(wave) << wave.error().message;
  EXPECT_EQ(*wave->fields.get<Numbers>(1), all);
}

TEST_F(TreeApiDownTest, PlacesAreAmongThoseWhoAreThereWhenItIsSent) {
  start(2);
  auto work = open({.name = "work", .narrowing = "scatter"});
  ASSERT_TRUE(work.multicast({{1, Numbers{1, 2}}}));
  EXPECT_EQ(next(0, "work"), "1: 1");
  EXPECT_EQ(next(1, "work"), "1: 2");
  join(options_of("late"));
  ASSERT_TRUE(tree_->wait_for_leaves(3, kPatience));
  ASSERT_TRUE(stream_of(2, "work").name() == "work");
  ASSERT_TRUE(work.multicast({{1, Numbers{1, 2, 3}}}));
  EXPECT_EQ(next(2, "work"), "2: 3") << "who comes later begins with what is sent later";
  EXPECT_EQ(next(0, "work"), "2: 1");
  ASSERT_TRUE(leaves_[0]->close(kPatience));
  await_event(TreeEvent::Kind::kLeft);
  EXPECT_EQ(next(1, "work"), "2: 2");
  ASSERT_TRUE(work.multicast({{1, Numbers{1, 2, 3}}}));
  EXPECT_EQ(next(1, "work"), "3: 1 2") << "places shift when one has left";
  EXPECT_EQ(next(2, "work"), "3: 3");
}

TEST_F(TreeApiDownTest, RefusesANarrowingThatThereIsNotOrOtherParametersAtOpen) {
  start(1);
  const auto unheard = tree_->open({.name = "x", .narrowing = "gather"});
  ASSERT_FALSE(unheard);
  EXPECT_EQ(unheard.error().code, Code::kNotFound);
  EXPECT_THAT(unheard.error().message, HasSubstr("no narrowing \"gather\""));
  const auto odd =
      tree_->open({.name = "x", .narrowing = "scatter", .narrowing_parameters = {{1, 0.5}}});
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, Code::kInvalidArgument);
  const auto missing =
      tree_->open({.name = "x", .narrowing = "odd", .narrowing_plugin = "/nowhere/odd.so"});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("plugin /nowhere/odd.so: it cannot be opened"));
  EXPECT_THAT(missing.error().message, HasSubstr("host "));
}

TEST_F(TreeApiDownTest, RefusesFieldsThatTheNarrowingDoesNotTake) {
  start(1);
  auto work = open({.name = "work",
                    .narrowing = "scatter",
                    .narrowing_parameters = {{1, std::vector<std::uint64_t>{2}}}});
  const auto refused = work.multicast({{1, Numbers{1}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("scatter: there is no field 2"));
  EXPECT_EQ(*work.multicast({{2, Numbers{1}}}), 1u) << "what was refused has no number";
}

TEST_F(TreeApiDownTest, APluginNarrowsAndWhereItFailsTheFrontEndIsTold) {
  start(3);
  auto odd = open_alternate();
  ASSERT_TRUE(odd.multicast({{1, Numbers{4}}}));
  EXPECT_EQ(next(0, "odd"), "1: 4");
  EXPECT_EQ(next(2, "odd"), "1: 4");
  ASSERT_TRUE(odd.multicast({{1, Numbers{5}}, {14, 0.5}}));
  EXPECT_EQ(next(0, "odd"), "2: 5");
  const TreeEvent why = await_event(TreeEvent::Kind::kNotice);
  char own[256] = {};
  ::gethostname(own, sizeof own - 1);
  EXPECT_EQ(why.host, own);
  EXPECT_THAT(why.text, HasSubstr("stream 'odd': plugin " + plugin_.string()));
  EXPECT_THAT(why.text, HasSubstr("field 14 is for the first alone"));
  IntervalSet missed;
  while (missed.count() < 2) {
    const TreeEvent gap = await_event(TreeEvent::Kind::kGap);
    EXPECT_THAT(gap.text, HasSubstr("missed multicasts 2 to 2 of 'odd'"));
    missed.insert(raw(gap.leaf));
    if (HasFailure()) return;
  }
  EXPECT_EQ(missed, only({1, 2}));
  ASSERT_TRUE(odd.multicast({{1, Numbers{6}}}));
  EXPECT_EQ(next(2, "odd"), "3: 6") << "the stream goes on";
  EXPECT_EQ(next(1, "odd", 0), "none") << "every other leaf";
}

// ---- coroutines ----

Task send_all(frontend::Stream stream, IntervalSet to, int count, std::promise<Code>* code) {
  for (int i = 0; i < count; ++i) {
    const wire::Fields fields{{1, Numbers{i}}};
    const auto number = co_await stream.async_multicast(fields, to, kPatience);
    if (!number) {
      code->set_value(number.error().code);
      co_return;
    }
    EXPECT_EQ(*number, static_cast<std::uint64_t>(i + 1));
  }
  code->set_value(Code::kAlreadyExists);
}

TEST_F(TreeApiDownTest, ACoroutineSendsToSome) {
  start(2);
  auto work = open({.name = "work"});
  std::promise<Code> code;
  Task sender = send_all(work, only({1}), 3, &code);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(next(1, "work"), std::to_string(i + 1) + ": " + std::to_string(i));
  }
  EXPECT_EQ(code.get_future().get(), Code::kAlreadyExists);
  sender.wait();
  EXPECT_EQ(next(0, "work", 0), "none");
}

TEST_F(TreeApiDownTest, ACoroutineIsToldWhatIsWrong) {
  start(1);
  auto work = open({.name = "work"});
  std::promise<Code> strange, closed;
  Task to_nobody = send_all(work, IntervalSet::of(4711), 1, &strange);
  EXPECT_EQ(strange.get_future().get(), Code::kInvalidArgument);
  to_nobody.wait();
  ASSERT_TRUE(tree_->close(kPatience));
  Task too_late = send_all(work, {}, 1, &closed);
  EXPECT_EQ(closed.get_future().get(), Code::kUnavailable);
  too_late.wait();
}

}  // namespace
}  // namespace xylem
