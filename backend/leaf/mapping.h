#pragma once

// Shared memory with one owner.

#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// Memory mapped from a descriptor, readable and writable, shared. Unmapped when it goes; the
/// descriptor may be closed before. Movable, not copyable.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  /// Maps the first `size` bytes. Fails with kInternal when the system refuses; the caller has
  /// made sure that the file is so large.
  static Result<Mapping> of(int fd, std::size_t size);

  /// Maps `size` bytes from `offset` on of the same file that `beginning` maps from its start,
  /// without a descriptor. Both are whole pages; the caller has made sure that the file is so
  /// large. Fails with kExhausted when address space is short.
  static Result<Mapping> more_of(const Mapping& beginning, std::size_t offset, std::size_t size);

  /// Has the system give memory to pages of it, so that whoever writes them first need not wait for
  /// it. No more than advice.
  void populate(std::size_t offset, std::size_t size) const noexcept;

  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit Mapping(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

/// A new sealable memfd of so many bytes, sparse until written. `name` shows in /proc.
/// Fails with kExhausted or kInternal.
Result<UniqueFd> make_memory(const char* name, std::size_t size);

}  // namespace xylem::backend
