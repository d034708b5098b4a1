#include <gtest/gtest.h>

#include <random>

#include "net/link_internal.h"

namespace xylem::net {
namespace {

wire::Bytes written(const FrameQueue& queue) {
  wire::Bytes all;
  for (const Piece& piece : queue.pieces()) all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

// The kernel takes what it likes: what is left is the rest, byte for byte.
TEST(FrameQueue, GivesEveryByteOnceAndInOrderWhateverIsTakenOfIt) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  FrameQueue queue;
  wire::Bytes left;
  std::uint8_t next = 0;
  const auto some = [&](std::size_t size) {
    wire::Bytes bytes(size);
    for (std::byte& byte : bytes) byte = std::byte{next++};
    return bytes;
  };
  for (int round = 0; round < 2000; ++round) {
    if (random() % 16 == 0) {
      wire::Bytes frame = some(1 + random() % 30);
      const wire::Bytes copy = frame;
      if (queue.push_first(std::move(frame))) left.insert(left.begin(), copy.begin(), copy.end());
    } else if (random() % 2 == 0) {
      const bool is_large = random() % 8 == 0;
      wire::PacketFrame frame{some(1 + random() % 300), some(is_large ? 20'000 : random() % 300)};
      left.insert(left.end(), frame.head.begin(), frame.head.end());
      left.insert(left.end(), frame.payload.begin(), frame.payload.end());
      queue.push(std::move(frame));
    } else {
      const std::size_t taken = random() % 4 == 0 ? left.size() : random() % (left.size() + 1);
      queue.drop(taken);
      left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(taken));
    }
    ASSERT_EQ(queue.bytes(), left.size());
    ASSERT_EQ(queue.empty(), left.empty());
    ASSERT_EQ(written(queue), left) << "round " << round;
  }
}

// The kernel takes so many pieces at once: it may stop between two of the same frame.
TEST(FrameQueue, PutsNothingIntoAFrameThatIsPartlyWritten) {
  wire::PacketFrame large{wire::Bytes(100), wire::Bytes(20'000)};
  large.padding = 4;
  FrameQueue queue;
  queue.push(wire::PacketFrame(large));
  queue.push(std::move(large));
  ASSERT_GT(queue.pieces().size(), 2u) << "a large frame is one piece";
  EXPECT_TRUE(queue.push_first(wire::Bytes(8))) << "nothing is written";
  queue.drop(8);
  EXPECT_TRUE(queue.push_first(wire::Bytes(8))) << "the first is written to its end";
  queue.drop(8 + 100);
  EXPECT_FALSE(queue.push_first(wire::Bytes(8))) << "a head is written, its payload is not";
  queue.drop(20'000);
  EXPECT_FALSE(queue.push_first(wire::Bytes(8))) << "what fills the frame up is not written";
  queue.drop(queue.bytes() - 4);
  EXPECT_FALSE(queue.push_first(wire::Bytes(8))) << "as little of the next";
  queue.drop(4);
  EXPECT_TRUE(queue.push_first(wire::Bytes(8))) << "all is written";
}

}  // namespace
}  // namespace xylem::net
