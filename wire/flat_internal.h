#pragma once

// How wire/ uses Cap'n Proto. A message is one segment without a segment table.
//
// A value is written directly into the bytes that will be sent, after space for a head. Received
// bytes are not trusted, so this file sets limits for reading them. Only decode_flat() catches
// exceptions.

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

/// A message builder whose first segment is memory of the caller. This memory must be zeroed,
/// aligned to 8 bytes, and must live longer than the builder. If the value does not fit, the rest
/// goes to other segments, and in_one_piece() returns false. Not thread-safe.
class PlacedBuilder final : public capnp::MessageBuilder {
 public:
  explicit PlacedBuilder(std::span<std::byte> place) : place_(place) {}

  kj::ArrayPtr<capnp::word> allocateSegment(kj::uint minimum) override;
  /// Number of words in all segments. The same value fits into one segment of this size.
  std::size_t used_words();
  bool in_one_piece();

 private:
  std::span<std::byte> place_;
  std::size_t given_words_ = 0;
  std::vector<std::unique_ptr<capnp::word[]>> overflow_;
};

/// Returns `head` zero bytes (a multiple of 8), then the value that `fill` writes into a
/// Root::Builder. `words` is a guess of the value's size. If the guess is too small, `fill` is
/// called a second time. The result is the same.
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

/// Thrown by require() and by some readers, caught by decode_flat().
struct Malformed {
  std::string sentence;
};
inline void require(bool condition, const char* sentence) {
  if (!condition) throw Malformed{sentence};
}

/// The error kCorrupt with the text "WHAT of N bytes cannot be read: WHY".
Unexpected corrupt(const char* what, std::size_t size, const std::string& why);

/// The words of a segment. If `bytes` are aligned, the words are read in place, else from a copy.
/// Not thread-safe.
class Segment {
 public:
  explicit Segment(std::span<const std::byte> bytes);
  kj::ArrayPtr<const capnp::word> words() const { return words_; }

 private:
  std::unique_ptr<capnp::word[]> copy_;
  kj::ArrayPtr<const capnp::word> words_;
};

/// The limits for a reader. It may read up to twice the size of the segment and 64 words more; our
/// code reads each object only once. The limit for nesting is far above the depth of any of our
/// messages.
capnp::ReaderOptions reader_options(std::size_t words);
/// Fails with kCorrupt if no segment can have this size.
Result<void> check_size(const char* what, std::size_t size);

/// Returns the result of `read` for a Root::Reader over `bytes`. Fails with kCorrupt if Cap'n Proto
/// or require() finds an error.
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

// ---- Shared by all schemas. ----

/// Returns the length of a list. Throws Malformed if the list is too long for its segment. Call it
/// before you allocate memory for the list. `words` is the size of an element in version 1; no
/// later version has smaller elements.
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
/// Throws Malformed if the sizes differ.
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
