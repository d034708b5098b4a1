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
  explicit Change(ThreadRing& ring) : version_(ring.regions_version) { bump(); }
  ~Change() { bump(); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  void bump() { version_.store(load(version_) + 1, std::memory_order_seq_cst); }
  std::atomic<std::uint64_t>& version_;
};

/// While it lives, a call of MPI in a signal handler is one inside of a call: it writes no record
/// between ours. `in_call`: the program names the region in a callback of MPI.
class Inside {
 public:
  XYLEM_INLINE Inside() : in_call(thread_state.frame != nullptr) {
    if (in_call) return;
    thread_state.frame = __builtin_frame_address(0);
    thread_state.caller = __builtin_return_address(0);
  }
  XYLEM_INLINE ~Inside() {
    if (!in_call) leave();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  const bool in_call;
};

/// The ring of this thread. Null if its regions are not counted: it has not called MPI yet.
Thread* own_thread() {
  const bool is_started = __atomic_load_n(&process.segment, __ATOMIC_ACQUIRE) != nullptr;
  return is_started && is_gate_open() ? thread_state.thread : nullptr;
}

// Static, because a program's calls have no argument for state. Names that the agent knows, as a
// hash table of their identities. If it is full, further names are defined by each thread.
constexpr std::uint32_t kMaxKnownNames = 1024;
constinit std::atomic<std::uint64_t> known_names[kMaxKnownNames]{};

/// Tells the agent the name, unless another thread has. A name that has no room is told by the next
/// thread that uses it.
void define(std::uint64_t region, const char* name, std::size_t bytes) {
  for (std::uint32_t i = 0; i < kMaxKnownNames; ++i) {
    std::atomic<std::uint64_t>& place = known_names[(region + i) % kMaxKnownNames];
    const std::uint64_t known = load(place);
    if (known == region) return;
    if (known != 0) continue;
    if (definitions.region(region, name, bytes)) store(place, region);
    return;
  }
  definitions.region(region, name, bytes);
}

/// The index of the region's sums; kNoRegionSum if there is no room.
std::uint64_t sum_of(RegionTable& table, const char* name) {
  const std::size_t bytes = name == nullptr ? 0 : strnlen(name, kMaxRegionName);
  const std::uint64_t region = region_of_name(name, bytes);
  const std::uint64_t count = load(table.count);
  for (std::uint64_t at = 0; at < count; ++at) {
    if (load(table.sums[at].region) == region) return at;
  }
  if (count == kMaxRegions) return kNoRegionSum;
  define(region, name, bytes);
  store(table.sums[count].region, region);
  store(table.count, count + 1);
  return count;
}

/// Writes a record, if there is a trace. `site` is the place in the program.
void note(Thread& thread, std::uint64_t sum, std::uint16_t flags, std::int32_t depth,
          const void* site) {
  SegmentHeader& segment = *thread.segment;
  if (sum == kNoRegionSum || load(segment.is_untraced) != 0 || load(segment.enabled) == kOff)
    return;
  if (load(segment.enabled) == kOnAgentSleeps) wake_agent(segment);
  ThreadRing& ring = *thread.ring;
  const std::uint64_t head = load(ring.head);
  if (head >= thread.room_until && !make_room_for_region(thread, head)) return;
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
  store(open.untimed, load(ring.regions.untimed));
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
  if (load(ring.regions.untimed) != load(open.untimed)) store(sum.estimated, std::uint64_t{1});
}

void begin(const char* name, const void* site) {
  Thread* const thread = own_thread();
  if (thread == nullptr) {
    ++thread_state.uncounted_regions;
    return;
  }
  const Inside inside;
  RegionTable& table = thread->ring->regions;
  const std::uint64_t depth = load(table.depth);
  const bool is_counted = depth < kMaxRegionDepth;
  const std::uint64_t sum = is_counted ? sum_of(table, name) : kNoRegionSum;
  {
    const Change change(*thread->ring);
    if (is_counted) begin_region(*thread->ring, table.open[depth], sum);
    if (!is_counted) store(table.dropped, load(table.dropped) + 1);
    store(table.depth, depth + 1);
  }
  // In a call, a record would come before that of the call, which has begun earlier.
  if (!inside.in_call) note(*thread, sum, kRecordPosts, static_cast<std::int32_t>(depth), site);
}

// A region that began before the thread's first call is outside all those that began later.
void end(const void* site) {
  Thread* const thread = own_thread();
  const std::uint64_t depth = thread == nullptr ? 0 : load(thread->ring->regions.depth);
  if (depth == 0) {
    if (thread_state.uncounted_regions != 0) --thread_state.uncounted_regions;
    return;
  }
  const Inside inside;
  RegionTable& table = thread->ring->regions;
  const bool is_counted = depth <= kMaxRegionDepth;
  if (is_counted && !inside.in_call) {
    note(*thread, load(table.open[depth - 1].sum), kRecordCompletes,
         static_cast<std::int32_t>(depth - 1), site);
  }
  const Change change(*thread->ring);
  if (is_counted) end_region(*thread->ring, table.open[depth - 1]);
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
  const Inside inside;
  RegionTable& table = thread->ring->regions;
  std::uint64_t sum = kNoRegionSum;
  if (level != kNormal) {
    Text<kMaxRegionName> name;
    name.add("MPI_Pcontrol(").add(level < 0 ? "-" : "");
    name.add_number(level < 0 ? 0U - static_cast<std::uint32_t>(level)
                              : static_cast<std::uint32_t>(level));
    name.add(")");
    sum = sum_of(table, name.c_str());
  }
  const Change change(*thread->ring);
  end_level(*thread, site);
  if (level == kNormal) return;
  begin_region(*thread->ring, table.level, sum);
  note(*thread, sum, kRecordPosts, kLevelDepth, site);
}

void end_regions(Thread& thread) noexcept {
  RegionTable& table = thread.ring->regions;
  if (load(table.depth) == 0 && load(table.level.begin_ns) == 0) return;
  const Change change(*thread.ring);
  for (std::uint64_t depth = load(table.depth); depth != 0; --depth) {
    if (depth > kMaxRegionDepth) continue;
    OpenRegion& open = table.open[depth - 1];
    note(thread, load(open.sum), kRecordCompletes, static_cast<std::int32_t>(depth - 1), nullptr);
    end_region(*thread.ring, open);
  }
  store(table.depth, std::uint64_t{0});
  end_level(thread, nullptr);
}

void forget_regions() noexcept { memset(static_cast<void*>(&known_names), 0, sizeof known_names); }

}  // namespace xylem::capture

using namespace xylem::capture;

// `site` is the place in the program; null if it is unknown.
XYLEM_WRAPPER void xylem_region_begin_1(const char* name, const void* site) { begin(name, site); }
XYLEM_WRAPPER void xylem_region_end_1(const void* site) { end(site); }
