#pragma once

// What a program or a library says of itself: its build id, and where its parts are loaded.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xylem::backend {

struct ObjectFile {
  /// A part of the file that is loaded as code at `address`.
  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
  };

  std::vector<std::byte> build_id;  ///< The GNU build id; empty if there is none.
  std::vector<Part> code;           ///< Empty if the file could not be read.
  std::uint64_t inode = 0;

  /// The address in the file of the page that begins at `offset`, if code is mapped from there. A
  /// part is mapped from the begin of its first page, which other parts may share. Returns nullopt
  /// if no part is mapped from there.
  std::optional<std::uint64_t> address_of_page(std::uint64_t offset) const;
};

/// Reads the ELF file at `path`. The file is not trusted. Returns an ObjectFile without build id
/// and parts if it is not a regular file, not ELF, or cannot be read. Thread-safe.
ObjectFile read_object_file(const std::string& path);

}  // namespace xylem::backend
