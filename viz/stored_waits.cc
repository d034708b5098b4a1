#include "viz/stored_waits.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "viz/file_stamp.h"

namespace xylem::viz {
namespace {

/// How soon get() notices that a client has given up.
constexpr Nanos kLook = 20 * kMillisecond;

bool has_ended(storage::RunFile& run) {
  const auto rows = run.rows("SELECT 1 FROM run WHERE ended_ns IS NOT NULL");
  return rows && !rows->empty();
}

}  // namespace

StoredWaits::~StoredWaits() {
  has_ended_ = true;
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const storage::WaitStates> StoredWaits::get(storage::RunFile& run, Nanos deadline,
                                                            const std::atomic<bool>* given_up) {
  if (!has_ended(run)) return nullptr;
  std::string stamp = file_stamp(file_);
  auto state = state_.lock();
  const auto is_over = [&] {
    return monotonic_now() >= deadline || (given_up != nullptr && *given_up);
  };
  const auto is_free = [&] { return !state->is_under_way; };
  while (!is_free() || state->stamp != stamp) {
    if (is_free()) start(*state, stamp);
    if (is_over()) {
      state->is_missed = true;
      return nullptr;
    }
    state.wait_until(std::min(deadline, deadline_in(kLook)), is_free);
  }
  return state->states;
}

void StoredWaits::start(State& state, std::string stamp) {
  if (thread_.joinable()) thread_.join();
  state.stamp = std::move(stamp);
  state.states.reset();
  state.is_missed = false;
  thread_ = std::thread([this] { analyse(); });  // It waits for the lock before it ends.
  state.is_under_way = true;
}

void StoredWaits::analyse() {
  std::shared_ptr<const storage::WaitStates> states;
  try {
    if (auto run = storage::RunFile::open(file_)) {
      (*run)->set_deadline(kForever, &has_ended_);
      if (auto known = (*run)->wait_states()) states = *std::move(known);
    }
  } catch (const std::exception&) {
    // No memory: there are no wait states then, as for a file that cannot be read.
  }
  auto state = state_.lock();
  state->states = std::move(states);
  state->is_under_way = false;
  if (state->is_missed) ++state->late;
  state.notify();
}

}  // namespace xylem::viz
