// Calls of ranks in a range of time: single calls with their messages, or densities, or windows.
// The number of events that would have to be read decides, and then the number of calls.

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "storage/call_roles.h"
#include "storage/read/chunk_reads_internal.h"
#include "storage/read/densities_internal.h"
#include "storage/read/message_pairs_internal.h"
#include "storage/read/run_view_internal.h"
#include "storage/read/under_way_internal.h"

namespace xylem::storage {
namespace {

/// A call without the name of its function.
struct Found {
  Rank rank{};
  FunctionKey function{};
  wire::Event event;
};

// In a damaged file, a call may end before it begins. Then its duration is 0.
std::uint64_t duration(const Found& found) {
  const wire::Event& event = found.event;
  if (event.end_ns <= event.begin_ns) return 0;
  return static_cast<std::uint64_t>(event.end_ns) - static_cast<std::uint64_t>(event.begin_ns);
}

bool is_longer(const Found& a, const Found& b) {
  return std::tuple(duration(a), b.event.begin_ns, b.rank) >
         std::tuple(duration(b), a.event.begin_ns, a.rank);
}

struct OfRank {
  ProcessKey process{};
  LeafId leaf{};
};

/// The processes of a world by rank. Several may have the same rank.
std::multimap<Rank, OfRank> processes_by_rank(ViewReader& reader, WorldId world) {
  std::multimap<Rank, OfRank> processes;
  for (const auto& row :
       reader.inquiry.ask("SELECT rank, id, leaf FROM process WHERE rank IS NOT NULL AND world = " +
                          std::to_string(raw(world)))) {
    processes.emplace(id_of<Rank>(row[0]),
                      OfRank{id_of<ProcessKey>(row[1]), id_of<LeafId>(row[2])});
  }
  return processes;
}

/// How far the clocks of two ranks may be apart: the sum of the errors of their hosts. If the error
/// of a host is unknown, the largest known error is used.
class ClocksApart {
 public:
  ClocksApart(ViewReader& reader, WorldId world) {
    std::map<LeafId, Nanos> errors;
    for (const auto& row :
         reader.inquiry.ask("SELECT leaf, max(error_ns) FROM clock GROUP BY leaf")) {
      const Nanos error = std::clamp<Nanos>(time_of(row[1]), 0, kSecond);
      errors[id_of<LeafId>(row[0])] = error;
      max_ = std::max(max_, error);
    }
    for (const auto& row :
         reader.inquiry.ask("SELECT rank, leaf FROM process WHERE rank IS NOT NULL AND world = " +
                            std::to_string(raw(world)))) {
      const auto error = errors.find(id_of<LeafId>(row[1]));
      errors_[id_of<Rank>(row[0])] = error == errors.end() ? max_ : error->second;
    }
  }

  Nanos operator()(Rank one, Rank other) const { return of(one) + of(other); }

 private:
  Nanos of(Rank rank) const {
    const auto error = errors_.find(rank);
    return error == errors_.end() ? max_ : error->second;
  }

  std::unordered_map<Rank, Nanos> errors_;
  Nanos max_ = 0;
};

bool meets(const CallUnderWay& call, const Slots& range) {
  return call.begin_ns < range.end_ns && call.at_ns > range.begin_ns;
}

/// Adds calls that have not returned to the longest calls.
void add_open(const std::vector<CallUnderWay>& calls, const Slots& range,
              std::vector<Timeline::LongCall>& longest) {
  for (const CallUnderWay& call : calls) {
    if (!meets(call, range)) continue;
    longest.push_back({call.rank, call.function, static_cast<std::uint64_t>(call.duration_ns()),
                       call.begin_ns, call.at_ns});
  }
  std::ranges::stable_sort(longest, std::greater<>(), &Timeline::LongCall::duration_ns);
  if (longest.size() > kLongestCalls) longest.resize(kLongestCalls);
}

/// Collects the events of a range.
class CallReader {
 public:
  CallReader(ViewReader& reader, const Slots& range, std::uint64_t limit)
      : reader_(reader),
        reads_(reader, kMaxReadEvents),
        range_(range),
        limit_(limit),
        kept_(std::max<std::size_t>(limit, kLongestCalls)),
        pairs_(range.begin_ns, range.end_ns) {}

  /// Sums densities, too. `slots` divides the range.
  void sum_densities(const Slots& slots, const RankRows& rows) {
    rows_ = rows;
    densities_.emplace(slots, rows.count());
  }
  void pair_messages() { has_messages_ = true; }

