// Single calls of a few ranks in a short time, out of chunks; where that would be too many,
// windows.

#include <algorithm>
#include <deque>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "storage/read/run_view_internal.h"
#include "storage/read/under_way_internal.h"
#include "wire/chunk.h"

namespace xylem::storage {
namespace {

/// A call before it has its name.
struct Found {
  std::uint64_t rank = 0;
  std::int64_t function = 0;
  wire::Event event;
};

// Whatever a file says of times: what ends before it begins took no time.
std::uint64_t duration(const Found& found) {
  const wire::Event& event = found.event;
  if (event.end_ns <= event.begin_ns) return 0;
  return static_cast<std::uint64_t>(event.end_ns) - static_cast<std::uint64_t>(event.begin_ns);
}

bool is_longer(const Found& a, const Found& b) {
  return std::tuple(duration(a), b.event.begin_ns, b.rank) >
         std::tuple(duration(b), a.event.begin_ns, a.rank);
}

struct Departure {
  Nanos sent_ns = 0;
  std::uint64_t bytes = 0;
};

/// Messages between the same two ranks with the same communicator and tag overtake no one.
struct Way {
  std::uint64_t source = 0, destination = 0;
  std::uint32_t comm = 0;
  std::int32_t tag = 0;
  auto operator<=>(const Way&) const = default;
};
struct Traffic {
  std::vector<Departure> departures;
  std::vector<Nanos> arrivals;
};

bool meets(const CallUnderWay& call, const Slots& range) {
  return call.begin_ns < range.end_ns && call.at_ns > range.begin_ns;
}

/// Adds calls that have not returned to the longest calls.
void add_open(const std::vector<CallUnderWay>& calls, const Slots& range,
              std::vector<Timeline::LongCall>& longest) {
  for (const CallUnderWay& call : calls) {
    if (!meets(call, range)) continue;
    longest.push_back({raw(call.rank), call.function,
                       static_cast<std::uint64_t>(call.duration_ns()), call.begin_ns, call.at_ns});
  }
  std::ranges::stable_sort(longest, std::greater<>(), &Timeline::LongCall::duration_ns);
  if (longest.size() > kLongestCalls) longest.resize(kLongestCalls);
}

/// Collects the events of a range.
class CallReader {
 public:
  CallReader(ViewReader& reader, const Slots& range, std::uint64_t limit)
      : reader_(reader), range_(range), kept_(std::max<std::size_t>(limit, kLongestCalls)) {
    for (const auto& row : reader.inquiry.ask("SELECT leaf, id, function FROM function_alias")) {
      aliases_[{integer_of(row[0]), integer_of(row[1])}] = integer_of(row[2]);
    }
    const auto error = reader.inquiry.ask_one("SELECT max(error_ns) FROM clock", 1);
    clocks_apart_ns_ = 2 * std::clamp<Nanos>(time_of(error[0]), 0, kSecond);
  }

  void read(std::int64_t process, const Member& member, const std::string& condition) {
    if (opened_.size() >= kMaxTimelineChunks) return;
    reader_.inquiry.scan(
        "SELECT id, chunk FROM event_chunk WHERE process = " + std::to_string(process) + condition +
            " LIMIT " + std::to_string(kMaxTimelineChunks - opened_.size()),
        [&](std::span<const Value> row) {
          if (!opened_.insert(integer_of(row[0])).second) return;
          const auto* bytes = std::get_if<Blob>(&row[1]);
          const auto events = decoder_.decode(bytes == nullptr ? Blob{} : *bytes);
          if (!events) {
            return reader_.fail(events.error().code, "chunk " + to_text(row[0]) +
                                                         " is damaged: " + events.error().message);
          }
          for (const wire::Event& event : *events) take(event, member);
        });
  }

  /// Ten of those read, longest first.
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

  /// Chunks and windows come on different ways: an event may be here before the window that says
  /// that its call has returned. Calls of one thread do not overlap, so it is the call of an event
  /// that ends after it began, or a call before that.
  void leave_out_ended(std::vector<CallUnderWay>& open) const {
    std::erase_if(open, [this](const CallUnderWay& call) {
      const auto newest = newest_ends_.find({raw(call.rank), call.thread});
      return newest != newest_ends_.end() && newest->second > call.begin_ns;
    });
  }

  /// `open`: calls that have not returned, as far as the windows say.
  void finish(std::uint64_t limit, std::vector<CallUnderWay> open, Timeline& timeline) {
    leave_out_ended(open);
    timeline.longest = longest();
    add_open(open, range_, timeline.longest);
    if (found_.size() > limit) found_.resize(limit);
    // Of nested calls the outer one first.
    std::ranges::sort(found_, [](const Found& a, const Found& b) {
      return std::tuple(a.rank, a.event.thread, a.event.begin_ns, b.event.end_ns) <
             std::tuple(b.rank, b.event.thread, b.event.begin_ns, a.event.end_ns);
    });
    for (const Found& found : found_) timeline.calls.push_back(named(found));
    timeline.calls_in_all = in_all_;
    add_open_calls(limit, open, timeline);
    pair_messages(limit, timeline);
  }

