#pragma once

// Bytes of a link to messages, however the bytes come in pieces.
//
//   for (;;) {
//     while (auto frame = *assembler.next()) take(frame->message);
//     assembler.add(read(assembler.room()));
//   }
//
// A large packet's payload is read to where it stays, so that who relays it copies nothing.

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "wire/message.h"

namespace xylem::net {

/// Memory: twice what has come of a frame, and less than 6 times kReadBytes: a length alone costs a
/// peer nothing. One thread.
class FrameAssembler {
 public:
  static constexpr std::size_t kReadBytes = 64u << 10;
  /// Payloads from here on are large.
  static constexpr std::size_t kLargeBytes = 16u << 10;

  struct Frame {
    wire::Message message;
    std::size_t bytes = 0;  ///< Of the whole frame.
  };

  /// `already_read` has come before.
  explicit FrameAssembler(wire::Bytes already_read);

  /// Where the next bytes may go: never empty; valid until any other call.
  std::span<std::byte> room();
  /// So many of them have come.
  void add(std::size_t bytes);

  /// The next message; nullopt when it has not come as a whole. Fails with kCorrupt on a frame
  /// longer than kMaxFrameBytes and as wire::decode(); then nothing more can be told apart.
  Result<std::optional<Frame>> next();

 private:
  /// A packet's frame, from when its head is there and its payload is not.
  struct Large {
    wire::Bytes head;
    wire::Bytes rest;  // Payload and padding.
    std::size_t come = 0;
    wire::PacketSizes sizes;
  };
  Result<std::optional<Frame>> next_large();
  void compact();

  wire::Bytes buffer_;
  std::size_t begin_ = 0;  // What of it is not used up.
  std::size_t end_ = 0;
  std::size_t wanted_ = 0;  // Bytes of the frame at begin_, when they are known.
  std::optional<Large> large_;
  bool expects_large_ = false;
};

}  // namespace xylem::net
