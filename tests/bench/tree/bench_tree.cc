// What a tree of tools costs: the workloads that MRNet is measured with (same shapes, sizes and
// synchronisation), leaves in processes of their own. A project of its own that knows the installed
// package only; tests/bench/tree_bench.py builds and runs it.
//
//   bench_tree [ROW...] [--leaves N] [--shape SHAPE] [--tls] [--hosts A,B,.. --launcher PROGRAM]
//
// With --hosts, N leaves on each of them, started by `PROGRAM HOST COMMAND...`.
//
//   start     time until all leaves are attached and the tree is placed; floor: as many processes
//             of this program that end at once
//   latency   broadcast and sum round trip, one outstanding; floors: a round trip of one byte over
//             loopback between two blocked processes, and a byte to as many processes as there are
//             leaves and one back from each, by nothing but read() and write()
//   waves     sums a second, every leaf sending as fast as the tree takes them
//   steady    (only when asked for) the same for five seconds, however slow the tree
//   delay     (only when asked for) from a wave's last leaf to the front end, 5 waves a second for
//             five seconds; leaves and front end must have one clock
//   small     packets of two numbers a second at the front end, passed on as they come
//   large     packets of 64 KiB, GB/s at the front end; floor: read() and write() over the same
//             way; the median of pairs
//   memory    proportional set size of a leaf, of a communication process and of this front end, at
//             once and after five seconds in which nothing is sent
//
// A leaf is this program with --leaf. It answers what the front end multicasts on the stream.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xylem/backend/leaf.h>
#include <xylem/frontend/tree.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace xylem {
namespace {

using frontend::StreamOptions;
using frontend::Tree;
using frontend::TreeOptions;

constexpr Nanos kPatience = 300 * kSecond;
constexpr std::size_t kLargeBytes = 64u << 10;

// What a multicast asks of each leaf: so many waves of a kind.
enum class Kind : std::int64_t { kNumber = 1, kPair = 2, kLarge = 3, kTime = 4 };
constexpr wire::FieldNumber kKindField = 1;
constexpr wire::FieldNumber kCountField = 2;
constexpr Nanos kPace = 200 * kMillisecond;  // Between two waves of kTime: slow leaves keep up.
constexpr Nanos kWhile = 5 * kSecond;        // How long `steady` and `delay` go on.

double seconds_since(Nanos begin) { return static_cast<double>(monotonic_now() - begin) * 1e-9; }

template <typename T>
T must(Result<T> result, const char* what) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "bench_tree: %s: %s\n", what, result.error().message.c_str());
  std::exit(1);
}

void must(const Result<void>& result, const char* what) {
  if (result) return;
  std::fprintf(stderr, "bench_tree: %s: %s\n", what, result.error().message.c_str());
  std::exit(1);
}

void must_be(bool so) {
  if (so) return;
  std::perror("bench_tree");
  std::exit(1);
}

double median(std::vector<double> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

// ---- the leaf ----

int leaf_main() {
  backend::LeafOptions options;
  options.threading = backend::Threading::kCaller;
  auto leaf = must(backend::Leaf::join(std::move(options)), "join");
  for (;;) {
    auto order = leaf->receive(kPatience);
    if (!order) return order.error().code == Code::kUnavailable ? 0 : 1;
    auto stream = must(leaf->stream(order->stream, kPatience), "stream");
    const auto kind = static_cast<Kind>(*order->fields.get<std::int64_t>(kKindField));
    const std::int64_t count = *order->fields.get<std::int64_t>(kCountField);
    wire::Fields fields{{1, std::int64_t{1}}};
    if (kind == Kind::kPair) fields.set(2, 0.5);
    if (kind == Kind::kLarge) fields = {{1, std::vector<std::byte>(kLargeBytes)}};
    for (std::int64_t i = 0; i < count; ++i) {
      if (kind == Kind::kTime) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(kPace));
        fields.set(1, monotonic_now());
      }
      must(stream.send(fields, kPatience), "send");
    }
  }
}

// ---- floors ----

// Closes what it holds.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Socket() { reset(); }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

