// A rank that is a leaf of its run, too:
//
//   stream_rank WHEN END STREAM WAVES FOLDER [MICROSECONDS]
//
// WHEN it joins: before (MPI_Init), after, both (a leaf each), or mixed (even ranks before, odd
// ones after). END: inside (closed before MPI_Finalize), outside (after it), or never. Each leaf
// sends so many waves, fields 1: 1 and 2: its leaf id, with one MPI call for each, that far apart.
// FOLDER/RANK tells of the MPI calls that it made, FOLDER/leaf-ID is of each leaf.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/leaf.h"

namespace {

using xylem::kSecond;

constexpr xylem::Nanos kPatience = 60 * kSecond;

template <typename T>
T must(xylem::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "stream_rank: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

struct Sender {
  std::unique_ptr<xylem::backend::Leaf> leaf;
  xylem::backend::LeafStream stream;
};

// The number that the launcher gave this process, which MPI tells only later.
int launch_rank() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK"}) {
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) return 2;
  const std::chrono::microseconds apart(argc == 7 ? std::atol(argv[6]) : 0);
  const std::string when = argv[1], end = argv[2], name = argv[3], folder = argv[5];
  const long waves = std::atol(argv[4]);
  const bool is_even = launch_rank() % 2 == 0;
  std::vector<Sender> senders;
  const auto join = [&] {
    auto leaf = must(xylem::backend::Leaf::join());
    auto stream = must(leaf->stream(name, kPatience));
    senders.push_back({std::move(leaf), std::move(stream)});
  };
  if (when == "before" || when == "both" || (when == "mixed" && is_even)) join();
  MPI_Init(&argc, &argv);
  if (when == "after" || when == "both" || (when == "mixed" && !is_even)) join();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto begun = std::chrono::steady_clock::now();
  for (long wave = 0; wave < waves; ++wave) {
    std::this_thread::sleep_until(begun + wave * apart);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (Sender& it : senders) {
      const auto own = static_cast<std::int64_t>(it.leaf->id());
      must(it.stream.send({{1, std::int64_t{1}}, {2, own}}, kPatience));
    }
  }
  for (const Sender& it : senders) {
    const std::string id = std::to_string(static_cast<std::int64_t>(it.leaf->id()));
    std::ofstream(folder + "/leaf-" + id) << rank << '\n';
  }
  std::ofstream(folder + "/" + std::to_string(rank)) << waves + 3 << '\n';
  if (end == "inside") {
    for (Sender& it : senders) must(it.leaf->close(kPatience));
  }
  MPI_Finalize();
  if (end == "outside") {
    for (Sender& it : senders) must(it.leaf->close(kPatience));
  }
  if (end == "never") {
    for (Sender& it : senders) static_cast<void>(it.leaf.release());
  }
  return 0;
}
