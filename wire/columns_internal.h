#pragma once

// Columns of numbers as bytes, for chunk.cc and chunk_decoder.cc.
//
// A column consists of n unsigned numbers. n is not stored: the writer and the reader know it. A
// column is stored as byte planes, the lowest first: plane p has byte p of every number. Planes
// above the highest byte of the largest number are left out.
//
//   column := planes:byte { plane } * planes           no bytes if n is 0
//   plane  := 0 value:byte                             all n bytes are equal
//           | 1 byte * n                               the n bytes, not compressed
//           | 2 size:varint byte * size                one zstd frame that unpacks to n bytes
//   varint := 7 bits a byte, lowest first, high bit set on all but the last

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wire/packet.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace xylem::wire::internal {

struct FreeZstd {
  void operator()(ZSTD_CCtx_s* context) const noexcept;
  void operator()(ZSTD_DCtx_s* context) const noexcept;
};

/// Maps small negative numbers to small unsigned numbers: 0, -1, 1, -2 become 0, 1, 2, 3.
constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return difference << 1 ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t code) { return code >> 1 ^ (0 - (code & 1)); }
constexpr std::uint32_t zigzag32(std::uint32_t difference) {
  return difference << 1 ^ (0 - (difference >> 31));
}
constexpr std::uint32_t unzigzag32(std::uint32_t code) { return code >> 1 ^ (0 - (code & 1)); }

/// A 64-bit checksum of all bytes and their number. The checksum detects every change within one
/// aligned 8-byte word. It misses other changes with a probability of about 2^-64. It protects
/// against accidents, not against attacks.
std::uint64_t checksum(std::span<const std::byte> bytes);

void append_u64(Bytes& out, std::uint64_t number);
void append_varint(Bytes& out, std::uint64_t number);

/// Appends columns to a buffer of the caller. Keeps its zstd context and its work buffers. Not
/// thread-safe.
class ColumnWriter {
 public:
  ColumnWriter();

  void append(Bytes& out, std::span<const std::uint64_t> column);
  void append(Bytes& out, std::span<const std::uint16_t> column);

 private:
  template <typename Number>
  void append_planes(Bytes& out, std::span<const Number> column);
  void append_plane(Bytes& out);

  std::unique_ptr<ZSTD_CCtx_s, FreeZstd> zstd_;
  std::vector<std::uint8_t> plane_;
  std::vector<std::byte> packed_;
};

/// Reads the bytes that ColumnWriter, append_u64() and append_varint() wrote. The bytes are not
/// trusted. After the first error every read fails, and trouble() returns the first reason. The
/// reader never reads outside the bytes. It allocates memory for one plane of the requested column.
/// Not thread-safe.
class ColumnReader {
 public:
  /// Starts to read `bytes`, which must stay valid until the last read.
  void open(std::span<const std::byte> bytes);

  std::uint64_t u64();
  std::uint64_t varint();

  /// Fills `column`; its size is the number of numbers to read. Fails if a number needs more than
  /// `width` bytes.
  bool read(std::span<std::uint64_t> column, unsigned width);
  bool read(std::span<std::uint16_t> column);

  std::size_t left() const { return rest_.size(); }
  bool failed() const { return trouble_ != nullptr; }
  /// The reason, worded as the end of a sentence. Call it only if failed().
  const char* trouble() const { return trouble_; }
  /// Marks the reader as failed, for errors that the caller finds. Returns false.
  bool fail(const char* trouble);

 private:
  template <typename Number>
  bool read_planes(std::span<Number> column, unsigned width);
  bool read_plane(std::size_t numbers);

  std::span<const std::byte> rest_;
  const char* trouble_ = nullptr;                // Points to a literal.
  std::unique_ptr<ZSTD_DCtx_s, FreeZstd> zstd_;  // Created for the first zstd frame.
  std::vector<std::uint8_t> plane_;
};

}  // namespace xylem::wire::internal
