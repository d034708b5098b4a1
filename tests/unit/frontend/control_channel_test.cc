// The control channel over a socket pair.

#include "frontend/control_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string_view>

#include "base/unique_fd.h"

namespace xylem::frontend {
namespace {

class ControlChannelTest : public ::testing::Test {
 protected:
  ControlChannelTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    peer_.reset(ends[0]);
    ours_.reset(ends[1]);
    channel_.emplace(ours_.get());
  }
  void send(std::string_view text) {
    EXPECT_EQ(::write(peer_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  UniqueFd peer_, ours_;
  std::optional<ControlChannel> channel_;
};

TEST_F(ControlChannelTest, ReadsALineThatArrivesInPieces) {
  send("fini");
  EXPECT_TRUE(channel_->read().empty());
  send("sh 17\n");
  const auto commands = channel_->read();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].exit_code, 17);
  EXPECT_FALSE(commands[0].abandons);
  EXPECT_FALSE(channel_->is_closed());
}

TEST_F(ControlChannelTest, ReadsSeveralLinesInTheirOrderAndIgnoresUnknownOnes) {
  send("hello\nabandon\nfinish 3\nfinish\n");
  const auto commands = channel_->read();
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_TRUE(commands[0].abandons);
  EXPECT_EQ(commands[0].exit_code, -1);
  EXPECT_FALSE(commands[1].abandons);
  EXPECT_EQ(commands[1].exit_code, 3);
}

TEST_F(ControlChannelTest, HasNoCommandWhenNothingHasArrived) {
  EXPECT_TRUE(channel_->read().empty());
  EXPECT_FALSE(channel_->is_closed());
}

TEST_F(ControlChannelTest, AClosedChannelIsACommandToEnd) {
  peer_.reset();
  const auto commands = channel_->read();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].exit_code, -1);
  EXPECT_FALSE(commands[0].abandons);
  EXPECT_TRUE(channel_->is_closed());
}

TEST_F(ControlChannelTest, SendsSignsOfLifeWithoutWaitingForTheReader) {
  channel_->send_alive();
  char text[16] = {};
  EXPECT_EQ(::read(peer_.get(), text, sizeof text), 6);
  EXPECT_EQ(std::string_view(text), "alive\n");
  for (int i = 0; i < 100'000; ++i) channel_->send_alive();  // More than a socket holds.
  peer_.reset();
  channel_->send_alive();
}

}  // namespace
}  // namespace xylem::frontend
