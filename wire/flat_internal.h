#pragma once

// Cap'n Proto as wire/ uses it: one segment, no segment table, built in place and read under
// limits.
//
// A value is written straight into the bytes that leave the process, behind room for a head, so
// that a packet's payload is copied once. What is read comes from strangers: this file sets the
// limits, and it is the only place that throws or catches.

#include <capnp/message.h>
#include <kj/exception.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "base/result.h"
#include "wire/packet.h"

namespace xylem::wire::internal {

/// A builder whose first segment is memory of the caller: zeroed, aligned to 8 bytes, and outliving
/// the builder. What does not fit goes to segments of its own, and then in_one_piece() is false.
class PlacedBuilder final : public capnp::MessageBuilder {
 public:
  explicit PlacedBuilder(std::span<std::byte> place) : place_(place) {}

  kj::ArrayPtr<capnp::word> allocateSegment(kj::uint minimum) override;
  /// Words in all segments: enough for the same value in one piece.
  std::size_t used_words();
  bool in_one_piece();

 private:
  std::span<std::byte> place_;
  std::size_t given_words_ = 0;
  std::vector<std::unique_ptr<capnp::word[]>> overflow_;
};

/// `head` zero bytes (a multiple of 8), then the value that `fill` writes into a Root::Builder.
/// `words` is a guess of its size; a wrong one costs a second call of `fill`, never a wrong result.
template <typename Root, typename Fill>
Bytes encode_flat(std::size_t head, std::size_t words, const Fill& fill) {
  for (;;) {
    Bytes bytes(head + words * sizeof(capnp::word));
    PlacedBuilder builder(std::span<std::byte>(bytes).subspan(head));
    fill(builder.initRoot<Root>());
    const std::size_t used = builder.used_words();
    if (builder.in_one_piece()) {
      bytes.resize(head + used * sizeof(capnp::word));
      return bytes;
    }
    words = used;
  }
}

/// Thrown by require(), caught by decode_flat().
struct Malformed {
  std::string sentence;
};
inline void require(bool condition, const char* sentence) {
  if (!condition) throw Malformed{sentence};
}

/// "WHAT of N bytes cannot be read: WHY", as kCorrupt.
Unexpected corrupt(const char* what, std::size_t size, const std::string& why);

/// The segment that `bytes` are, readable as words: in place when they are aligned, else a copy.
class Segment {
 public:
  explicit Segment(std::span<const std::byte> bytes);
  kj::ArrayPtr<const capnp::word> words() const { return words_; }

 private:
  std::unique_ptr<capnp::word[]> copy_;
  kj::ArrayPtr<const capnp::word> words_;
};

/// Limits on what a reader may follow: twice the segment (each object of ours is read once), and a
/// nesting that no message of ours comes near.
capnp::ReaderOptions reader_options(std::size_t words);
/// Fails with kCorrupt on sizes that no segment has.
Result<void> check_size(const char* what, std::size_t size);

/// What `read` makes of a Root::Reader over `bytes`. kCorrupt when Cap'n Proto or require() object.
template <typename Root, typename Read>
auto decode_flat(const char* what, std::span<const std::byte> bytes, const Read& read)
    -> Result<decltype(read(std::declval<typename Root::Reader>()))> {
  if (auto size = check_size(what, bytes.size()); !size) return unexpected(std::move(size.error()));
  try {
    const Segment segment(bytes);
    const kj::ArrayPtr<const capnp::word> segments[] = {segment.words()};
    capnp::SegmentArrayMessageReader reader(kj::arrayPtr(segments, 1),
                                            reader_options(segment.words().size()));
    return read(reader.getRoot<Root>());
  } catch (const Malformed& why) {
    return corrupt(what, bytes.size(), why.sentence);
  } catch (const kj::Exception& why) {
    return corrupt(what, bytes.size(), why.getDescription().cStr());
  }
}

// ---- What all schemas share. ----

/// Bounds a list by the bytes it came in, before anything is allocated for it: `words` is the size
/// that an element had in version 1, and none is ever smaller. Throws Malformed.
template <typename List>
std::size_t checked_count(const List& list, std::size_t words, std::size_t segment_bytes) {
  require(list.size() * words * sizeof(capnp::word) <= segment_bytes, "a list is longer than it");
  return list.size();
}

inline capnp::Text::Reader text(const std::string& s) { return {s.data(), s.size()}; }
inline std::string text(capnp::Text::Reader t) { return std::string(t.begin(), t.end()); }

template <typename Array>
capnp::Data::Reader fixed(const Array& bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
/// Throws Malformed when the sizes differ.
template <typename Array>
Array fixed(capnp::Data::Reader bytes, const char* sentence) {
  Array array{};
  require(bytes.size() == array.size(), sentence);
  std::copy(bytes.begin(), bytes.end(), array.begin());
  return array;
}

inline capnp::Data::Reader blob(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> blob(capnp::Data::Reader bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.begin()), bytes.size()};
}

}  // namespace xylem::wire::internal
