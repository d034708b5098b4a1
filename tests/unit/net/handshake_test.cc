#include "net/handshake.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/run_contract.h"
#include "net/address.h"

namespace xylem::net {
namespace {

wire::Hello hello_of(const std::string& run) {
  wire::Hello hello;
  hello.run = run;
  hello.role = wire::Role::kCommProcess;
  hello.node = NodeId{7};
  return hello;
}

// Plays both sides against each other until both are proved or one refuses.
struct Meeting {
  AcceptHandshake server;
  ConnectHandshake client;
  std::string refusal;

  Meeting(const Key& server_key, const Key& client_key, const std::string& run)
      : server(server_key, "run1", wire::Welcome{}), client(client_key, hello_of(run)) {
    wire::Message to_server = client.hello();
    for (int turn = 0; turn < 4 && !client.proved(); ++turn) {
      auto to_client = server.on_message(to_server);
      if (!to_client) {
        refusal = to_client.error().message;
        return;
      }
      auto answer = client.on_message(*to_client);
      if (!answer) {
        refusal = answer.error().message;
        return;
      }
      if (*answer) to_server = **answer;
    }
  }
};

TEST(Handshake, ProvesBothSidesToEachOther) {
  const Key key = make_key();
  Meeting meeting(key, key, "run1");
  EXPECT_TRUE(meeting.server.proved());
  EXPECT_TRUE(meeting.client.proved());
  EXPECT_EQ(meeting.server.hello().node, NodeId{7});
  EXPECT_EQ(meeting.refusal, "");
}

TEST(Handshake, RefusesAnotherKeyWithASentenceToBothSides) {
  Meeting meeting(make_key(), make_key(), "run1");
  EXPECT_FALSE(meeting.server.proved());
  EXPECT_FALSE(meeting.client.proved());
  EXPECT_EQ(meeting.server.refusal(), "the key is not that of run run1");
  EXPECT_EQ(meeting.refusal, "refused: the key is not that of run run1");
}

TEST(Handshake, RefusesAnotherRunAndSaysWhich) {
  const Key key = make_key();
  Meeting meeting(key, key, "run2");
  EXPECT_FALSE(meeting.client.proved());
  EXPECT_NE(meeting.refusal.find("this is run run1, not run2"), std::string::npos)
      << meeting.refusal;
}

TEST(Handshake, RefusesAnotherMajorVersionWithASentence) {
  const Key key = make_key();
  AcceptHandshake server(key, "run1", wire::Welcome{});
  wire::Hello hello = hello_of("run1");
  hello.major = wire::kMajorVersion + 1;
  const auto answer = server.on_message(hello);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<wire::Refusal>(*answer));
  EXPECT_NE(server.refusal().find("install the same xylem"), std::string::npos);
}

TEST(Handshake, MakesAReplayedConversationWorthless) {
  const Key key = make_key();
  // A stranger recorded hello and proof of a good conversation ...
  ConnectHandshake good(key, hello_of("run1"));
  AcceptHandshake first(key, "run1", wire::Welcome{});
  const auto challenge = first.on_message(good.hello());
  ASSERT_TRUE(challenge);
  const auto proof = good.on_message(*challenge);
  ASSERT_TRUE(proof && *proof);
  ASSERT_TRUE(first.on_message(**proof));
  ASSERT_TRUE(first.proved());
  // ... and plays them to another link of the same run.
  AcceptHandshake second(key, "run1", wire::Welcome{});
  ASSERT_TRUE(second.on_message(good.hello()));
  const auto answer = second.on_message(**proof);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<wire::Refusal>(*answer));
  EXPECT_FALSE(second.proved());
}

TEST(Handshake, TheClientAlsoRefusesAServerWithoutTheKey) {
  const Key key = make_key();
  ConnectHandshake client(key, hello_of("run1"));
  ASSERT_TRUE(client.on_message(wire::Challenge{}));
  const auto answer = client.on_message(wire::Welcome{});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kPermissionDenied);
}

TEST(Handshake, AcceptsNothingOutOfTurn) {
  const Key key = make_key();
  AcceptHandshake server(key, "run1", wire::Welcome{});
  EXPECT_FALSE(server.on_message(wire::Proof{}));
  EXPECT_FALSE(server.on_message(wire::Ping{}));
  EXPECT_FALSE(server.on_message(wire::Packet{}));
  ConnectHandshake client(key, hello_of("run1"));
  EXPECT_FALSE(client.on_message(wire::Welcome{}));
}

TEST(TakeKey, LeavesNoKeyInTheEnvironment) {
  const Key key = make_key();
  ASSERT_EQ(::setenv(kEnvKey, to_hex(key).c_str(), 1), 0);
  const char* in_memory = std::getenv(kEnvKey);
  const auto taken = take_key_from_environment();
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(*taken, key);
  EXPECT_EQ(std::getenv(kEnvKey), nullptr);
  EXPECT_STREQ(in_memory, "");
  const auto none = take_key_from_environment();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kInvalidArgument);
  ASSERT_EQ(::setenv(kEnvKey, "half a key", 1), 0);
  EXPECT_FALSE(take_key_from_environment());
  EXPECT_EQ(std::getenv(kEnvKey), nullptr);
}

TEST(ParseKey, ReadsWhatToHexWritesAndNeverRepeatsBadText) {
  const Key key = make_key();
  const auto parsed = parse_key(" " + to_hex(key) + "\n");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, key);
  for (const std::string& bad :
       {std::string(), std::string("deadbeef"), std::string(64, 'g'), to_hex(key) + "00"}) {
    const auto result = parse_key(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(bad.empty() || result.error().message.find(bad) == std::string::npos);
  }
}

}  // namespace
}  // namespace xylem::net
