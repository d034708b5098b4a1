#pragma once

// What the formats share: text in large pieces, and names of ranks.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "exports/trace_export.h"
#include "storage/read/event_reader.h"
#include "wire/chunk.h"

namespace xylem::exports {

/// Collects text, and hands it to a stream in pieces of 64 KiB. Not thread-safe.
class TextPieces {
 public:
  explicit TextPieces(std::ostream& out) : out_(out) { text_.reserve(kPiece + 4096); }
  ~TextPieces() { flush(); }
  TextPieces(const TextPieces&) = delete;
  TextPieces& operator=(const TextPieces&) = delete;

  TextPieces& add(std::string_view text) {
    text_ += text;
    return *this;
  }
  template <typename Number>
  TextPieces& number(Number value) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return add({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  /// `ns` / 10^`decimals` with this number of decimals: 1234 as "1.234" for 3.
  TextPieces& decimal(Nanos ns, unsigned decimals);

  /// Call it after each line. False if the stream has failed.
  bool end_line() {
    if (text_.size() >= kPiece) flush();
    return static_cast<bool>(out_);
  }
  void flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{64} << 10;
  std::ostream& out_;
  std::string text_;
};

/// The end of a call. In a damaged file, a call may end before it begins.
inline Nanos end_of(const wire::Event& event) { return std::max(event.begin_ns, event.end_ns); }

/// "rank 3", "world 1 rank 3" if the trace has several worlds, or "process 4711" without a rank.
std::vector<std::string> names_of(const std::vector<storage::EventReader::Process>& processes);

/// Counts an event in `exported`.
inline void count(const wire::Event& event, Exported& exported) {
  ++(event.kind == wire::kKindCompletion ? exported.completions : exported.calls);
}

}  // namespace xylem::exports
