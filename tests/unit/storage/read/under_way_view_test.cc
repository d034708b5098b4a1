// Calls that have not returned, and the time in which ranks were watched, in the views and in the
// report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "storage/read/run_totals.h"
#include "storage/read/run_view.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UnderWayViewTest : public StoredRun {
 protected:
  UnderWayViewTest() : StoredRun(facts()) {
    put(registration_packet(
        7, {process_row(1, 0, 1, 2), process_row(2, 1, 1, 2), process_row(3, 0, 2, 1)}));
  }

  static RunFacts facts() {
    RunFacts facts;
    facts.window_ns = kWindow;
    return facts;
  }

  static wire::UnderWayRow receive(std::uint32_t lane, Nanos begin_ns, std::uint32_t thread = 0) {
    wire::UnderWayRow row;
    row.leaf = LeafId{7};
    row.lane = Lane{lane};
    row.thread = ThreadIndex{thread};
    row.function = kReceive;
    row.begin_ns = begin_ns;
    row.peer = Rank{1};
    row.comm = CommId{0};
    return row;
  }

  static wire::ProfileRow part(std::uint32_t lane, Nanos time_ns) {
    wire::ProfileRow row;
    row.leaf = LeafId{7};
    row.lane = Lane{lane};
    row.function = kReceive;
    row.time_ns = static_cast<std::uint64_t>(time_ns);
    return row;
  }

  static wire::AccountRow account(std::uint32_t lane, Nanos since_ns, Nanos until_ns,
                                  std::uint32_t threads) {
    wire::AccountRow row = account_row(7, lane, 0, until_ns != 0);
    row.since_ns = since_ns;
    row.until_ns = until_ns;
    row.threads = threads;
    return row;
  }

  void put_window(std::uint64_t wave, const wire::ProfileWindow& window) {
    put(window_packet(wave, IntervalSet::of(7), window));
  }

  /// Windows 0 to 7: rank 0 is in a receive from 100 ns on, and rank 1 from 1 s on.
  void hang() {
    for (std::uint64_t wave = 0; wave < 8; ++wave) {
      wire::ProfileWindow window;
      window.rows = {part(1, wave == 0 ? kWindow - 100 : kWindow)};
      window.under_way = {receive(1, 100)};
      if (wave >= 4) {
        window.rows.push_back(part(2, kWindow));
        window.under_way.push_back(receive(2, kSecond));
      }
      window.accounts = {account(1, 100, 0, 1), account(2, 1, 0, 1)};
      put_window(wave, window);
    }
  }

  /// Two events of rank 0 before its receive.
  void put_events_before() {
    std::vector<wire::Event> events = some_events(0, 2);
    events[0].begin_ns = 0;
    events[0].end_ns = 40;
    events[1].begin_ns = 50;
    events[1].end_ns = 100;
    put(chunk_packet(7, 1, 0, events));
  }

  void put_link(Nanos at_ns) {
    wire::LinkReport report;
    report.node = NodeId{1};
    EXPECT_TRUE(store_->put_link(report, at_ns));
  }

  RunView view() {
    EXPECT_TRUE(store_->commit());
    auto opened = RunView::open(path_);
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
};

template <typename T>
T good(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : T{};
}

TEST_F(UnderWayViewTest, ListsTheCallsOfAWorldTheLongestFirst) {
  hang();
  const UnderWay calls = good(view().under_way());
  ASSERT_EQ(calls.calls.size(), 2u);
  EXPECT_EQ(calls.calls_in_all, 2u);
  EXPECT_EQ(calls.calls[0].rank, Rank{0});
  EXPECT_EQ(calls.calls[0].function, "MPI_Recv");
  EXPECT_EQ(calls.calls[0].peer, Rank{1});
  EXPECT_EQ(calls.calls[0].duration_ns(), 2 * kSecond - 100);
  EXPECT_FALSE(calls.calls[0].has_ended);
  EXPECT_EQ(calls.calls[1].duration_ns(), kSecond);
  EXPECT_EQ(good(view().under_way({.limit = 1})).calls_in_all, 2u);
  EXPECT_THAT(good(view().under_way({.ranks = {WorldId{1}}})).calls, IsEmpty());
  const UnderWay some = good(view().under_way({.ranks = {WorldId{0}, 1, 2}}));
  ASSERT_EQ(some.calls.size(), 1u);
  EXPECT_EQ(some.calls[0].rank, Rank{1});
}

