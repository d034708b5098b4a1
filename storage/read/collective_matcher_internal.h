#pragma once

// Brings the calls of a collective together, by its number on its communicator.

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/read/message_matcher.h"
#include "storage/read/wait_causes_internal.h"

namespace xylem::storage {

/// A collective is complete when all members of its communicator have arrived. It never becomes
/// complete if a member has passed its number or has ended. Members arrive in the order of numbers.
/// Keeps only collectives that are not decided yet. Not thread-safe.
class CollectiveMatcher {
 public:
  struct Arrival {
    std::uint64_t call = 0;    ///< The caller's own number of the call or request.
    std::optional<Rank> root;  ///< If there is one.
    Nanos begin_ns = 0;
    ThreadOf thread;
    FunctionIndex function{};
  };
  /// Gets the arrivals when the collective is decided, and whether all members are in them.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void collective(const std::vector<Arrival>& arrivals, bool is_complete) = 0;
  };

  explicit CollectiveMatcher(Sink& sink) : sink_(sink) {}

  void add_member(WorldId world, CommId comm, ProcessIndex process);
  /// The communicator has at least this number of members, some of whom are not known.
  void expect(WorldId world, CommId comm, std::uint64_t members);

  /// The member takes part in the collective with this number. `arrival` is null if its call is not
  /// analysed. Returns false, and does nothing, if the process is no member, or has passed the
  /// number before.
  bool arrive(ProcessIndex process, CommId comm, std::uint32_t number, const Arrival* arrival);
  /// The process does not arrive any more.
  void leave(ProcessIndex process);

  std::size_t in_flight() const { return arrivals_; }

 private:
  struct Collective {
    std::vector<Arrival> arrivals;
    std::uint64_t gone = 0;  // Members that will not arrive.
  };
  struct Communicator {
    std::uint64_t expected = 0;
    std::vector<std::int64_t> passed;  // By member: the number of its latest collective, or -1.
    std::map<std::int64_t, Collective> open;
  };
  struct Membership {
    std::uint32_t communicator = 0, member = 0;
  };
  using Open = std::map<std::int64_t, Collective>::iterator;

  std::uint32_t communicator(WorldId world, CommId comm);
  // Decides the collective if it can be decided; returns the next one.
  Open decide(Communicator& of, Open open);
  void pass(Communicator& of, std::int64_t& passed, std::int64_t number);

  Sink& sink_;
  std::map<std::pair<WorldId, CommId>, std::uint32_t> numbers_;  // Index into communicators_.
  std::vector<Communicator> communicators_;
  std::vector<std::unordered_map<CommId, Membership>> memberships_;  // By process.
  std::size_t arrivals_ = 0;
};

}  // namespace xylem::storage
