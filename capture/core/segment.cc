#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/core/segment_internal.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/run_contract.h"
#include "capture/core/sampling.h"
#include "capture/core/say_internal.h"
#include "capture/core/system_internal.h"
#include "capture/core/text_internal.h"
#include "xylem_capture_functions.h"

namespace xylem::capture {
namespace {

constexpr unsigned kStartTimeField = 22;
// Old headers lack F_ADD_SEALS, its seals and MADV_POPULATE_WRITE.
constexpr int kAddSeals = 1033;
constexpr int kSealSeal = 1, kSealShrink = 2, kSealGrow = 4;
constexpr int kPopulateWrite = 23;

struct MappedRecords {
  Record* first = nullptr;  // The records of ring 0.
  std::uint32_t limit = 0;
};
MappedRecords mapped;

// Makes the wanted segment smaller. Reduces the rings first, since few programs call MPI from many
// threads. Returns false if the segment cannot be smaller.
bool shrink(std::uint32_t& rings, std::uint32_t& records) {
  constexpr std::uint32_t kFewRings = 4;
  const bool smaller_rings = records > kMinRingRecords;
  if (rings > kFewRings || (rings > 1 && !smaller_rings)) {
    rings /= 2;
  } else if (smaller_rings) {
    records /= 2;
  } else {
    return false;
  }
  return true;
}

// Populates the first records of a thread. Otherwise each 64 of them would cost a page fault.
void prepare(void* memory, std::uint32_t limit) {
  const int before = errno;
  madvise(memory, records_bytes(limit), MADV_DONTDUMP);
  madvise(memory, records_bytes(kPopulatedBlocks * (limit / kRingBlocks)), kPopulateWrite);
  errno = before;
}

std::uint32_t wanted_records() {
  const char* text = getenv(kEnvRing);
  if (text == nullptr || *text == 0) return kDefaultRingRecords;
  std::uint32_t wanted = 0;
  const bool read = read_number(&text, &wanted) && *text == 0;
  const bool power = (wanted & (wanted - 1)) == 0;
  if (read && power && wanted >= kMinRingRecords && wanted <= kMaxRingRecords) return wanted;
  say("XYLEM_RING is not a power of two from 64 to 4194304; rings have 262144 records");
  return kDefaultRingRecords;
}

void fill(SegmentHeader& header, std::uint32_t max_rings, std::uint32_t ring_records) {
  header.layout_version = kLayoutVersion;
  header.ring_records = ring_records;
  header.max_rings = max_rings;
  header.segment_bytes = segment_bytes(max_rings, ring_records);
  header.pid = static_cast<std::uint32_t>(getpid());
  header.clock = has_invariant_tsc() ? ClockKind::kTsc : ClockKind::kMonotonic;
  header.start_time = own_start_time();
  const ssize_t length = readlink("/proc/self/exe", header.program, sizeof header.program - 1);
  header.program[length < 0 ? 0 : length] = 0;

  header.function_count = kFunctionCount;
  for (std::uint16_t f = 0; f < kFunctionCount; ++f) {
    FunctionEntry& entry = header.functions[f];
    strncpy(entry.name, function_names[f], sizeof entry.name - 1);
    entry.function_class = function_classes[f];
    entry.never_waits = never_waits(f) ? 1 : 0;
  }
  if (const char* part = set_sampling(getenv(kEnvSample), header.sample_every)) {
    Text<128> item;
    while (*part != 0 && *part != ',') item.add(*part++);
    say("XYLEM_SAMPLE: neither \"none\" nor FUNCTION=N with an MPI function and N from 1, "
        "ignored: ",
        item.c_str());
  }
  header.state.store(ProcessState::kStarting, std::memory_order_relaxed);
  header.enabled.store(kOn, std::memory_order_relaxed);
  header.magic = kSegmentMagic;
}

}  // namespace

bool has_invariant_tsc() noexcept {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kPowerLeaf = 0x80000007, kInvariantTsc = 1u << 8;
  return __get_cpuid(kPowerLeaf, &a, &b, &c, &d) != 0 && (d & kInvariantTsc) != 0;
#else
  return false;
#endif
}

// Returns field 22 of /proc/self/stat. Counts the fields behind the program's name, which may
// contain blanks.
std::uint64_t own_start_time() noexcept {
  char text[1024];
  if (read_file("/proc/self/stat", text, sizeof text) == 0) return 0;
  const char* at = strrchr(text, ')');
  unsigned field = 2;
  for (; at != nullptr && *at != 0 && field < kStartTimeField; ++at) {
    if (*at == ' ') ++field;
  }
  return at == nullptr ? 0 : strtoull(at, nullptr, 10);
}

Segment make_segment() noexcept {
  Segment segment;
  std::uint32_t records = wanted_records();
  std::uint32_t rings = kMaxThreads;
  segment.fd = make_memory_file("xylem-rings");
  if (segment.fd < 0) return segment;
  void* memory = MAP_FAILED;
  for (;;) {
    if (set_file_size(segment.fd, segment_bytes(rings, records))) {
      memory = mmap(nullptr, ring_offset(rings), PROT_READ | PROT_WRITE, MAP_SHARED, segment.fd, 0);
    }
    if (memory != MAP_FAILED || !shrink(rings, records)) break;
  }
  if (memory == MAP_FAILED) {
    const int error = errno;
    close(segment.fd);
    segment.fd = -1;
    errno = error;
    return segment;
  }
  // The seal guarantees the size to the agent. The job does not need the seal or the advice, so a
  // failure of either does not matter.
  fcntl(segment.fd, kAddSeals, kSealShrink | kSealGrow | kSealSeal);
  madvise(memory, ring_offset(rings), MADV_DONTDUMP);
  segment.header = static_cast<SegmentHeader*>(memory);
  fill(*segment.header, rings, records);
  return segment;
}

bool map_first_records(const Segment& segment) noexcept {
  SegmentHeader& header = *segment.header;
  mapped = {};
  for (std::uint32_t records = header.ring_records; records >= kMinRingRecords; records /= 2) {
    void* memory =
        mmap(nullptr, records_bytes(records), PROT_READ | PROT_WRITE, MAP_SHARED, segment.fd,
             static_cast<off_t>(records_offset(0, header.max_rings, header.ring_records)));
    if (memory == MAP_FAILED) continue;
    mapped.first = static_cast<Record*>(memory);
    mapped.limit = records;
    prepare(memory, records);
    return true;
  }
  return false;
}

void unmap(const Segment& segment) noexcept {
  if (mapped.first != nullptr) munmap(mapped.first, records_bytes(mapped.limit));
  mapped = {};
  munmap(segment.header, ring_offset(segment.header->max_rings));
}

// If its old size is 0, mremap makes a second mapping of the same file, which may be longer than
// the first. So the mapping of ring 0 gives access to the rings that lie behind it in the file.
Record* map_records(SegmentHeader& segment, std::uint32_t ring, std::uint32_t& limit) noexcept {
  limit = mapped.limit;
  if (ring == 0 || mapped.first == nullptr) return mapped.first;
  const int before = errno;
  const std::uint64_t behind = ring * records_bytes(segment.ring_records);
  // The new mapping would be locked too (mlockall). Then the kernel would fill all of it, also the
  // rings in between.
  munlock(mapped.first, records_bytes(mapped.limit));
  void* memory = MAP_FAILED;
  for (; limit >= kMinRingRecords; limit /= 2) {
    memory = mremap(mapped.first, 0, behind + records_bytes(limit), MREMAP_MAYMOVE);
    if (memory != MAP_FAILED) break;
  }
  errno = before;
  if (memory == MAP_FAILED) return nullptr;
  munmap(memory, behind);
  void* const records = static_cast<unsigned char*>(memory) + behind;
  prepare(records, limit);
  return static_cast<Record*>(records);
}

}  // namespace xylem::capture
