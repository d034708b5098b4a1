#pragma once

// Summaries of windows: what makes a question about hours as quick as one about seconds.
//
// A row of the table `window_summary` sums up windows of up to kBlockProcesses processes that begin
// in one slot of time. Level 0 has slots of kSummaryFan windows and is made of `profile_row`; each
// higher level has slots kSummaryFan times as long and is made of the level below. Several rows of
// the same slot and block are parts: they add up. Each row of a level is in exactly one row of the
// next, or is newer than the last that is (summary_state.done): so sums of coarse rows and of what
// is newer equal sums of the windows themselves, whenever windows came.
//
// A row has three blobs, which are written here and read by storage/read/run_view_profile.cc:
//   cells       who spent how much time in MPI when: for each process and each kSummaryFan-th part
//               of the slot
//   functions   for each function what all processes of the block spent in the slot, and which did
//   by_process  the same for each process and function
// Numbers are LEB128. Blobs of a file may hold anything: decoding fails, and never reads beyond.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "wire/packet.h"
#include "wire/profile.h"

namespace xylem::storage {

constexpr std::uint64_t kSummaryFan = 8;
/// Slots of 2 s, 16 s, 128 s, 17 min and 2.3 h, for windows of 250 ms.
constexpr int kSummaryLevels = 5;
/// Ids of processes a block: as many as a mask has bits.
constexpr std::int64_t kBlockProcesses = 64;

/// Windows of a cell, and a kSummaryFan-th of those of a slot.
constexpr Nanos windows_of_cell(int level) { return Nanos{1} << (3 * level); }
static_assert(kSummaryFan == 8, "windows_of_cell() shifts by three bits a level");

/// The largest multiple of `unit` that is not above `at`.
constexpr Nanos floor_to(Nanos at, Nanos unit) {
  const Nanos over = at % unit;
  return at - (over < 0 ? over + unit : over);
}

/// Whether calls of such functions last until others come.
inline bool is_waiting(std::string_view function_class) {
  return function_class == "completion" || function_class == "collective" ||
         function_class == "probe";
}

/// Counts of durations by powers of two, as wire::LogHistogram; only buckets that hold any.
class SparseHistogram {
 public:
  using Count = std::pair<std::uint8_t, std::uint64_t>;
  void add(std::uint8_t bucket, std::uint64_t count);
  void merge(const SparseHistogram& other) {
    for (const auto& [bucket, count] : other.counts_) add(bucket, count);
  }
  /// A bucket above all that are there.
  void push(std::uint8_t bucket, std::uint64_t count) { counts_.emplace_back(bucket, count); }
  void clear() { counts_.clear(); }
  std::span<const Count> counts() const { return counts_; }

 private:
  std::vector<Count> counts_;  ///< By bucket.
};

/// A process in a part of a slot.
struct CellSums {
  std::uint64_t calls = 0, time_ns = 0, wait_ns = 0, bytes = 0;
  std::uint64_t max_ns = 0;       ///< The longest call's,
  std::int64_t max_function = 0;  ///< and of which function it was.
  bool estimated = false;

  void merge(const CellSums& other);
};

/// A function in a slot: of a process, or of all that are in the mask.
struct SlotSums {
  std::uint64_t calls = 0, time_ns = 0, bytes = 0, max_ns = 0;
  bool estimated = false;
  std::uint64_t processes = 0;  ///< Bit i: process i of the block.
  SparseHistogram histogram;

  void merge(const SlotSums& other);
};

/// What a row of the table holds, in the making. Processes are places in the block.
class Summary {
 public:
  using Functions = std::vector<std::pair<std::int64_t, SlotSums>>;
  CellSums& cell(std::uint64_t process, std::uint64_t part) {
    return cells_[process * kSummaryFan + part];
  }
  SlotSums& slot(std::uint64_t process, std::int64_t function);
  std::span<const CellSums> cells() const { return cells_; }
  std::span<const Functions> by_process() const { return by_process_; }

 private:
  std::vector<CellSums> cells_ = std::vector<CellSums>(kBlockProcesses * kSummaryFan);
  std::vector<Functions> by_process_ = std::vector<Functions>(kBlockProcesses);
};

wire::Bytes encode_cells(const Summary& summary);
wire::Bytes encode_functions(const Summary& summary);
wire::Bytes encode_by_process(const Summary& summary);

/// Reads numbers off bytes that may be anything: after the first fault there are only zeros.
class NumberReader {
 public:
  explicit NumberReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool at_end() const { return at_ >= bytes_.size() || failed_; }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  std::uint64_t next() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ >= bytes_.size()) break;
      const auto byte = std::to_integer<std::uint64_t>(bytes_[at_++]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

/// Calls each(process, part, CellSums) for the cells of a blob. False: it is damaged.
template <typename Each>
bool decode_cells(std::span<const std::byte> bytes, Each each) {
  NumberReader in(bytes);
  std::uint64_t key = 0;
  while (!in.at_end()) {
    key += in.next();
    CellSums sums;
    sums.time_ns = in.next();
    sums.wait_ns = in.next();
    sums.calls = in.next();
    sums.bytes = in.next();
    sums.max_ns = in.next();
    const std::uint64_t tail = in.next();
    sums.max_function = static_cast<std::int64_t>(tail >> 1);
    sums.estimated = (tail & 1) != 0;
    if (key >= kBlockProcesses * kSummaryFan) in.fail();
    if (!in.failed()) each(key / kSummaryFan, key % kSummaryFan, sums);
  }
  return !in.failed();
}

/// Reads what encode_functions and encode_by_process write of a function.
void read_slot_sums(NumberReader& in, SlotSums& sums);

/// Calls each(function, SlotSums). False: it is damaged.
template <typename Each>
bool decode_functions(std::span<const std::byte> bytes, Each each) {
  NumberReader in(bytes);
  SlotSums sums;
  while (!in.at_end()) {
    const auto function = static_cast<std::int64_t>(in.next());
    read_slot_sums(in, sums);
    sums.processes = in.next();
    if (!in.failed()) each(function, sums);
  }
  return !in.failed();
}

/// Calls each(process, function, SlotSums). False: it is damaged.
template <typename Each>
bool decode_by_process(std::span<const std::byte> bytes, Each each) {
  NumberReader in(bytes);
  SlotSums sums;
  std::uint64_t process = 0;
  while (!in.at_end()) {
    process += in.next();
    const auto function = static_cast<std::int64_t>(in.next());
    read_slot_sums(in, sums);
    if (process >= kBlockProcesses) in.fail();
    if (in.failed()) break;
    sums.processes = std::uint64_t{1} << process;
    each(process, function, sums);
  }
  return !in.failed();
}

}  // namespace xylem::storage
