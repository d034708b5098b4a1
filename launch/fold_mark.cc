#include "launch/fold_mark.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace xylem::launch {
namespace {

constexpr std::size_t kBytes = sizeof(std::atomic<std::uint32_t>);  // The kernel gives a page.

}  // namespace

void FoldMark::Unmap::operator()(std::atomic<std::uint32_t>* word) const { ::munmap(word, kBytes); }

Result<FoldMark> FoldMark::make() {
  UniqueFd memory(::memfd_create("xylem-fold", MFD_CLOEXEC));
  if (!memory || ::ftruncate(memory.get(), kBytes) != 0) {
    return unexpected(Code::kExhausted,
                      std::string("there is no memory to share: ") + std::strerror(errno));
  }
  return of(std::move(memory));
}

Result<FoldMark> FoldMark::of(UniqueFd memory) {
  // mmap() would accept a file that is too short, and the first access would end the process.
  struct stat found {};
  if (::fstat(memory.get(), &found) != 0) {
    return unexpected(Code::kInvalidArgument,
                      std::string("memory cannot be shared: ") + std::strerror(errno));
  }
  if (found.st_size < static_cast<off_t>(kBytes)) {
    return unexpected(Code::kInvalidArgument, "memory cannot be shared: the descriptor has " +
                                                  std::to_string(found.st_size) +
                                                  " bytes instead of " + std::to_string(kBytes));
  }
  void* place = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (place == MAP_FAILED) {
    return unexpected(Code::kInvalidArgument,
                      std::string("memory cannot be shared: ") + std::strerror(errno));
  }
  // The memory is all zero, which is the word's initial value.
  return FoldMark(std::move(memory), Word(static_cast<std::atomic<std::uint32_t>*>(place)));
}

std::optional<StreamId> FoldMark::take() {
  const std::uint32_t stream = word_->exchange(0, std::memory_order_relaxed);
  if (stream == 0) return std::nullopt;
  return StreamId{stream};
}

}  // namespace xylem::launch