  void read(ProcessKey process, const Member& member, const std::string& condition) {
    SampledCalls sampled;
    reads_.read(process, condition + " ORDER BY begin_ns", [&](const wire::Event& event) {
      if (densities_) add_density(event, member, sampled);
      take(event, member);
    });
  }

  /// Reads the chunks where the partners of sends and receives may be, if they are few.
  void read_partners(WorldId world) {
    if (!has_messages_) return;
    reads_.allow(kMaxReadEvents / 2);
    const auto processes = processes_by_rank(reader_, world);
    for (const MissingEnds& missing : pairs_.missing()) {
      const auto [first, last] = processes.equal_range(missing.rank);
      for (auto process = first; process != last; ++process) {
        for (const std::string& condition : places_of(missing)) {
          reads_.read(
              process->second.process, condition,
              [&](const wire::Event& event) {
                pairs_.take_partner(missing.rank, event, posts(event, process->second.leaf));
              },
              kMaxPartnerChunks);
        }
      }
    }
  }

  /// Returns the ten longest calls that were read, longest first.
  std::vector<Timeline::LongCall> longest() {
    std::ranges::sort(found_, is_longer);
    std::vector<Timeline::LongCall> longest;
    for (const Found& found : found_) {
      if (longest.size() == kLongestCalls) break;
      longest.push_back({found.rank, reader_.function(found.function).name, duration(found),
                         found.event.begin_ns, found.event.end_ns});
    }
    return longest;
  }

  /// Removes calls that have returned. An event may be stored before the window that reports that
  /// its call has returned. Calls of a thread do not overlap. So if an event of the thread ends
  /// after a call began, this call has returned.
  void leave_out_ended(std::vector<CallUnderWay>& open) const {
    std::erase_if(open, [this](const CallUnderWay& call) {
      const auto newest = newest_ends_.find({call.rank, call.thread});
      return newest != newest_ends_.end() && newest->second > call.begin_ns;
    });
  }

  /// `open`: calls that have not returned, as far as the windows say.
  void finish(WorldId world, std::vector<CallUnderWay> open, Timeline& timeline) {
    leave_out_ended(open);
    std::erase_if(open, [this](const CallUnderWay& call) { return !meets(call, range_); });
    timeline.longest = longest();
    add_open(open, range_, timeline.longest);
    const std::uint64_t in_all = in_all_ + open.size();
    timeline.calls_in_all = in_all;
    const bool is_too_much = in_all > limit_;
    if (is_too_much) {
      timeline.detail = TimelineDetail::kDensities;
      finish_densities(world, open, timeline);
      if (open.size() > limit_) open.resize(limit_);
    } else {
      timeline.detail = TimelineDetail::kCalls;
      for (const Found& found : found_) {
        timeline.calls.push_back(reads_.call_of(found.rank, found.function, found.event));
      }
      read_partners(world);
      pairs_.finish(limit_, ClocksApart(reader_, world), timeline);
    }
    for (const CallUnderWay& call : open) timeline.calls.push_back(named(call));
    // If calls are nested, the outer call comes first.
    std::ranges::sort(timeline.calls, [](const Timeline::Call& a, const Timeline::Call& b) {
      return std::tuple(a.rank, a.thread, a.begin_ns, b.end_ns) <
             std::tuple(b.rank, b.thread, b.begin_ns, a.end_ns);
    });
  }

 private:
  void take(const wire::Event& event, const Member& member) {
    const bool meets = event.begin_ns < range_.end_ns &&
                       (event.end_ns > range_.begin_ns || event.begin_ns >= range_.begin_ns);
    // If there are too many calls, the answer has no messages.
    if (has_messages_ && in_all_ <= limit_) {
      pairs_.take(member.rank, event, meets, posts(event, member.leaf));
    }
    if (!meets || event.kind != wire::kKindMpi) return;
    if (++in_all_ == limit_ + 1) pairs_.clear();
    Nanos& newest = newest_ends_[{member.rank, event.thread}];
    newest = std::max(newest, event.end_ns);
    reader_.scope.estimated |= (event.flags & wire::kEventEstimated) != 0;
    found_.push_back({member.rank, reads_.function_of(event, member.leaf), event});
    if (found_.size() < 2 * kept_) return;
    const auto last = found_.begin() + static_cast<std::ptrdiff_t>(kept_);
    std::nth_element(found_.begin(), last, found_.end(), is_longer);
    found_.erase(last, found_.end());
  }

