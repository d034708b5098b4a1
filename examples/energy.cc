// What a job computes, beside what its MPI calls show: each rank sends a number for every step, the
// run's tree adds them up on the way, and the run's file holds the sums.
//
//   printf '[stream.energy]\naggregation = "sum"\n' > energy.toml
//   xylem run --config energy.toml --store energy.db -- mpirun -n 4 build/examples/energy 100
//   xylem query energy.db "SELECT wave, leaves, json_extract(fields, '$.\"1\"') AS energy
//                            FROM stream_value WHERE stream = 'energy' ORDER BY wave"
//   xylem query energy.db 'SELECT * FROM stream_account'
//
// Without xylem around it, or when the tree is gone, the job computes on and says so once.

#include <mpi.h>
#include <xylem/backend/leaf.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

namespace {

using xylem::kSecond;

// Where the energies go, or nowhere.
class Record {
 public:
  // Before MPI_Init or after: it makes no difference.
  void open() {
    xylem::backend::LeafOptions options;
    options.join_limit = 10 * kSecond;  // A rank waits no longer before it computes.
    auto leaf = xylem::backend::Leaf::join(options);
    if (!leaf) return give_up(leaf.error());
    auto stream = (*leaf)->stream("energy", 10 * kSecond);
    if (!stream) return give_up(stream.error());
    leaf_ = *std::move(leaf);
    stream_ = *std::move(stream);
  }

  // Waves are numbered 0, 1, ...: those of equal number, of all ranks, become one.
  void add(double energy) {
    if (!stream_) return;
    if (auto sent = stream_->send({{1, energy}}); !sent) give_up(sent.error());
  }

  // Returns when the run's file holds all of it, or after a while without.
  void close() {
    if (!leaf_) return;
    if (auto closed = leaf_->close(10 * kSecond); !closed) give_up(closed.error());
  }

 private:
  void give_up(const xylem::Error& why) {
    std::fprintf(stderr, "energy: not recorded from here on: %s\n", why.message.c_str());
    stream_.reset();
  }

  std::unique_ptr<xylem::backend::Leaf> leaf_;
  std::optional<xylem::backend::LeafStream> stream_;
};

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Record record;
  record.open();
  // A ring of equal masses, each on a spring of its own and pulled by its left neighbour.
  double position = 1, velocity = 0;  // In steps of a hundredth.
  for (int step = 0; step < steps; ++step) {
    double left = 0;
    MPI_Sendrecv(&position, 1, MPI_DOUBLE, (rank + 1) % size, 0, &left, 1, MPI_DOUBLE,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    velocity += 0.01 * (0.1 * (left - position) - position);
    position += 0.01 * velocity;
    record.add((position * position + velocity * velocity) / 2);
  }
  record.close();
  if (rank == 0) std::printf("%d steps\n", steps);
  MPI_Finalize();
}
