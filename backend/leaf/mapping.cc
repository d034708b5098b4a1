#include "backend/leaf/mapping.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace xylem::backend {

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

Result<Mapping> Mapping::of(int fd, std::size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    return unexpected(Code::kInternal, "cannot map " + std::to_string(size) +
                                           " bytes of shared memory: " + std::strerror(errno));
  }
  return Mapping({static_cast<std::byte*>(memory), size});
}

// If the old size is 0, mremap makes a second mapping of shared memory. The second mapping may be
// longer than the first.
Result<Mapping> Mapping::more_of(const Mapping& beginning, std::size_t offset, std::size_t size) {
  void* memory = ::mremap(beginning.bytes_.data(), 0, offset + size, MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) {
    return unexpected(Code::kExhausted, "cannot map " + std::to_string(size) +
                                            " bytes of shared memory: " + std::strerror(errno));
  }
  if (offset != 0) ::munmap(memory, offset);
  return Mapping({static_cast<std::byte*>(memory) + offset, size});
}

void Mapping::populate(std::size_t offset, std::size_t size) const noexcept {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, unknown to old headers.
  if (offset + size <= bytes_.size()) ::madvise(bytes_.data() + offset, size, kPopulateWrite);
}

Result<UniqueFd> make_memory(const char* name, std::size_t size) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) {
    return unexpected(errno == ENOMEM || errno == EMFILE ? Code::kExhausted : Code::kInternal,
                      std::string("cannot make shared memory ") + name + " of " +
                          std::to_string(size) + " bytes: " + std::strerror(errno));
  }
  return fd;
}

}  // namespace xylem::backend