 private:
  void take(const wire::Event& event, const Member& member) {
    const bool meets = event.begin_ns < range_.end_ns &&
                       (event.end_ns > range_.begin_ns || event.begin_ns >= range_.begin_ns);
    if (!meets) return;
    take_message(event, member);
    if (event.kind == wire::kKindCompletion) return;
    ++in_all_;
    Nanos& newest = newest_ends_[{member.rank, event.thread}];
    newest = std::max(newest, event.end_ns);
    reader_.scope.estimated |= (event.flags & wire::kEventEstimated) != 0;
    found_.push_back({member.rank, function_of(event, member.leaf), event});
    if (found_.size() < 2 * kept_) return;
    const auto last = found_.begin() + static_cast<std::ptrdiff_t>(kept_);
    std::nth_element(found_.begin(), last, found_.end(), is_longer);
    found_.erase(last, found_.end());
  }

  // Calls that have not returned are never left out before others: they may be the reason why
  // somebody looks at the run.
  void add_open_calls(std::uint64_t limit, const std::vector<CallUnderWay>& open,
                      Timeline& timeline) {
    std::vector<Timeline::Call> calls;
    for (const CallUnderWay& call : open) {
      if (!meets(call, range_)) continue;
      ++timeline.calls_in_all;
      if (calls.size() < limit) calls.push_back(named(call));
    }
    if (calls.empty()) return;
    if (timeline.calls.size() + calls.size() > limit) {
      std::ranges::sort(timeline.calls, std::greater<>(), [](const Timeline::Call& call) {
        return saturating_subtract(call.end_ns, call.begin_ns);
      });
      timeline.calls.resize(limit - calls.size());
    }
    timeline.calls.insert(timeline.calls.end(), calls.begin(), calls.end());
    std::ranges::sort(timeline.calls, [](const Timeline::Call& a, const Timeline::Call& b) {
      return std::tuple(a.rank, a.thread, a.begin_ns, b.end_ns) <
             std::tuple(b.rank, b.thread, b.begin_ns, a.end_ns);
    });
  }

  static Timeline::Call named(const CallUnderWay& open) {
    Timeline::Call call;
    call.rank = raw(open.rank);
    call.thread = open.thread;
    call.begin_ns = open.begin_ns;
    call.end_ns = std::max(open.at_ns, open.begin_ns);
    call.function = open.function;
    call.function_class = open.function_class;
    if (open.peer) call.peer = raw(*open.peer);
    if (open.comm) call.comm = *open.comm;
    call.is_open = true;
    call.has_ended = open.has_ended;
    call.is_host_lost = open.is_host_lost;
    return call;
  }

  void take_message(const wire::Event& event, const Member& member) {
    if (event.peer < 0) return;
    const auto peer = static_cast<std::uint64_t>(event.peer);
    if ((event.flags & wire::kEventSend) != 0) {
      traffic_[{member.rank, peer, event.comm, event.tag}].departures.push_back(
          {time_of(Value(event.begin_ns)), event.bytes});
    }
    if ((event.flags & wire::kEventReceive) != 0) {
      traffic_[{peer, member.rank, event.comm, event.tag}].arrivals.push_back(
          time_of(Value(event.end_ns)));
    }
  }

  std::int64_t function_of(const wire::Event& event, std::int64_t leaf) const {
    if (aliases_.empty()) return raw(event.function);
    const auto alias = aliases_.find({leaf, raw(event.function)});
    return alias == aliases_.end() ? raw(event.function) : alias->second;
  }

  Timeline::Call named(const Found& found) {
    const wire::Event& event = found.event;
    Timeline::Call call;
    call.rank = found.rank;
    call.thread = event.thread;
    call.begin_ns = event.begin_ns;
    call.end_ns = event.end_ns;
    auto [name, function_class] = reader_.function(found.function);
    call.function = std::move(name);
    call.function_class = std::move(function_class);
    call.bytes = event.bytes;
    call.calls = event.calls;
    call.estimated = (event.flags & wire::kEventEstimated) != 0;
    if (event.peer != wire::kNoPeer) call.peer = event.peer;
    if (event.tag != wire::kNoTag) call.tag = event.tag;
    if (event.comm != wire::kNoComm) call.comm = event.comm;
    return call;
  }

