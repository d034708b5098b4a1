// What a replay says at its end: the times of ranks, or why there are none.

#include <algorithm>
#include <string>
#include <utility>

#include "predict/replay/replay_internal.h"

namespace xylem::predict {
namespace {

/// Maximum number of operations that the error names.
constexpr std::size_t kMaxNamed = 5;

}  // namespace

Result<Prediction> Replay::sum_up() {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    Ticks end = 0;
    for (std::size_t cpu = 0; cpu < resources_.cpus(); ++cpu) {
      end = std::max(end, clock(rank, cpu));
    }
    if (end >= kMaxTicks) return too_long();
    const Ticks run = is_plain_ ? ranks_[rank].run : accounts_.run(rank);
    const Ticks ready = is_plain_ ? 0 : accounts_.ready(rank);
    const std::uint64_t end_ns = costs_.to_ns(end);
    const std::uint64_t run_ns = costs_.to_ns(run);
    const std::uint64_t not_blocked_ns = costs_.to_ns(run + ready);
    prediction_.end_ns.push_back(end_ns);
    prediction_.run_ns.push_back(run_ns);
    prediction_.ready_ns.push_back(not_blocked_ns - run_ns);
    prediction_.io_ns.push_back(end_ns - not_blocked_ns);
    prediction_.makespan_ns = std::max(prediction_.makespan_ns, end_ns);
  }
  const std::vector<RankAndOperation> left = waiting(false);
  prediction_.unreceived = left.size();
  if (!left.empty()) prediction_.first_unreceived = describe(left.front());
  return std::move(prediction_);
}

/// The operations that wait for their match, or the eager sends whose message does; in order.
std::vector<Replay::RankAndOperation> Replay::waiting(bool unfinished) const {
  std::vector<RankAndOperation> found;
  for (const Waiting& it : matching_.all()) {
    const bool receives = it.side == Side::kReceive;
    const std::uint32_t rank = receives ? it.receiver : it.source;
    const Operation& of = ranks_[rank].operations[it.operation];
    if ((receives || !is_eager(of)) == unfinished) {
      found.emplace_back(rank, it.operation);
    }
  }
  std::ranges::sort(found);
  return found;
}

Unexpected Replay::too_long() const {
  return unexpected(Code::kInvalidArgument,
                    "the predicted run is longer than " +
                        std::to_string(kMaxTicks / costs_.ticks_per_ns() / 1'000'000'000) +
                        " s, the maximum for parameters with this number of digits after the "
                        "point; round the parameters, or cut the program");
}

std::string Replay::describe(const RankAndOperation& it) const {
  const auto& [rank, operation] = it;
  const Operation& of = ranks_[rank].operations[operation];
  const bool sends = of.kind == Kind::kSend;
  const auto number = [](std::uint32_t value, std::uint32_t any) {
    return value == any ? "any" : std::to_string(value);
  };
  return "rank " + std::to_string(rank) + ", operation " + std::to_string(operation + 1) +
         (sends ? ": send of " : ": receive of ") + std::to_string(of.amount) + " bytes " +
         (sends ? "to rank " : "from rank ") + number(of.peer, kAnySource) + ", tag " +
         number(of.tag, kAnyTag);
}

Unexpected Replay::deadlock() const {
  const std::vector<RankAndOperation> stuck = waiting(true);
  std::string named;
  for (std::size_t i = 0; i < std::min(stuck.size(), kMaxNamed); ++i) {
    const auto& [rank, operation] = stuck[i];
    const bool sends = ranks_[rank].operations[operation].kind == Kind::kSend;
    named += (i == 0 ? "" : "; ") + describe(stuck[i]) +
             (sends ? " (no receive matches)" : " (no message matches)");
  }
  if (stuck.size() > kMaxNamed) {
    named += "; and " + std::to_string(stuck.size() - kMaxNamed) + " more";
  }
  return unexpected(Code::kInvalidArgument,
                    "ranks wait forever: " + named +
                        ". Each receive needs a send of its source with its tag, and each send of "
                        "more than eager_bytes needs a receive");
}

}  // namespace xylem::predict