TEST_F(UnderWayViewTest, ACallInWhichTheProcessEndedIsToldUntilTheEndOfTheProcess) {
  hang();
  wire::ProfileWindow last;
  last.rows = {part(1, 50)};
  last.rows[0].calls = last.rows[0].calls_so_far = 1;
  last.under_way = {receive(1, 100)};
  last.accounts = {account(1, 100, 2 * kSecond + 50, 1)};
  put_window(8, last);
  const UnderWay calls = good(view().under_way());
  ASSERT_EQ(calls.calls.size(), 2u);
  EXPECT_TRUE(calls.calls[0].has_ended);
  EXPECT_EQ(calls.calls[0].duration_ns(), 2 * kSecond - 50);
  EXPECT_EQ(good(view().overview()).report.under_way_in_all, 2u);
  const WorldTotals totals = good(world_totals(view().file()));
  EXPECT_EQ(totals.worlds.at(0).longest_call_ns, kSecond) << "rank 0 is in no call any more";
}

// Rank 0 began first and ended in its call, rank 1 is still in its own.
TEST_F(UnderWayViewTest, TheLongestCallIsNotAlwaysTheOneThatBeganFirst) {
  hang();
  wire::ProfileWindow last;
  last.rows = {part(1, 50), part(2, kWindow)};
  last.under_way = {receive(1, 100), receive(2, kSecond)};
  last.accounts = {account(1, 100, kSecond / 2, 1)};
  put_window(8, last);
  const UnderWay calls = good(view().under_way());
  ASSERT_EQ(calls.calls.size(), 2u);
  EXPECT_EQ(calls.calls[0].rank, Rank{1});
  EXPECT_EQ(calls.calls[0].duration_ns(), kSecond + kWindow);
  EXPECT_EQ(calls.calls[1].rank, Rank{0});
  EXPECT_EQ(calls.calls[1].duration_ns(), kSecond / 2 - 100);
  EXPECT_EQ(good(view().under_way({.limit = 1})).calls.at(0).rank, Rank{1});
}

TEST_F(UnderWayViewTest, AThreadWithAShorterCallDoesNotHideTheLongestOfItsRank) {
  wire::ProfileWindow window;
  window.rows = {part(1, kWindow)};
  window.under_way = {receive(1, 3 * kSecond), receive(1, 100, 1)};
  put_window(60, window);
  const WorldTotals totals = good(world_totals(view().file()));
  EXPECT_EQ(totals.worlds.at(0).longest_call_ns, 61 * kWindow - 100);
}

TEST_F(UnderWayViewTest, RanksOfALostHostAreWatchedUntilTheHostWasHeardOfLast) {
  hang();
  put(registration_packet(8, {process_row(1, 1, 2, 2)}));
  wire::ProfileWindow other;
  other.rows = {part(1, kWindow)};
  other.rows[0].leaf = LeafId{8};
  put(window_packet(39, IntervalSet::of(8), other));
  ASSERT_TRUE(store_->put_host_lost(LeafId{7}, "it was not heard of any more"));
  RunView run = view();
  const auto share = good(run.overview()).report.shares.at(0);
  EXPECT_DOUBLE_EQ(share.highest.share(), 1);
  EXPECT_EQ(share.highest.span_ns, 2 * kSecond - 100);
  const WorldTotals lost = good(world_totals(run.file()));
  EXPECT_EQ(lost.worlds.at(0).watched_ns, static_cast<std::uint64_t>(4 * kSecond - 101));
  EXPECT_EQ(lost.worlds.at(0).longest_call_ns, 0) << "nobody knows whether it lasts";
  const UnderWay calls = good(run.under_way());
  ASSERT_EQ(calls.calls.size(), 2u);
  EXPECT_TRUE(calls.calls[0].is_host_lost);
  EXPECT_FALSE(calls.calls[0].has_ended);
  EXPECT_FALSE(calls.calls[0].lasts());

  ASSERT_TRUE(store_->put_host_lost(LeafId{7}, ""));
  RunView again = view();
  EXPECT_FALSE(good(again.under_way()).calls.at(0).is_host_lost);
  EXPECT_EQ(good(world_totals(again.file())).worlds.at(0).longest_call_ns, 2 * kSecond - 100);
}

// Rank 0 is in one call all the time. Rank 1 made a call long ago. Links report every second.
TEST_F(UnderWayViewTest, ARankThatHangsHasTheWholeShareAndARankThatComputesHasLess) {
  wire::ProfileWindow window;
  window.rows = {part(1, kWindow), part(2, kWindow)};
  window.under_way = {receive(1, 1)};
  window.accounts = {account(1, 1, 0, 1), account(2, 1, 0, 1)};
  window.rows[0].time_ns -= 1;
  put_window(0, window);
  put_link(kSecond);
  const auto first = good(view().overview()).report.shares.at(0);
  EXPECT_DOUBLE_EQ(first.lowest.share(), 1) << "the newest window is known, not the time after it";
  put_link(10 * kSecond);
  const auto later = good(view().overview()).report.shares.at(0);
  EXPECT_EQ(later.highest.rank, Rank{0});
  EXPECT_DOUBLE_EQ(later.highest.share(), 1);
  EXPECT_EQ(later.lowest.span_ns, 8 * kSecond - 1) << "windows would be here after 2 s";
}

