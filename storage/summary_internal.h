#pragma once

// Summaries of windows. They make a query over hours as fast as a query over seconds.
//
// A row of the table `window_summary` sums up windows of up to kBlockProcesses processes that begin
// in one slot of time. Level 0 has slots of kSummaryFan windows. On each higher level, a slot is
// kSummaryFan times as long as on the level below. A slot and block may have several rows; their
// sums must be added.
//
// The source of level 0 is `profile_row`, and the source of each higher level is the level below.
// `summary_state.done` of a level is the last row of its source that the level includes. Each row
// of the source up to `done` is in exactly one row of the level; later rows are in none. So the
// rows of a high level, and the later rows of all levels below, add up to the windows. This is true
// even if windows arrive late.
//
// A row has three blobs. They are written here and read by storage/read/run_view_profile.cc:
//   cells       calls, times and bytes: one entry for each process and each of the
//               kSummaryFan parts of the slot
//   functions   for each function: sums over all processes of the block in the slot, and which
//               processes called it
//   by_process  sums for each process of the block and each function
// Numbers are LEB128. The blob of a damaged file may contain any bytes: decoding it may fail, but
// never reads outside the blob.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "storage/call_roles.h"
#include "storage/table_keys_internal.h"
#include "wire/packet.h"
#include "wire/profile.h"

namespace xylem::storage {

constexpr std::uint64_t kSummaryFan = 8;
/// Slots of 2 s, 16 s, 128 s, 17 min and 2.3 h, for windows of 250 ms.
constexpr int kSummaryLevels = 5;
/// Number of process ids in a block. A mask in a summary has one bit for each.
constexpr std::int64_t kBlockProcesses = 64;

/// Returns the number of windows in a cell. A slot has kSummaryFan cells.
constexpr Nanos windows_of_cell(int level) { return Nanos{1} << (3 * level); }
static_assert(kSummaryFan == 8, "windows_of_cell() shifts by three bits a level");

/// Returns the largest multiple of `unit` that is not above `at`.
constexpr Nanos floor_to(Nanos at, Nanos unit) {
  const Nanos over = at % unit;
  return at - (over < 0 ? over + unit : over);
}

/// The block of a process, and its position there: 0 to kBlockProcesses - 1.
constexpr std::int64_t block_of(ProcessKey process) {
  return floor_to(raw(process), kBlockProcesses) / kBlockProcesses;
}
constexpr std::uint64_t place_in_block(ProcessKey process) {
  return static_cast<std::uint64_t>(raw(process) - block_of(process) * kBlockProcesses);
}
/// The process at a position of a block.
constexpr ProcessKey process_at(std::int64_t block, std::uint64_t place) {
  return ProcessKey{block * kBlockProcesses + static_cast<std::int64_t>(place)};
}

/// The rule of files before this version of the schema: blocking sends and receives did not count.
/// Summaries in the file follow it, so queries on such files must too.
constexpr std::int64_t kBlockingCallsWaitSince = 18;
inline bool is_waiting_by_class(std::string_view function_class) {
  return function_class == "completion" || function_class == "collective" ||
         function_class == "probe";
}
/// True for functions whose time counts as waiting for other ranks: completions, collectives,
/// probes, and blocking sends and receives. Polling with MPI_Test or MPI_Iprobe counts too.
inline bool is_waiting(std::string_view function, std::string_view function_class) {
  return is_waiting_by_class(function_class) || may_wait(role_of(function, function_class));
}

/// Counts of durations by powers of two, like wire::LogHistogram. Only buckets that are not empty
/// are stored. A value type; not thread-safe.
class SparseHistogram {
 public:
  using Count = std::pair<std::uint8_t, std::uint64_t>;
  void add(std::uint8_t bucket, std::uint64_t count);
  void merge(const SparseHistogram& other) {
    for (const auto& [bucket, count] : other.counts_) add(bucket, count);
  }
  /// Appends a bucket that is above all existing buckets.
  void push(std::uint8_t bucket, std::uint64_t count) { counts_.emplace_back(bucket, count); }
  void clear() { counts_.clear(); }
  std::span<const Count> counts() const { return counts_; }

