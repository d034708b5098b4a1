// Plays the agent for tests of the capture library alone: takes registrations, drains rings, checks
// what ring.h promises and prints what it saw as tab-separated text.
//
//   capture_probe --folder DIR --processes N --output FILE [--hold] [--disable] [--records]
//                 [--deadline SECONDS]
//
// listens in DIR, prints "ready" and ends when N processes have registered and ended. --hold drains
// nothing before a process has ended; --disable switches each process off at once; --records
// prints each record too. Ends with 1 when a promise was broken ("fault" lines), 3 at the deadline.
//
// Without arguments it is started as xylem-backend is: socket and key pipe on descriptors 3 and 4.
// It writes to TMPDIR/probe-HOST.tsv what it was given, and ends when no process is left.

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/run_contract.h"
#include "capture/core/ring.h"

namespace {

using namespace xylem::capture;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string folder;
  std::string output;
  unsigned processes = 1;
  bool hold = false;
  bool disable = false;
  bool records = false;
  int deadline_seconds = 60;
};

struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

struct Seen {
  std::uint64_t calls = 0;    // Sum over its records.
  std::uint64_t records = 0;  // Of calls, not completions.
  std::uint64_t bytes = 0;    // Over calls and completions.
};

// One registered process.
class Watched {
 public:
  Watched(pid_t pid, int segment_fd) : pid_(pid) {
    pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    struct stat size {};
    if (fstat(segment_fd, &size) == 0) bytes_ = static_cast<std::size_t>(size.st_size);
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, segment_fd, 0);
    if (memory != MAP_FAILED) header_ = static_cast<SegmentHeader*>(memory);
  }
  ~Watched() {
    if (header_ != nullptr) munmap(header_, bytes_);
    if (pidfd_ >= 0) close(pidfd_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  bool has_ended() const {
    pollfd ended{pidfd_, POLLIN, 0};
    return pidfd_ < 0 || poll(&ended, 1, 0) == 1;
  }
  SegmentHeader* header() { return header_; }
  bool done = false;

  void check(bool holds, const char* promise) {
    if (holds) return;
    if (faults_++ < 10) fprintf(stderr, "fault\t%d\t%s\n", pid_, promise);
  }

  void drain(FILE* out, bool print) {
    if (header_ == nullptr) return check(false, "the segment can be mapped");
    const std::uint32_t threads = header_->threads.load(std::memory_order_acquire);
    for (std::uint32_t t = 0; t < threads; ++t) drain_ring(t, out, print);
  }

  void report(FILE* out) {
    const SegmentHeader& h = *header_;
    fprintf(out, "process\t%d\t%u\t%u\t", pid_, h.rank, h.world_size);
    for (std::uint8_t byte : h.world_key) fprintf(out, "%02x", byte);
    fprintf(out, "\t%u\t%s\t%llu\t%llu\t%u\t%s\n",
            static_cast<unsigned>(h.state.load(std::memory_order_acquire)), h.mpi_library,
            number(h.ringless_calls), number(h.untracked_requests), h.threads.load(), h.program);
    for (std::uint32_t f = 0; f < h.function_count; ++f) report_function(out, f);
    fprintf(out, "lost\t%d\t%u\t%llu\t%llu\t%llu\n", pid_, h.rank,
            over_rings(&ThreadRing::lost_messages), over_rings(&ThreadRing::lost_message_bytes),
            over_rings(&ThreadRing::lost_receives));
    for (const auto& [peer, sent] : sends_)
      fprintf(out, "send\t%d\t%u\t%d\t%llu\t%llu\n", pid_, h.rank, peer, number(sent.messages),
              number(sent.bytes));
    for (const auto& [peer, got] : receives_)
      fprintf(out, "receive\t%d\t%u\t%d\t%llu\t%llu\n", pid_, h.rank, peer, number(got.messages),
              number(got.bytes));
    fprintf(out, "faults\t%d\t%u\n", pid_, faults_);
    fflush(out);
  }

  unsigned faults() const { return faults_; }

 private:
  static unsigned long long number(std::uint64_t value) { return value; }

  ThreadRing& ring(std::uint32_t t) {
    return *reinterpret_cast<ThreadRing*>(reinterpret_cast<unsigned char*>(header_) +
                                          ring_offset(t));
  }

  void drain_ring(std::uint32_t t, FILE* out, bool print) {
    ThreadRing& from = ring(t);
    const auto* records = reinterpret_cast<const Record*>(
        reinterpret_cast<unsigned char*>(header_) +
        records_offset(t, header_->max_rings, header_->ring_records));
    const std::uint64_t head = from.head.load(std::memory_order_acquire);
    const std::uint32_t limit = from.limit.load(std::memory_order_acquire);
    std::uint64_t at = from.tail.load(std::memory_order_relaxed);
    check(head - at <= limit, "head - tail <= limit");
    check(limit <= header_->ring_records, "limit <= ring_records");
    for (; at != head; ++at) take(records[slot_of(from, at, limit)], t, out, print);
    from.tail.store(at, std::memory_order_release);
  }

  void take(const Record& r, std::uint32_t t, FILE* out, bool print) {
    check(r.function < header_->function_count, "a record's function is in the table");
    check(r.end >= r.begin, "a call ends after it begins");
    check(is_part(r) ? r.calls == 0 : r.calls >= 1, "calls fit the kind");
    check(((r.flags & kRecordEstimated) != 0) == (r.calls > 1), "estimated when calls > 1");
    if ((r.flags & (kRecordSend | kRecordReceive)) != 0) check(r.peer >= 0, "payload has a peer");
    const auto limit = static_cast<std::int32_t>(header_->world_size);
    if (header_->state.load() == ProcessState::kRunning) check(r.peer < limit, "peer is in world");
    Seen& seen = seen_[r.function];
    seen.calls += r.calls;
    seen.records += is_part(r) ? 0 : 1;
    if ((r.flags & kRecordBlock) == 0) seen.bytes += r.bytes;
    if ((r.flags & kRecordSend) != 0) count(sends_[r.peer], r);
    if ((r.flags & kRecordReceive) != 0) count(receives_[r.peer], r);
    if (!print) return;
    fprintf(out, "record\t%u\t%u\t%s\t%u\t%u\t%d\t%llu\t%d\t%u\t%d\t%u\t%llu\t%llu\t%llu\n",
            header_->rank, t, header_->functions[r.function].name, is_part(r) ? 1u : 0u,
            static_cast<unsigned>(r.flags), r.peer, number(r.bytes), r.tag, r.comm, result_of(r),
            static_cast<unsigned>(r.calls), number(r.begin), number(r.end), number(r.request));
  }

  unsigned long long over_rings(std::atomic<std::uint64_t> ThreadRing::*counter) {
    unsigned long long sum = 0;
    for (std::uint32_t t = 0; t < header_->threads.load(); ++t) sum += (ring(t).*counter).load();
    return sum;
  }

  static void count(Traffic& traffic, const Record& r) {
    ++traffic.messages;
    traffic.bytes += r.bytes;
  }

  void report_function(FILE* out, std::uint32_t f) {
    std::uint64_t calls = 0, lost = 0;
    for (std::uint32_t t = 0; t < header_->threads.load(); ++t) {
      calls += ring(t).calls[f].load(std::memory_order_relaxed);
      calls += ring(t).inner_calls[f].load(std::memory_order_relaxed);
      lost += ring(t).lost[f].load(std::memory_order_relaxed);
    }
    const Seen& seen = seen_[f];
    check(seen.calls + lost <= calls, "no more is recorded and lost than was called");
    if (calls == 0) return;
    fprintf(out, "function\t%d\t%u\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\n", pid_, header_->rank,
            header_->functions[f].name, number(calls), number(seen.calls), number(lost),
            number(seen.records), number(seen.bytes));
  }

  pid_t pid_;
  int pidfd_ = -1;
  SegmentHeader* header_ = nullptr;
  std::size_t bytes_ = 0;
  unsigned faults_ = 0;
  std::array<Seen, kMaxFunctions> seen_{};
  std::map<std::int32_t, Traffic> sends_, receives_;
};

// The registration on a fresh connection: pid from the kernel, segment from the message.
std::unique_ptr<Watched> accept_one(int listener) {
  const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return nullptr;
  ucred peer{};
  socklen_t length = sizeof peer;
  getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length);
  Registration registration{};
  iovec part{&registration, sizeof registration};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  close(connection);
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (got != sizeof registration || registration.magic != kSegmentMagic) return nullptr;
  if (rights == nullptr) {
    printf("unwatched\t%u\t%u\t%s\n", registration.rank, registration.world_size,
           registration.unwatched);
    return nullptr;
  }
  int fd = -1;
  memcpy(&fd, CMSG_DATA(rights), sizeof fd);
  auto watched = std::make_unique<Watched>(peer.pid, fd);
  close(fd);
  return watched;
}

