#include "net/frame_assembler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace xylem::net {
namespace {

wire::Packet packet_of(std::size_t bytes, std::uint64_t wave) {
  wire::Packet packet;
  packet.id.stream = wire::kFirstToolStream;
  packet.id.wave = wave;
  packet.id.wave_end = wave + 1;
  packet.id.sources = IntervalSet::of(7);
  for (std::size_t i = 0; i < bytes; ++i) packet.payload.push_back(std::byte(i * 31 + wave));
  return packet;
}

void append(wire::Bytes& stream, const wire::Message& message) {
  const wire::Bytes frame = wire::encode(message);
  stream.insert(stream.end(), frame.begin(), frame.end());
}

// Gives all of `stream`, at most `most()` bytes at a time; what has come by then.
template <typename Max>
Result<std::vector<FrameAssembler::Frame>> assemble(FrameAssembler& assembler,
                                                    const wire::Bytes& stream, Max max) {
  std::vector<FrameAssembler::Frame> frames;
  for (std::size_t at = 0;;) {
    for (;;) {
      auto frame = assembler.next();
      if (!frame) return unexpected(frame.error());
      if (!*frame) break;
      frames.push_back(**std::move(frame));
    }
    if (at == stream.size()) return frames;
    const auto room = assembler.room();
    EXPECT_FALSE(room.empty());
    const std::size_t size = std::min({room.size(), stream.size() - at, max()});
    std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(at), size, room.begin());
    assembler.add(size);
    at += size;
  }
}

TEST(FrameAssembler, GivesEveryMessageHoweverTheBytesAreCut) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    std::vector<wire::Message> sent;
    wire::Bytes stream;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const std::size_t large = FrameAssembler::kLargeBytes + random() % 200'000;
      const std::size_t small = random() % 300;
      sent.emplace_back(packet_of(random() % 3 == 0 ? large : small, i));
      if (random() % 4 == 0) sent.emplace_back(wire::Ping{static_cast<Nanos>(i)});
    }
    for (const wire::Message& message : sent) append(stream, message);
    const std::size_t max = random() % 2 == 0 ? 1 + random() % 50 : 1 + random() % 300'000;
    FrameAssembler assembler({});
    const auto frames = assemble(assembler, stream, [&] { return 1 + random() % max; });
    ASSERT_TRUE(frames) << frames.error().message;
    ASSERT_EQ(frames->size(), sent.size());
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ((*frames)[i].message, sent[i]);
      bytes += (*frames)[i].bytes;
    }
    EXPECT_EQ(bytes, stream.size()) << "what is granted again is what was sent";
  }
}

TEST(FrameAssembler, BeginsWithWhatHasComeBefore) {
  wire::Bytes stream;
  append(stream, packet_of(100'000, 1));
  const wire::Bytes rest(stream.begin() + 1000, stream.end());
  FrameAssembler assembler({stream.begin(), stream.begin() + 1000});
  const auto frames = assemble(assembler, rest, [] { return std::size_t{5000}; });
  ASSERT_TRUE(frames);
  ASSERT_EQ(frames->size(), 1u);
  EXPECT_EQ((*frames)[0].message, wire::Message(packet_of(100'000, 1)));
}

// All that it holds is asked for as room, so that bounds its memory.
TEST(FrameAssembler, GivesALengthNoMemoryBeforeAsMuchHasCome) {
  wire::Bytes stream;
  append(stream, packet_of(12u << 20, 1));
  for (const bool as_packet : {true, false}) {
    SCOPED_TRACE(as_packet);
    if (!as_packet) stream[4] = std::byte{0};  // The format: a message in one piece.
    FrameAssembler assembler({});
    for (std::size_t come = 0; come < (1u << 20);) {
      ASSERT_TRUE(assembler.next());
      const auto room = assembler.room();
      ASSERT_LE(room.size(), come + 2 * FrameAssembler::kReadBytes);
      const std::size_t size = std::min<std::size_t>(room.size(), 1000);
      std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(come), size, room.begin());
      assembler.add(size);
      come += size;
    }
  }
}

TEST(FrameAssembler, RefusesWhatIsNoFrame) {
  wire::Bytes stream;
  append(stream, packet_of(50'000, 1));
  const auto refused = [](const wire::Bytes& bytes) {
    FrameAssembler assembler({});
    const auto frames = assemble(assembler, bytes, [] { return std::size_t{700}; });
    return !frames && frames.error().code == Code::kCorrupt;
  };
  EXPECT_FALSE(refused(stream));
  wire::Bytes long_one = stream;
  std::fill_n(long_one.begin(), 4, std::byte{0xff});
  EXPECT_TRUE(refused(long_one));
  wire::Bytes bad_head = stream;
  std::fill_n(bad_head.begin() + 16, 40, std::byte{0x55});
  EXPECT_TRUE(refused(bad_head));
  wire::Bytes bad_sizes = stream;
  bad_sizes[12] ^= std::byte{8};
  EXPECT_TRUE(refused(bad_sizes));
}

}  // namespace
}  // namespace xylem::net
