#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "wire/columns_internal.h"

namespace xylem::wire::internal {
namespace {

enum Plane : std::uint8_t { kConstant = 0, kRaw = 1, kZstd = 2 };

// Measured with traces of HPL and LAMMPS, compared with level 1: level 3 gains nothing. Level 6
// needs twice the time for 1.5 % fewer bytes, level 12 seven times for 4 %. The reason: noise
// contains few repetitions, and level 1 has the same entropy coder.
constexpr int kZstdLevel = 1;

// A shorter match costs more bytes than the entropy coder needs for the same data. With this
// minimum there are 1 % fewer bytes, in 5 % less time.
constexpr int kShortestMatch = 7;

// A frame has 12 bytes of headers; shorter planes do not shrink.
constexpr std::size_t kSmallestFrame = 24;

std::uint64_t load_word(const std::byte* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

/// Position in memory of byte `plane` of a number; 0 is the lowest byte.
template <typename Number>
constexpr std::size_t place_of_byte(std::size_t plane) {
  return std::endian::native == std::endian::little ? plane : sizeof(Number) - 1 - plane;
}

}  // namespace

void FreeZstd::operator()(ZSTD_CCtx_s* context) const noexcept { ZSTD_freeCCtx(context); }
void FreeZstd::operator()(ZSTD_DCtx_s* context) const noexcept { ZSTD_freeDCtx(context); }

std::uint64_t checksum(std::span<const std::byte> bytes) {
  // Each step is one-to-one in the word and in the previous sum, so a single changed word always
  // changes the result. There are four independent sums, because each multiplication must wait for
  // the one before it.
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  const auto step = [](std::uint64_t sum, std::uint64_t word) {
    sum = (sum ^ word) * kOdd;
    return sum ^ sum >> 29;
  };
  std::uint64_t lane[4] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    for (std::size_t i = 0; i < 4; ++i) lane[i] = step(lane[i], load_word(&bytes[at + 8 * i]));
  }
  for (; at + 8 <= bytes.size(); at += 8) lane[0] = step(lane[0], load_word(&bytes[at]));
  std::byte tail[8] = {};
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), tail);
  lane[0] = step(lane[0], load_word(tail));

  std::uint64_t sum = bytes.size();
  for (const std::uint64_t each : lane) sum = step(sum, each);
  return sum;
}

void append_u64(Bytes& out, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(number >> (8 * i)));
}

void append_varint(Bytes& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<std::byte>(number | 0x80));
  out.push_back(static_cast<std::byte>(number));
}

ColumnWriter::ColumnWriter() : zstd_(ZSTD_createCCtx()) {
  CHECK(zstd_ != nullptr);
  const auto set = [this](ZSTD_cParameter parameter, int value) {
    CHECK(!ZSTD_isError(ZSTD_CCtx_setParameter(zstd_.get(), parameter, value)));
  };
  set(ZSTD_c_compressionLevel, kZstdLevel);
  set(ZSTD_c_minMatch, kShortestMatch);
}

void ColumnWriter::append(Bytes& out, std::span<const std::uint64_t> column) {
  append_planes(out, column);
}
void ColumnWriter::append(Bytes& out, std::span<const std::uint16_t> column) {
  append_planes(out, column);
}

template <typename Number>
void ColumnWriter::append_planes(Bytes& out, std::span<const Number> column) {
  if (column.empty()) return;
  Number bits = 0;
  for (const Number each : column) bits |= each;
  const auto planes = (static_cast<std::size_t>(std::bit_width(bits)) + 7) / 8;
  out.push_back(static_cast<std::byte>(planes));
  const std::size_t size = column.size();
  plane_.resize(size);
  for (std::size_t p = 0; p < planes; ++p) {
    // Copying every eighth byte is twice as fast as what the compiler makes of shifts.
    const std::byte* from = std::as_bytes(column).data() + place_of_byte<Number>(p);
    std::uint8_t* to = plane_.data();
    for (std::size_t i = 0; i < size; ++i)
      to[i] = static_cast<std::uint8_t>(from[i * sizeof(Number)]);
    append_plane(out);
  }
}

