#pragma once

// Words for tests about storage: machines, accesses, and programs with files.

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "predict/replay/files.h"
#include "predict/replay/machine.h"
#include "predict/trace/sequence.h"
#include "tests/unit/predict/programs.h"

namespace xylem::predict::testing {

inline Femtoseconds nanoseconds(std::uint64_t ns) { return Femtoseconds{ns * 1'000'000}; }

constexpr std::uint64_t kPage = 4096;

/// One storage node without caches: 5000 ns to read, 8000 ns to write, 2 ns a byte, 300 ns a
/// request.
inline StorageOptions plain_storage() {
  StorageOptions storage;
  storage.nodes = 1;
  storage.stripe_bytes = 1 << 20;
  storage.disk_read = nanoseconds(5000);
  storage.disk_write = nanoseconds(8000);
  storage.disk_per_byte = nanoseconds(2);
  storage.request = nanoseconds(300);
  return storage;
}

/// The same with a page cache of `pages` and no read-ahead.
inline StorageOptions cached_storage(std::uint64_t pages) {
  StorageOptions storage = plain_storage();
  storage.page_cache_bytes = pages * kPage;
  return storage;
}

/// L = 1000, o = 100, g = 50, G = 1, O = 0, S = 65536; without a topology.
inline Machine machine_with(const StorageOptions& storage) {
  Machine machine;
  machine.ends = network(1000, 100, 50, 1, 0, 65536);
  machine.storage = storage;
  machine.storage_nodes.assign(storage.nodes, Node{0});
  return machine;
}

/// The time of a message of s bytes on this machine: o + L + o + (s - 1) G.
constexpr Ticks message_ns(std::uint64_t bytes) { return 1200 + (bytes - 1); }

inline TimedAccess read_of(std::uint64_t offset, std::uint64_t bytes, std::uint32_t file = 0,
                           std::uint32_t rank = 0) {
  return {rank, {offset, file, false}, bytes};
}
inline TimedAccess write_of(std::uint64_t offset, std::uint64_t bytes, std::uint32_t file = 0) {
  return {0, {offset, file, true}, bytes};
}

inline std::vector<AccessReport> reports_of(const StorageOptions& storage,
                                            const std::vector<TimedAccess>& accesses) {
  const auto times = access_files(machine_with(storage), Model::kLogGps, accesses);
  EXPECT_TRUE(times) << times.error().message;
  if (!times) return std::vector<AccessReport>(accesses.size());
  EXPECT_EQ(times->ticks_per_ns, 1u);
  return times->reports;
}

/// Accesses to the pages of a file from the first on, one page each.
inline std::vector<TimedAccess> page_after_page(std::uint64_t pages, std::uint32_t file = 0) {
  std::vector<TimedAccess> accesses;
  for (std::uint64_t i = 0; i < pages; ++i) accesses.push_back(read_of(i * kPage, kPage, file));
  return accesses;
}

inline Operation file_operation(Sequence& sequence, const TimedAccess& of) {
  return {.amount = of.bytes, .peer = sequence.add_access(of.access), .kind = Kind::kFile};
}

/// Each rank makes its accesses one after the other.
inline Program blocking_program(const std::vector<std::vector<TimedAccess>>& ranks) {
  Program program;
  for (const auto& accesses : ranks) {
    Sequence sequence;
    for (const TimedAccess& it : accesses) sequence.run(file_operation(sequence, it));
    program.ranks.push_back(std::move(sequence).finish());
  }
  return program;
}

inline MachinePrediction predicted(const Program& program, const Machine& machine,
                                   Model model = Model::kLogGps) {
  auto result = replay_on(program, machine, model);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : MachinePrediction{};
}

}  // namespace xylem::predict::testing
