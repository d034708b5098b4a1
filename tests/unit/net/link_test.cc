#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "net/frame_assembler.h"
#include "net/link_internal.h"

namespace xylem::net {
namespace {

using Frames = std::vector<wire::Message>;

/// Notes each write, and reads what the test says.
class Tape final : public Transport {
 public:
  explicit Tape(asio::io_context& context) : heard_(context) {}

  /// What the peer says, in one piece.
  void say(const wire::Message& message) {
    const wire::Bytes frame = wire::encode(message);
    said_.insert(said_.end(), frame.begin(), frame.end());
    heard_.cancel();
  }
  std::vector<Frames> writes;
  bool is_closed = false;

  asio::awaitable<Result<std::size_t>> read_some(std::span<std::byte> buffer) override {
    while (said_.empty() && !is_closed) {
      heard_.expires_at(asio::steady_timer::time_point::max());
      boost::system::error_code ignored;
      co_await heard_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    if (is_closed) co_return unexpected(Code::kUnavailable, "closed");
    const std::size_t size = std::min(buffer.size(), said_.size());
    std::copy_n(said_.begin(), size, buffer.begin());
    said_.erase(said_.begin(), said_.begin() + static_cast<std::ptrdiff_t>(size));
    co_return size;
  }
  asio::awaitable<Result<void>> write_all(std::span<const Piece> pieces) override {
    write_now(pieces);
    co_return Result<void>();
  }
  std::size_t write_now(std::span<const Piece> pieces) noexcept override {
    wire::Bytes all;
    for (const Piece& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
    FrameAssembler assembler(all);
    writes.emplace_back();
    for (;;) {
      auto frame = assembler.next();
      if (!frame || !*frame) return all.size();
      writes.back().push_back(std::move((*frame)->message));
    }
  }
  wire::Transport kind() const noexcept override { return wire::Transport::kTcp; }
  void close() noexcept override {
    is_closed = true;
    heard_.cancel();
  }

 private:
  wire::Bytes said_;
  asio::steady_timer heard_;
};

/// A link on a loop of its own, which writes at the end of each turn as the runtime does.
class LinkTest : public ::testing::Test, private LinkHost {
 protected:
  /// `already_read`: what came together with the last message of the handshake.
  void start(bool accepted, wire::Bytes already_read = {}) {
    auto tape = std::make_unique<Tape>(context_);
    tape_ = tape.get();
    link_ = std::make_unique<Link>(overlay::LinkId{1}, accepted, false, overlay::LinkClocks{},
                                   std::move(tape), std::move(already_read),
                                   context_.get_executor(), static_cast<LinkHost&>(*this));
    asio::co_spawn(context_, link_->run(), [this](std::exception_ptr, Error why) {
      ended_ = std::move(why);
      writes_ = tape_->writes;
    });
  }
  /// Lets so much time pass, or until the link has ended.
  void pass(Nanos time) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(time);
    while (!ended_ && context_.run_one_until(until) > 0) {
    }
  }
  const std::vector<Frames>& writes() const { return ended_ ? writes_ : tape_->writes; }
  template <typename T>
  std::size_t count() const {
    std::size_t found = 0;
    for (const Frames& frames : writes()) {
      for (const wire::Message& message : frames) found += std::holds_alternative<T>(message);
    }
    return found;
  }

  asio::io_context context_;
  std::unique_ptr<Link> link_;
  Tape* tape_ = nullptr;  // The link's.
  std::optional<Error> ended_;
  std::vector<Frames> writes_;
  int moved_ = 0;  // Heartbeats that went with other frames.

 private:
  void on_link_message(overlay::LinkId, wire::Message) override {}
  overlay::ClockEstimate root_clock() const override { return {.known = true}; }
  bool may_grant(bool) override { return true; }
  void on_link_written() override {}
  void on_link_queued(overlay::LinkId) override {
    asio::post(context_, [this] { link_->flush(); });
  }
  void on_heartbeat_moved() override { ++moved_; }
};

TEST_F(LinkTest, TakesAHeartbeatThatIsNearlyDueAlongBeforeWhatItWritesAnyway) {
  start(true);
  pass(overlay::kHeartbeatInterval / 2);
  ASSERT_EQ(count<wire::Ping>(), 1u);
  link_->send(wire::LinkReport{});
  pass(overlay::kHeartbeatInterval / 2 - kHeartbeatSlack / 2);
  EXPECT_EQ(count<wire::Ping>(), 1u) << "not yet due";
  link_->send(wire::LinkReport{});
  pass(10 * kMillisecond);
  ASSERT_EQ(writes().back().size(), 2u);
  EXPECT_TRUE(std::holds_alternative<wire::Ping>(writes().back()[0]));
  EXPECT_TRUE(std::holds_alternative<wire::LinkReport>(writes().back()[1]));
  EXPECT_EQ(moved_, 1);
  // The next one is counted from this one.
  pass(overlay::kHeartbeatInterval - kHeartbeatSlack);
  EXPECT_EQ(count<wire::Ping>(), 2u);
}

TEST_F(LinkTest, AnswersAHeartbeatWithItsOwnWhenThatIsNearlyDue) {
  start(true);
  pass(overlay::kHeartbeatInterval - kHeartbeatSlack / 2);
  tape_->say(wire::Ping{monotonic_now()});
  pass(10 * kMillisecond);
  ASSERT_EQ(writes().back().size(), 2u);
  EXPECT_TRUE(std::holds_alternative<wire::Ping>(writes().back()[0]));
  EXPECT_TRUE(std::holds_alternative<wire::Pong>(writes().back()[1]));
}

TEST_F(LinkTest, PingsQuicklyAtFirstAlsoWhenThePeersFirstPingCameWithTheHandshake) {
  start(false, wire::encode(wire::Message(wire::Ping{monotonic_now()})));
  pass(overlay::kHeartbeatInterval / 4);
  EXPECT_EQ(count<wire::Pong>(), 1u);
  EXPECT_EQ(count<wire::Ping>(), 5u);
}

TEST_F(LinkTest, SendsHeartbeatsByItselfAndEndsWhenThePeerIsSilentForLonger) {
  const Nanos begin = monotonic_now();
  start(false);
  pass(2 * overlay::kSilenceLimit);
  ASSERT_TRUE(ended_);
  EXPECT_EQ(ended_->code, Code::kTimedOut);
  EXPECT_GE(monotonic_now() - begin, overlay::kSilenceLimit);
  // Five at first, then two or three.
  EXPECT_GE(count<wire::Ping>(), 7u);
  EXPECT_LE(count<wire::Ping>(), 8u);
}

}  // namespace
}  // namespace xylem::net
