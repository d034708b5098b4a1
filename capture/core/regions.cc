#include <string.h>

#include "capture/core/definition_writer_internal.h"
#include "capture/core/life_internal.h"
#include "capture/core/regions_internal.h"
#include "capture/core/text_internal.h"
#include "capture/core/wrapper_internal.h"

namespace xylem::capture {
namespace {

constexpr std::int32_t kLevelDepth = -1;

template <class Value>
Value load(const std::atomic<Value>& from) {
  return from.load(std::memory_order_relaxed);
}
template <class Value>
void store(std::atomic<Value>& into, Value value) {
  into.store(value, std::memory_order_release);
}

/// While it lives, readers see that the table changes.
class Change {
 public:
  explicit Change(RegionTable& table) : table_(table) { bump(); }
  ~Change() { bump(); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  void bump() { table_.version.store(load(table_.version) + 1, std::memory_order_seq_cst); }
  RegionTable& table_;
};

/// The ring of this thread. Null if regions are not counted.
Thread* own_thread() {
  if (__atomic_load_n(&process.segment, __ATOMIC_ACQUIRE) == nullptr || !is_gate_open())
    return nullptr;
  Thread* const thread = thread_state.thread;
  return thread != nullptr ? thread : take_ring();
}

/// The index of the region's sums; kNoRegionSum if there is no room.
std::uint64_t sum_of(RegionTable& table, const char* name) {
  const std::size_t bytes = strnlen(name, kMaxRegionName);
  const std::uint64_t region = region_of_name(name, bytes);
  for (std::uint32_t i = 0; i < kMaxRegions; ++i) {
    const std::uint32_t at = (place_of_region(region) + i) % kMaxRegions;
    const std::uint64_t found = load(table.sums[at].region);
    if (found == region) return at;
    if (found != 0) continue;
    definitions.region(region, name, bytes);
    store(table.sums[at].region, region);
    return at;
  }
  return kNoRegionSum;
}

/// Writes a record, if there is a trace. `site` is the place in the program.
void note(Thread& thread, std::uint64_t sum, std::uint16_t flags, std::int32_t depth,
          const void* site) {
  const SegmentHeader& segment = *thread.segment;
  if (sum == kNoRegionSum || load(segment.is_untraced) != 0 || load(segment.enabled) == kOff)
    return;
  ThreadRing& ring = *thread.ring;
  const std::uint64_t head = load(ring.head);
  if (head >= thread.room_until && !make_room(thread, head, 0, 0, 0, 0)) return;
  const std::uint64_t now = ticks();
  Record& record = thread.block[head & thread.block_mask];
  record = Record{.begin = now,
                  .end = now,
                  .request = 0,
                  .function = 0,
                  .kind = kRecordOfRegion,
                  .bytes = load(ring.regions.sums[sum].region) & kMaxRecordBytes,
                  .calls = 0,
                  .room = 0,
                  .flags = flags,
                  .comm = kNoComm,
                  .peer = kNoPeer,
                  .tag = depth,
                  .number = 0,
                  .cpu = cpu_now(),
                  .caller = reinterpret_cast<std::uintptr_t>(site) & kMaxAddress};
  ring.head.store(head + 1, std::memory_order_release);
}

void begin_region(ThreadRing& ring, OpenRegion& open, std::uint64_t sum) {
  if (sum == kNoRegionSum) store(ring.regions.dropped, load(ring.regions.dropped) + 1);
  store(open.sum, sum);
  store(open.mpi_ticks, load(ring.mpi_ticks));
  store(open.mpi_estimates, load(ring.regions.mpi_estimates));
  store(open.begin_ns, monotonic_ns());
}

void end_region(ThreadRing& ring, OpenRegion& open) {
  const std::uint64_t at = load(open.sum);
  const std::uint64_t took = monotonic_ns() - load(open.begin_ns);
  store(open.begin_ns, std::uint64_t{0});
  if (at == kNoRegionSum) return;
  RegionSum& sum = ring.regions.sums[at];
  store(sum.visits, load(sum.visits) + 1);
  store(sum.time_ns, load(sum.time_ns) + took);
  if (took > load(sum.max_ns)) store(sum.max_ns, took);
  store(sum.mpi_ticks, load(sum.mpi_ticks) + load(ring.mpi_ticks) - load(open.mpi_ticks));
  if (load(ring.regions.mpi_estimates) != load(open.mpi_estimates))
    store(sum.estimated, std::uint64_t{1});
}

void begin(const char* name, const void* site) {
  Thread* const thread = own_thread();
  if (thread == nullptr) {
    ++thread_state.uncounted_regions;
    return;
  }
  RegionTable& table = thread->ring->regions;
  const std::uint64_t depth = load(table.depth);
  const Change change(table);
  if (depth < kMaxRegionDepth) {
    const std::uint64_t sum = sum_of(table, name);
    begin_region(*thread->ring, table.open[depth], sum);
    note(*thread, sum, kRecordPosts, static_cast<std::int32_t>(depth), site);
  } else {
    store(table.dropped, load(table.dropped) + 1);
  }
  store(table.depth, depth + 1);
}

// A region that began before capture is outside all those that began later.
void end(const void* site) {
  Thread* const thread = own_thread();
  const std::uint64_t depth = thread == nullptr ? 0 : load(thread->ring->regions.depth);
  if (depth == 0) {
    if (thread_state.uncounted_regions != 0) --thread_state.uncounted_regions;
    return;
  }
  RegionTable& table = thread->ring->regions;
  const Change change(table);
  if (depth <= kMaxRegionDepth) {
    OpenRegion& open = table.open[depth - 1];
    note(*thread, load(open.sum), kRecordCompletes, static_cast<std::int32_t>(depth - 1), site);
    end_region(*thread->ring, open);
  }
  store(table.depth, depth - 1);
}

void end_level(Thread& thread, const void* site) {
  OpenRegion& level = thread.ring->regions.level;
  if (load(level.begin_ns) == 0) return;
  note(thread, load(level.sum), kRecordCompletes, kLevelDepth, site);
  end_region(*thread.ring, level);
}

}  // namespace

void enter_level(std::int32_t level, const void* site) noexcept {
  constexpr std::int32_t kNormal = 1;
  Thread* const thread = own_thread();
  if (thread == nullptr) return;
  RegionTable& table = thread->ring->regions;
  const Change change(table);
  end_level(*thread, site);
  if (level == kNormal) return;
  Text<kMaxRegionName> name;
  name.add("MPI_Pcontrol(").add(level < 0 ? "-" : "");
  name.add_number(level < 0 ? 0U - static_cast<std::uint32_t>(level)
                            : static_cast<std::uint32_t>(level));
  name.add(")");
  const std::uint64_t sum = sum_of(table, name.c_str());
  begin_region(*thread->ring, table.level, sum);
  note(*thread, sum, kRecordPosts, kLevelDepth, site);
}

void end_regions(Thread& thread) noexcept {
  RegionTable& table = thread.ring->regions;
  if (load(table.depth) == 0 && load(table.level.begin_ns) == 0) return;
  const Change change(table);
  for (std::uint64_t depth = load(table.depth); depth != 0; --depth) {
    if (depth > kMaxRegionDepth) continue;
    OpenRegion& open = table.open[depth - 1];
    note(thread, load(open.sum), kRecordCompletes, static_cast<std::int32_t>(depth - 1), nullptr);
    end_region(*thread.ring, open);
  }
  store(table.depth, std::uint64_t{0});
  end_level(thread, nullptr);
}

}  // namespace xylem::capture

using namespace xylem::capture;

// `site` is the place in the program; null if it is unknown.
XYLEM_WRAPPER void xylem_region_begin_1(const char* name, const void* site) { begin(name, site); }
XYLEM_WRAPPER void xylem_region_end_1(const void* site) { end(site); }
