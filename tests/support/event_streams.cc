#include "tests/support/event_streams.h"

#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace xylem::testing {
namespace {

using wire::Event;

// Numbers of functions as a table of functions would give them; only their being different counts.
enum Function : std::uint16_t {
  kAllreduce = 3,
  kIprobe = 101,
  kIrecv = 104,
  kIsend = 105,
  kRecv = 160,
  kSend = 190,
  kSendrecv = 192,
  kWait = 230,
  kWaitall = 231,
};

constexpr std::uint32_t kDoubles = 8;
constexpr std::uint64_t kMaxRoom = 0xffff'ffff'ffff;

/// Writes one thread's events one after another, with times as they are measured: log-normal gaps
/// and durations around a median.
class Pen {
 public:
  Pen(std::uint64_t seed, ThreadIndex thread, Nanos start)
      : random_(seed), thread_(thread), now_(start) {}

  std::mt19937_64& random() { return random_; }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  Event call(Function function, double gap_ns, double duration_ns) {
    Event event;
    event.function = FunctionId{function};
    event.thread = thread_;
    event.begin_ns = now_ + around(gap_ns);
    event.end_ns = now_ = event.begin_ns + around(duration_ns);
    event.comm = CommId{0};
    // As if each function was called at one place. Ids of places are hashes.
    event.site = CallSiteId{(std::uint64_t{function} + 1) * 0x9e37'79b9'7f4a'7c15};
    return event;
  }

  /// A call with a message.
  Event message(Function function, double gap_ns, double duration_ns, std::int32_t peer,
                std::uint64_t bytes, std::int32_t tag) {
    Event event = call(function, gap_ns, duration_ns);
    event.peer = peer;
    event.bytes = bytes;
    event.tag = tag;
    return event;
  }
  /// The same for a call that starts an operation.
  Event start(Function function, double gap_ns, double duration_ns, std::int32_t peer,
              std::uint64_t bytes, std::int32_t tag) {
    Event event = message(function, gap_ns, duration_ns, peer, bytes, tag);
    event.request = ++requests_;
    event.flags = wire::kEventPosts;
    return event;
  }

 private:
  Nanos around(double median) {
    constexpr double kSpread = 0.25;  // As gaps and durations of HPL and LAMMPS show it.
    return std::llround(median * std::exp(kSpread * normal_(random_)));
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  ThreadIndex thread_;
  Nanos now_;
  std::uint64_t requests_ = 0;
};

void hpl_panel(Pen& pen, std::int32_t panel, std::vector<Event>& events) {
  constexpr std::uint64_t kBlock = 80;
  const std::uint64_t rows = 4000 - static_cast<std::uint64_t>(panel % 49) * kBlock;
  const std::int32_t tag = 9001 + panel % 1000;
  const auto polls = 5 + pen.below(60);
  for (std::uint64_t i = 0; i < polls; ++i) {
    Event poll = pen.message(kIprobe, 70, 180, 2, 0, tag);
    poll.comm = CommId{0x8d15'02a7};
    events.push_back(poll);
  }
  events.push_back(pen.message(kRecv, 90, 21'000, 2, rows * kBlock * kDoubles / 2, tag));
  events.push_back(pen.message(kSend, 150, 9'000, 3, rows * kBlock * kDoubles / 2, tag));
  for (std::uint64_t column = 0; column < kBlock / 8; ++column) {  // Pivot rows, swapped.
    const std::uint64_t bytes = (4 + 2 * kBlock) * kDoubles;
    events.push_back(pen.message(kSend, 2'200, 640, 1, bytes, 1001));
    events.push_back(pen.message(kRecv, 85, 1'900, 1, bytes, 1001));
  }
}

void lammps_step(Pen& pen, std::uint64_t step, std::vector<std::uint64_t>& ghosts,
                 std::vector<Event>& events) {
  constexpr std::uint64_t kRebuild = 20;
  constexpr std::uint64_t kOutput = 50;
  const bool rebuild = step % kRebuild == 0;
  for (std::size_t swap = 0; swap < ghosts.size(); ++swap) {
    const auto peer = static_cast<std::int32_t>(1 + swap / 2);
    if (rebuild) {
      ghosts[swap] = 1'400 + pen.below(120);
      events.push_back(pen.message(kSendrecv, 800, 1'700, peer, 4, 0));
    }
    const std::uint64_t bytes = ghosts[swap] * 3 * kDoubles;
    events.push_back(pen.start(kIrecv, 120, 240, peer, bytes, 0));
    const std::uint64_t request = events.back().request;
    events.push_back(pen.message(kSend, 3'100, 5'200, peer, bytes, 0));
    Event wait = pen.message(kWait, 60, 2'300, peer, bytes, 0);
    wait.request = request;
    wait.flags = wire::kEventCompletes;
    wait.comm = wire::kNoComm;
    events.push_back(wait);
  }
  if (step % kOutput == 0) {
    for (int i = 0; i < 3; ++i) {
      Event sum = pen.call(kAllreduce, 9'000, 14'000);
      sum.bytes = 6 * kDoubles;
      events.push_back(sum);
    }
  }
}

}  // namespace

std::vector<Event> hpl_like_events(std::size_t count, std::uint64_t seed) {
  Pen pen(seed, ThreadIndex{0}, 2 * kSecond);
  std::vector<Event> events;
  for (std::int32_t panel = 0; events.size() < count; ++panel) hpl_panel(pen, panel, events);
  events.resize(count);
  return events;
}

std::vector<Event> lammps_like_events(std::size_t count, std::uint64_t seed) {
  Pen pen(seed, ThreadIndex{0}, 2 * kSecond);
  std::vector<std::uint64_t> ghosts(6);
  std::vector<Event> events;
  for (std::uint64_t step = 0; events.size() < count; ++step) {
    lammps_step(pen, step, ghosts, events);
  }
  events.resize(count);
  return events;
}

std::vector<Event> exchange_events(std::size_t count, std::uint64_t seed) {
  constexpr std::int32_t kPeers = 7;
  Pen pen(seed, ThreadIndex{0}, kSecond);
  std::vector<Event> events;
  while (events.size() < count) {
    std::vector<Event> started;
    for (std::int32_t peer = 0; peer < 2 * kPeers; ++peer) {
      started.push_back(
          pen.start(peer < kPeers ? kIrecv : kIsend, 80, 300, peer % kPeers, 4096, 17));
    }
    events.insert(events.end(), started.begin(), started.end());
    const Event all = pen.call(kWaitall, 100, 30'000);
    events.push_back(all);
    for (const Event& one : started) {
      Event completion = one;
      completion.kind = wire::kKindCompletion;
      completion.flags = wire::kEventCompletes;
      completion.function = all.function;
      completion.begin_ns = all.begin_ns;
      completion.end_ns = all.end_ns;
      completion.calls = 0;
      events.push_back(completion);
    }
  }
  events.resize(count);
  return events;
}

std::vector<Event> threaded_events(std::size_t count, std::uint64_t seed, unsigned threads) {
  std::vector<Pen> pens;
  for (unsigned thread = 0; thread < threads; ++thread) {
    pens.emplace_back(seed + thread, ThreadIndex{thread}, kSecond + thread * kMillisecond);
  }
  std::mt19937_64 random(seed);
  std::vector<Event> events;
  while (events.size() < count) {
    Pen& pen = pens[random() % pens.size()];
    for (auto left = 1 + random() % 20; left > 0; --left) {
      events.push_back(pen.message(left % 2 == 0 ? kSend : kRecv, 200, 900, 1, 1024, 5));
    }
  }
  events.resize(count);
  return events;
}

std::vector<Event> random_events(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto fill = [&random](auto& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    switch (random() % 8) {
      case 0:
        field = std::numeric_limits<Field>::min();
        break;
      case 1:
        field = std::numeric_limits<Field>::max();
        break;
      case 2:
        field = static_cast<Field>(random() % 3 - 1);
        break;
      default:
        field = static_cast<Field>(random());
    }
  };
  std::vector<Event> events(count);
  for (Event& event : events) {
    std::uint16_t function = 0;
    fill(function);
    event.function = FunctionId{function};
    fill(event.begin_ns);
    fill(event.end_ns);
    fill(event.request);
    fill(event.bytes);
    fill(event.room);
    event.room &= kMaxRoom;
    std::uint64_t site = 0;
    fill(site);
    event.site = CallSiteId{site};
    fill(event.cpu);
    fill(event.operation);
    fill(event.comm);
    fill(event.peer);
    fill(event.tag);
    fill(event.result);
    fill(event.calls);
    fill(event.thread);
    fill(event.kind);
    fill(event.flags);
    if ((event.flags & wire::kEventNumbered) != 0) fill(event.number);
  }
  return events;
}

}  // namespace xylem::testing
