// Stores a value that an MPI job computes, in addition to the job's MPI calls. Each rank sends a
// number for every step. The run's tree adds up the numbers of all ranks. The sums are in the run's
// file.
//
//   printf '[stream.energy]\naggregation = "sum"\n' > energy.toml
//   xylem run --config energy.toml --store energy.db -- mpirun -n 4 build/examples/energy 100
//   xylem query energy.db "SELECT wave, leaves, json_extract(fields, '$.\"1\"') AS energy
//                            FROM stream_value WHERE stream = 'energy' ORDER BY wave"
//   xylem query energy.db 'SELECT * FROM stream_account'
//
// If the job does not run under xylem, or the tree is lost, each rank says so and continues.

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

// Sends the energies to the run. Without a run it does nothing.
class Record {
 public:
  // Works before MPI_Init and after it.
  void open() {
    xylem::backend::LeafOptions options;
    options.join_limit = 10 * kSecond;  // The maximum wait for the tree.
    auto leaf = xylem::backend::Leaf::join(options);
    if (!leaf) return give_up(leaf.error());
    auto stream = (*leaf)->stream("energy", 10 * kSecond);
    if (!stream) return give_up(stream.error());
    leaf_ = *std::move(leaf);
    stream_ = *std::move(stream);
  }

  // send() numbers the waves 0, 1, ... The tree merges the waves of all ranks with the same number.
  void add(double energy) {
    if (!stream_) return;
    if (auto sent = stream_->send({{1, energy}}); !sent) give_up(sent.error());
  }

  // Returns when the run's file has all waves, or after 10 s.
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
  // A ring of equal masses. Each mass is on its own spring, and its left neighbour pulls it.
  double position = 1, velocity = 0;  // A time step is 0.01.
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