TEST_F(UnderWayViewTest, ASuccessorGoesOnWithTheCallsUnderWay) {
  hang();
  ASSERT_TRUE(store_->commit());
  resume();
  EXPECT_EQ(good(view().under_way()).calls_in_all, 2u);
  wire::ProfileWindow window;
  window.rows = {part(1, kWindow), part(2, kWindow)};
  window.rows[1].calls = window.rows[1].calls_so_far = 1;
  window.under_way = {receive(1, 100)};
  put_window(8, window);
  const UnderWay calls = good(view().under_way());
  ASSERT_EQ(calls.calls.size(), 1u);
  EXPECT_EQ(calls.calls[0].duration_ns(), 2 * kSecond + kWindow - 100);
}

TEST_F(UnderWayViewTest, FilesOfOlderVersionsHaveNone) {
  hang();
  ASSERT_TRUE(store_->commit());
  store_.reset();
  change_file(path_, back_to(16));
  auto run = RunView::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(good(run->under_way()).calls, IsEmpty());
  EXPECT_EQ(good(run->ranks({})).rows.at(0).watched_ns, static_cast<std::uint64_t>(2 * kSecond));
}

TEST_F(UnderWayViewTest, ATimelineHasCallsThatHaveNotReturned) {
  put_events_before();
  hang();
  RunView run = view();
  const Timeline calls = good(run.timeline({.ranks = {WorldId{0}, 0, 1}}));
  ASSERT_EQ(calls.calls.size(), 3u);
  EXPECT_EQ(calls.calls_in_all, 3u);
  std::vector<Timeline::Call> open;
  std::ranges::copy_if(calls.calls, std::back_inserter(open), &Timeline::Call::is_open);
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].begin_ns, 100);
  EXPECT_EQ(open[0].end_ns, 2 * kSecond);
  EXPECT_EQ(calls.longest.front().duration_ns, static_cast<std::uint64_t>(2 * kSecond - 100));

  const Timeline late = good(run.timeline({.range = {kSecond, 2 * kSecond}}));
  EXPECT_EQ(late.detail, TimelineDetail::kCalls) << "no chunk is there";
  EXPECT_EQ(late.calls.size(), 2u);
  EXPECT_EQ(late.reason, "other calls of this time are not stored, or not yet");
  EXPECT_EQ(calls.reason, "");
  const Timeline one = good(run.timeline({.limit = 1}));
  ASSERT_EQ(one.calls.size(), 1u);
  EXPECT_TRUE(one.calls[0].is_open);
  EXPECT_EQ(one.calls_in_all, 4u);
}

// The chunk with the end of rank 0's call is stored before the window that would report the end.
TEST_F(UnderWayViewTest, ATimelineHasACallOnceIfItsEventIsThereBeforeItsWindow) {
  hang();
  std::vector<wire::Event> events = some_events(1, 2);
  events[0].begin_ns = 100;
  events[0].end_ns = 2 * kSecond + 1;
  put(chunk_packet(7, 1, 0, events));
  RunView run = view();
  for (const Timeline& timeline :
       {good(run.timeline({})), good(run.timeline({.range = {kSecond, 2 * kSecond}}))}) {
    ASSERT_EQ(timeline.calls.size(), 2u);
    EXPECT_EQ(timeline.calls_in_all, 2u);
    EXPECT_EQ(timeline.calls[0].rank, Rank{0});
    EXPECT_FALSE(timeline.calls[0].is_open);
    EXPECT_EQ(timeline.calls[0].end_ns, 2 * kSecond + 1);
    EXPECT_TRUE(timeline.calls[1].is_open);
    ASSERT_EQ(timeline.longest.size(), 2u);
    EXPECT_EQ(timeline.longest[0].end_ns, 2 * kSecond + 1);
  }
  const Timeline one = good(run.timeline({.limit = 1}));
  ASSERT_EQ(one.calls.size(), 1u);
  EXPECT_EQ(one.calls[0].rank, Rank{1}) << "the call that has not returned is not left out";
}

