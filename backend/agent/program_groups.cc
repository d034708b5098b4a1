#include "backend/agent/program_groups.h"

#include <sys/mman.h>

#include <csignal>
#include <new>

namespace xylem::backend {

ProgramGroups::ProgramGroups() {
  void* const memory =
      ::mmap(nullptr, sizeof(Slots), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  // The guard and its workers share this memory. The destructor unmaps it.
  if (memory != MAP_FAILED) slots_ = new (memory) Slots{};
}

ProgramGroups::~ProgramGroups() {
  if (slots_ != nullptr) ::munmap(slots_, sizeof(Slots));
}

void ProgramGroups::enter(std::size_t place, pid_t group) noexcept {
  if (slots_ != nullptr && place < slots_->size()) (*slots_)[place].store(group);
}

void ProgramGroups::end_all() noexcept {
  if (slots_ == nullptr) return;
  for (std::atomic<pid_t>& slot : *slots_) {
    const pid_t group = slot.exchange(0);
    if (group > 1) ::kill(-group, SIGKILL);
  }
}

}  // namespace xylem::backend