 private:
  std::vector<Count> counts_;  ///< Sorted by bucket.
};

/// Sums for a process in a cell.
struct CellSums {
  std::uint64_t calls = 0, time_ns = 0, wait_ns = 0, bytes = 0;
  std::uint64_t max_ns = 0;    ///< Duration of the longest call.
  FunctionKey max_function{};  ///< Function of the longest call.
  bool estimated = false;

  void merge(const CellSums& other);
};

/// Sums for a function in a slot, over all processes in `processes`.
struct SlotSums {
  std::uint64_t calls = 0, time_ns = 0, bytes = 0, max_ns = 0;
  bool estimated = false;
  std::uint64_t processes = 0;  ///< Bit i: process i of the block.
  SparseHistogram histogram;

  void merge(const SlotSums& other);
};

/// A row of the table `window_summary` while it is built. Processes are numbered by their position
/// in the block. A value type; not thread-safe.
class Summary {
 public:
  using Functions = std::vector<std::pair<FunctionKey, SlotSums>>;
  CellSums& cell(std::uint64_t place, std::uint64_t part) {
    return cells_[place * kSummaryFan + part];
  }
  SlotSums& slot(std::uint64_t place, FunctionKey function);
  std::span<const CellSums> cells() const { return cells_; }
  std::span<const Functions> by_process() const { return by_process_; }

 private:
  std::vector<CellSums> cells_ = std::vector<CellSums>(kBlockProcesses * kSummaryFan);
  std::vector<Functions> by_process_ = std::vector<Functions>(kBlockProcesses);
};

wire::Bytes encode_cells(const Summary& summary);
wire::Bytes encode_functions(const Summary& summary);
wire::Bytes encode_by_process(const Summary& summary);

/// Reads numbers from bytes that may be invalid. An invalid number is 0. After an error, failed()
/// stays true, and later numbers mean nothing. Not thread-safe.
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

/// Calls each(place, part, CellSums) for the cells of a blob. Returns false if the blob is
/// damaged.
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
    sums.max_function = FunctionKey{static_cast<std::int64_t>(tail >> 1)};
    sums.estimated = (tail & 1) != 0;
    if (key >= kBlockProcesses * kSummaryFan) in.fail();
    if (!in.failed()) each(key / kSummaryFan, key % kSummaryFan, sums);
  }
  return !in.failed();
}

/// Reads the sums of one function, as encode_functions() and encode_by_process() write them.
void read_slot_sums(NumberReader& in, SlotSums& sums);

/// Calls each(function, SlotSums). Returns false if the blob is damaged.
template <typename Each>
bool decode_functions(std::span<const std::byte> bytes, Each each) {
  NumberReader in(bytes);
  SlotSums sums;
  while (!in.at_end()) {
    const FunctionKey function{static_cast<std::int64_t>(in.next())};
    read_slot_sums(in, sums);
    sums.processes = in.next();
    if (!in.failed()) each(function, sums);
  }
  return !in.failed();
}

/// Calls each(place, function, SlotSums). Returns false if the blob is damaged.
template <typename Each>
bool decode_by_process(std::span<const std::byte> bytes, Each each) {
  NumberReader in(bytes);
  SlotSums sums;
  std::uint64_t place = 0;
  while (!in.at_end()) {
    place += in.next();
    const FunctionKey function{static_cast<std::int64_t>(in.next())};
    read_slot_sums(in, sums);
    if (place >= kBlockProcesses) in.fail();
    if (in.failed()) break;
    sums.processes = std::uint64_t{1} << place;
    each(place, function, sums);
  }
  return !in.failed();
}

}  // namespace xylem::storage