double spawn_floor(const std::string& self, std::size_t count) {
  const Nanos begin = monotonic_now();
  std::vector<pid_t> children(count);
  std::string version = "--version";
  std::string program = self;
  char* words[] = {program.data(), version.data(), nullptr};
  for (pid_t& child : children) {
    if (::posix_spawn(&child, words[0], nullptr, nullptr, words, environ) != 0) std::exit(1);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  return seconds_since(begin);
}

// Both ends of a connection over TCP on loopback.
std::pair<Socket, Socket> loopback_pair() {
  const Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size);
  ::listen(listener.get(), 1);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  Socket here(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ::connect(here.get(), reinterpret_cast<sockaddr*>(&address), size);
  Socket there(::accept(listener.get(), nullptr, nullptr));
  const int on = 1;
  for (const int fd : {here.get(), there.get()}) {
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return {std::move(here), std::move(there)};
}

// The median round trip of one byte between two blocked processes, in seconds.
double loopback_floor() {
  auto [here, there] = loopback_pair();
  const pid_t child = ::fork();
  char byte = 0;
  if (child == 0) {
    while (::read(there.get(), &byte, 1) == 1 && ::write(there.get(), &byte, 1) == 1) {
      if (byte == 1) break;
    }
    std::_Exit(0);
  }
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) {
    const Nanos begin = monotonic_now();
    byte = i == 1999 ? 1 : 0;
    if (::write(here.get(), &byte, 1) != 1 || ::read(here.get(), &byte, 1) != 1) break;
    times.push_back(seconds_since(begin));
  }
  ::waitpid(child, nullptr, 0);
  return median(std::move(times));
}

// The median time of a byte to each of `count` blocked processes and one back from each, in
// seconds.
double broadcast_floor(std::size_t count) {
  std::vector<Socket> here;
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < count; ++i) {
    auto [near, far] = loopback_pair();
    const pid_t child = ::fork();
    if (child == 0) {
      here.clear();
      near.reset();
      char byte = 0;
      while (::read(far.get(), &byte, 1) == 1 && ::write(far.get(), &byte, 1) == 1) {
      }
      std::_Exit(0);
    }
    children.push_back(child);
    here.push_back(std::move(near));
  }
  std::vector<double> times;
  for (int i = 0; i < 1000; ++i) {
    const Nanos begin = monotonic_now();
    char byte = 0;
    for (const Socket& socket : here) must_be(::write(socket.get(), &byte, 1) == 1);
    for (const Socket& socket : here) must_be(::read(socket.get(), &byte, 1) == 1);
    times.push_back(seconds_since(begin));
  }
  here.clear();
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  return median(std::move(times));
}

// Bytes a second from a process through a second one to this one, in pieces of kLargeBytes, by
// nothing but read() and write().
double relay_floor() {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  auto [relay_in, source_out] = loopback_pair();
  auto [here, relay_out] = loopback_pair();
  std::vector<char> piece(kLargeBytes);
  const Nanos begin = monotonic_now();
  const pid_t source = ::fork();
  if (source == 0) {
    for (std::size_t sent = 0; sent < kBytes;) {
      const ssize_t size = ::write(source_out.get(), piece.data(), piece.size());
      if (size <= 0) break;
      sent += static_cast<std::size_t>(size);
    }
    std::_Exit(0);
  }
  const pid_t relay = ::fork();
  if (relay == 0) {
    source_out.reset();
    for (ssize_t size; (size = ::read(relay_in.get(), piece.data(), piece.size())) > 0;) {
      for (ssize_t at = 0; at < size;) {
        const ssize_t written = ::write(relay_out.get(), piece.data() + at, size - at);
        if (written <= 0) std::_Exit(1);
        at += written;
      }
    }
    std::_Exit(0);
  }
  source_out.reset();
  relay_out.reset();
  std::size_t taken = 0;
  for (ssize_t size; (size = ::read(here.get(), piece.data(), piece.size())) > 0;) {
    taken += static_cast<std::size_t>(size);
  }
  const double seconds = seconds_since(begin);
  ::waitpid(source, nullptr, 0);
  ::waitpid(relay, nullptr, 0);
  return static_cast<double>(taken) / seconds;
}

// ---- rows ----

struct Bench {
  std::unique_ptr<Tree> tree;
  std::size_t leaves = 16;
};

frontend::Stream open(Bench& bench, const char* name, const char* aggregation) {
  StreamOptions options;
  options.name = name;
  options.aggregation = aggregation;
  return must(bench.tree->open(options, kPatience), "open");
}

void order(frontend::Stream& stream, Kind kind, std::int64_t count) {
  must(stream.multicast({{kKindField, static_cast<std::int64_t>(kind)}, {kCountField, count}}),
       "multicast");
}

