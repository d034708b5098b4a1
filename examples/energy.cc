// What a program computes, beside what its MPI calls show: each process of a job sends a number for
// every step, the run's tree adds them up on the way, and the run's file holds the sums.
//
//   printf '[stream.energy]\naggregation = "sum"\n' > energy.toml
//   xylem run --config energy.toml --store energy.db -- mpirun -n 4 build/examples/energy 100
//   xylem query energy.db "SELECT wave, leaves, json_extract(fields, '$.\"1\"') AS energy
//                            FROM stream_value WHERE stream = 'energy' ORDER BY wave"
//   xylem query energy.db 'SELECT * FROM stream_account'
//
// Not for ranks of an MPI job yet: docs/streams.md.

#include <xylem/backend/leaf.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr xylem::Nanos kPatience = 10 * xylem::kSecond;

int fail(const xylem::Error& error) {
  std::fprintf(stderr, "energy: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  const auto leaf = xylem::backend::Leaf::join();
  if (!leaf) return fail(leaf.error());
  auto stream = (*leaf)->stream("energy", kPatience);
  if (!stream) return fail(stream.error());
  double position = 1, velocity = 0;  // A spring, in steps of a hundredth.
  for (int step = 0; step < steps; ++step) {
    velocity -= 0.01 * position;
    position += 0.01 * velocity;
    const double energy = (position * position + velocity * velocity) / 2;
    // Waves are numbered 0, 1, ...: those of equal number, of all processes, become one.
    if (auto sent = stream->send({{1, energy}}); !sent) return fail(sent.error());
  }
  // Returns when the run's file holds all of it.
  if (auto closed = (*leaf)->close(kPatience); !closed) return fail(closed.error());
  std::printf("%d steps\n", steps);
}