  bool posts(const wire::Event& event, LeafId leaf) {
    constexpr std::uint8_t kEnds = wire::kEventSend | wire::kEventReceive;
    if (event.request == 0 || (event.flags & kEnds) != 0) return false;
    const auto& function = reader_.function(reads_.function_of(event, leaf));
    return role_of(function.name, function.function_class) == CallRole::kPost;
  }

  // The record of sampled calls in the range may be after the range.
  void add_density(const wire::Event& event, const Member& member, SampledCalls& sampled) {
    if (event.kind != wire::kKindMpi) return;
    const FunctionKey function = reads_.function_of(event, member.leaf);
    const std::string& function_class = class_of(function);
    densities_->add(rows_.of(member.rank), function_class, event.begin_ns, event.end_ns);
    densities_->add(rows_.of(member.rank), function_class, sampled.take(event, function));
  }

  const std::string& class_of(FunctionKey function) {
    const auto [found, is_new] = classes_.try_emplace(function);
    if (is_new) found->second = reader_.function(function).function_class;
    return found->second;
  }

  void finish_densities(WorldId world, const std::vector<CallUnderWay>& open, Timeline& timeline) {
    if (!densities_) return;
    for (const CallUnderWay& call : open) {
      densities_->add(rows_.of(call.rank), call.function_class, call.begin_ns, call.at_ns);
    }
    RankGrid& grid = timeline.densities;
    grid.world_size = reader_.read_world(world);
    start_grid(reader_, rows_, densities_->slots(), reader_.members(world, rows_), grid);
    read_watched(reader_, world, rows_, densities_->slots(), grid);
    densities_->finish(grid);
  }

  static Timeline::Call named(const CallUnderWay& open) {
    Timeline::Call call;
    call.rank = open.rank;
    call.thread = open.thread;
    call.begin_ns = open.begin_ns;
    call.end_ns = std::max(open.at_ns, open.begin_ns);
    call.function = open.function;
    call.function_class = open.function_class;
    if (open.peer) call.peer = raw(*open.peer);
    call.comm = open.comm;
    call.is_open = true;
    call.has_ended = open.has_ended;
    call.is_host_lost = open.is_host_lost;
    return call;
  }

  /// Conditions of the chunks that may have missing ends: first those that overlap the time from
  /// the known end to the end of the range, then those beyond the range, the nearest first.
  std::vector<std::string> places_of(const MissingEnds& missing) const {
    const std::string begin = std::to_string(range_.begin_ns), end = std::to_string(range_.end_ns);
    if (missing.are_sends) {
      const Nanos latest_ns = saturating_add(missing.latest_ns, 2 * kSecond);
      return {meeting(range_.begin_ns, std::min(range_.end_ns, latest_ns)) + " ORDER BY begin_ns",
              " AND begin_ns < " + begin + " ORDER BY begin_ns DESC"};
    }
    const Nanos earliest_ns = saturating_subtract(missing.earliest_ns, 2 * kSecond);
    return {meeting(std::max(range_.begin_ns, earliest_ns), range_.end_ns) + " ORDER BY begin_ns",
            " AND begin_ns >= " + end + " ORDER BY begin_ns"};
  }

  /// Maximum number of chunks that are opened at each place.
  static constexpr std::uint64_t kMaxPartnerChunks = 4;

  ViewReader& reader_;
  ChunkReads reads_;
  Slots range_;
  std::uint64_t limit_;
  std::size_t kept_;
  std::vector<Found> found_;
  std::uint64_t in_all_ = 0;
  std::map<std::pair<Rank, ThreadIndex>, Nanos> newest_ends_;
  bool has_messages_ = false;
  MessagePairs pairs_;
  RankRows rows_;
  std::optional<DensitySums> densities_;
  std::unordered_map<FunctionKey, std::string> classes_;
};

/// Replaces the longest windows by their calls if these are recorded. Opens only the chunks around
/// these windows: no other chunk can have a longer call. A call is in the window in which it ended,
/// or in the next window if the agent was late. Removes calls from `open` that have ended.
std::vector<Timeline::LongCall> find_longest(ViewReader& reader, const Slots& range,
                                             const std::unordered_map<ProcessKey, Member>& members,
                                             const std::vector<LongWindow>& windows,
                                             std::vector<CallUnderWay>& open) {
  CallReader reads(reader, range, kLongestCalls);
  for (const LongWindow& window : windows) {
    const auto member = members.find(window.process);
    if (member == members.end()) continue;
    reads.read(window.process, member->second,
               meeting(window.call.begin_ns - reader.window_ns, window.call.end_ns));
  }
  reads.leave_out_ended(open);
  std::vector<Timeline::LongCall> longest = reads.longest();
  for (const LongWindow& window : windows) {
    const bool is_there = std::ranges::any_of(longest, [&](const Timeline::LongCall& call) {
      return call.rank == window.call.rank && call.function == window.call.function &&
             call.duration_ns >= window.call.duration_ns;
    });
    if (!is_there) longest.push_back(window.call);
  }
  std::ranges::stable_sort(longest, std::greater<>(), &Timeline::LongCall::duration_ns);
  if (longest.size() > kLongestCalls) longest.resize(kLongestCalls);
  return longest;
}

}  // namespace

namespace {

/// One answer in the making.
class TimelineReader {
 public:
  TimelineReader(ViewReader& reader, const TimelineQuery& query, Timeline& timeline)
      : reader_(reader), query_(query), timeline_(timeline) {}