void latency(Bench& bench) {
  auto stream = open(bench, "latency", "sum");
  std::vector<double> times;
  const int rounds = bench.leaves > 64 ? 200 : 1000;
  for (int i = 0; i < rounds + rounds / 10; ++i) {
    const Nanos begin = monotonic_now();
    order(stream, Kind::kNumber, 1);
    const auto wave = must(stream.receive(kPatience), "receive");
    if (wave.sources.count() != bench.leaves) std::fprintf(stderr, "a wave is not whole\n");
    if (i >= rounds / 10) times.push_back(seconds_since(begin));
  }
  std::sort(times.begin(), times.end());
  const double floor = loopback_floor();
  const double all = broadcast_floor(bench.leaves);
  const double p50 = times[times.size() / 2];
  std::printf(
      "latency   floors %6.1f us, %6.1f us for all   figure %7.1f us (p99 %.1f)   ratios %5.1f "
      "%4.1f   "
      "bar 4 or 355 us\n",
      floor * 1e6, all * 1e6, p50 * 1e6, times[times.size() * 99 / 100] * 1e6, p50 / floor,
      p50 / all);
}

void waves(Bench& bench) {
  auto stream = open(bench, "waves", "sum");
  const std::int64_t count = bench.leaves > 64 ? 5000 : 100'000;
  const Nanos begin = monotonic_now();
  order(stream, Kind::kNumber, count);
  std::int64_t whole = 0;
  for (std::uint64_t taken = 0; taken < static_cast<std::uint64_t>(count) * bench.leaves;) {
    const auto wave = must(stream.receive(kPatience), "receive");
    taken += wave.sources.count();
    whole += wave.sources.count() == bench.leaves ? 1 : 0;
  }
  const double seconds = seconds_since(begin);
  std::printf("waves     figure %8.0f /s   bar %d /s   (%lld of %lld whole)\n",
              static_cast<double>(count) / seconds, 3 * 10'942, static_cast<long long>(whole),
              static_cast<long long>(count));
}

// Orders are given ahead, so that no leaf waits for one while time counts.
void steady(Bench& bench) {
  constexpr std::int64_t kOrder = 200;
  auto stream = open(bench, "steady", "sum");
  for (int ahead = 0; ahead < 4; ++ahead) order(stream, Kind::kNumber, kOrder);
  must(stream.receive(kPatience), "receive");
  const std::int64_t leaves = static_cast<std::int64_t>(bench.leaves);
  const Nanos begin = monotonic_now();
  std::int64_t taken = 0;  // Contributions.
  std::int64_t ordered = 4 * kOrder;
  double seconds = 0;
  while ((seconds = seconds_since(begin)) < kWhile * 1e-9) {
    taken += static_cast<std::int64_t>(must(stream.receive(kPatience), "receive").sources.count());
    for (; ordered < taken / leaves + 3 * kOrder; ordered += kOrder) {
      order(stream, Kind::kNumber, kOrder);
    }
  }
  std::printf("steady    figure %8.1f /s\n", static_cast<double>(taken / leaves) / seconds);
  stream.close();
}

void delay(Bench& bench) {
  auto stream = open(bench, "delay", "max");
  const std::int64_t count = kWhile / kPace;
  order(stream, Kind::kTime, count);
  std::vector<double> times;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto wave = must(stream.receive(kPatience), "receive");
    times.push_back(static_cast<double>(monotonic_now() - *wave.fields.get<std::int64_t>(1)) *
                    1e-9);
  }
  std::sort(times.begin(), times.end());
  std::printf("delay     figure %8.1f us (p95 %.1f)\n", times[times.size() / 2] * 1e6,
              times[times.size() * 95 / 100] * 1e6);
}

// `count` packets of each leaf, a second.
double packets(Bench& bench, frontend::Stream& stream, Kind kind, std::int64_t count) {
  const Nanos begin = monotonic_now();
  order(stream, kind, count);
  const std::int64_t all = count * static_cast<std::int64_t>(bench.leaves);
  for (std::int64_t i = 0; i < all; ++i) must(stream.receive(kPatience), "receive");
  return static_cast<double>(all) / seconds_since(begin);
}

void small(Bench& bench) {
  auto stream = open(bench, "small", "");
  const double figure = packets(bench, stream, Kind::kPair, bench.leaves > 1 ? 50'000 : 500'000);
  std::printf("small     figure %8.0f /s   bar %d /s (1 leaf), %d /s (16 by a CP)\n", figure,
              3 * 350'000, 3 * 140'000);
}