void ColumnWriter::append_plane(Bytes& out) {
  const std::size_t size = plane_.size();
  if (std::memcmp(plane_.data(), plane_.data() + 1, size - 1) == 0) {
    out.push_back(std::byte{kConstant});
    out.push_back(std::byte{plane_[0]});
    return;
  }
  if (size >= kSmallestFrame) {
    packed_.resize(size - 3);  // Room for less than raw needs, its length included.
    const std::size_t packed =
        ZSTD_compress2(zstd_.get(), packed_.data(), packed_.size(), plane_.data(), size);
    if (!ZSTD_isError(packed)) {
      out.push_back(std::byte{kZstd});
      append_varint(out, packed);
      out.insert(out.end(), packed_.begin(), packed_.begin() + static_cast<std::ptrdiff_t>(packed));
      return;
    }
  }
  out.push_back(std::byte{kRaw});
  const auto bytes = std::as_bytes(std::span(plane_));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void ColumnReader::open(std::span<const std::byte> bytes) {
  rest_ = bytes;
  trouble_ = nullptr;
}

bool ColumnReader::fail(const char* trouble) {
  if (trouble_ == nullptr) trouble_ = trouble;
  rest_ = {};
  return false;
}

std::uint64_t ColumnReader::u64() {
  if (rest_.size() < 8) return fail("it ends early"), 0;
  const std::uint64_t number = load_word(rest_.data());
  rest_ = rest_.subspan(8);
  return number;
}

std::uint64_t ColumnReader::varint() {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) return fail("it ends early"), 0;
    const auto byte = static_cast<std::uint64_t>(rest_[0]);
    rest_ = rest_.subspan(1);
    if (shift == 63 && byte > 1) break;
    number |= (byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  return fail("a number in it is longer than 64 bits"), 0;
}

bool ColumnReader::read(std::span<std::uint64_t> column, unsigned width) {
  return read_planes(column, width);
}
bool ColumnReader::read(std::span<std::uint16_t> column) { return read_planes(column, 2); }

template <typename Number>
bool ColumnReader::read_planes(std::span<Number> column, unsigned width) {
  if (failed()) return false;
  if (column.empty()) return true;
  std::fill(column.begin(), column.end(), Number{0});
  const std::uint64_t planes = varint();
  if (planes > width) return fail("a column in it is wider than its field");
  for (std::size_t p = 0; p < planes; ++p) {
    if (!read_plane(column.size())) return false;
    std::byte* to = std::as_writable_bytes(column).data() + place_of_byte<Number>(p);
    const std::uint8_t* from = plane_.data();
    for (std::size_t i = 0; i < column.size(); ++i) to[i * sizeof(Number)] = std::byte{from[i]};
  }
  return !failed();
}

bool ColumnReader::read_plane(std::size_t numbers) {
  plane_.resize(numbers);
  const std::uint64_t form = varint();
  const std::uint64_t size = form == kConstant ? 1 : form == kRaw ? numbers : varint();
  if (form > kZstd) return fail("a plane in it has an unknown form");
  if (size > rest_.size()) return fail("it ends early");
  const auto stored = rest_.first(size);
  rest_ = rest_.subspan(size);
  if (failed()) return false;
  if (form == kConstant) {
    std::fill(plane_.begin(), plane_.end(), static_cast<std::uint8_t>(stored[0]));
  } else if (form == kRaw) {
    std::memcpy(plane_.data(), stored.data(), numbers);
  } else {
    if (zstd_ == nullptr) zstd_.reset(CHECK_NOTNULL(ZSTD_createDCtx()));
    const std::size_t unpacked =
        ZSTD_decompressDCtx(zstd_.get(), plane_.data(), numbers, stored.data(), stored.size());
    if (ZSTD_isError(unpacked) || unpacked != numbers) {
      return fail("a plane in it does not unpack to its size");
    }
  }
  return true;
}

}  // namespace xylem::wire::internal
