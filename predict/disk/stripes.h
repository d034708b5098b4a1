#pragma once

// On which storage node a byte of a file is. A file is cut into stripes of the same size. Stripe i
// of file f is on storage node (f + i) mod n, so that files begin on different storage nodes. A
// storage node keeps its stripes of a file one after the other.

#include <cstdint>

#include "base/check.h"

namespace xylem::predict {

/// Where a byte of a file is.
struct StoredAt {
  std::uint32_t server = 0;      ///< The storage node, from 0.
  std::uint64_t offset = 0;      ///< In the part of the file that this storage node has.
  std::uint64_t contiguous = 0;  ///< From this byte to the end of its stripe. Above 0.

  bool operator==(const StoredAt&) const = default;
};

/// Round-robin stripes. A value type.
class Stripes {
 public:
  /// Both are above 0.
  Stripes(std::uint64_t stripe_bytes, std::uint32_t servers)
      : bytes_(stripe_bytes), servers_(servers) {
    CHECK(stripe_bytes > 0 && servers > 0);
  }

  StoredAt find(std::uint32_t file, std::uint64_t offset) const {
    const std::uint64_t stripe = offset / bytes_, within = offset % bytes_;
    return {static_cast<std::uint32_t>((file + stripe) % servers_),
            stripe / servers_ * bytes_ + within, bytes_ - within};
  }

  /// How many of the first `file_bytes` bytes of a file a storage node has.
  std::uint64_t bytes_on(std::uint32_t server, std::uint32_t file, std::uint64_t file_bytes) const {
    const std::uint64_t stripes = file_bytes / bytes_;
    const std::uint64_t place = (std::uint64_t{server} + servers_ - file % servers_) % servers_;
    const std::uint64_t rest = stripes % servers_;
    return stripes / servers_ * bytes_ + (place < rest    ? bytes_
                                          : place == rest ? file_bytes % bytes_
                                                          : 0);
  }

 private:
  std::uint64_t bytes_;
  std::uint32_t servers_;
};

}  // namespace xylem::predict
