#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "capture/core/message_numbers_internal.h"

namespace xylem::capture {
namespace {

constexpr std::int32_t kAnySource = kNoPeer;
constexpr std::int32_t kAnyTag = kNoTag;

class MessageNumbersTest : public ::testing::Test {
 protected:
  MessageNumber send(std::int32_t to, std::int32_t tag) {
    return numbers_->send({0, to, tag}, false);
  }
  PostedReceive post(std::int32_t from, std::int32_t tag) {
    return numbers_->post({0, from, tag}, false);
  }
  MessageNumber complete(PostedReceive& posted, std::int32_t from, std::int32_t tag) {
    return numbers_->complete(posted, {0, from, tag}, false);
  }
  MessageNumber receive(std::int32_t from, std::int32_t tag) {
    return numbers_->receive({0, from, tag}, false);
  }

  std::unique_ptr<MessageNumbers> numbers_ = std::make_unique<MessageNumbers>();
};

void expect_number(MessageNumber number, std::uint32_t expected) {
  EXPECT_TRUE(number.is_known);
  EXPECT_EQ(number.value, expected);
}

TEST_F(MessageNumbersTest, CountsEachChannelFromZero) {
  expect_number(send(1, 7), 0);
  expect_number(send(1, 7), 1);
  expect_number(send(1, 8), 0);
  expect_number(send(2, 7), 0);
  expect_number(numbers_->send({5, 1, 7}, false), 0);
  expect_number(receive(1, 7), 0);
  expect_number(send(1, 7), 2);
}

TEST_F(MessageNumbersTest, GivesReceivesTheOrderOfTheirPostsAndNotOfTheirCompletions) {
  PostedReceive first = post(1, 7);
  PostedReceive second = post(1, 7);
  expect_number(complete(second, 1, 7), 1);
  expect_number(complete(first, 1, 7), 0);
  expect_number(receive(1, 7), 2);
}

TEST_F(MessageNumbersTest, KnowsAWildcardThatNoOtherReceiveHasOvertaken) {
  PostedReceive any = post(kAnySource, kAnyTag);
  expect_number(complete(any, 1, 7), 0);
  expect_number(receive(1, 7), 1);
}

TEST_F(MessageNumbersTest, DoesNotKnowWhichOfTwoReceivesWasFirstIfAWildcardWasPending) {
  PostedReceive any = post(kAnySource, 7);
  PostedReceive exact = post(1, 7);
  EXPECT_FALSE(complete(exact, 1, 7).is_known);
  EXPECT_FALSE(complete(any, 1, 7).is_known);
  expect_number(receive(1, 7), 2);
}

TEST_F(MessageNumbersTest, AWildcardThatDoesNotFitMakesNothingUncertain) {
  PostedReceive other_tag = post(kAnySource, 8);
  PostedReceive other_source = post(2, kAnyTag);
  PostedReceive other_comm = numbers_->post({5, kAnySource, kAnyTag}, false);
  PostedReceive exact = post(1, 7);
  expect_number(complete(exact, 1, 7), 0);
  expect_number(complete(other_tag, 1, 8), 0);
  expect_number(complete(other_source, 2, 9), 0);
  expect_number(numbers_->complete(other_comm, {5, 1, 7}, false), 0);
}

TEST_F(MessageNumbersTest, ACancelledReceiveTakesNoNumber) {
  PostedReceive cancelled = post(1, 7);
  numbers_->cancel(cancelled, {0, 1, 7});
  expect_number(receive(1, 7), 0);
  PostedReceive any = post(kAnySource, kAnyTag);
  numbers_->cancel(any, {0, kAnySource, kAnyTag});
  PostedReceive exact = post(1, 7);
  expect_number(complete(exact, 1, 7), 1);
}

TEST_F(MessageNumbersTest, AChannelIsUncertainAfterAReceiveInTheMiddleWasCancelled) {
  PostedReceive cancelled = post(1, 7);
  PostedReceive next = post(1, 7);
  numbers_->cancel(cancelled, {0, 1, 7});
  EXPECT_FALSE(complete(next, 1, 7).is_known);
  EXPECT_FALSE(receive(1, 7).is_known);
  expect_number(receive(1, 8), 0);
}

TEST_F(MessageNumbersTest, IsSilentAfterMessagesWereMissed) {
  send(1, 7);
  PostedReceive posted = post(1, 7);
  numbers_->give_up();
  EXPECT_FALSE(send(1, 7).is_known);
  EXPECT_FALSE(complete(posted, 1, 7).is_known);
  EXPECT_FALSE(receive(1, 7).is_known);
}

TEST_F(MessageNumbersTest, GivesUpIfAWildcardIsForgotten) {
  PostedReceive exact = post(1, 7);
  numbers_->forget(exact);
  EXPECT_FALSE(numbers_->has_given_up());
  PostedReceive any = post(kAnySource, 7);
  numbers_->forget(any);
  EXPECT_TRUE(numbers_->has_given_up());
}

TEST_F(MessageNumbersTest, KnowsNoReceiveWhileMoreWildcardsArePendingThanItHasPlacesFor) {
  std::vector<PostedReceive> pending;
  for (std::uint32_t i = 0; i <= MessageNumbers::kMaxWildcards; ++i)
    pending.push_back(post(kAnySource, 8));
  EXPECT_FALSE(receive(1, 7).is_known);
  for (PostedReceive& each : pending) complete(each, 1, 8);
  expect_number(receive(1, 7), 1);
  PostedReceive any = post(kAnySource, 8);
  expect_number(complete(any, 1, 8), MessageNumbers::kMaxWildcards + 1);
}

TEST_F(MessageNumbersTest, CountsOnAsManyChannelsAsItPromises) {
  const auto tag_of = [](std::uint32_t i) { return static_cast<std::int32_t>(i * 7919); };
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < MessageNumbers::kMaxChannels; ++i) {
      const MessageNumber number = send(3, tag_of(i));
      ASSERT_TRUE(number.is_known) << i;
      ASSERT_EQ(number.value, round) << i;
    }
  }
  EXPECT_FALSE(send(4, 0).is_known);
  EXPECT_TRUE(numbers_->has_given_up());
}

