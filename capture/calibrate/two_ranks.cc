#include "capture/calibrate/two_ranks.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/check.h"

namespace xylem::calibrate {
namespace {

constexpr int kOrderTag = 1, kReadyTag = 2, kDataTag = 3, kMarkTag = 4, kReplyTag = 5,
              kUnusedTag = 6;
constexpr std::uint64_t kMaxBytes = 1 << 20;
/// Steps of 4 for the estimate. Five sizes between them, odd powers of two, check it.
constexpr std::array<std::uint64_t, 16> kSizes = {
    1, 4, 8, 16, 64, 128, 256, 1024, 2048, 4096, 16384, 32768, 65536, 262144, 524288, kMaxBytes};
/// These sizes are always measured: without them there is no estimate.
constexpr std::uint64_t kNeededBytes = 1024;
/// Calls of MPI_Send and MPI_Recv for one sample, which is their median.
constexpr unsigned kCalls = 9;
/// How long rank 1 does not receive: much longer than a send takes that does not wait.
constexpr Nanos kHold = 10 * kMillisecond;
/// It rests between its calls of MPI, since the other rank may have the same processor.
constexpr Nanos kRest = 200 * kMicrosecond;
/// A send that was delayed only by the machine is not delayed so many times in a row.
constexpr unsigned kTries = 3;
static_assert(kManyMessages <= MpiLibrary::kMaxRequests);

enum class Work : std::uint32_t { kTrain, kSends, kReceives, kEager, kEnd };

/// What rank 1 should do next. Both ranks run the same program on processors of one kind.
struct Order {
  Work work = Work::kEnd;
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
  Nanos hold = 0;
};

void pass(Nanos time) {
  const Nanos until = monotonic_now() + time;
  while (monotonic_now() < until) {
  }
}

/// Sleeps for at least `time`, and leaves the processor to others.
void rest(Nanos time) {
  timespec left{time / kSecond, time % kSecond};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

template <typename Values>
Nanos median_of(Values& values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What two readings of the clock take, which is in each time of a single call.
Nanos clock_cost() {
  std::array<Nanos, 101> costs{};
  for (Nanos& it : costs) {
    const Nanos begin = monotonic_now();
    it = monotonic_now() - begin;
  }
  return median_of(costs);
}

/// Messages of a train are in different places, as MPI demands it of receives.
class Buffers {
 public:
  Buffers() : bytes_(std::max<std::size_t>(kManyMessages * kMaxBytes, kMaxEager), 1) {}
  unsigned char* of(unsigned message) { return bytes_.data() + message * kMaxBytes; }

 private:
  std::vector<unsigned char> bytes_;
};

class Leader {
 public:
  explicit Leader(MpiLibrary& mpi) : mpi_(mpi), clock_cost_(clock_cost()) {}

  Nanos train(unsigned count, std::uint64_t bytes) {
    order({Work::kTrain, count, bytes, 0});
    wait_until_ready();
    const Nanos begin = monotonic_now();
    for (unsigned i = 0; i < count; ++i) {
      mpi_.start_send(buffers_.of(i), bytes, 1, kDataTag, static_cast<int>(i));
    }
    mpi_.wait_all(static_cast<int>(count));
    mpi_.receive(buffers_.of(0), bytes, 1, kReplyTag);
    return monotonic_now() - begin;
  }

  /// MPI_Send, a pause after the message before.
  Nanos send(std::uint64_t bytes, Nanos pause) {
    order({Work::kSends, kCalls, bytes, 0});
    wait_until_ready();
    std::array<Nanos, kCalls> took{};
    for (Nanos& it : took) {
      pass(pause);
      const Nanos begin = monotonic_now();
      mpi_.send(buffers_.of(0), bytes, 1, kDataTag);
      it = monotonic_now() - begin;
    }
    mpi_.receive(buffers_.of(0), 1, 1, kReplyTag);
    return without_clock(median_of(took));
  }

  /// MPI_Recv of one byte on rank 1.
  Nanos receive() {
    order({Work::kReceives, kCalls, 1, 0});
    for (unsigned i = 0; i < kCalls; ++i) {
      wait_until_ready();
      mpi_.send(buffers_.of(0), 1, 1, kDataTag);
      mpi_.send(buffers_.of(0), 1, 1, kMarkTag);
    }
    Nanos took = 0;
    mpi_.receive(&took, sizeof took, 1, kReplyTag);
    return without_clock(took);
  }

  /// Whether a send waits for its receive. Rank 1 begins to hold after the clock was read here, so
  /// a send that waits takes at least `hold`, however the machine delays either of them.
  bool waits(std::uint64_t bytes, Nanos hold) {
    for (unsigned i = 0; i < kTries; ++i) {
      order({Work::kEager, 1, bytes, hold});
      wait_until_ready();
      const Nanos begin = monotonic_now();
      mpi_.send(buffers_.of(0), 1, 1, kMarkTag);
      mpi_.send(buffers_.of(0), bytes, 1, kDataTag);
      const Nanos took = monotonic_now() - begin;
      mpi_.receive(buffers_.of(0), 1, 1, kReplyTag);
      if (took < hold) return false;
    }
    return true;
  }

  void end() { order({}); }

 private:
  void order(const Order& order) { mpi_.send(&order, sizeof order, 1, kOrderTag); }
  void wait_until_ready() {
    unsigned char nothing = 0;
    mpi_.receive(&nothing, 1, 1, kReadyTag);
  }
  Nanos without_clock(Nanos took) const { return std::max<Nanos>(took - clock_cost_, 1); }

  MpiLibrary& mpi_;
  Buffers buffers_;
  Nanos clock_cost_;
};

class Server {
 public:
  explicit Server(MpiLibrary& mpi) : mpi_(mpi) {}

  /// Returns false at the end.
  bool serve() {
    Order order;
    mpi_.receive(&order, sizeof order, 0, kOrderTag);
    switch (order.work) {
      case Work::kTrain:
        train(order);
        return true;
      case Work::kSends:
        ready();
        for (unsigned i = 0; i < order.count; ++i) {
          mpi_.receive(buffers_.of(0), order.bytes, 0, kDataTag);
        }
        mpi_.send(buffers_.of(0), 1, 0, kReplyTag);
        return true;
      case Work::kReceives:
        receives(order);
        return true;
      case Work::kEager:
        ready();
        mpi_.receive(buffers_.of(0), 1, 0, kMarkTag);
        hold(order.hold);
        mpi_.receive(buffers_.of(0), order.bytes, 0, kDataTag);
        mpi_.send(buffers_.of(0), 1, 0, kReplyTag);
        return true;
      case Work::kEnd:
        return false;
    }
    return false;
  }

 private:
  void ready() {
    const unsigned char nothing = 0;
    mpi_.send(&nothing, 1, 0, kReadyTag);
  }

  void hold(Nanos time) {
    const Nanos until = monotonic_now() + time;
    while (monotonic_now() < until) {
      mpi_.progress(kUnusedTag);
      rest(kRest);
    }
  }

  void train(const Order& order) {
    for (unsigned i = 0; i < order.count; ++i) {
      mpi_.start_receive(buffers_.of(i), order.bytes, 0, kDataTag, static_cast<int>(i));
    }
    ready();
    mpi_.wait_all(static_cast<int>(order.count));
    mpi_.send(buffers_.of(0), order.bytes, 0, kReplyTag);
  }

  void receives(const Order& order) {
    CHECK(order.count == kCalls);
    std::array<Nanos, kCalls> took{};
    for (Nanos& it : took) {
      ready();
      // Messages arrive in the order in which they were sent: the data is there when the mark is.
      mpi_.receive(buffers_.of(0), 1, 0, kMarkTag);
      const Nanos begin = monotonic_now();
      mpi_.receive(buffers_.of(0), 1, 0, kDataTag);
      it = monotonic_now() - begin;
    }
    const Nanos median = median_of(took);
    mpi_.send(&median, sizeof median, 0, kReplyTag);
  }

  MpiLibrary& mpi_;
  Buffers buffers_;
};

struct Size {
  std::uint64_t bytes;
  Nanos round_trip;
};

/// The sizes that can be measured often enough until the deadline. The calls also make connections,
/// and warm caches.
std::vector<Size> choose_sizes(Leader& leader, const MeasureOptions& options) {
  const Nanos left = std::max<Nanos>(options.deadline - monotonic_now(), 0);
  const Nanos limit = left / std::max(options.repetitions, 1U) / static_cast<Nanos>(kSizes.size());
  std::vector<Size> sizes;
  for (const std::uint64_t bytes : kSizes) {
    Nanos round_trip = kForever;  // The shortest, because a busy machine delays some of them.
    for (unsigned i = 0; i < kTries; ++i) {
      round_trip = std::min(round_trip, leader.train(1, bytes));
    }
    if (leader.train(kManyMessages, bytes) > limit && bytes > kNeededBytes) break;
    sizes.push_back({bytes, round_trip});
  }
  return sizes;
}

std::uint64_t find_eager_limit(Leader& leader, Nanos round_trip, const Listener& listener) {
  const Nanos hold = std::max(kHold, 4 * round_trip);
  std::uint64_t returns = 0, waits = 1;
  while (waits <= kMaxEager && !leader.waits(waits, hold)) {
    returns = waits;
    waits *= 2;
  }
  if (waits > kMaxEager) {
    listener.eager(returns, 0);
    return returns;
  }
  while (waits - returns > 1) {
    const std::uint64_t middle = returns + (waits - returns) / 2;
    (leader.waits(middle, hold) ? waits : returns) = middle;
  }
  listener.eager(returns, waits);
  return returns;
}

}  // namespace

void measure_two_ranks(MpiLibrary& mpi, const MeasureOptions& options, const Listener& listener) {
  Leader leader(mpi);
  const std::vector<Size> sizes = choose_sizes(leader, options);
  const std::uint64_t eager = find_eager_limit(leader, sizes.front().round_trip, listener);
  for (unsigned round = 0; round < options.repetitions && monotonic_now() < options.deadline;
       ++round) {
    for (const Size& it : sizes) {
      const Nanos one = leader.train(1, it.bytes);
      const Nanos many = leader.train(kManyMessages, it.bytes);
      listener.sample(Timing::kOne, it.bytes, one);
      listener.sample(Timing::kMany, it.bytes, many);
      if (it.bytes > eager) continue;
      listener.sample(Timing::kSend, it.bytes, leader.send(it.bytes, it.round_trip));
    }
    listener.sample(Timing::kReceive, 1, leader.receive());
    listener.progress(round + 1, options.repetitions);
  }
  leader.end();
}

void serve_two_ranks(MpiLibrary& mpi) {
  Server server(mpi);
  while (server.serve()) {
  }
}

}  // namespace xylem::calibrate
