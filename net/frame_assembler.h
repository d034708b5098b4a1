#pragma once

// Turns the bytes of a link into messages. The bytes may arrive in pieces of any size.
//
//   for (;;) {
//     while (auto frame = *assembler.next()) take(frame->message);
//     assembler.add(read(assembler.room()));
//   }
//
// The payload of a large packet is read directly into its final buffer, so that a relay does not
// copy it.

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "wire/message.h"

namespace xylem::net {

/// Uses at most this memory: twice the received part of a frame, plus 6 times kReadBytes. So a peer
/// that announces a large length cannot cause a large allocation. Not thread-safe.
class FrameAssembler {
 public:
  static constexpr std::size_t kReadBytes = 64u << 10;
  /// Payloads of at least this size are large.
  static constexpr std::size_t kLargeBytes = 16u << 10;

  struct Frame {
    wire::Message message;
    std::size_t bytes = 0;  ///< Size of the whole frame.
  };

  /// `already_read` are the first bytes of the stream.
  explicit FrameAssembler(wire::Bytes already_read);

  /// Returns the buffer for the next bytes. The buffer is never empty. It is valid until the next
  /// call of any function.
  std::span<std::byte> room();
  /// Reports that `bytes` bytes were read into room().
  void add(std::size_t bytes);

  /// Returns the next message; nullopt while the message is incomplete. Fails with kCorrupt if a
  /// frame is longer than kMaxFrameBytes, or if wire::decode() fails. After a failure the rest of
  /// the stream cannot be read.
  Result<std::optional<Frame>> next();

 private:
  /// The frame of a large packet. The head has arrived, but not yet the whole payload.
  struct Large {
    wire::Bytes head;
    wire::Bytes rest;  // Payload and padding.
    std::size_t come = 0;
    wire::PacketSizes sizes;
  };
  Result<std::optional<Frame>> next_large();
  void compact();

  wire::Bytes buffer_;
  std::size_t begin_ = 0;  // Bytes [begin_, end_) are not consumed yet.
  std::size_t end_ = 0;
  std::size_t wanted_ = 0;  // Size of the frame at `begin_`; 0 while the size is not known.
  std::optional<Large> large_;
  bool expects_large_ = false;
};

}  // namespace xylem::net