TEST_F(MessageNumbersTest, ThreadsOnChannelsOfTheirOwnDisturbNoOther) {
  constexpr std::int32_t kThreads = 4;
  constexpr std::uint32_t kRounds = 20'000;
  std::vector<std::thread> threads;
  std::atomic<bool> good{true};
  for (std::int32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < kRounds && good; ++i) {
        const ChannelKey mine{0, t, static_cast<std::int32_t>(i % 997)};
        const MessageNumber sent = numbers_->send(mine, true);
        PostedReceive posted = numbers_->post(mine, true);
        const MessageNumber got = numbers_->complete(posted, mine, true);
        if (!sent.is_known || !got.is_known || sent.value != i / 997 || got.value != i / 997)
          good = false;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(good);
}

TEST_F(MessageNumbersTest, ThreadsWithWildcardsOfTheirOwnDisturbNoOther) {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kRounds = 20'000;
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> wrong{0};
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const ChannelKey channel{t, 1, 7};
      for (std::uint32_t i = 0; i < kRounds; ++i) {
        PostedReceive posted = numbers_->post({t, kAnySource, kAnyTag}, true);
        const MessageNumber got = numbers_->complete(posted, channel, true);
        // While another thread's wildcard completes, the number may be unknown, but never wrong.
        if (got.is_known && got.value != i) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

/// MPI's matching for one receiver, in the plainest way: a message takes the receive that was
/// posted first of those that fit, and a receive the message that arrived first of those that fit.
class Matching {
 public:
  struct Message {
    ChannelKey channel;
    MessageNumber number;
  };
  struct Receive {
    ChannelKey wanted;
    PostedReceive posted;
    std::shared_ptr<Message> got;
  };

  std::shared_ptr<Receive> post(MessageNumbers& numbers, ChannelKey wanted) {
    auto receive = std::make_shared<Receive>(Receive{wanted, numbers.post(wanted, false), nullptr});
    for (auto at = arrived_.begin(); at != arrived_.end(); ++at) {
      if (!fits(wanted, at->channel)) continue;
      receive->got = std::make_shared<Message>(*at);
      arrived_.erase(at);
      return receive;
    }
    waiting_.push_back(receive);
    return receive;
  }

  void arrive(const Message& message) {
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      if (!fits((*at)->wanted, message.channel)) continue;
      (*at)->got = std::make_shared<Message>(message);
      waiting_.erase(at);
      return;
    }
    arrived_.push_back(message);
  }

 private:
  static bool fits(const ChannelKey& wanted, const ChannelKey& channel) {
    return wanted.comm == channel.comm && (wanted.peer < 0 || wanted.peer == channel.peer) &&
           (wanted.tag == kAnyTag || wanted.tag == channel.tag);
  }
  std::deque<Message> arrived_;
  std::deque<std::shared_ptr<Receive>> waiting_;
};

// Random programs: senders, tags and communicators at random, some wildcards, up to 100 receives in
// flight, completions seen in any order. A number that is known must be that of the message.
TEST(MessageNumbers, KnownNumbersAreThoseOfTheMessagesInRandomPrograms) {
  std::mt19937 random(20261124);  // Fixed, so that a failure can be repeated.
  const auto below = [&random](std::uint32_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  for (const std::uint32_t wildcards_in_100 : {0u, 3u, 30u, 100u}) {
    SCOPED_TRACE(::testing::Message() << wildcards_in_100 << " % wildcards");
    std::uint64_t known = 0;
    std::uint64_t all = 0;
    for (int program = 0; program < 50; ++program) {
      constexpr std::uint32_t kSenders = 3;
      std::vector<std::unique_ptr<MessageNumbers>> senders;
      for (std::uint32_t s = 0; s < kSenders; ++s)
        senders.push_back(std::make_unique<MessageNumbers>());
      MessageNumbers receiver;
      Matching mpi;
      std::vector<std::shared_ptr<Matching::Receive>> in_flight;
      for (int step = 0; step < 2000; ++step) {
        const ChannelKey channel{below(2), static_cast<std::int32_t>(below(kSenders)),
                                 static_cast<std::int32_t>(below(2))};
        const std::uint32_t choice = below(3);
        if (choice == 0) {
          const MessageNumber number = senders[static_cast<std::size_t>(channel.peer)]->send(
              {channel.comm, 0, channel.tag}, false);
          ASSERT_TRUE(number.is_known);
          mpi.arrive({channel, number});
        } else if (choice == 1 && in_flight.size() < 100) {
          ChannelKey wanted = channel;
          if (below(100) < wildcards_in_100) {
            const std::uint32_t which = below(3);
            if (which != 1) wanted.peer = kAnySource;
            if (which != 0) wanted.tag = kAnyTag;
          }
          in_flight.push_back(mpi.post(receiver, wanted));
        } else if (!in_flight.empty()) {
          const std::size_t at = below(static_cast<std::uint32_t>(in_flight.size()));
          Matching::Receive& receive = *in_flight[at];
          if (receive.got == nullptr) continue;
          const MessageNumber number =
              receiver.complete(receive.posted, receive.got->channel, false);
          ++all;
          if (number.is_known) {
            ++known;
            ASSERT_EQ(number.value, receive.got->number.value);
          }
          in_flight.erase(in_flight.begin() + static_cast<std::ptrdiff_t>(at));
        }
      }
    }
    EXPECT_GT(all, 1000u);
    if (wildcards_in_100 == 0) {
      EXPECT_EQ(known, all);
    }
    RecordProperty("known_of_" + std::to_string(wildcards_in_100),
                   std::to_string(known) + " of " + std::to_string(all));
    std::cout << wildcards_in_100 << " % wildcards: " << known << " of " << all << " known\n";
  }
}

}  // namespace
}  // namespace xylem::capture
