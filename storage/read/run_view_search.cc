// Finds calls by function, peer, tag and communicator.
//
// Chunks have no index of these values, so they are opened in the order of time until enough calls
// are found or enough events are read. The range is searched in steps. A step opens the chunks that
// overlap it and were not opened before. Then all matching calls of the step are known; calls that
// begin later wait for their step. A step after one with few events is twice as long.

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

#include "storage/read/chunk_reads_internal.h"
#include "storage/read/run_view_internal.h"

namespace xylem::storage {
namespace {

/// Reading this many events takes about half a second.
constexpr std::uint64_t kMaxSearchEvents = 4 * kMaxReadEvents;
constexpr std::uint64_t kFewEvents = kMaxSearchEvents / 16;
constexpr Nanos kFirstStep = 20 * kMillisecond;
/// Found calls are sorted and cut when they are twice as many as wanted, and as these.
constexpr std::size_t kSpareCalls = 10'000;
/// A step is never left half done.
constexpr std::uint64_t kAnyNumber = std::uint64_t{1} << 50;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return text;
}

class Search {
 public:
  Search(ViewReader& reader, const CallSearchQuery& query, CallSearch& answer)
      : reader_(reader), query_(query), answer_(answer), reads_(reader, kMaxSearchEvents) {}

  void run() {
    if (!reader_.check("most", query_.limit, kMaxCalls)) return;
    const std::uint64_t world_size = reader_.read_world(query_.ranks.world);
    const RankRows rows = reader_.rows(query_.ranks, world_size, kMaxRows);
    range_ = reader_.one_slot(query_.range);
    if (!reader_.ok() || !read_functions()) return;
    members_ = reader_.members(query_.ranks.world, rows);
    search();
    finish();
  }

 private:
  bool read_functions() {
    if (query_.function.empty()) return true;
    const std::string wanted = lower(query_.function);
    for (const auto& [id, function] : reader_.functions()) {
      const std::string name = lower(function.name);
      if (name == wanted || name == "mpi_" + wanted) functions_.insert(id);
    }
    if (functions_.empty()) {
      reader_.fail(Code::kInvalidArgument,
                   "this run has no function with the name " + query_.function);
    }
    return !functions_.empty();
  }

  void search() {
    answer_.searched_begin_ns = answer_.searched_end_ns =
        query_.backwards ? range_.end_ns : range_.begin_ns;
    Nanos step = kFirstStep;
    while (reader_.ok() && left() > 0 && searched_calls() < query_.limit &&
           reads_.spent() < kMaxSearchEvents) {
      const Nanos length = std::min(step, left());
      const std::uint64_t spent = reads_.spent();
      if (query_.backwards) {
        read(answer_.searched_begin_ns - length, answer_.searched_begin_ns);
        answer_.searched_begin_ns -= length;
      } else {
        read(answer_.searched_end_ns, answer_.searched_end_ns + length);
        answer_.searched_end_ns += length;
      }
      if (reads_.spent() - spent < kFewEvents) step = saturating_multiply<Nanos>(step, 2);
    }
    answer_.is_cut = left() > 0;
  }

  bool is_searched(const Timeline::Call& call) const {
    return call.begin_ns >= answer_.searched_begin_ns && call.begin_ns < answer_.searched_end_ns;
  }
  std::size_t searched_calls() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        answer_.calls, [this](const Timeline::Call& call) { return is_searched(call); }));
  }

  Nanos left() const {
    return query_.backwards ? answer_.searched_begin_ns - range_.begin_ns
                            : range_.end_ns - answer_.searched_end_ns;
  }

  /// Opens the chunks that overlap [begin_ns, end_ns).
  void read(Nanos begin_ns, Nanos end_ns) {
    reads_.allow(kAnyNumber * kChunkEvents);
    for (const auto& entry : members_) {
      const auto& member = entry.second;
      reads_.read(
          entry.first, meeting(begin_ns, end_ns),
          [&](const wire::Event& event) {
            if (event.begin_ns < range_.begin_ns || event.begin_ns >= range_.end_ns) return;
            if (event.kind == wire::kKindRegion) return;
            const FunctionKey function = reads_.function_of(event, member.leaf);
            if (!matches(event, function)) return;
            answer_.calls.push_back(reads_.call_of(member.rank, function, event));
            if (answer_.calls.size() > 2 * (query_.limit + kSpareCalls)) prune();
          },
          kAnyNumber);
    }
  }

  bool matches(const wire::Event& event, FunctionKey function) const {
    if ((event.flags & wire::kEventBlock) != 0) return false;
    const auto is = [](const std::optional<std::int64_t>& wanted, std::int64_t value) {
      return !wanted || *wanted == value;
    };
    return (functions_.empty() || functions_.contains(function)) && is(query_.peer, event.peer) &&
           is(query_.tag, event.tag) && is(query_.comm, raw(event.comm));
  }

  // A call that completes several requests has an event for itself and one for each of them.
  void sort() {
    auto& calls = answer_.calls;
    const auto order = [](const Timeline::Call& call) {
      return std::tie(call.begin_ns, call.rank, call.thread, call.end_ns, call.function);
    };
    std::ranges::stable_sort(calls, {}, order);
    calls.erase(std::unique(calls.begin(), calls.end(),
                            [&](const auto& a, const auto& b) { return order(a) == order(b); }),
                calls.end());
  }

  // Keeps one call more than wanted: it says where the searched part ends. Calls that are found
  // later can only come before those that are left out.
  void prune() {
    auto& calls = answer_.calls;
    sort();
    const std::size_t kept = std::min<std::size_t>(calls.size(), query_.limit + 1);
    if (query_.backwards) {
      calls.erase(calls.begin(), calls.end() - static_cast<std::ptrdiff_t>(kept));
    } else {
      calls.resize(kept);
    }
  }

  // Calls that begin at the same time are kept or left out together, if that leaves any call.
  void finish() {
    auto& calls = answer_.calls;
    std::erase_if(calls, [this](const Timeline::Call& call) { return !is_searched(call); });
    prune();
    if (calls.size() <= query_.limit) return;
    answer_.is_cut = true;
    const Nanos bound = query_.backwards ? calls.front().begin_ns : calls.back().begin_ns;
    const bool is_all_one = calls.front().begin_ns == calls.back().begin_ns;
    if (query_.backwards) {
      if (is_all_one) calls.erase(calls.begin());
      if (!is_all_one) std::erase_if(calls, [=](const auto& c) { return c.begin_ns == bound; });
      answer_.searched_begin_ns = is_all_one ? bound : bound + 1;
    } else {
      if (is_all_one) calls.pop_back();
      if (!is_all_one) std::erase_if(calls, [=](const auto& c) { return c.begin_ns == bound; });
      answer_.searched_end_ns = is_all_one ? bound + 1 : bound;
    }
  }

  ViewReader& reader_;
  const CallSearchQuery& query_;
  CallSearch& answer_;
  ChunkReads reads_;
  Slots range_;
  std::set<FunctionKey> functions_;
  std::unordered_map<ProcessKey, Member> members_;
};

}  // namespace

Result<CallSearch> RunView::search(const CallSearchQuery& query) {
  return answer_of<CallSearch>(*run_, [&query](ViewReader& reader, CallSearch& answer) {
    Search(reader, query, answer).run();
  });
}

}  // namespace xylem::storage
