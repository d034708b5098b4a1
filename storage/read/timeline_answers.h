#pragma once

// Arguments and results of the queries of RunView (run_view.h) that read single calls.
//
// Times are nanoseconds of the run; ranges are [begin, end). An answer owns all its data.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "storage/read/view_answers.h"

namespace xylem::storage {

/// Maximum number of events that are read for one answer. Reading this many takes about 150 ms and
/// 100 MB. The number of events is known from the rows of the chunks, before a chunk is opened.
constexpr std::uint64_t kMaxReadEvents = 1u << 20;
/// Opening a chunk takes as long as reading this many events.
constexpr std::uint64_t kChunkEvents = 64;

struct TimelineQuery {
  RankRange ranks = {};
  TimeRange range = {};
  /// For grids, as in RankGridQuery. In densities there are fewer columns if rows times columns
  /// would be above a million.
  std::uint64_t columns = 600, rows = 256;
  std::uint64_t limit = 5000;  ///< Maximum number of calls, and of messages; at most kMaxCalls.
};

/// How a timeline shows the calls of ranks in a range of time.
enum class TimelineDetail {
  kWindows,    ///< `grid` has the share of time in MPI in each window.
  kDensities,  ///< `densities` has the share of time in MPI in each slot, from the calls.
  kCalls,      ///< `calls` has all calls.
};

/// The calls of ranks in a range of time. If the recorded calls of the range are at most `limit`,
/// the timeline has all of them. If they are more, it has densities. If more than kMaxReadEvents
/// events would have to be read, or if no calls of the range are recorded, it has windows.
/// Exception: if calls are recorded, but none in the range, and a call under way overlaps the
/// range, the timeline has this call.
struct Timeline {
  /// The function and the times of a call are always known; peer, tag, comm and number may be
  /// missing.
  struct Call {
    Rank rank{};
    ThreadIndex thread{};
    Nanos begin_ns = 0, end_ns = 0;
    std::string function, function_class;
    /// As recorded. A damaged file may have a peer that is no rank.
    std::optional<std::int64_t> peer, tag;
    std::optional<CommId> comm;
    std::uint64_t bytes = 0, calls = 1;
    bool estimated = false;  ///< The time is an estimate for `calls` calls.
    /// True if the call has not returned. It then has no tag and no bytes, and ends at the newest
    /// time at which it was known to be under way.
    bool is_open = false;
    /// For an open call: as in CallUnderWay.
    bool has_ended = false, is_host_lost = false;
    /// wire::Event::number, if it is known. Calls of a collective function on one communicator with
    /// the same number are one collective.
    std::optional<std::uint32_t> number = {};
  };
  /// A message. It is drawn from the beginning of the sending call to the end of the receiving
  /// call. Two calls are one message only if both have the same number in the same channel
  /// (wire::kEventNumbered). At least one of the two times is known.
  struct Message {
    Rank source{}, destination{};
    std::optional<Nanos> sent_ns;  ///< nullopt: the send is lost or unknown.
    /// nullopt: the receive is lost, unknown, or has not taken place. Because of clock errors
    /// `received_ns` may be earlier than `sent_ns`, but not by more than the clocks may be apart.
    std::optional<Nanos> received_ns;
    std::uint64_t bytes = 0;
    std::optional<std::int64_t> tag;
    std::optional<CommId> comm;
  };
  /// A long call. `begin_ns` and `end_ns` are the times of the call if its chunk is stored,
  /// otherwise the times of its window.
  struct LongCall {
    Rank rank{};
    std::string function;
    std::uint64_t duration_ns = 0;
    Nanos begin_ns = 0, end_ns = 0;
  };
  Scope scope;
  TimelineDetail detail = TimelineDetail::kWindows;
  /// Why there are no single calls, or only calls that have not returned. Otherwise empty.
  std::string reason;
  /// True if a shorter range or fewer ranks would give single calls.
  bool too_many = false;
  RankGrid grid;
  /// Share of time in MPI of exactly this range, and the class with the most time in each slot.
  /// Time of calls that have not returned is included. Sampled calls without a record are assumed
  /// to be spread evenly over the time since the function's previous record in their thread. Their
  /// time is an estimate.
  RankGrid densities;
  /// Sorted by rank, thread and beginning. With densities and with windows, `calls` has no calls
  /// except those that have not returned, at most `limit`.
  std::vector<Call> calls;
  /// Null if calls are not counted: with kWindows, and if only calls that have not returned are
  /// known.
  std::optional<std::uint64_t> calls_in_all;
  /// Only with kCalls. Sorted by time. If there are too many messages, only the largest are listed.
  /// The partner of a send or a receive in the range may be outside of the range or of the ranks:
  /// the chunks where it may be are read if they are few. A message that was sent before the range
  /// and received after it is listed if both ends are in chunks that are read for the range.
  std::vector<Message> messages;
  std::uint64_t messages_in_all = 0;
  /// Number of sends and receives in the range without a known partner.
  std::uint64_t unpaired = 0;
  /// Number of messages that were received before they were sent by more than the clocks may be
  /// apart. They are not in `messages`.
  std::uint64_t backwards = 0;
  /// The ten longest calls, longest first. Without single calls, the windows with the longest calls
  /// are found first. Then the calls in the stored chunks around these windows are compared.
  std::vector<LongCall> longest;
};

/// Which calls to find. A call must have all given properties.
struct CallSearchQuery {
  RankRange ranks = {};
  TimeRange range = {};
  /// Name of the function, in any case, with or without "MPI_". Empty: any function.
  std::string function = {};
  /// Values of the call, or of one of the requests that it completed.
  std::optional<std::int64_t> peer = {}, tag = {}, comm = {};
  bool backwards = false;      ///< Search from the end of the range to its beginning.
  std::uint64_t limit = 1000;  ///< Maximum number of calls; 1 to kMaxCalls.
};

/// Recorded calls that begin in a range of time.
struct CallSearch {
  Scope scope;
  /// Sorted by beginning, then by rank and thread. If there are more than `limit`, the first of the
  /// range, or the last if the search goes backwards.
  std::vector<Timeline::Call> calls;
  /// The part of the range that was searched. It is shorter than the range if `limit` calls were
  /// found, or if too many events had to be read. `calls` has all matching calls of this part, with
  /// one exception: if more than `limit` calls begin at the same time, some of them are missing.
  Nanos searched_begin_ns = 0, searched_end_ns = 0;
  bool is_cut = false;  ///< True if only a part was searched.
};

}  // namespace xylem::storage
