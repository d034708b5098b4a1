// What capture adds to an MPI call.
//
//   bench_capture [MPI [ROUNDS [SUBJECT]]]        defaults: mpich, 31 rounds, all subjects
//
// A subject is one MPI call or a few that belong together; its figure is per call. One rank
// (tests/support/mpi/calls_per_second.c) on the first core in five settings that take
// turns, batch by batch, so that the machine's moods hit all alike:
//
//   none       not preloaded
//   dormant    preloaded, no run
//   off        registered, switched off by the agent
//   written    every call recorded; the ring is emptied between batches ("overwritten")
//   drained    every call recorded; this program reads the ring meanwhile on the other core
//
// Figures are medians over rounds of the difference to "none" in the same round. Floor: two reads
// of the time-stamp counter. Bars (design, section 12): dormant 1 ns, written 20 ns, drained 30 ns
// a call.

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/run_contract.h"
#include "capture/core/ring.h"

namespace {

using namespace xylem::capture;

// With two records a call at most, a batch fits into a ring of the default size.
constexpr long kCalls = 100'000;
constexpr const char* kSubjects[] = {"comm_rank",
                                     "iprobe",
                                     "test",
                                     "sendrecv",
                                     "sendrecv_strided",
                                     "isend_recv_wait",
                                     "irecv_send_wait",
                                     "irecv_isend_waitall",
                                     "allreduce",
                                     "bcast"};
constexpr double kFloorOfBars = 18;
constexpr int kWarmUps = 3;              // Enough to touch every page of the ring.
constexpr long kDrainPauseNs = 200'000;  // Several turns in a batch; an agent's are rarer.

struct Bench {
  std::string program;
  std::string library;
  std::string folder;
  std::string run;
  int listener = -1;
};

void pin(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

void stop(const char* what) {
  perror(what);
  exit(1);
}

SegmentHeader* accept_segment(int listener) {
  const int connection = accept(listener, nullptr, nullptr);
  Registration registration{};
  iovec part{&registration, sizeof registration};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(connection, &message, 0) < 0 || CMSG_FIRSTHDR(&message) == nullptr)
    stop("registration");
  close(connection);
  int fd = -1;
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  struct stat size {};
  fstat(fd, &size);
  void* memory = mmap(nullptr, static_cast<std::size_t>(size.st_size), PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) stop("the segment");
  return static_cast<SegmentHeader*>(memory);
}

// One running program in one setting.
class Subject {
 public:
  Subject(const Bench& bench, const char* function, bool preloaded, bool registered,
          const char* sample) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) stop("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      pin(0);
      dup2(to[0], 0);
      dup2(from[1], 1);
      if (preloaded) setenv("LD_PRELOAD", bench.library.c_str(), 1);
      if (registered) {
        setenv(xylem::kEnvAddress, "127.0.0.1:1", 1);
        setenv(xylem::kEnvRun, bench.run.c_str(), 1);
        setenv(xylem::kEnvSample, sample, 1);
      }
      execl(bench.program.c_str(), bench.program.c_str(), function, std::to_string(kCalls).c_str(),
            nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = fdopen(to[1], "w");
    from_ = fdopen(from[0], "r");
    if (registered) segment_ = accept_segment(bench.listener);
    char line[64] = "";
    if (fgets(line, sizeof line, from_) == nullptr || strcmp(line, "ready\n") != 0)
      stop(bench.program.c_str());
  }

  ~Subject() {
    fputs("-\n", to_);
    fclose(to_);
    fclose(from_);
    waitpid(pid_, nullptr, 0);
    if (segment_ != nullptr) munmap(segment_, segment_->segment_bytes);
  }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  void switch_off() { segment_->enabled.store(0); }

  double batch(bool drained) {
    if (segment_ != nullptr) empty();
    std::atomic<bool> running{true};
    std::thread reader;
    if (drained) reader = std::thread([&] { drain(running); });
    char line[64] = "";
    fputs("\n", to_);
    fflush(to_);
    if (fgets(line, sizeof line, from_) == nullptr) stop("a batch");
    running = false;
    if (drained) reader.join();
    return strtod(line, nullptr);
  }

  std::uint64_t lost() const {
    std::uint64_t sum = 0;
    for (const auto& lost : ring().lost) sum += lost.load();
    return sum;
  }

 private:
  ThreadRing& ring() const {
    return *reinterpret_cast<ThreadRing*>(reinterpret_cast<unsigned char*>(segment_) +
                                          ring_offset(0));
  }

  void empty() { ring().tail.store(ring().head.load(std::memory_order_acquire)); }

  // Reads every record, as an encoder would, and gives its slot back.
  void drain(const std::atomic<bool>& running) {
    pin(1);
    ThreadRing& from = ring();
    const auto* records = reinterpret_cast<const Record*>(
        reinterpret_cast<unsigned char*>(segment_) +
        records_offset(0, segment_->max_rings, segment_->ring_records));
    std::uint64_t sum = 0;
    while (running) {
      const std::uint64_t head = from.head.load(std::memory_order_acquire);
      const std::uint32_t limit = from.limit.load(std::memory_order_acquire);
      for (std::uint64_t at = from.tail.load(std::memory_order_relaxed); at != head; ++at) {
        const Record& record = records[slot_of(from, at, limit)];
        sum += record.end - record.begin + record.bytes + record.function;
      }
      from.tail.store(head, std::memory_order_release);
      const timespec pause{0, kDrainPauseNs};
      nanosleep(&pause, nullptr);
    }
    sink_ = sum;
  }

  pid_t pid_ = 0;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
  SegmentHeader* segment_ = nullptr;
  std::uint64_t sink_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double floor_of(const Bench& bench, int rounds) {
  Subject clock(bench, "clock", false, false, "");
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(clock.batch(false));
  return median(times);
}

// `bar` in ns where the floor is kFloorOfBars.
void print(const char* function, const char* setting, double floor, double figure, double bar) {
  bar *= floor / kFloorOfBars;
  printf("%-20s %-8s floor %5.1f ns  figure %6.2f ns  ratio %5.2f  bar %5.1f ns  %s\n", function,
         setting, floor, figure, figure / floor, bar, figure <= bar ? "reached" : "MISSED");
}

void measure(const Bench& bench, const char* function, const char* sample, double floor,
             int rounds) {
  Subject none(bench, function, false, false, "");
  Subject dormant(bench, function, true, false, "");
  Subject off(bench, function, true, true, sample);
  Subject written(bench, function, true, true, sample);
  Subject drained(bench, function, true, true, sample);
  off.switch_off();
  std::vector<double> base, d_dormant, d_off, d_written, d_drained;
  for (int round = -kWarmUps; round < rounds; ++round) {
    const double a = none.batch(false), b = dormant.batch(false), c = off.batch(false),
                 d = written.batch(false), e = drained.batch(true);
    if (round < 0) continue;
    base.push_back(a);
    d_dormant.push_back(b - a);
    d_off.push_back(c - a);
    d_written.push_back(d - a);
    d_drained.push_back(e - a);
  }
  printf("%-20s call alone %.1f ns; sampling %s; lost %llu\n", function, median(base), sample,
         static_cast<unsigned long long>(written.lost() + drained.lost()));
  print(function, "dormant", floor, median(d_dormant), 1);
  print(function, "off", floor, median(d_off), 1);
  print(function, "written", floor, median(d_written), 20);
  print(function, "drained", floor, median(d_drained), 30);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mpi = count > 1 ? arguments[1] : "mpich";
  const int rounds = count > 2 ? std::max(1, atoi(arguments[2])) : 31;
  const std::string only = count > 3 ? arguments[3] : "";
  const auto here = std::filesystem::canonical("/proc/self/exe").parent_path();
  char run[17];
  snprintf(run, sizeof run, "%016x", static_cast<unsigned>(getpid()));
  Bench bench;
  bench.program = here / "mpi" / ("calls_per_second." + mpi);
  bench.library = here.parent_path() / "lib/xylem/libxylem-capture.so";
  bench.run = run;
  bench.folder = "/dev/shm/xylem-" + std::to_string(geteuid()) + "-" + run;
  if (mkdir(bench.folder.c_str(), 0700) != 0) stop(bench.folder.c_str());
  // As an agent does, so that no other agent takes the folder for one that was left behind.
  const int held = open(bench.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (held < 0 || flock(held, LOCK_SH) != 0) stop(bench.folder.c_str());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", bench.folder.c_str(),
           xylem::kAgentSocketName);
  bench.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(bench.listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(bench.listener, 16) != 0) {
    stop(address.sun_path);
  }
  pin(1);
  const double floor = floor_of(bench, rounds);
  for (const char* subject : kSubjects) {
    if (only.empty() || only == subject) measure(bench, subject, "none", floor, rounds);
  }
  if (only.empty()) measure(bench, "iprobe", "MPI_Iprobe=1000", floor, rounds);
  std::filesystem::remove_all(bench.folder);
  return 0;
}
