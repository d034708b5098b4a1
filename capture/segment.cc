#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/segment_internal.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "capture/sampling_internal.h"
#include "capture/say_internal.h"
#include "capture/text_internal.h"
#include "xylem_capture_functions.h"

namespace xylem::capture {
namespace {

constexpr std::uint32_t kFewestRingRecords = 64;
constexpr unsigned kStartTimeField = 22;

std::uint32_t wanted_records() {
  const char* text = getenv(kEnvRing);
  if (text == nullptr || *text == 0) return kDefaultRingRecords;
  std::uint32_t wanted = 0;
  const bool read = read_number(&text, &wanted) && *text == 0;
  const bool power = (wanted & (wanted - 1)) == 0;
  if (read && power && wanted >= kFewestRingRecords && wanted <= kMaxRingRecords) return wanted;
  say("XYLEM_RING is not a power of two from 64 to 4194304; rings have 262144 records");
  return kDefaultRingRecords;
}

// Field 22 of /proc/self/stat; counted behind the program's name, which may hold blanks.
std::uint64_t start_time() {
  char text[1024];
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  const char* at = strrchr(text, ')');
  unsigned field = 2;
  for (; at != nullptr && *at != 0 && field < kStartTimeField; ++at) {
    if (*at == ' ') ++field;
  }
  return at == nullptr ? 0 : strtoull(at, nullptr, 10);
}

void fill(SegmentHeader& header, std::uint32_t ring_records) {
  header.layout_version = kLayoutVersion;
  header.ring_records = ring_records;
  header.ring_offset = ring_offset();
  header.ring_stride = ring_stride(ring_records);
  header.record_offset = record_offset();
  header.segment_bytes = segment_bytes(ring_records);
  header.pid = static_cast<std::uint32_t>(getpid());
  header.clock = has_invariant_tsc() ? ClockKind::kTsc : ClockKind::kMonotonic;
  header.start_time = start_time();
  const ssize_t length = readlink("/proc/self/exe", header.program, sizeof header.program - 1);
  header.program[length < 0 ? 0 : length] = 0;

  header.function_count = kFunctionCount;
  for (std::uint32_t f = 0; f < kFunctionCount; ++f) {
    FunctionEntry& entry = header.functions[f];
    strncpy(entry.name, function_names[f], sizeof entry.name - 1);
    entry.function_class = function_classes[f];
  }
  if (const char* part = set_sampling(getenv(kEnvSample), header.sample_every)) {
    Text<128> item;
    while (*part != 0 && *part != ',') item.add(*part++);
    say("XYLEM_SAMPLE: neither \"none\" nor FUNCTION=N with an MPI function and N from 1, "
        "ignored: ",
        item.c_str());
  }
  header.state.store(ProcessState::kStarting, std::memory_order_relaxed);
  header.enabled.store(1, std::memory_order_relaxed);
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

Segment make_segment() noexcept {
  Segment segment;
  std::uint32_t records = wanted_records();
  segment.fd = memfd_create("xylem-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (segment.fd < 0) return segment;
  void* memory = MAP_FAILED;
  for (; records >= kFewestRingRecords; records /= 2) {
    const auto bytes = static_cast<off_t>(segment_bytes(records));
    if (ftruncate(segment.fd, bytes) == 0) {
      memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, segment.fd, 0);
    }
    if (memory != MAP_FAILED || (errno != ENOMEM && errno != EFBIG)) break;
  }
  if (memory == MAP_FAILED) {
    close(segment.fd);
    segment.fd = -1;
    return segment;
  }
  // The agent may rely on its size. A failed seal or advice takes nothing away from the job.
  fcntl(segment.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  madvise(memory, segment_bytes(records), MADV_DONTDUMP);
  segment.header = static_cast<SegmentHeader*>(memory);
  fill(*segment.header, records);
  return segment;
}

}  // namespace xylem::capture