  // What arrived before anything was sent, by more than two hosts' clocks may be apart, belongs to
  // a message from before the range.
  void pair_messages(std::uint64_t limit, Timeline& timeline) {
    for (auto& [way, traffic] : traffic_) {
      std::ranges::sort(traffic.departures, {}, &Departure::sent_ns);
      std::ranges::sort(traffic.arrivals);
      auto arrival = traffic.arrivals.begin();
      for (const Departure& departure : traffic.departures) {
        while (arrival != traffic.arrivals.end() &&
               *arrival + clocks_apart_ns_ < departure.sent_ns) {
          ++arrival;
        }
        Timeline::Message message{way.source, way.destination, departure.sent_ns,
                                  {},         departure.bytes, {}};
        if (arrival != traffic.arrivals.end()) message.received_ns = *arrival++;
        if (way.tag != wire::kNoTag) message.tag = way.tag;
        timeline.messages.push_back(message);
      }
    }
    timeline.messages_in_all = timeline.messages.size();
    auto& messages = timeline.messages;
    if (messages.size() > limit) {
      const auto last = messages.begin() + static_cast<std::ptrdiff_t>(limit);
      std::nth_element(messages.begin(), last, messages.end(),
                       [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
      messages.erase(last, messages.end());
    }
    std::ranges::sort(messages, {}, [](const Timeline::Message& m) {
      return std::tuple(m.sent_ns, m.source, m.destination);
    });
  }

  ViewReader& reader_;
  Slots range_;
  std::size_t kept_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> aliases_;
  wire::ChunkDecoder decoder_;
  std::vector<Found> found_;
  std::set<std::int64_t> opened_;
  std::uint64_t in_all_ = 0;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Nanos> newest_ends_;  // Of rank and thread.
  Nanos clocks_apart_ns_ = 0;
  std::map<Way, Traffic> traffic_;
};

std::string meeting(Nanos begin_ns, Nanos end_ns) {
  return " AND begin_ns < " + std::to_string(end_ns) + " AND end_ns >= " + std::to_string(begin_ns);
}

/// The calls themselves, where they are recorded: only chunks around the windows that have the
/// longest ones are opened, and no other chunk can hold a longer one. A call is in the window in
/// which it ended, or where the agent was late, in the next. Calls in `open` that are found to have
/// ended are removed.
std::vector<Timeline::LongCall> find_longest(
    ViewReader& reader, const Slots& range, const std::unordered_map<std::int64_t, Member>& members,
    const std::vector<LongWindow>& windows, std::vector<CallUnderWay>& open) {
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

Result<Timeline> RunView::timeline(const TimelineQuery& query) {
  return answer_of<Timeline>(*run_, [&query](ViewReader& reader, Timeline& timeline) {
    if (!reader.check("most", query.limit, kMaxCalls)) return;
    const std::uint64_t world_size = reader.read_world(query.ranks.world);
    const RankRows rows = reader.rows(query.ranks, world_size, query.rows);
    const Slots range = reader.one_slot(query.range);
    if (!reader.ok()) return;
    const auto members = reader.members(query.ranks.world, rows);
    // In the order of ranks, so that of equals the same are kept each time.
    std::map<std::pair<std::uint64_t, std::int64_t>, Member> in_order;
    for (const auto& [id, member] : members) in_order[{member.rank, id}] = member;

    const std::string condition = meeting(range.begin_ns, range.end_ns);
    std::uint64_t chunks = 0;
    for (const auto& [key, member] : in_order) {
      chunks +=
          count_of(reader.inquiry.ask_one("SELECT count(*) FROM event_chunk WHERE process = " +
                                              std::to_string(key.second) + condition,
                                          1)[0]);
      if (chunks > kMaxTimelineChunks) break;
    }
    const bool any =
        count_of(reader.inquiry.ask_one("SELECT EXISTS(SELECT 1 FROM event_chunk)", 1)[0]) != 0;
    std::vector<CallUnderWay> open =
        read_under_way(reader.inquiry, of_ranks(query.ranks.world, rows), kMaxCalls).calls;
    const bool any_open =
        std::ranges::any_of(open, [&](const CallUnderWay& call) { return meets(call, range); });
    if (any && chunks <= kMaxTimelineChunks && (chunks != 0 || any_open)) {
      timeline.has_calls = true;
      if (chunks == 0) timeline.reason = "other calls of this time are not stored, or not yet";
      CallReader calls(reader, range, query.limit);
      for (const auto& [key, member] : in_order) calls.read(key.second, member, condition);
      return calls.finish(query.limit, std::move(open), timeline);
    }
    timeline.too_many = chunks != 0;
    timeline.reason = chunks != 0 ? "more than " + std::to_string(kMaxTimelineChunks) +
                                        " chunks of calls; choose a shorter time or fewer ranks"
                      : any ? "no calls of these ranks are recorded in this time"
                            : "single calls are recorded by `xylem run --detail trace`";
    const RankGridQuery grid{query.ranks, query.range, RankValue::kMpi, query.columns, query.rows};
    std::vector<LongWindow> windows;
    read_grid(reader, grid, timeline.grid, &windows);
    timeline.grid.scope = reader.scope;
    const Slots whole{timeline.grid.scope.begin_ns, timeline.grid.scope.end_ns, 1, 1};
    timeline.longest = find_longest(reader, whole, members, windows, open);
    add_open(open, whole, timeline.longest);
  });
}

}  // namespace xylem::storage
