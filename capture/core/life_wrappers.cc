// The wrappers that are written by hand. MPI_Init, MPI_Init_thread, MPI_Session_init and
// MPI_Finalize begin and end capture in a process. MPI_Pcontrol is variadic.

#include "capture/core/beginning_internal.h"
#include "capture/core/life_internal.h"
#include "capture/core/process_internal.h"
#include "capture/core/regions_internal.h"
#include "capture/core/wrapper_internal.h"

namespace xylem::capture {
namespace {

// Calls the function by its name MPI_X, or by its profiling name PMPI_X.
template <class... Words>
Word go_on(bool by_profiling_name, std::uint16_t function, Words... words) {
  return by_profiling_name ? own<Word>(function, words...) : real(function, words...);
}

// A tool's MPI_Init may call this a second time, by the profiling name. That call only goes to MPI.
template <class... Words>
Word initialise(bool by_profiling_name, std::uint16_t function, Words... words) {
  if (!is_asked_for()) return go_on(by_profiling_name, function, words...);
  std::atomic<bool>& is_inside_init = beginning().is_inside_init;
  if (is_inside_init.exchange(true)) return go_on(by_profiling_name, function, words...);
  start();
  Call call;
  const bool recorded = is_on() && enter(call, function);
  const Word result = go_on(by_profiling_name, function, words...);
  is_inside_init.store(false);
  const bool is_ours = recorded && call.stop(result);
  if (static_cast<int>(result) == 0) enter_world(true);
  if (is_ours) close_plain(call);
  if (!recorded) leave_unrecorded();
  return result;
}

// Records one of the other functions of this file. If the function succeeds, calls `then` with the
// place of the call; null if it is not known.
template <class Then, class... Words>
Word record(bool by_profiling_name, std::uint16_t function, Then then, Words... words) {
  Call call;
  const bool recorded = is_on() && enter(call, function);
  const Word result = go_on(by_profiling_name, function, words...);
  const bool is_ours = recorded && call.stop(result);
  if (is_ours) close_plain(call);
  if (!recorded) leave_unrecorded();
  if (static_cast<int>(result) == 0) then(recorded ? call.site : nullptr);
  return result;
}

Word finalise(bool by_profiling_name) {
  return record(by_profiling_name, kMPI_Finalize, [](const void*) { leave_world(); });
}

Word open_session(bool by_profiling_name, Word info, Word handler, Word session) {
  return record(
      by_profiling_name, kMPI_Session_init, [](const void*) { note_session(); }, info, handler,
      session);
}

// A tool may pass the call on; then the level is entered once.
Word control(bool by_profiling_name, Word level, Word a1, Word a2, Word a3, Word a4, Word a5) {
  const bool is_outermost = thread_state.frame == nullptr;
  return record(
      by_profiling_name, kMPI_Pcontrol,
      [level, is_outermost](const void* site) {
        if (is_outermost) enter_level(static_cast<std::int32_t>(level), site);
      },
      level, a1, a2, a3, a4, a5);
}

}  // namespace
}  // namespace xylem::capture

using namespace xylem::capture;

XYLEM_WRAPPER Word MPI_Init(Word argc, Word argv) {
  return initialise(false, kMPI_Init, argc, argv);
}
XYLEM_WRAPPER Word PMPI_Init(Word argc, Word argv) {
  return initialise(true, kMPI_Init, argc, argv);
}

XYLEM_WRAPPER Word MPI_Init_thread(Word argc, Word argv, Word required, Word provided) {
  return initialise(false, kMPI_Init_thread, argc, argv, required, provided);
}
XYLEM_WRAPPER Word PMPI_Init_thread(Word argc, Word argv, Word required, Word provided) {
  return initialise(true, kMPI_Init_thread, argc, argv, required, provided);
}

XYLEM_WRAPPER Word MPI_Finalize() { return finalise(false); }
XYLEM_WRAPPER Word PMPI_Finalize() { return finalise(true); }

XYLEM_WRAPPER Word MPI_Session_init(Word info, Word handler, Word session) {
  return open_session(false, info, handler, session);
}
XYLEM_WRAPPER Word PMPI_Session_init(Word info, Word handler, Word session) {
  return open_session(true, info, handler, session);
}

// MPI_Pcontrol is variadic: arguments in registers are passed on in registers. It is a request to a
// profiler, which MPI libraries ignore. Floating-point arguments are not passed on.
XYLEM_WRAPPER Word MPI_Pcontrol(Word level, Word a1, Word a2, Word a3, Word a4, Word a5) {
  return control(false, level, a1, a2, a3, a4, a5);
}
XYLEM_WRAPPER Word PMPI_Pcontrol(Word level, Word a1, Word a2, Word a3, Word a4, Word a5) {
  return control(true, level, a1, a2, a3, a4, a5);
}
