#include "tests/model/chaos.h"

#include <cinttypes>
#include <cstdio>
#include <utility>

#include "base/log.h"
#include "tests/model/cluster.h"

namespace xylem::model {
namespace {

constexpr Nanos kWarmUp = 3 * kSecond;
constexpr Nanos kPatience = 400 * kSecond;
// A line of parents may be tried in vain, one after the other.
constexpr Nanos kComeBack = 60 * kSecond;

StoreBreak store_break(Break broken) {
  if (broken == Break::kNoDedupe) return StoreBreak::kNoDedupe;
  if (broken == Break::kForgetTombstone) return StoreBreak::kForgetTombstone;
  if (broken == Break::kAckBeforeCommit) return StoreBreak::kAckBeforeCommit;
  return StoreBreak::kNone;
}

ClusterOptions draw_cluster(Random& random, Break broken) {
  ClusterOptions options;
  options.hosts = 1 + static_cast<std::uint32_t>(random(random.one_in(3) ? 16 : 6));
  const std::uint64_t shape = random(5);
  if (shape == 0) {
    options.shape.kind = tree::Shape::Kind::kFlat;
  } else if (shape == 1) {
    options.shape.kind = tree::Shape::Kind::kBalanced;
    options.shape.depth = 1 + static_cast<std::uint32_t>(random(3));
    options.shape.fanout = 1 + static_cast<std::uint32_t>(random(2));
  } else {
    options.shape.kind = tree::Shape::Kind::kKary;
    options.shape.fanout = 2 + static_cast<std::uint32_t>(random(2));
  }
  options.chunk_events = random.one_in(2) ? 0 : 1 + static_cast<std::uint32_t>(random(1000));
  options.journal_bytes = random.one_in(2) ? backend::Journal::kSmallest : 1u << 20;
  options.store_break = store_break(broken);
  options.checks_epoch = broken != Break::kNoEpoch;
  options.resends = broken != Break::kNoResend;
  options.merges_overlaps = broken == Break::kMergeOverlap;
  return options;
}

// One run's faults: each draws what it needs, and says what it did.
class Chaos {
 public:
  explicit Chaos(const ChaosOptions& options)
      : options_(options),
        world_(options.seed),
        cluster_(world_, draw_cluster(world_.random(), options.broken)) {
    if (!options_.tells) return;
    set_log_sink([this](Level, std::string_view line) { say(std::string(line)); });
  }
  ~Chaos() {
    if (options_.tells) set_log_sink({});
  }

  ChaosOutcome run() {
    Random& random = world_.random();
    const Nanos end = world_.now() + kWarmUp + random.between(5 * kSecond, 40 * kSecond);
    const std::uint64_t faults = 3 + random(25);
    for (std::uint64_t i = 0; i < faults; ++i) {
      world_.at(random.between(world_.now() + kWarmUp / 2, end), [this] { inflict(); });
    }
    // Sometimes the job ends in the middle of it.
    const bool ends_early = random.one_in(4);
    world_.run_until(ends_early ? random.between(world_.now() + kWarmUp, end) : end);
    if (ends_early) cluster_.finish();
    world_.run_until(end);
    world_.heal_everything();
    healed_ = true;
    if (!ends_early) end_in_peace();
    world_.run_until(world_.now() + kPatience, [this] { return cluster_.is_over(); });
    return judge(!ends_early);
  }

 private:
  void end_in_peace() {
    // Answers may come by links that are dying.
    const Nanos healed = world_.now() + overlay::kSilenceLimit;
    const auto all_are_heard = [&] { return cluster_.all_are_heard(healed); };
    world_.run_until(healed + kComeBack, all_are_heard);
    if (!all_are_heard()) fault_ = "not every host was heard of again";
    world_.run_until(world_.now() + world_.random().between(0, 5 * kSecond));
    if (options_.tells) say("everybody was heard of again, the job ends");
    cluster_.finish();
  }

  // Nothing when there was nobody whom it could have hit.
  void tell(const std::string& what) {
    if (what.empty()) return;
    ++faults_;
    if (options_.tells) say("FAULT " + what);
  }

  void say(const std::string& what) const {
    std::fprintf(stderr, "%9.3f %s\n", static_cast<double>(world_.now()) / kSecond, what.c_str());
  }

  Nanos some_time() {
    Random& random = world_.random();
    return random.one_in(3) ? random.between(3 * kSecond, 15 * kSecond)
                            : random.between(50 * kMillisecond, 4 * kSecond);
  }

