#include "net/frame_assembler.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace xylem::net {
namespace {

constexpr std::size_t kFramePrefix = 4;
// After a large packet, another large packet is likely. Then at most this number of bytes of its
// payload is copied.
constexpr std::size_t kPeekBytes = 4u << 10;

}  // namespace

FrameAssembler::FrameAssembler(wire::Bytes already_read)
    : buffer_(std::move(already_read)), end_(buffer_.size()) {}

std::span<std::byte> FrameAssembler::room() {
  if (large_) {
    const std::size_t all = large_->sizes.payload + large_->sizes.padding;
    const std::size_t earned = std::min(all, 2 * large_->come + kReadBytes);
    if (large_->rest.size() < earned) large_->rest.resize(earned);
    return std::span(large_->rest).subspan(large_->come);
  }
  compact();
  const std::size_t earned = std::min(wanted_, 2 * end_) + kReadBytes;
  if (buffer_.size() < earned) buffer_.resize(earned);
  const auto room = std::span(buffer_).subspan(end_);
  return expects_large_ && end_ == 0 ? room.first(kPeekBytes) : room;
}

void FrameAssembler::compact() {
  if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  // A long frame was read: frees its memory.
  if (wanted_ == 0 && buffer_.size() > 4 * kReadBytes) {
    buffer_.resize(end_ + kReadBytes);
    buffer_.shrink_to_fit();
  }
}

void FrameAssembler::add(std::size_t bytes) {
  (large_ ? large_->come : end_) += bytes;
  // The next frame is not a large packet.
  if (!large_ && end_ >= kPeekBytes) expects_large_ = false;
}

Result<std::optional<FrameAssembler::Frame>> FrameAssembler::next() {
  if (large_) return next_large();
  wanted_ = 0;
  const auto there = std::span<const std::byte>(buffer_).subspan(begin_, end_ - begin_);
  const auto length = wire::frame_length(there, wire::kMaxFrameBytes);
  if (!length) return unexpected(length.error());
  if (!*length) return std::optional<Frame>();
  const std::size_t bytes = kFramePrefix + **length;
  if (there.size() >= bytes) {
    auto message = wire::decode(there.subspan(kFramePrefix, **length));
    if (!message) return unexpected(std::move(message.error()));
    begin_ += bytes;
    return std::optional<Frame>({*std::move(message), bytes});
  }
  wanted_ = bytes;
  const auto sizes = wire::packet_sizes(there);
  if (!sizes || sizes->payload < kLargeBytes || there.size() < sizes->head) {
    return std::optional<Frame>();
  }
  const auto head = there.first(sizes->head);
  const auto rest = there.subspan(sizes->head);
  large_ = Large{{head.begin(), head.end()}, {rest.begin(), rest.end()}, rest.size(), *sizes};
  begin_ = end_;
  wanted_ = 0;
  return std::optional<Frame>();
}

Result<std::optional<FrameAssembler::Frame>> FrameAssembler::next_large() {
  const wire::PacketSizes& sizes = large_->sizes;
  if (large_->come < sizes.payload + sizes.padding) return std::optional<Frame>();
  Large done = *std::exchange(large_, std::nullopt);
  expects_large_ = true;
  done.rest.resize(done.sizes.payload);
  const std::size_t bytes = done.sizes.head + done.sizes.payload + done.sizes.padding;
  auto message = wire::decode_in_pieces(done.head, std::move(done.rest));
  if (!message) return unexpected(std::move(message.error()));
  return std::optional<Frame>({*std::move(message), bytes});
}

}  // namespace xylem::net
