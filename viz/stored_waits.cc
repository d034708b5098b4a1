#include "viz/stored_waits.h"

#include <algorithm>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "viz/file_stamp.h"

namespace xylem::viz {
namespace {

/// How soon get() notices that a client has given up.
constexpr Nanos kLook = 20 * kMillisecond;

bool is_quiet(const std::string& file) { return unchanged_for(file) >= kStoredWaitsQuiet; }

bool has_end(storage::RunFile& run) {
  const auto rows = run.rows("SELECT 1 FROM run WHERE ended_ns IS NOT NULL");
  return rows && !rows->empty();
}

std::shared_ptr<const storage::WaitStates> failed(std::string why) {
  storage::WaitStates states;
  states.fault = std::move(why);
  return std::make_shared<const storage::WaitStates>(std::move(states));
}

}  // namespace

StoredWaits::~StoredWaits() {
  has_ended_ = true;
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const storage::WaitStates> StoredWaits::get(storage::RunFile& run, Nanos deadline,
                                                            const std::atomic<bool>* given_up) {
  return wait(run, deadline, given_up, true);
}

std::shared_ptr<const storage::WaitStates> StoredWaits::get_soon(
    storage::RunFile& run, const std::atomic<bool>* given_up) {
  return wait(run, deadline_in(kStoredWaitsPatience), given_up, false);
}

std::shared_ptr<const storage::WaitStates> StoredWaits::wait(storage::RunFile& run, Nanos deadline,
                                                             const std::atomic<bool>* given_up,
                                                             bool is_patient) {
  const bool is_ended = has_end(run);
  std::string stamp = file_stamp(file_);
  auto state = state_.lock();
  state->is_in_progress = !is_ended;
  if (!is_ended && !is_quiet(file_)) return nullptr;
  const auto is_over = [&] {
    return monotonic_now() >= deadline || (given_up != nullptr && *given_up) ||
           (!is_patient && state->is_under_way && state->is_missed);
  };
  const auto is_free = [&] { return !state->is_under_way; };
  while (!is_free() || state->stamp != stamp) {
    if (is_free() && !start(*state, stamp)) return state->states;
    if (is_over()) {
      state->is_missed = true;
      return nullptr;
    }
    state.wait_until(std::min(deadline, deadline_in(kLook)), is_free);
  }
  if (state->has_failed) state->stamp.reset();  // The next call tries again.
  return state->states;
}

std::string StoredWaits::stamp() const {
  const auto state = state_.lock();
  return file_stamp(file_) + std::to_string(state->late) +
         (state->is_in_progress && is_quiet(file_) ? " quiet" : "");
}

bool StoredWaits::start(State& state, std::string stamp) {
  if (thread_.joinable()) thread_.join();
  state.states.reset();
  state.is_missed = false;
  state.has_failed = false;
  try {
    thread_ = std::thread([this] { analyse(); });  // It waits for the lock before it ends.
  } catch (const std::system_error& refused) {
    state.stamp.reset();
    state.states = failed(std::string("no thread for the analysis: ") + refused.what());
    return false;
  }
  state.stamp = std::move(stamp);
  state.is_under_way = true;
  return true;
}

void StoredWaits::analyse() {
  std::shared_ptr<const storage::WaitStates> states;
  bool has_failed = true;
  try {
    auto run = storage::RunFile::open(file_);
    if (run) (*run)->set_deadline(kForever, &has_ended_);
    auto known = run ? (*run)->wait_states() : unexpected(run.error());
    has_failed = !known;
    states = known ? *std::move(known) : failed(known.error().message);
  } catch (const std::bad_alloc&) {
    states = failed("there is not enough memory to analyse the trace");
  }
  auto state = state_.lock();
  state->states = std::move(states);
  state->has_failed = has_failed;
  state->is_under_way = false;
  if (state->is_missed) ++state->late;
  state.notify();
}

}  // namespace xylem::viz