void large(Bench& bench) {
  auto stream = open(bench, "large", "");
  std::vector<double> floors;
  std::vector<double> figures;
  std::vector<double> ratios;
  for (int pair = 0; pair < 5; ++pair) {
    floors.push_back(relay_floor());
    figures.push_back(kLargeBytes *
                      packets(bench, stream, Kind::kLarge, bench.leaves > 1 ? 500 : 5000));
    ratios.push_back(figures.back() / floors.back());
  }
  const auto [min, max] = std::minmax_element(ratios.begin(), ratios.end());
  const auto [low, high] = std::pair(*min, *max);
  std::printf(
      "large     floor %8.3f GB/s   figure %8.3f GB/s   ratio %5.2f [%.2f..%.2f]   bar 0.6\n",
      median(floors) * 1e-9, median(figures) * 1e-9, median(ratios), low, high);
}

double pss_mib(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Pss:")) return std::strtod(line.c_str() + 4, nullptr) / 1024;
  }
  return 0;
}

struct Memory {
  double leaf = 0;  // The largest.
  double comm_process = 0;
  double front_end = 0;
};

Memory measure_memory() {
  std::vector<double> leaves;
  std::vector<double> inner;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    std::ifstream file(entry.path() / "comm");
    std::string name;
    std::getline(file, name);
    std::ifstream command(entry.path() / "cmdline");
    std::string words{std::istreambuf_iterator<char>(command), {}};
    if (name == "xylem-commproc") inner.push_back(pss_mib(pid));
    if (name == "bench_tree" && words.find("--leaf") != std::string::npos) {
      leaves.push_back(pss_mib(pid));
    }
  }
  const auto max = [](const std::vector<double>& of) {
    return of.empty() ? 0.0 : *std::max_element(of.begin(), of.end());
  };
  return {max(leaves), max(inner), pss_mib("self")};
}

void memory() {
  const Memory busy = measure_memory();
  std::this_thread::sleep_for(std::chrono::seconds(5));
  const Memory quiet = measure_memory();
  for (const auto& [when, it] : {std::pair{"at once", busy}, {"quiet", quiet}}) {
    std::printf(
        "memory    %-8s leaf %.2f MiB (bar 3.8)   communication process %.2f MiB (bar 5.7)   "
        "front end %.2f MiB\n",
        when, it.leaf, it.comm_process, it.front_end);
  }
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) items.push_back(item);
  return items;
}

int front_end_main(const std::vector<std::string>& words) {
  Bench bench;
  TreeOptions options;
  options.shape = "flat";
  options.tls = false;
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--leaves") {
      bench.leaves = std::strtoul(words.at(++i).c_str(), nullptr, 10);
    } else if (words[i] == "--shape") {
      options.shape = words.at(++i);
    } else if (words[i] == "--hosts") {
      options.hosts = split(words.at(++i));
    } else if (words[i] == "--launcher") {
      options.launcher = words.at(++i);
    } else if (words[i] == "--tls") {
      options.tls = true;
    } else {
      rows.push_back(words[i]);
    }
  }
  if (rows.empty()) rows = {"start", "latency", "waves", "small", "large", "memory"};
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  options.back_end = {self, "--leaf"};
  options.back_ends_per_host = bench.leaves;
  if (!options.hosts.empty()) bench.leaves *= options.hosts.size();
  options.start_limit = kPatience;
  std::printf("%zu leaves, %s, %s\n", bench.leaves, options.shape.c_str(),
              options.tls ? "TLS" : "TCP");
  const double floor = spawn_floor(self, bench.leaves);
  const Nanos begin = monotonic_now();
  bench.tree = must(Tree::start(std::move(options)), "start");
  const double start = seconds_since(begin);
  for (const std::string& row : rows) {
    if (row == "start") {
      std::printf(
          "start     floor %6.3f s   figure %7.3f s   ratio %5.1f   bar 2 (256), 2.5 (1024)\n",
          floor, start, start / floor);
    } else if (row == "latency") {
      latency(bench);
    } else if (row == "waves") {
      waves(bench);
    } else if (row == "steady") {
      steady(bench);
    } else if (row == "delay") {
      delay(bench);
    } else if (row == "small") {
      small(bench);
    } else if (row == "large") {
      large(bench);
    } else if (row == "memory") {
      memory();
    }
    std::fflush(stdout);
  }
  must(bench.tree->close(kPatience), "close");
  return 0;
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "--version") return 0;
  if (!words.empty() && words[0] == "--leaf") return xylem::leaf_main();
  return xylem::front_end_main(words);
}
