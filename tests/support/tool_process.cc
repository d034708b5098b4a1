// Both ends of a tool's tree as programs of their own, for tests that kill them:
//
//   tool_process answer STREAM             answers each multicast with its leaf id, field 1
//   tool_process leave STREAM ID           the same; the leaf of that id leaves after its first
//   tool_process send STREAM WAVES JOURNAL sends so many waves, field 1: wave * 1000 + leaf id,
//   from
//                                          a journal of so many bytes; meanwhile sends back, on
//                                          "seen", each number of a multicast on "down"
//   tool_process pace STREAM WAVES FOLDER  a leaf of a run: sends waves 0, 1, ..., each on time for
//                                          50 of them a second, fields 1: 1 and 2: its leaf id;
//                                          touches FOLDER/first-PID at once and FOLDER/PID when
//                                          done, and closes
//   tool_process burst STREAM WAVES JOURNAL
//                                          a leaf of a run: sends waves of 4 KiB as fast as it can
//                                          from a journal of so many bytes, none of which may wait
//   tool_process flood STREAM WAVES        a leaf of a run or of `count`: sends waves of one number
//                                          as fast as the tree takes them, and prints the seconds
//                                          until all of it was acknowledged and its processor time
//   tool_process count LEAVES WAVES COMMPROC [SHAPE]
//                                          a tree of so many `flood` leaves on the stream "sum",
//                                          flat when not told else; prints the same of itself
//   tool_process fill STREAM FOLDER        sends 64 KiB waves from a journal of 1 MiB until one is
//                                          not taken, then says so by a file FOLDER/PID, and waits
//   tool_process front_end LEAVES LIMIT COMMPROC
//                                          a tree of so many `answer` leaves, kary:4, who close
//                                          themselves LIMIT seconds after its death; prints the
//                                          tree and stays
//   tool_process start HOSTS LAUNCHER COMMPROC [SHAPE]
//                                          a tree of an `answer` leaf on each of the hosts, kary:2;
//                                          prints the sum of their ids, the tree and its topology,
//                                          and closes it
//
// All but front_end end when the tree is closed, with code 0.

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/leaf.h"
#include "frontend/tree.h"
#include "tree/host_list.h"

