#include "commproc/stream_relay.h"

#include <gtest/gtest.h>

#include "wire/waves.h"

namespace xylem::commproc {
namespace {

constexpr StreamId kOfARun{raw(wire::kFirstStoredStream)};

class StreamRelayTest : public ::testing::Test {
 protected:
  void open(StreamId id) {
    wire::StreamSpec spec;
    spec.id = id;
    spec.name = "sum";
    spec.aggregation = "sum";
    EXPECT_TRUE(relay_.open({spec}).empty());
    relay_.set_expected(IntervalSet::range(1, 9));
  }
  static wire::Packet wave(StreamId stream, std::uint64_t number, std::uint32_t leaf) {
    const wire::Fields fields{{1, std::int64_t{1}}};
    return wire::Packet({stream, kLeafLane, number, number + 1, IntervalSet::of(leaf)},
                        wire::encode_waves({&fields, 1}));
  }
  /// The sources of what is ready, "1-2 3".
  std::string ready(Nanos now) {
    std::string text;
    for (const wire::Packet& packet : relay_.take_ready(now)) {
      text += (text.empty() ? "" : " ") + packet.id.sources.to_string();
    }
    return text;
  }

  StreamRelay relay_{StreamRelayOptions{.node = NodeId{1}, .host = "node1", .recent = {}}};
};

TEST_F(StreamRelayTest, ARunsStreamAwaitsThoseOnlyWhoHaveSentOnItBefore) {
  open(kOfARun);
  relay_.add(wave(kOfARun, 0, 1), 0);
  EXPECT_EQ(ready(0), "1") << "agents, which never send on it, are not waited for";
  relay_.add(wave(kOfARun, 0, 2), 0);
  EXPECT_EQ(ready(0), "2");
  relay_.add(wave(kOfARun, 1, 2), 0);
  EXPECT_EQ(ready(0), "") << "leaf 1 has sent before";
  relay_.add(wave(kOfARun, 1, 1), 0);
  EXPECT_EQ(ready(0), "1-2");
  relay_.add(wave(kOfARun, 2, 2), 0);
  relay_.set_expected(IntervalSet::range(2, 9));  // Leaf 1 has ended.
  EXPECT_EQ(ready(0), "2");
}

TEST_F(StreamRelayTest, AToolsStreamAwaitsAllThatTakePart) {
  open(wire::kFirstToolStream);
  relay_.add(wave(wire::kFirstToolStream, 0, 1), 0);
  EXPECT_EQ(ready(0), "");
}

}  // namespace
}  // namespace xylem::commproc
