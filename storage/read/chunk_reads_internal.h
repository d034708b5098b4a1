#pragma once

// Opens chunks for one answer, and turns their events into calls.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/ids.h"
#include "storage/read/run_view_internal.h"
#include "wire/chunk.h"

namespace xylem::storage {

/// The condition of chunks that overlap [begin_ns, end_ns): " AND ...".
std::string meeting(Nanos begin_ns, Nanos end_ns);

/// Reads each chunk at most once, until the cost of the read chunks reaches `max_cost`. The cost of
/// a chunk is its number of events, plus kChunkEvents. The ViewReader keeps the first failure. Not
/// thread-safe: used on the thread that asks the query.
class ChunkReads {
 public:
  ChunkReads(ViewReader& reader, std::uint64_t max_cost);

  /// Returns the cost of the chunks of a process that match `condition` (SQL), without opening
  /// them. If it is above `max_cost`, the result is some number above `max_cost`.
  std::uint64_t cost(ProcessKey process, const std::string& condition, std::uint64_t max_cost);

  /// Calls `take` with each event of the chunks of a process that match `condition` (SQL, with an
  /// ORDER BY if wanted). Chunks that were read before are left out. `chunks` is the maximum number
  /// of chunks.
  template <typename Take>
  void read(ProcessKey process, const std::string& condition, Take take,
            std::uint64_t chunks = kMaxReadEvents / kChunkEvents) {
    chunks = std::min(chunks, (max_cost_ - std::min(spent_, max_cost_)) / kChunkEvents);
    if (chunks == 0) return;
    reader_.inquiry.scan(
        "SELECT id, chunk FROM event_chunk WHERE process = " + std::to_string(raw(process)) +
            condition + " LIMIT " + std::to_string(chunks),
        [&](std::span<const Value> row) {
          for (const wire::Event& event : open(row)) take(event);
        });
  }

  /// From now on, the cost of chunks may be `more`.
  void allow(std::uint64_t more) { max_cost_ = spent_ + more; }
  std::uint64_t spent() const { return spent_; }

  /// The function of an event of this leaf. Leaves may number functions differently.
  FunctionKey function_of(const wire::Event& event, LeafId leaf) const;
  Timeline::Call call_of(Rank rank, FunctionKey function, const wire::Event& event);

 private:
  std::span<const wire::Event> open(std::span<const Value> row);

  ViewReader& reader_;
  std::uint64_t max_cost_, spent_ = 0;
  std::map<std::pair<LeafId, FunctionId>, FunctionKey> aliases_;
  wire::ChunkDecoder decoder_;
  std::set<std::int64_t> opened_;
};

}  // namespace xylem::storage
