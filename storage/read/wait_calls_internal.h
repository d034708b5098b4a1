#pragma once

// What the analysis of wait states (wait_states.h) keeps of calls and requests in flight.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "storage/read/wait_causes_internal.h"

namespace xylem::storage {

/// The reason for a wait, while its call is in flight: the call waited until `until`.
struct Reason {
  Nanos until = 0;
  ThreadOf cause;
  WaitKind kind{};
};

/// A blocking call whose waits are not known yet.
struct OpenCall {
  Nanos begin_ns = 0, end_ns = 0;
  ThreadOf thread;
  FunctionIndex function{};
  std::uint32_t calls = 1;
  std::uint32_t pending = 0;  // Messages, collectives and requests that are not decided.
  bool is_gathering = false;  // Its completions may follow.
  bool has_payload = false;
  bool sends = false;
  std::optional<NotAnalysed> lacks;
  Rank destination{};  // Of a send.
  std::vector<Reason> reasons;
  std::vector<std::uint64_t> requests;  // Those that are not decided.

  void clear() {
    auto kept_reasons = std::move(reasons);
    auto kept_requests = std::move(requests);
    kept_reasons.clear();  // Their memory is used again.
    kept_requests.clear();
    *this = {};
    reasons = std::move(kept_reasons);
    requests = std::move(kept_requests);
  }
};

/// A send or collective that does not block, from its post until its reason is known and it has
/// completed.
struct Request {
  std::uint64_t bytes = 0;
  Rank destination{};  // Of a send.
  bool is_send = false;
  bool is_tracked = true;  // It has not completed.
  bool is_decided = false;
  std::optional<Reason> reason;  // Until when a call waits that completes it; nullopt: it does not.
  std::optional<NotAnalysed> lacks;
  std::uint64_t call = 0;  // The one that has waited for it, until it is decided; 0: none.

  void clear() { *this = {}; }
};

/// Objects that have a number while they are in use. The number of an object that was closed stands
/// for no object, also if its place is used again. Numbers are below 2^63, and never 0. Not
/// thread-safe.
template <typename Of>
class NumberedObjects {
 public:
  std::uint64_t open() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t at = free_.back();
    free_.pop_back();
    slots_[at].is_used = true;
    return number_of(at);
  }
  Of* find(std::uint64_t number) {
    const auto at = static_cast<std::uint32_t>(number);
    if (at == 0 || at > slots_.size()) return nullptr;
    Slot& slot = slots_[at - 1];
    return slot.is_used && number == number_of(at - 1) ? &slot.of : nullptr;
  }
  void close(std::uint64_t number) {
    const std::uint32_t at = static_cast<std::uint32_t>(number) - 1;
    Slot& slot = slots_[at];
    slot.of.clear();
    slot.is_used = false;
    slot.generation = (slot.generation + 1) & kMaxGeneration;
    free_.push_back(at);
  }
  /// Calls `each(number, object)` for all that are in use. `each` may close the object.
  template <typename Each>
  void for_each(Each each) {
    for (std::uint32_t at = 0; at < slots_.size(); ++at) {
      if (slots_[at].is_used) each(number_of(at), slots_[at].of);
    }
  }
  std::size_t used() const { return slots_.size() - free_.size(); }

 private:
  static constexpr std::uint32_t kMaxGeneration = 0x7fffffff;
  struct Slot {
    Of of;
    std::uint32_t generation = 0;
    bool is_used = false;
  };
  std::uint64_t number_of(std::uint32_t at) const {
    return std::uint64_t{slots_[at].generation} << 32 | (at + 1);
  }
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

/// Marks the number of a request, to tell it from the number of a call.
constexpr std::uint64_t kRequestMark = std::uint64_t{1} << 63;

}  // namespace xylem::storage
