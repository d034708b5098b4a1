#pragma once

// The state of an analysis of wait states. Its functions are in wait_events.cc (events and
// requests) and wait_states.cc (decisions and batches).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "storage/read/collective_matcher_internal.h"
#include "storage/read/message_matcher.h"
#include "storage/read/wait_calls_internal.h"
#include "storage/read/wait_causes_internal.h"
#include "storage/read/wait_states.h"

namespace xylem::storage {

/// A smaller message is taken as buffered if its call may have waited for another one. MPI
/// libraries buffer at least so much.
constexpr std::uint64_t kSurelyBuffered = 1024;
/// After this number of events, or of calls in flight, waits are followed to their causes.
constexpr std::size_t kWaitBatch = 1u << 16;

using wire::kCommSelf;
using wire::kCommWorld;

/// Threads of a hostile file may have any number.
inline ThreadOf thread_of(ProcessIndex process, ThreadIndex thread) {
  constexpr ThreadIndex kMaxThread{63};
  return {process, std::min(thread, kMaxThread)};
}

struct WaitAnalysis::State final : MessageSink, CollectiveMatcher::Sink {
  using Arrival = CollectiveMatcher::Arrival;

  /// A probe whose message is not received yet. It is the next message of the channel.
  struct Probe {
    std::uint64_t call = 0;
    Nanos end_ns = 0;
    CommId comm{};
    Rank source{};
    std::int32_t tag = 0;
  };
  struct Process {
    WorldId world{};
    Rank rank{};
    std::uint32_t coverage = 0;                 // Index into `coverages`.
    std::vector<std::uint64_t> gathering = {};  // By thread: the call whose completions may follow.
    std::unordered_map<std::uint64_t, std::uint64_t> requests = {};  // By number in the trace.
    std::deque<Probe> probes = {};
  };

  explicit State(std::vector<WaitFunction> of);

  // ---- events ----

  void add(ProcessIndex index, FunctionIndex function, const wire::Event& event);
  std::uint64_t open(ProcessIndex index, FunctionIndex function, const wire::Event& event);
  void add_part(ProcessIndex index, FunctionIndex function, const wire::Event& event);
  void add_collective(ProcessIndex index, FunctionIndex function, const wire::Event& event);
  void post_collective(ProcessIndex index, FunctionIndex function, const wire::Event& event);
  void post_message(ProcessIndex index, FunctionIndex function, const wire::Event& event);
  void add_call(ProcessIndex index, FunctionIndex function, CallRole role,
                const wire::Event& event);
  void add_probe(ProcessIndex index, std::uint64_t number, const wire::Event& event);
  std::uint64_t& gathering_of(ProcessIndex index, ThreadIndex thread);
  void end_gathering(std::uint64_t& number);

  // ---- requests ----

  std::uint64_t track(ProcessIndex index, const wire::Event& event);
  void forget_ended(ProcessIndex index, const wire::Event& event);
  void forget(ProcessIndex index, std::uint64_t event_request);
  void untrack(std::uint64_t number);
  void close_if_done(std::uint64_t number);
  bool wait_for(ProcessIndex index, std::uint64_t call_number, std::uint64_t event_request);
  void apply(OpenCall& call, const Request& request) const;
  void drop_requests(OpenCall& call);

  // ---- decisions ----

  void pair(const MessageHalf& send, const MessageHalf& receive) override;
  void unmatched(const MessageHalf& half, Unmatched reason) override;
  void collective(const std::vector<Arrival>& arrivals, bool is_complete) override;
  void explain(const std::vector<Arrival>& arrivals);
  void explain_root(const std::vector<Arrival>& arrivals, CallRole role);
  void give(std::uint64_t number, std::optional<Reason> reason,
            std::optional<NotAnalysed> lacks = {});
  void give_to_probes(const MessageHalf& receive, std::optional<Reason> reason,
                      std::optional<NotAnalysed> lacks = {});
  void give_receiver(const MessageHalf& send, const MessageHalf& receive);
  void decide(std::uint64_t number, OpenCall& call);
  void conclude_if_decided(std::uint64_t number, OpenCall& call) {
    if (call.pending == 0 && !call.is_gathering) conclude(number, call);
  }
  void conclude(std::uint64_t number, OpenCall& call);
  void lack(std::uint64_t number, NotAnalysed lacks);

  // ---- batches ----

  void conclude_buffered_sends();
  bool is_surely_buffered(WorldId world, const OpenCall& call, Rank destination) const;
  void follow();

  std::vector<WaitFunction> functions;
  // By function. A collective that does not block has the role of its twin.
  std::vector<CallRole> collective_roles;
  std::vector<bool> is_untracked;  // By function: its request also receives, which nothing tells.
  std::vector<Process> processes;
  std::vector<Nanos> promised;
  std::vector<WaitCoverage> coverages;
  MessageMatcher messages{*this};
  CollectiveMatcher collectives{*this};
  WaitCauses causes;
  NumberedObjects<OpenCall> calls;
  NumberedObjects<Request> requests;
  std::vector<WaitSpan> spans;
  std::size_t until_batch = kWaitBatch;
};

}  // namespace xylem::storage
