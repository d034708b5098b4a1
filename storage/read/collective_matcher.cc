#include <algorithm>
#include <limits>

#include "storage/read/collective_matcher_internal.h"

namespace xylem::storage {

std::uint32_t CollectiveMatcher::communicator(WorldId world, CommId comm) {
  const auto next = static_cast<std::uint32_t>(communicators_.size());
  const auto [place, is_new] = numbers_.try_emplace({world, comm}, next);
  if (is_new) communicators_.emplace_back();
  return place->second;
}

void CollectiveMatcher::add_member(WorldId world, CommId comm, ProcessIndex process) {
  const std::uint32_t number = communicator(world, comm);
  Communicator& of = communicators_[number];
  if (raw(process) >= memberships_.size()) memberships_.resize(raw(process) + 1);
  memberships_[raw(process)][comm] = {number, static_cast<std::uint32_t>(of.passed.size())};
  of.passed.push_back(-1);
  of.expected = std::max<std::uint64_t>(of.expected, of.passed.size());
}

void CollectiveMatcher::expect(WorldId world, CommId comm, std::uint64_t members) {
  Communicator& of = communicators_[communicator(world, comm)];
  of.expected = std::max(of.expected, members);
}

CollectiveMatcher::Open CollectiveMatcher::decide(Communicator& of, Open open) {
  Collective& collective = open->second;
  if (collective.arrivals.size() + collective.gone < of.expected) return std::next(open);
  arrivals_ -= collective.arrivals.size();
  sink_.collective(collective.arrivals, collective.gone == 0);
  return of.open.erase(open);
}

// A member that is beyond collectives in which it did not take part never will.
void CollectiveMatcher::pass(Communicator& of, std::int64_t& passed, std::int64_t number) {
  for (auto open = of.open.upper_bound(passed); open != of.open.end() && open->first < number;) {
    ++open->second.gone;
    open = decide(of, open);
  }
  passed = number;
}

bool CollectiveMatcher::arrive(ProcessIndex process, CommId comm, std::uint32_t number,
                               const Arrival* arrival) {
  if (raw(process) >= memberships_.size()) return false;
  const auto& of_process = memberships_[raw(process)];
  const auto found = of_process.find(comm);
  if (found == of_process.end()) return false;
  const Membership membership = found->second;
  Communicator& of = communicators_[membership.communicator];
  if (of.passed[membership.member] >= std::int64_t{number}) return false;
  pass(of, of.passed[membership.member], number);
  auto open = of.open.find(number);
  if (open == of.open.end()) {
    if (arrival == nullptr) return true;
    open = of.open.try_emplace(number).first;
    const auto beyond = std::ranges::count_if(
        of.passed, [&](std::int64_t passed) { return passed >= std::int64_t{number}; });
    open->second.gone =
        of.expected - of.passed.size() + static_cast<std::uint64_t>(beyond) - 1;  // But for itself.
  }
  if (arrival == nullptr) {
    ++open->second.gone;
  } else {
    open->second.arrivals.push_back(*arrival);
    ++arrivals_;
  }
  decide(of, open);
  return true;
}

void CollectiveMatcher::leave(ProcessIndex process) {
  if (raw(process) >= memberships_.size()) return;
  auto& of_process = memberships_[raw(process)];
  for (const auto& [comm, membership] : of_process) {
    Communicator& of = communicators_[membership.communicator];
    pass(of, of.passed[membership.member], std::numeric_limits<std::int64_t>::max());
  }
  of_process.clear();
}

}  // namespace xylem::storage
