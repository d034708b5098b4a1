#include "predict/trace/rank_builder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"

namespace xylem::predict {
namespace {

/// Starts operations in any possible order. Returns one that is never started, or nothing.
std::optional<Cycle> find_cycle(const RankProgram& program) {
  const auto operations = program.operations();
  std::vector<std::uint32_t> unmet(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) unmet[i] = operations[i].follows ? 1 : 0;
  for (const Dependent it : program.dependents()) ++unmet[it.operation()];
  std::vector<std::uint32_t> free;
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    if (unmet[i] == 0) free.push_back(i);
  }
  for (std::size_t done = 0; done < free.size(); ++done) {
    const std::uint32_t i = free[done];
    const auto release = [&](std::uint32_t next) {
      if (--unmet[next] == 0) free.push_back(next);
    };
    if (i + 1 < operations.size() && operations[i + 1].follows) release(i + 1);
    for (const Dependent it : program.dependents(i)) release(it.operation());
  }
  if (free.size() == operations.size()) return std::nullopt;
  const auto stuck = std::ranges::find_if(unmet, [](std::uint32_t count) { return count > 0; });
  return Cycle{static_cast<std::uint32_t>(stuck - unmet.begin())};
}

}  // namespace

std::uint32_t RankBuilder::add(const Operation& operation) {
  CHECK(operations_.size() < kMaxOperations);
  operations_.push_back(operation);
  operations_.back().follows = false;
  operations_.back().waits_for_others = false;
  return size() - 1;
}

void RankBuilder::require(std::uint32_t operation, std::uint32_t required) {
  CHECK(operation < size() && required < size());
  dependencies_.push_back({required, Dependent(operation, false)});
}

void RankBuilder::require_start(std::uint32_t operation, std::uint32_t required) {
  CHECK(operation < size() && required < size());
  dependencies_.push_back({required, Dependent(operation, true)});
}

bool RankBuilder::may_have_cycle() const {
  return std::ranges::any_of(
      dependencies_, [](const Dependency& it) { return it.dependent.operation() <= it.required; });
}

/// Sorts by the required operation, and there those that wait for its start first. Stable.
std::vector<Dependent> RankBuilder::sort_dependents() {
  std::vector<std::uint32_t> at(2 * operations_.size() + 1);
  const auto place = [](const Dependency& it) {
    return 2 * std::size_t{it.required} + (it.dependent.on_start() ? 0 : 1);
  };
  for (const Dependency& it : dependencies_) ++at[place(it) + 1];
  for (std::size_t i = 1; i < at.size(); ++i) at[i] += at[i - 1];
  std::vector<Dependent> sorted(dependencies_.size(), Dependent(0, false));
  for (const Dependency& it : dependencies_) sorted[at[place(it)]++] = it.dependent;
  // `at` is now the end of each place.
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    operations_[i].first_dependent = i == 0 ? 0 : at[2 * i - 1];
  }
  return sorted;
}

std::variant<RankProgram, Cycle> RankBuilder::finish() && {
  const bool look_for_cycle = may_have_cycle();
  const std::vector<Dependent> sorted = sort_dependents();
  dependencies_ = {};
  // The first that waits for the end, if it is the next operation, becomes `follows`.
  std::vector<Dependent> kept;
  for (std::uint32_t i = 0; i < operations_.size(); ++i) {
    const std::size_t end = i + 1 < size() ? operations_[i + 1].first_dependent : sorted.size();
    const std::size_t begin = operations_[i].first_dependent;
    operations_[i].first_dependent = static_cast<std::uint32_t>(kept.size());
    bool waited_for_end = false;
    for (std::size_t k = begin; k < end; ++k) {
      const bool is_first = !sorted[k].on_start() && !waited_for_end;
      waited_for_end = !sorted[k].on_start();
      if (is_first && sorted[k].operation() == i + 1) {
        operations_[i + 1].follows = true;
      } else {
        kept.push_back(sorted[k]);
        operations_[sorted[k].operation()].waits_for_others = true;
      }
    }
  }
  kept.shrink_to_fit();
  operations_.shrink_to_fit();
  accesses_.shrink_to_fit();
  RankProgram program(std::move(operations_), std::move(kept), std::move(accesses_));
  if (look_for_cycle) {
    if (const auto cycle = find_cycle(program)) return *cycle;
  }
  return program;
}

}  // namespace xylem::predict