TEST_F(UnderWayViewTest, AnEventOfAnotherThreadOrFromBeforeEndsNoCall) {
  hang();
  std::vector<wire::Event> events = some_events(1, 3);
  events[0].begin_ns = 20;
  events[0].end_ns = 100;
  events[1].begin_ns = 200;
  events[1].end_ns = kSecond;
  events[1].thread = ThreadIndex{1};
  put(chunk_packet(7, 1, 0, events));
  const Timeline timeline = good(view().timeline({.ranks = {WorldId{0}, 0, 1}}));
  EXPECT_EQ(timeline.calls.size(), 3u);
  EXPECT_EQ(std::ranges::count(timeline.calls, true, &Timeline::Call::is_open), 1);
}

TEST_F(UnderWayViewTest, ATimelineSaysWhichOpenCallsDoNotLast) {
  put_events_before();
  hang();
  wire::ProfileWindow last;
  last.rows = {part(1, 50)};
  last.under_way = {receive(1, 100)};
  last.accounts = {account(1, 100, 2 * kSecond + 50, 1)};
  put_window(8, last);
  const auto open_calls = [this] {
    std::vector<Timeline::Call> open;
    for (const Timeline::Call& call : good(view().timeline({})).calls) {
      if (call.is_open) open.push_back(call);
    }
    return open;
  };
  auto open = open_calls();
  ASSERT_EQ(open.size(), 2u);
  EXPECT_TRUE(open[0].has_ended);
  EXPECT_FALSE(open[1].has_ended);
  EXPECT_FALSE(open[1].is_host_lost);
  ASSERT_TRUE(store_->put_host_lost(LeafId{7}, "it was not heard of any more"));
  open = open_calls();
  ASSERT_EQ(open.size(), 2u);
  EXPECT_FALSE(open[0].is_host_lost) << "the rank had ended before";
  EXPECT_TRUE(open[1].is_host_lost);
}

TEST_F(UnderWayViewTest, WithoutSingleCallsTheLongestCallsHaveThoseThatHaveNotReturned) {
  hang();
  const Timeline timeline = good(view().timeline({}));
  EXPECT_EQ(timeline.detail, TimelineDetail::kWindows);
  ASSERT_EQ(timeline.longest.size(), 2u);
  EXPECT_EQ(timeline.longest[0].begin_ns, 100);
  EXPECT_EQ(timeline.longest[0].end_ns, 2 * kSecond);
}

// Rank 0 is watched from 0.1 s to 0.6 s with two threads, rank 1 from 0.25 s on.
TEST_F(UnderWayViewTest, AGridHasTheTimeInWhichItsRanksWereWatched) {
  wire::ProfileWindow window;
  window.rows = {part(1, 100), part(2, kWindow)};
  window.accounts = {account(1, 100 * kMillisecond, 600 * kMillisecond, 2),
                     account(2, kWindow, 0, 1)};
  put_window(3, window);
  const auto ms = [](std::uint64_t number) { return number * kMillisecond; };
  RunView run = view();
  const RankGrid grid = good(run.ranks({}));
  EXPECT_THAT(grid.watched,
              ElementsAre(ms(300), ms(500), ms(200), 0, 0, ms(250), ms(250), ms(250)));
  EXPECT_EQ(grid.rows.at(0).watched_ns, ms(1000));
  EXPECT_EQ(grid.rows.at(1).watched_ns, ms(750));
  EXPECT_DOUBLE_EQ(grid.rows[1].share(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(grid.share(7), 1);
  EXPECT_DOUBLE_EQ(grid.share(5), 0);

  const RankGrid coarse = good(run.ranks({.columns = 2, .rows = 1}));
  EXPECT_THAT(coarse.watched, ElementsAre(ms(1050), ms(700)));
  EXPECT_THAT(good(run.ranks({.value = RankValue::kCalls})).watched, IsEmpty());

  const auto shares = good(run.overview()).report.shares;
  ASSERT_EQ(shares.size(), 1u);
  EXPECT_EQ(shares[0].highest.rank, Rank{1});
  EXPECT_EQ(shares[0].highest.span_ns, 750 * kMillisecond) << "the same as in the grid";
  EXPECT_EQ(good(world_totals(run.file())).worlds.at(0).watched_ns, ms(1750));
}

TEST_F(UnderWayViewTest, TotalsCountRanksByTheirLongestCall) {
  hang();
  wire::ProfileWindow window;
  window.rows = {part(1, kWindow), part(2, kWindow)};
  window.under_way = {receive(1, 100), receive(1, 2 * kSecond, 1), receive(2, kSecond)};
  put_window(60, window);
  const WorldTotals totals = good(world_totals(view().file()));
  ASSERT_EQ(totals.worlds.size(), 2u);
  EXPECT_THAT(totals.worlds[0].ranks_in_call, ElementsAre(2, 2, 0, 0));
  EXPECT_EQ(totals.worlds[0].longest_call_ns, 61 * kWindow - 100);
  EXPECT_THAT(totals.worlds[1].ranks_in_call, ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace xylem::storage