namespace {

using xylem::kSecond;
using xylem::Nanos;

constexpr Nanos kPatience = 600 * kSecond;
constexpr std::size_t kFillBytes = 64u << 10;

template <typename T>
T must(xylem::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "tool_process: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

int answer(const std::vector<std::string>& words) {
  xylem::backend::LeafOptions options;
  if (const char* limit = std::getenv("TOOL_ORPHAN_LIMIT")) {
    options.orphan_limit = std::atoi(limit) * kSecond;
  }
  const auto leaf = must(xylem::backend::Leaf::join(options));
  const auto own = static_cast<std::int64_t>(leaf->id());
  // A stream that another node refuses is closed here, and may be opened again.
  while (auto stream = leaf->stream(words[1], kPatience)) {
    while (const auto question = stream->receive(kPatience)) {
      must(stream->send_wave(question->number, {{1, own}}));
      if (words[0] == "leave" && std::to_string(own) == words[2]) {
        must(leaf->close(kPatience));
        return 0;
      }
    }
  }
  return 0;
}

int send(const std::vector<std::string>& words) {
  xylem::backend::LeafOptions options;
  options.journal_bytes = std::stoul(words[3]);
  const auto leaf = must(xylem::backend::Leaf::join(options));
  auto up = must(leaf->stream(words[1], kPatience));
  auto down = must(leaf->stream("down", kPatience));
  auto seen = must(leaf->stream("seen", kPatience));
  std::thread echo([&] {
    while (const auto multicast = down.receive(kPatience)) {
      must(seen.send({{1, static_cast<std::int64_t>(multicast->number)}}, kPatience));
    }
  });
  const auto own = static_cast<std::int64_t>(leaf->id());
  const std::int64_t waves = std::stol(words[2]);
  for (std::int64_t wave = 0; wave < waves; ++wave) {
    must(up.send({{1, wave * 1000 + own}}, kPatience));
  }
  must(leaf->wait_until_closed(kPatience));
  echo.join();
  return 0;
}

int pace(const std::vector<std::string>& words) {
  const auto leaf = must(xylem::backend::Leaf::join());
  auto up = must(leaf->stream(words[1], 30 * kSecond));
  const auto own = static_cast<std::int64_t>(leaf->id());
  const std::int64_t waves = std::stol(words[2]);
  const std::string name = std::to_string(::getpid());
  const auto begun = std::chrono::steady_clock::now();
  for (std::int64_t wave = 0; wave < waves; ++wave) {
    must(up.send({{1, std::int64_t{1}}, {2, own}}, kPatience));
    if (wave == 0) std::ofstream(words[3] + "/first-" + name) << own << '\n';
    std::this_thread::sleep_until(begun + std::chrono::milliseconds(20 * (wave + 1)));
  }
  must(leaf->close(kPatience));
  std::ofstream(words[3] + "/" + name) << own << '\n';
  return 0;
}

int burst(const std::vector<std::string>& words) {
  constexpr std::size_t kWaveBytes = 4u << 10;
  xylem::backend::LeafOptions options;
  options.journal_bytes = std::stoul(words[3]);
  const auto leaf = must(xylem::backend::Leaf::join(options));
  auto up = must(leaf->stream(words[1], 30 * kSecond));
  const std::string piece(kWaveBytes, 'x');
  const long waves = std::stol(words[2]);
  for (long wave = 0; wave < waves; ++wave) must(up.send({{1, piece}}, 0));
  must(leaf->close(kPatience));
  return 0;
}

// Since `begun`, with what the program has computed so far.
void tell_cost(std::chrono::steady_clock::time_point begun) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  std::printf("%.3f %.3f\n", took.count(), seconds(used.ru_utime) + seconds(used.ru_stime));
}

int flood(const std::vector<std::string>& words) {
  const auto leaf = must(xylem::backend::Leaf::join());
  auto up = must(leaf->stream(words[1], kPatience));
  const long waves = std::stol(words[2]);
  const auto begun = std::chrono::steady_clock::now();
  for (long wave = 0; wave < waves; ++wave) must(up.send({{1, 0.5}}, kPatience));
  must(up.flush(kPatience));
  tell_cost(begun);
  must(leaf->close(kPatience));
  return 0;
}

int count(const std::vector<std::string>& words) {
  const std::uint64_t leaves = std::stoul(words[1]), waves = std::stoul(words[2]);
  xylem::frontend::TreeOptions options;
  options.shape = words.size() > 4 ? words[4] : "flat";
  options.back_end = {std::filesystem::canonical("/proc/self/exe"), "flood", "sum", words[2]};
  options.back_ends_per_host = leaves;
  options.comm_process = words[3];
  const auto tree = must(xylem::frontend::Tree::start(std::move(options)));
  const auto begun = std::chrono::steady_clock::now();
  auto sum = must(tree->open({.name = "sum", .aggregation = "sum"}, kPatience));
  for (std::uint64_t seen = 0; seen < leaves * waves;) {
    seen += must(sum.receive(kPatience)).sources.count();
  }
  tell_cost(begun);
  must(tree->close(kPatience));
  return 0;
}

int fill(const std::vector<std::string>& words) {
  xylem::backend::LeafOptions options;
  options.journal_bytes = 1u << 20;
  const auto leaf = must(xylem::backend::Leaf::join(options));
  auto up = must(leaf->stream(words[1], kPatience));
  const std::string piece(kFillBytes, 'x');
  auto sent = up.send({{1, piece}}, 3 * kSecond);
  while (sent) sent = up.send({{1, piece}}, 3 * kSecond);
  if (sent.error().code != xylem::Code::kTimedOut) must(std::move(sent));
  std::ofstream(words[2] + "/" + std::to_string(::getpid())) << "full\n";
  static_cast<void>(leaf->wait_until_closed(kPatience));
  return 0;
}

int front_end(const std::vector<std::string>& words) {
  ::setenv("TOOL_ORPHAN_LIMIT", words[2].c_str(), 1);
  xylem::frontend::TreeOptions options;
  options.shape = "kary:4";
  options.back_end = {std::filesystem::canonical("/proc/self/exe"), "answer", "sum"};
  options.back_ends_per_host = std::stoul(words[1]);
  options.comm_process = words[3];
  options.start_limit = kPatience;
  const auto tree = must(xylem::frontend::Tree::start(std::move(options)));
  auto sum = must(tree->open({.name = "sum", .aggregation = "sum"}, kPatience));
  must(sum.multicast({}));
  must(sum.receive(kPatience));
  std::printf("%send\n", tree->print().c_str());
  std::fflush(stdout);
  for (;;) ::pause();
}

int start(const std::vector<std::string>& words) {
  xylem::frontend::TreeOptions options;
  options.shape = words.size() > 4 ? words[4] : "kary:2";
  options.hosts = must(xylem::tree::parse_host_list(words[1]));
  options.launcher = words[2];
  options.back_end = {std::filesystem::canonical("/proc/self/exe"), "answer", "sum"};
  options.comm_process = words[3];
  const auto tree = must(xylem::frontend::Tree::start(std::move(options)));
  auto sum = must(tree->open({.name = "sum", .aggregation = "sum"}, kPatience));
  must(sum.multicast({}));
  const auto wave = must(sum.receive(kPatience));
  std::printf("sum %lld of %zu\n%stopology\n%s",
              static_cast<long long>(*wave.fields.get<std::int64_t>(1)),
              static_cast<std::size_t>(wave.sources.count()), tree->print().c_str(),
              must(tree->topology()).c_str());
  must(tree->close(kPatience));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string role = words.empty() ? "" : words.front();
  if (role == "answer" && words.size() == 2) return answer(words);
  if (role == "leave" && words.size() == 3) return answer(words);
  if (role == "send" && words.size() == 4) return send(words);
  if (role == "pace" && words.size() == 4) return pace(words);
  if (role == "burst" && words.size() == 4) return burst(words);
  if (role == "flood" && words.size() == 3) return flood(words);
  if (role == "count" && (words.size() == 4 || words.size() == 5)) return count(words);
  if (role == "fill" && words.size() == 3) return fill(words);
  if (role == "front_end" && words.size() == 4) return front_end(words);
  if (role == "start" && (words.size() == 4 || words.size() == 5)) return start(words);
  std::fprintf(stderr, "tool_process: see its source\n");
  return 2;
}
