#pragma once

// What a program or a library says of itself: its build id, and where its parts are loaded.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xylem::backend {

struct ObjectFile {
  /// A part of the file that is loaded at `address`.
  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
  };

  std::vector<std::byte> build_id;  ///< The GNU build id; empty if there is none.
  std::vector<Part> parts;          ///< Empty if the file could not be read.
  std::uint64_t inode = 0;

  /// The address at which the byte at `offset` is loaded, if the file is loaded at address 0.
  /// Returns `offset` if no part has this byte.
  std::uint64_t address_of(std::uint64_t offset) const;
};

/// Reads the ELF file at `path`. The file is not trusted. Returns an ObjectFile without build id
/// and parts if it is not a regular file, not ELF, or cannot be read. Thread-safe.
ObjectFile read_object_file(const std::string& path);

}  // namespace xylem::backend
