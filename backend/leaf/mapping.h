#pragma once

// Shared memory with one owner.

#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// Shared memory mapped from a descriptor, readable and writable. The destructor unmaps it; the
/// descriptor may be closed earlier. Movable, not copyable. Not thread-safe; the mapped memory may
/// be shared with other threads and processes.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  /// Maps the first `size` bytes. The caller must make sure that the file has at least this size.
  /// Fails with kInternal when the system refuses.
  static Result<Mapping> of(int fd, std::size_t size);

  /// Maps `size` more bytes of a file, from `offset` on. `beginning` is a mapping of the start of
  /// the same file. This needs no descriptor. `offset` and `size` must be whole pages, and the file
  /// must be large enough. Fails with kExhausted when the system refuses, for example because there
  /// is no address space.
  static Result<Mapping> more_of(const Mapping& beginning, std::size_t offset, std::size_t size);

  /// Asks the system to allocate pages in advance, so that the first write does not wait for them.
  /// The system may ignore this.
  void populate(std::size_t offset, std::size_t size) const noexcept;

  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit Mapping(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

/// Makes a new sealable memfd of `size` bytes. The system allocates a page when the page is first
/// written. `name` appears in /proc. Fails with kExhausted or kInternal.
Result<UniqueFd> make_memory(const char* name, std::size_t size);

}  // namespace xylem::backend
