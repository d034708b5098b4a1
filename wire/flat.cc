#include <algorithm>
#include <cstdint>
#include <cstring>

#include "wire/flat_internal.h"
#include "wire/message.h"

namespace xylem::wire::internal {

namespace {

constexpr std::size_t kWord = sizeof(capnp::word);
// The deepest message has five levels; a later version may add some.
constexpr int kMaxNesting = 16;
// Extra words, so that a small message with a default value or a far pointer is not refused.
constexpr std::size_t kSpareWords = 64;

}  // namespace

kj::ArrayPtr<capnp::word> PlacedBuilder::allocateSegment(kj::uint minimum) {
  const std::size_t place_words = place_.size() / kWord;
  if (given_words_ == 0 && place_words >= minimum) {
    given_words_ = place_words;
    return {reinterpret_cast<capnp::word*>(place_.data()), place_words};
  }
  // Doubles the memory, so that a wrong guess causes only a few segments.
  const std::size_t words = std::max<std::size_t>(given_words_, minimum);
  given_words_ += words;
  overflow_.push_back(std::make_unique<capnp::word[]>(words));
  std::memset(static_cast<void*>(overflow_.back().get()), 0, words * kWord);
  return {overflow_.back().get(), words};
}

std::size_t PlacedBuilder::used_words() {
  std::size_t sum = 0;
  for (const auto segment : getSegmentsForOutput()) sum += segment.size();
  return sum;
}

bool PlacedBuilder::in_one_piece() { return overflow_.empty(); }

Unexpected corrupt(const char* what, std::size_t size, const std::string& why) {
  return unexpected(Code::kCorrupt, std::string(what) + " of " + std::to_string(size) +
                                        " bytes cannot be read: " + why +
                                        "; the sender is not xylem, or the bytes were damaged");
}

Segment::Segment(std::span<const std::byte> bytes) {
  const std::size_t words = bytes.size() / kWord;
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint64_t) == 0) {
    words_ = {reinterpret_cast<const capnp::word*>(bytes.data()), words};
    return;
  }
  copy_ = std::make_unique<capnp::word[]>(words);
  std::memcpy(static_cast<void*>(copy_.get()), bytes.data(), words * kWord);
  words_ = {copy_.get(), words};
}

capnp::ReaderOptions reader_options(std::size_t words) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 2 * words + kSpareWords;
  options.nestingLimit = kMaxNesting;
  return options;
}

Result<void> check_size(const char* what, std::size_t size) {
  if (size == 0) return corrupt(what, size, "it is empty");
  if (size % kWord != 0) return corrupt(what, size, "it is not made of 8-byte words");
  if (size > kMaxFrameBytes) return corrupt(what, size, "it is longer than any frame");
  return {};
}

}  // namespace xylem::wire::internal
