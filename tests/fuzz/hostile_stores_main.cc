// Hostile stores, one after the other, through every reader.
//
//   hostile_stores --stores=10000 --seed=1        all of them; says which failed, and goes on
//   hostile_stores --stores=1 --seed=4711 --tell  one again: what was changed, what is being read
//
// Store number i has the seed SEED + i. Readers run in a process of their own, which is started
// anew after a store that ended it. A reader has failed as well when it takes more than --patience
// seconds of processor time, or ten times as long however busy the host is, or more than --memory
// MiB.

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "tests/fuzz/store_readers.h"
#include "tests/support/hostile_stores.h"
#include "tests/unit/storage/packets.h"

// Instead of the system's: nothing here has to survive a power cut.
extern "C" int fsync(int) { return 0; }
extern "C" int fdatasync(int) { return 0; }

namespace {

using namespace xylem;

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kPatience = 30, kMemory = 8192;
#else
constexpr std::uint64_t kPatience = 5, kMemory = 1024;
#endif

struct Options {
  std::uint64_t stores = 300, seed = 1, patience_s = kPatience, memory_mib = kMemory;
  bool tell = false;
};

/// What the reading process is at, for the one that watches it.
struct Progress {
  std::atomic<std::uint64_t> next{0};  ///< Number of the store being read.
  std::atomic<Nanos> began_ns{0};      ///< When the reader did,
  std::atomic<Nanos> cpu_began_ns{0};  ///< of the clock of its processor time.
  std::array<char, 128> reader{};
  std::array<char, 4096> fault{};
};

template <std::size_t size>
void note(std::array<char, size>& to, const std::string& text) {
  const std::size_t bytes = std::min(text.size(), size - 1);
  std::memcpy(to.data(), text.data(), bytes);
  to[bytes] = '\0';
}

bool read_arguments(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--tell") {
      options.tell = true;
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    std::uint64_t* const to = name == "--stores"     ? &options.stores
                              : name == "--seed"     ? &options.seed
                              : name == "--patience" ? &options.patience_s
                              : name == "--memory"   ? &options.memory_mib
                                                     : nullptr;
    if (to == nullptr || equals == std::string_view::npos) return false;
    const std::string_view digits = argument.substr(equals + 1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), *to);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return false;
  }
  return true;
}

std::uint64_t resident_mib() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<std::uint64_t>(used.ru_maxrss) / 1024;
}

Nanos cpu_now(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

/// Whether the process has been at one reader for too long.
bool is_stuck(pid_t reader, const Options& options, const Progress& progress) {
  const auto patience = static_cast<Nanos>(options.patience_s) * kSecond;
  clockid_t clock{};
  if (::clock_getcpuclockid(reader, &clock) != 0) return false;
  return cpu_now(clock) - progress.cpu_began_ns > patience ||
         monotonic_now() - progress.began_ns > 10 * patience;
}

/// Reads stores from `progress.next` on; ends the process at the first fault.
[[noreturn]] void read_stores(const Options& options, Progress& progress,
                              const std::string& folder) {
  set_log_sink([](Level, std::string_view) {});
  const testing::HostileStores stores(folder);
  const std::string path = folder + "/run.db";
  const auto begins = [&](const std::string& reader) {
    note(progress.reader, reader);
    progress.began_ns = monotonic_now();
    progress.cpu_began_ns = cpu_now(CLOCK_PROCESS_CPUTIME_ID);
    if (options.tell) std::cerr << "  " << reader << '\n';
  };
  for (; progress.next < options.stores; ++progress.next) {
    begins("(the store is being made)");
    const std::string changes = stores.write(options.seed + progress.next, path);
    if (options.tell) std::cerr << "store " << options.seed + progress.next << ":\n" << changes;
    std::string fault = testing::read_store(path, folder, stores.tables_and_views(),
                                            options.seed + progress.next, begins);
    if (fault.empty() && resident_mib() > options.memory_mib) {
      fault = "the readers took " + std::to_string(resident_mib()) + " MiB";
    }
    if (fault.empty()) continue;
    note(progress.fault, fault);
    ::_exit(3);
  }
  ::_exit(0);
}

void pause_briefly() {
  const timespec time{0, 20 * kMillisecond};
  ::nanosleep(&time, nullptr);
}

/// Waits for the process. Returns "" when it has read all stores, else what became of it.
std::string watch(pid_t reader, const Options& options, Progress& progress) {
  while (true) {
    int status = 0;
    if (::waitpid(reader, &status, WNOHANG) == reader) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
      if (progress.fault[0] != '\0') return progress.fault.data();
      if (WIFSIGNALED(status)) return std::string("killed: ") + ::strsignal(WTERMSIG(status));
      return "ended with " + std::to_string(WEXITSTATUS(status));
    }
    if (is_stuck(reader, options, progress)) {
      ::kill(reader, SIGKILL);
      ::waitpid(reader, &status, 0);
      return "took longer than " + std::to_string(options.patience_s) + " s";
    }
    pause_briefly();
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!read_arguments(argc, argv, options)) {
    std::cerr << "usage: " << argv[0] << " [--stores=N] [--seed=N] [--patience=S] [--memory=MIB]"
              << " [--tell]\n";
    return 2;
  }
  std::cout << options.stores << " stores, seed " << options.seed << std::endl;
  void* const shared =
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(shared != MAP_FAILED);
  Progress& progress = *new (shared) Progress;
  std::uint64_t failed = 0;
  while (progress.next < options.stores) {
    const storage::Folder folder;
    progress.fault[0] = '\0';
    progress.began_ns = monotonic_now();
    progress.cpu_began_ns = 0;
    const pid_t reader = ::fork();
    CHECK(reader >= 0);
    if (reader == 0) read_stores(options, progress, folder.path());
    const std::string fault = watch(reader, options, progress);
    if (fault.empty()) break;
    ++failed;
    std::cout << "FAILED: " << progress.reader.data() << ": " << fault
              << "\n  again by: " << argv[0]
              << " --stores=1 --seed=" << options.seed + progress.next << " --tell" << std::endl;
    ++progress.next;
  }
  std::cout << failed << " of " << options.stores << " stores failed" << std::endl;
  return failed == 0 ? 0 : 1;
}
