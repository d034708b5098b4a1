#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/storage/viewed_run.h"

namespace xylem::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SearchTest : public ViewedRun {
 protected:
  std::vector<Nanos> begins(const CallSearchQuery& query) {
    std::vector<Nanos> begins;
    for (const Timeline::Call& call : good(view().search(query)).calls) {
      begins.push_back(call.begin_ns);
    }
    return begins;
  }
};

TEST_F(SearchTest, FindsCallsByFunctionPeerTagAndCommunicator) {
  put_world(1, 2);
  wire::Event other_tag = message_event(500, 510, kSend, 1, 0);
  other_tag.tag = 7;
  wire::Event other_comm = message_event(600, 610, kSend, 3, 0);
  other_comm.comm = CommId{9};
  put(chunk_packet(0, 1, 0,
                   {message_event(100, 110, kSend, 1, 0), message_event(300, 310, kReceive, 1, 0),
                    other_tag, other_comm}));
  put(chunk_packet(0, 2, 0, {message_event(200, 210, kSend, 0, 0)}));
  EXPECT_THAT(begins({}), ElementsAre(100, 200, 300, 500, 600));
  EXPECT_THAT(begins({.function = "MPI_Send"}), ElementsAre(100, 200, 500, 600));
  EXPECT_THAT(begins({.function = "recv"}), ElementsAre(300));
  EXPECT_THAT(begins({.function = "MPI_Send", .peer = 1}), ElementsAre(100, 500));
  EXPECT_THAT(begins({.tag = 7}), ElementsAre(500));
  EXPECT_THAT(begins({.comm = 9}), ElementsAre(600));
  EXPECT_THAT(begins({.peer = 3, .tag = 7}), IsEmpty());
  EXPECT_THAT(begins({.ranks = {WorldId{0}, 1, 2}}), ElementsAre(200));
  EXPECT_THAT(begins({.range = {200, 500}}), ElementsAre(200, 300));
  const auto refused = view().search({.function = "MPI_Sned"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("MPI_Sned"));
  EXPECT_FALSE(view().search({.limit = 0}));
}

// MPI_Waitall has no peer, but its requests have.
TEST_F(SearchTest, FindsACallByTheRequestsThatItCompletes) {
  put_world(1, 1);
  wire::Event done = message_event(100, 200, kWaitall, 3, 0);
  done.kind = wire::kKindCompletion;
  done.calls = 0;
  wire::Event other = done;
  other.peer = 2;
  put(chunk_packet(0, 1, 0, {message_event(100, 200, kWaitall, -1, 0), done, other}));
  EXPECT_THAT(begins({.peer = 3}), ElementsAre(100));
  EXPECT_THAT(begins({.function = "MPI_Waitall"}), ElementsAre(100));
}

TEST_F(SearchTest, ALimitKeepsTheFirstOrTheLastAndSaysWhatWasSearched) {
  put_world(1, 2);
  put(chunk_packet(0, 1, 0, 50));
  put(chunk_packet(0, 2, 0, 50));
  const CallSearch first = good(view().search({.range = {0, 50'000}, .limit = 5}));
  EXPECT_TRUE(first.is_cut);
  ASSERT_THAT(first.calls, SizeIs(4)) << "two calls begin at each time";
  EXPECT_EQ(first.calls[3].begin_ns, 1000);
  EXPECT_EQ(first.searched_begin_ns, 0);
  EXPECT_EQ(first.searched_end_ns, 2000);
  const CallSearch last =
      good(view().search({.range = {0, 50'000}, .backwards = true, .limit = 5}));
  ASSERT_THAT(last.calls, SizeIs(4));
  EXPECT_EQ(last.calls[0].begin_ns, 48'000);
  EXPECT_EQ(last.searched_begin_ns, 47'001);
  EXPECT_EQ(last.searched_end_ns, 50'000);
  EXPECT_THAT(good(view().search({.range = {0, 50'000}, .limit = 1})).calls, SizeIs(1));
  const CallSearch all = good(view().search({.range = {0, 50'000}, .limit = 100}));
  EXPECT_FALSE(all.is_cut);
  EXPECT_THAT(all.calls, SizeIs(100));
}

// A chunk that overlaps many steps is opened once.
TEST_F(SearchTest, LongChunksDoNotEndASearch) {
  put_world(1, 4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    std::vector<wire::Event> events;
    for (Nanos i = 0; i < 8000; ++i) {
      events.push_back(message_event(i * 5 * kMillisecond, i * 5 * kMillisecond + 10, kSend, 1, 0));
    }
    events.back().tag = 77;
    put(chunk_packet(0, rank + 1, 0, events));
  }
  for (const bool backwards : {false, true}) {
    const CallSearch answer = good(view().search({.tag = 77, .backwards = backwards}));
    EXPECT_FALSE(answer.is_cut);
    EXPECT_THAT(answer.calls, SizeIs(4));
  }
}

// From answer to answer, in both directions, each call is found once.
TEST_F(SearchTest, StepsThroughARunFindWhatSqlFinds) {
  constexpr unsigned kSeed = 20240614;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  put_world(1, 3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    Nanos at = 0;
    for (std::uint64_t chunk = 0; chunk < 30; ++chunk) {
      std::vector<wire::Event> events;
      for (int i = 0; i < 20; ++i) {
        at += static_cast<Nanos>(random() % 40 == 0 ? kSecond : random() % kMillisecond);
        events.push_back(message_event(at, at + static_cast<Nanos>(random() % 1000),
                                       random() % 2 == 0 ? kSend : kReceive,
                                       static_cast<std::int32_t>(random() % 4), 0));
      }
      put(chunk_packet(0, rank + 1, 20 * chunk, events));
    }
  }
  const auto wanted = sum("SELECT count(*) FROM event WHERE function = 'MPI_Send' AND peer = 2");
  for (const bool backwards : {false, true}) {
    std::vector<std::pair<Nanos, Rank>> found;
    TimeRange range{0, good(view().scope()).run_end_ns + 1};
    for (bool is_cut = true; is_cut;) {
      const CallSearch answer = good(view().search(
          {.range = range, .function = "MPI_Send", .peer = 2, .backwards = backwards, .limit = 7}));
      for (const Timeline::Call& call : answer.calls) found.emplace_back(call.begin_ns, call.rank);
      is_cut = answer.is_cut;
      if (backwards) range.end_ns = answer.searched_begin_ns;
      if (!backwards) range.begin_ns = answer.searched_end_ns;
    }
    EXPECT_EQ(found.size(), wanted);
    std::ranges::sort(found);
    EXPECT_EQ(std::ranges::adjacent_find(found), found.end()) << "a call was found twice";
  }
}

}  // namespace
}  // namespace xylem::storage