  void read() {
    if (!reader_.check("most", query_.limit, kMaxCalls)) return;
    if (!reader_.check("columns", query_.columns, kMaxColumns)) return;
    const WorldId world = query_.ranks.world;
    const RankRows rows = reader_.rows(query_.ranks, reader_.read_world(world), query_.rows);
    const std::uint64_t columns = std::clamp<std::uint64_t>(
        kMaxDensityCells / std::max<std::uint64_t>(rows.count(), 1), 1, query_.columns);
    const Slots slots = reader_.slots(query_.range, columns, 1);
    range_ = reader_.one_slot(query_.range);
    if (!reader_.ok()) return;
    members_ = reader_.members(world, rows);
    // In the order of ranks, so that each answer keeps the same of several equal calls.
    std::map<std::pair<Rank, ProcessKey>, Member> in_order;
    for (const auto& [id, member] : members_) in_order[{member.rank, id}] = member;

    const std::string condition = meeting(range_.begin_ns, range_.end_ns);
    ChunkReads chunks(reader_, kMaxReadEvents);
    std::uint64_t events = 0;
    for (const auto& [key, member] : in_order) {
      events += chunks.cost(key.second, condition, kMaxReadEvents - events);
      if (events > kMaxReadEvents) break;
    }
    open_ = read_under_way(reader_.inquiry, of_ranks(world, rows), kMaxCalls).calls;
    const bool any_open =
        std::ranges::any_of(open_, [&](const CallUnderWay& call) { return meets(call, range_); });
    any_ = count_of(reader_.inquiry.ask_one("SELECT EXISTS(SELECT 1 FROM event_chunk)", 1)[0]) != 0;
    if (!any_ || events > kMaxReadEvents || (events == 0 && !any_open)) return read_windows(events);

    if (events == 0) timeline_.reason = "other calls of this time are not stored, or not yet";
    CallReader calls(reader_, range_, query_.limit);
    if (events + open_.size() > query_.limit) calls.sum_densities(slots, rows);
    calls.pair_messages();
    for (const auto& [key, member] : in_order) calls.read(key.second, member, condition);
    calls.finish(world, std::move(open_), timeline_);
  }

 private:
  void read_windows(std::uint64_t events) {
    timeline_.too_many = events != 0;
    timeline_.reason = events != 0 ? "more than " + std::to_string(kMaxReadEvents) +
                                         " calls; choose a shorter time or fewer ranks"
                       : any_ ? "no calls of these ranks are recorded in this time"
                              : "single calls are recorded by `xylem run --detail trace`";
    const RankGridQuery grid{query_.ranks, query_.range, RankValue::kMpi, query_.columns,
                             query_.rows};
    std::vector<LongWindow> windows;
    read_grid(reader_, grid, timeline_.grid, &windows);
    timeline_.grid.scope = reader_.scope;
    const Slots whole{timeline_.grid.scope.begin_ns, timeline_.grid.scope.end_ns, 1, 1};
    timeline_.longest = find_longest(reader_, whole, members_, windows, open_);
    add_open(open_, whole, timeline_.longest);
  }

  ViewReader& reader_;
  const TimelineQuery& query_;
  Timeline& timeline_;
  Slots range_;
  std::unordered_map<ProcessKey, Member> members_;
  std::vector<CallUnderWay> open_;
  bool any_ = false;  // Any call of the run is recorded.
};

}  // namespace

Result<Timeline> RunView::timeline(const TimelineQuery& query) {
  return answer_of<Timeline>(*run_, [&query](ViewReader& reader, Timeline& timeline) {
    TimelineReader(reader, query, timeline).read();
  });
}

}  // namespace xylem::storage
