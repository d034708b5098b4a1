#include <string.h>

#include "capture/core/definition_writer_internal.h"
#include "capture/core/process_internal.h"

namespace xylem::capture {

// Static, because MPI's functions have no argument for state.
constinit DefinitionWriter definitions{};

void DefinitionWriter::name(std::uint32_t comm, const char* name) noexcept {
  const CommunicatorText fixed{comm};
  write(DefinitionKind::kCommunicatorName, fixed, name, strnlen(name, kMaxNameBytes));
}

void DefinitionWriter::mapped_file(const MappedFile& file, const char* path) noexcept {
  write(DefinitionKind::kMappedFile, file, path,
        strnlen(path, kMaxDefinitionBytes - sizeof(MappedFile)));
}

void DefinitionWriter::list(DefinitionKind kind, std::uint32_t comm, const void* elements,
                            std::size_t size, std::uint32_t count) noexcept {
  const auto room =
      static_cast<std::uint32_t>((kMaxDefinitionBytes - sizeof(CommunicatorList)) / size);
  for (std::uint32_t first = 0; first < count; first += room) {
    const std::uint32_t here = count - first < room ? count - first : room;
    const CommunicatorList fixed{comm, first, count};
    write(kind, fixed, static_cast<const unsigned char*>(elements) + first * size, here * size);
  }
}

void DefinitionWriter::put(std::uint64_t position, const void* from, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  unsigned char* const log = reinterpret_cast<unsigned char*>(segment_) + definitions_offset();
  const std::uint64_t at = position % kDefinitionBytes;
  const std::size_t before_end = kDefinitionBytes - at < bytes ? kDefinitionBytes - at : bytes;
  memcpy(log + at, from, before_end);
  memcpy(log, static_cast<const unsigned char*>(from) + before_end, bytes - before_end);
}

bool DefinitionWriter::append(DefinitionKind kind, const void* fixed, std::size_t fixed_bytes,
                              const void* more, std::size_t more_bytes) noexcept {
  if (segment_ == nullptr || process.gate->enabled.load(std::memory_order_relaxed) == nullptr)
    return false;
  DefinitionLog& log = segment_->definitions;
  const std::size_t payload = fixed_bytes + more_bytes;
  const std::uint64_t needed = sizeof(DefinitionHead) + padded_definition(payload);
  const BoundedLock locked(locked_);
  const std::uint64_t head = log.head.load(std::memory_order_relaxed);
  // If the tail is ahead of the head, the segment is damaged, and nothing is written.
  const std::uint64_t used = head - log.tail.load(std::memory_order_acquire);
  if (!locked || used > kDefinitionBytes || kDefinitionBytes - used < needed) {
    log.dropped.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const DefinitionHead entry{kind, static_cast<std::uint16_t>(payload), 0};
  const std::uint64_t zeros = 0;
  put(head, &entry, sizeof entry);
  put(head + sizeof entry, fixed, fixed_bytes);
  put(head + sizeof entry + fixed_bytes, more, more_bytes);
  put(head + sizeof entry + payload, &zeros, padded_definition(payload) - payload);
  log.head.store(head + needed, std::memory_order_release);
  return true;
}

}  // namespace xylem::capture