int listen_in(const std::string& folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder.c_str(),
           xylem::kAgentSocketName);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 128) != 0) {
    perror(address.sun_path);
    exit(2);
  }
  return listener;
}

int watch(const Options& options, int listener, FILE* out) {
  const auto deadline = Clock::now() + std::chrono::seconds(options.deadline_seconds);
  std::vector<std::unique_ptr<Watched>> all;
  unsigned ended = 0, faults = 0;
  while (ended < options.processes) {
    if (Clock::now() > deadline) {
      fprintf(stderr, "deadline: %zu processes registered, %u ended\n", all.size(), ended);
      return 3;
    }
    pollfd knock{listener, POLLIN, 0};
    if (poll(&knock, 1, 1) == 1) {
      if (auto one = accept_one(listener)) {
        if (options.disable) one->header()->enabled.store(0);
        all.push_back(std::move(one));
      }
    }
    for (auto& one : all) {
      if (one->done) continue;
      const bool over = one->has_ended();  // Before draining: then nothing comes after it.
      if (!options.hold || over) one->drain(out, options.records);
      if (!over) continue;
      one->report(out);
      one->done = true;
      faults += one->faults();
      ++ended;
    }
  }
  return faults == 0 ? 0 : 1;
}

// As xylem-backend: leave the rank at once, report what was inherited.
int run_as_agent() {
  if (fork() != 0) _exit(0);
  setsid();
  if (fork() != 0) _exit(0);
  const char* folder = getenv("XYLEM_FOLDER");
  const char* host = getenv("XYLEM_HOST");
  const char* to = getenv("TMPDIR");
  FILE* out = fopen((std::string(to) + "/probe-" + host + ".tsv").c_str(), "w");
  if (out == nullptr) return 2;
  char key[256];
  std::string all;
  for (ssize_t n; (n = read(xylem::kBackendKeyFd, key, sizeof key)) > 0;) all.append(key, n);
  close(xylem::kBackendKeyFd);
  fprintf(out, "key\t%s\nparent\t%d\n", all.c_str(), getpid());
  for (char** at = environ; *at != nullptr; ++at) fprintf(out, "environment\t%s\n", *at);
  char target[512];
  for (int fd = 0; fd < 256; ++fd) {
    const ssize_t n = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, 511);
    if (n > 0 && fd != fileno(out)) fprintf(out, "descriptor\t%d\t%.*s\n", fd, int(n), target);
  }
  // As an agent does, so that no other agent takes the folder for one that was left behind.
  const int held = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (held < 0 || flock(held, LOCK_SH) != 0) return 2;
  cpu_set_t processors;
  sched_getaffinity(0, sizeof processors, &processors);
  fprintf(out, "processors\t%d\n", CPU_COUNT(&processors));

  std::vector<std::unique_ptr<Watched>> watched;
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  for (std::size_t ended = 0;
       (watched.empty() || ended < watched.size()) && Clock::now() < deadline;) {
    pollfd knock{xylem::kBackendListenFd, POLLIN, 0};
    if (poll(&knock, 1, 1) == 1) {
      if (auto one = accept_one(xylem::kBackendListenFd)) watched.push_back(std::move(one));
    }
    for (auto& one : watched) {
      if (one->done) continue;
      const bool over = one->has_ended();
      one->drain(out, false);
      if (!over) continue;
      one->report(out);
      one->done = true;
      ++ended;
    }
  }
  fprintf(out, "end\n");
  fclose(out);
  const std::string base = folder;
  unlink((base + "/" + xylem::kAgentSocketName).c_str());
  unlink((base + "/" + xylem::kAgentLockName).c_str());
  rmdir(folder);
  return 0;
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const auto value = [&] { return i + 1 < count ? std::string(arguments[++i]) : std::string(); };
    if (name == "--folder")
      options.folder = value();
    else if (name == "--output")
      options.output = value();
    else if (name == "--processes")
      options.processes = static_cast<unsigned>(std::stoul(value()));
    else if (name == "--deadline")
      options.deadline_seconds = std::stoi(value());
    else if (name == "--hold")
      options.hold = true;
    else if (name == "--disable")
      options.disable = true;
    else if (name == "--records")
      options.records = true;
  }
  return options;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 1 && getenv("XYLEM_FOLDER") != nullptr) return run_as_agent();
  const Options options = parse(count, arguments);
  FILE* out = options.output.empty() ? stdout : fopen(options.output.c_str(), "w");
  if (out == nullptr) {
    perror(options.output.c_str());
    return 2;
  }
  const int listener = listen_in(options.folder);
  puts("ready");
  fflush(stdout);
  const int result = watch(options, listener, out);
  fclose(out);
  return result;
}
