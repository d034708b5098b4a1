#include "capture/core/run_key.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "base/run_contract.h"
#include "capture/core/process_internal.h"
#include "capture/core/ring.h"
#include "capture/core/run_key_internal.h"
#include "capture/core/system_internal.h"
#include "capture/core/wrapper_internal.h"

namespace xylem::capture {
namespace {

// Has a page of its own, because the advice to the kernel applies to whole pages. In a child of
// fork() the page is zero. So the lock is free there, even if a thread of the parent held it. It is
// not a SharedState, because zeroed memory is no valid mutex, and a mutex waits without limit.
struct KeptKey {
  std::atomic<std::uint32_t> lock;
  char digits[kKeyDigits + 1];
};
// Static, because MPI's functions have no argument for state: all threads use the process's key.
constinit std::atomic<KeptKey*> kept{nullptr};

// Used before Linux 4.14. It clears the key in children that the C library makes.
void empty_in_child() { wipe(kept.load(), sizeof(KeptKey)); }

// Returns null if there is no memory.
KeptKey* make_page() {
  if (KeptKey* page = kept.load(std::memory_order_acquire)) return page;
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = take_memory(bytes);
  if (memory == nullptr) return nullptr;
  madvise(memory, bytes, MADV_DONTDUMP);
  const bool is_emptied = madvise(memory, bytes, MADV_WIPEONFORK) == 0;
  KeptKey* before = nullptr;
  if (!kept.compare_exchange_strong(before, static_cast<KeptKey*>(memory))) {
    munmap(memory, bytes);
    return before;
  }
  if (!is_emptied) pthread_atfork(nullptr, nullptr, &empty_in_child);
  return static_cast<KeptKey*>(memory);
}

// Is held while a line is copied. Recording a call never waits for it. A thread that ended while it
// held the lock (pthread_cancel, a signal handler that jumps) delays others only briefly.
class Lock {
 public:
  explicit Lock(KeptKey& key) : key_(key) {
    constexpr long kPauseNs = 10'000;
    constexpr int kMaxPauses = 10'000;
    const timespec pause{0, kPauseNs};
    for (int i = 0; i < kMaxPauses && key_.lock.exchange(1, std::memory_order_acquire) != 0; ++i)
      nanosleep(&pause, nullptr);
  }
  ~Lock() { key_.lock.store(0, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  KeptKey& key_;
};

}  // namespace

void take_key() noexcept {
  if (getenv(kEnvKey) == nullptr) return;
  KeptKey* page = make_page();
  if (page == nullptr) return;
  const Lock lock(*page);
  char* key = getenv(kEnvKey);
  if (key == nullptr) return;
  const std::size_t length = strlen(key);
  if (length == kKeyDigits) memcpy(page->digits, key, length + 1);
  wipe(key, length);
  unsetenv(kEnvKey);
}

bool copy_key(KeyCopy& copy) noexcept {
  KeptKey* page = kept.load(std::memory_order_acquire);
  if (page == nullptr) return false;
  const Lock lock(*page);
  if (page->digits[0] == 0) return false;
  memcpy(copy.digits, page->digits, sizeof copy.digits);
  return true;
}

}  // namespace xylem::capture

XYLEM_WRAPPER int xylem_run_key_1(char* digits) {
  using namespace xylem::capture;
  take_key();
  KeyCopy key;
  if (!copy_key(key)) return 0;
  memcpy(digits, key.digits, sizeof key.digits);
  return 1;
}