  void inflict() {
    if (healed_) return;
    switch (world_.random()(10)) {
      case 0:
      case 1:
        return tell(cluster_.kill_comm_process());
      case 2:
        return tell(cluster_.kill_worker());
      case 3:
        return tell(cluster_.freeze_something(some_time()));
      case 4:
      case 5:
        return isolate();
      case 6:
        return break_link();
      case 7:
        return slow_down();
      case 8:
        if (!world_.random().one_in(3)) return inflict();
        return tell(cluster_.lose_host());
      default:
        return tell(world_.random().one_in(2) ? cluster_.kill_front_end()
                                              : cluster_.replace_front_end(some_time()));
    }
  }

  void break_link() {
    const bool half_open = world_.random().one_in(2);
    if (world_.break_link(half_open)) tell(half_open ? "a link is half open" : "a link is reset");
  }

  void slow_down() {
    world_.set_slowness(world_.random().between(kMillisecond, 400 * kMillisecond));
    world_.at(world_.now() + some_time(), [this] { world_.set_slowness(0); });
    tell("the network is slow");
  }

  // Some hosts against the others, in one direction or both.
  void isolate() {
    Random& random = world_.random();
    const std::uint32_t hosts = cluster_.hosts() + 1;
    std::vector<bool> apart(hosts);
    std::string who;
    for (std::uint32_t host = 0; host < hosts; ++host) {
      apart[host] = random.one_in(4);
      if (apart[host]) who += " " + std::to_string(host);
    }
    const std::uint64_t ways = random(4);
    std::vector<std::pair<HostNumber, HostNumber>> cuts;
    for (std::uint32_t a = 0; a < hosts; ++a) {
      for (std::uint32_t b = 0; b < hosts; ++b) {
        if (!apart[a] || apart[b]) continue;
        if (ways != 1) cuts.emplace_back(HostNumber{a}, HostNumber{b});
        if (ways != 2) cuts.emplace_back(HostNumber{b}, HostNumber{a});
      }
    }
    if (cuts.empty()) return;
    for (const auto& [from, to] : cuts) world_.cut(from, to);
    world_.at(world_.now() + some_time(), [this, cuts] {
      for (const auto& [from, to] : cuts) world_.heal(from, to);
    });
    tell("hosts cut off:" + who);
  }

  ChaosOutcome judge(bool all_came_back) {
    ChaosOutcome outcome;
    outcome.seed = options_.seed;
    outcome.faults = faults_;
    const Comparison comparison = cluster_.compare_all(all_came_back);
    outcome.waves = cluster_.contributions();
    outcome.lost = comparison.lost;
    outcome.twice = comparison.twice;
    outcome.given_up = comparison.given_up;
    outcome.fault = fault_.empty() ? comparison.first_fault : fault_;
    if (outcome.fault.empty() && !cluster_.is_over()) outcome.fault = "the run did not end";
    outcome.steps = world_.steps();
    outcome.digest = world_.digest() ^ cluster_.digest();
    return outcome;
  }

  ChaosOptions options_;
  Simulation world_;
  Cluster cluster_;
  std::uint64_t faults_ = 0;
  bool healed_ = false;
  std::string fault_;
};

}  // namespace

Result<Break> parse_break(std::string_view name) {
  constexpr std::pair<std::string_view, Break> kNames[] = {
      {"", Break::kNone},
      {"no-dedupe", Break::kNoDedupe},
      {"ack-before-commit", Break::kAckBeforeCommit},
      {"no-resend", Break::kNoResend},
      {"merge-overlap", Break::kMergeOverlap},
      {"forget-tombstone", Break::kForgetTombstone},
      {"no-epoch", Break::kNoEpoch},
  };
  std::string all;
  for (const auto& [known, broken] : kNames) {
    if (known == name) return broken;
    if (!known.empty()) all += " " + std::string(known);
  }
  return unexpected(Code::kInvalidArgument,
                    "XYLEM_CHAOS_BREAK: '" + std::string(name) + "' is none of" + all);
}

ChaosOutcome run_chaos(const ChaosOptions& options) { return Chaos(options).run(); }

std::string to_line(const ChaosOutcome& outcome) {
  char line[256];
  std::snprintf(line, sizeof line,
                "chaos: seed=%" PRIu64 " faults=%" PRIu64 " waves=%" PRIu64 " lost=%" PRIu64
                " twice=%" PRIu64 " digest=%016" PRIx64,
                outcome.seed, outcome.faults, outcome.waves, outcome.lost, outcome.twice,
                outcome.digest);
  return outcome.fault.empty() ? line : std::string(line) + "; " + outcome.fault;
}

}  // namespace xylem::model
