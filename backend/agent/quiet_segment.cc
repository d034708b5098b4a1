#include "backend/agent/quiet_segment.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "backend/find/proc_table.h"
#include "backend/leaf/mapping.h"
#include "capture/core/ring.h"

namespace xylem::backend {
namespace {

// The smallest possible segment. Untouched pages of a memfd take no memory.
constexpr std::uint32_t kRings = 1;
constexpr std::uint32_t kRingRecords = capture::kMinRingRecords;

template <std::size_t Size>
void put(char (&into)[Size], const std::string& text) {
  const std::size_t length = std::min(text.size(), Size - 1);
  std::memcpy(into, text.data(), length);
}

void describe(const FoundRank& rank, capture::SegmentHeader& header) {
  header.magic = capture::kSegmentMagic;
  header.layout_version = capture::kLayoutVersion;
  header.ring_records = kRingRecords;
  header.max_rings = kRings;
  header.segment_bytes = capture::segment_bytes(kRings, kRingRecords);
  header.pid = rank.pid;
  header.clock = capture::ClockKind::kMonotonic;
  header.start_time = rank.start_time;
  header.rank = raw(rank.rank);
  header.world_size = rank.size;
  const auto key = world_key_of(rank.job);
  std::memcpy(header.world_key, key.data(), std::min(key.size(), sizeof header.world_key));
  put(header.mpi_library, rank.mpi_library);
  put(header.program, rank.program);
  header.state.store(capture::ProcessState::kRunning, std::memory_order_release);
}

}  // namespace

Result<HeldProcess> hold_quietly(const FoundRank& rank) {
  const std::uint64_t bytes = capture::segment_bytes(kRings, kRingRecords);
  auto memory = make_memory("xylem-rings", bytes);
  if (!memory) return unexpected(std::move(memory.error()));
  auto mapping = Mapping::of(memory->get(), sizeof(capture::SegmentHeader));
  if (!mapping) return unexpected(std::move(mapping.error()));
  // Made in the shared memory, as the capture library does it.
  describe(rank, *new (mapping->bytes().data()) capture::SegmentHeader);

  HeldProcess held;
  held.pid = rank.pid;
  held.segment = *std::move(memory);
  held.start_time = rank.start_time;
  auto process = open_process(rank.pid, rank.start_time);
  if (!process) return unexpected(std::move(process.error()));
  held.pidfd = *std::move(process);
  return held;
}

Result<std::vector<HeldProcess>> hold_all_quietly(std::span<const FoundRank> ranks) {
  std::vector<HeldProcess> present;
  for (const FoundRank& rank : ranks) {
    auto held = hold_quietly(rank);
    if (!held) return unexpected(std::move(held.error()));
    if (held->pidfd) present.push_back(*std::move(held));
  }
  return present;
}

Result<PresentRanks> hold_selected(const RankSelection& selection, const std::string& root) {
  const ProcTable table = read_proc_table(selection.is_named, root);
  auto held = hold_all_quietly(find_ranks(table.processes, selection));
  if (!held) return unexpected(std::move(held.error()));
  PresentRanks present{*std::move(held), ""};
  if (present.held.empty() && table.unreadable != 0) {
    present.note = std::to_string(table.unreadable) + " processes may not be read";
  }
  return present;
}

}  // namespace xylem::backend
