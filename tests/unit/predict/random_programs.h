#pragma once

// Random programs and parameters of LogGPS, for tests of general laws.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "tests/unit/predict/programs.h"

namespace xylem::predict::testing {

using Random = std::mt19937_64;

/// What random programs may have.
struct Variety {
  bool wildcards = false;
  bool several_cpus = false;
  bool any_order = false;  ///< Sends and receives may wait for each other: some programs deadlock.
  bool modes = false;      ///< Sends may be synchronous or buffered.
  bool chains = false;     ///< Each operation requires the previous one, or the start of it.
  std::uint64_t max_compute = 40;
  std::uint64_t max_messages = 25;
};

inline std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }

/// A decimal fraction of a nanosecond with up to `digits` digits after the point.
inline Femtoseconds random_time(Random& random, std::uint64_t max_ns) {
  static constexpr std::uint64_t kSteps[] = {1'000'000, 1'000'000, 100'000, 1'000, 1};
  const std::uint64_t step = kSteps[below(random, std::size(kSteps))];
  return Femtoseconds{below(random, max_ns * 1'000'000 / step + 1) * step};
}

inline LogGps random_network(Random& random) {
  LogGps made{random_time(random, 30), random_time(random, 12), random_time(random, 20),
              random_time(random, 3),  random_time(random, 3),  below(random, 20)};
  if (below(random, 8) == 0) made.gap_per_byte = made.overhead_per_byte = Femtoseconds{0};
  return made;
}

inline std::uint64_t size_near(Random& random, std::uint64_t eager_bytes) {
  const std::uint64_t size = eager_bytes + below(random, 4);
  return below(random, 4) == 0 ? below(random, 3) : (size > 1 ? size - 2 : size);
}

/// Adds operations in an order in which they can happen, if `any_order` is false.
class RandomProgram {
 public:
  RandomProgram(Random& random, const Variety& variety, std::uint64_t eager_bytes)
      : random_(random), variety_(variety), builders_(2 + below(random, 5)) {
    const std::uint64_t messages = 1 + below(random, variety.max_messages);
    for (std::uint64_t i = 0; i < messages; ++i) {
      add_message(eager_bytes);
      if (below(random, 2) == 0) {
        add(any_rank(), compute(below(random, variety.max_compute)), size_of_all());
      }
    }
  }

  Program build() && {
    Program program;
    for (RankBuilder& it : builders_) program.ranks.push_back(finished(std::move(it)));
    return program;
  }

 private:
  std::uint32_t any_rank() { return static_cast<std::uint32_t>(below(random_, builders_.size())); }

  std::vector<std::uint32_t> size_of_all() const {
    std::vector<std::uint32_t> sizes;
    for (const RankBuilder& it : builders_) sizes.push_back(it.size());
    return sizes;
  }

  void add_message(std::uint64_t eager_bytes) {
    const std::uint32_t source = any_rank(), destination = any_rank();
    const auto tag = static_cast<std::uint32_t>(below(random_, 3));
    Operation sent = send(size_near(random_, eager_bytes), destination, tag);
    if (variety_.modes) {
      const std::uint64_t mode = below(random_, 3);
      sent.synchronous = mode == 1;
      sent.buffered = mode == 2;
    }
    Operation received = receive(sent.amount + below(random_, 2), source, tag);
    if (variety_.wildcards && below(random_, 3) == 0) received.peer = kAnySource;
    if (variety_.wildcards && below(random_, 3) == 0) received.tag = kAnyTag;
    // Neither waits for the other, nor for what comes later.
    const auto sizes = size_of_all();
    if (below(random_, 2) == 0) {
      add(source, sent, sizes);
      add(destination, received, variety_.any_order ? size_of_all() : sizes);
    } else {
      add(destination, received, sizes);
      add(source, sent, variety_.any_order ? size_of_all() : sizes);
    }
  }

  /// Adds an operation that depends on some of the first `sizes[rank]` of its rank.
  void add(std::uint32_t rank, Operation what, const std::vector<std::uint32_t>& sizes) {
    if (variety_.several_cpus) {
      what.cpu = static_cast<std::uint8_t>(below(random_, 3) * 100);
      if (what.kind != Kind::kCompute) what.nic = static_cast<std::uint8_t>(below(random_, 2) * 9);
    }
    RankBuilder& builder = builders_[rank];
    const std::uint32_t index = builder.add(what);
    const std::uint32_t before = sizes[rank];
    if (before == 0) return;
    if (variety_.chains) {
      builder.require(index, before - 1);
      return;
    }
    for (std::uint64_t count = below(random_, 4); count > 0; --count) {
      const auto required =
          static_cast<std::uint32_t>(below(random_, 2) == 0 ? before - 1 : below(random_, before));
      below(random_, 3) == 0 ? builder.require_start(index, required)
                             : builder.require(index, required);
    }
  }

  Random& random_;
  const Variety& variety_;
  std::vector<RankBuilder> builders_;
};

inline Program random_program(Random& random, const Variety& variety, std::uint64_t eager_bytes) {
  return RandomProgram(random, variety, eager_bytes).build();
}

/// Rank r of the result does what rank old[r] did.
inline Program relabelled(const Program& program, const std::vector<std::uint32_t>& old) {
  std::vector<std::uint32_t> fresh(old.size());
  for (std::uint32_t i = 0; i < old.size(); ++i) fresh[old[i]] = i;
  Program made;
  for (const std::uint32_t rank : old) {
    const auto operations = program.ranks[rank].operations();
    const auto dependents = program.ranks[rank].dependents();
    std::vector<Operation> renamed(operations.begin(), operations.end());
    for (Operation& it : renamed) {
      if (it.kind != Kind::kCompute && it.peer != kAnySource) it.peer = fresh[it.peer];
    }
    made.ranks.emplace_back(std::move(renamed),
                            std::vector<Dependent>(dependents.begin(), dependents.end()));
  }
  return made;
}

}  // namespace xylem::predict::testing
