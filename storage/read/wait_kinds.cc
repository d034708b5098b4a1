// Names of kinds and reasons, and sums of the coverage.

#include <algorithm>

#include "storage/read/wait_states.h"

namespace xylem::storage {

const char* wait_kind_name(WaitKind kind) {
  switch (kind) {
    case WaitKind::kLateSender:
      return "late_sender";
    case WaitKind::kLateReceiver:
      return "late_receiver";
    case WaitKind::kWaitAtCollective:
      return "wait_at_collective";
    case WaitKind::kLateRoot:
      return "late_root";
    case WaitKind::kEarlyRoot:
      return "early_root";
  }
  return "other";
}

const char* wait_kind_words(WaitKind kind) {
  switch (kind) {
    case WaitKind::kLateSender:
      return "late sender";
    case WaitKind::kLateReceiver:
      return "late receiver";
    case WaitKind::kWaitAtCollective:
      return "wait at collective";
    case WaitKind::kLateRoot:
      return "late root";
    case WaitKind::kEarlyRoot:
      return "early root";
  }
  return "other";
}

const char* not_analysed_name(NotAnalysed reason) {
  switch (reason) {
    case NotAnalysed::kNoNumber:
      return "no_number";
    case NotAnalysed::kMissing:
      return "missing";
    case NotAnalysed::kAmbiguous:
      return "ambiguous";
    case NotAnalysed::kNotCovered:
      return "not_covered";
  }
  return "other";
}

double WaitCoverage::share() const {
  if (blocking.time_ns <= 0) return 0;
  return static_cast<double>(analysed.time_ns) / static_cast<double>(blocking.time_ns);
}

const WaitCoverage* WaitStates::of(WorldId world) const {
  const auto found = std::ranges::find(worlds, world, &WaitCoverage::world);
  return found == worlds.end() ? nullptr : &*found;
}

bool WaitStates::knows(WorldId world) const {
  const WaitCoverage* const coverage = of(world);
  return coverage != nullptr && coverage->analysed.calls != 0;
}

}  // namespace xylem::storage
