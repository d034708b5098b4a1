// What the analysis of wait states does with events, and with the requests of sends and
// collectives.

#include <algorithm>
#include <cctype>
#include <utility>

#include "storage/read/message_key.h"
#include "storage/read/wait_analysis_internal.h"

namespace xylem::storage {
namespace {

/// Limits the work for probes. Older ones are not considered.
constexpr std::size_t kMaxProbes = 64;
/// Operations of a process that are followed at a time. Of more, completions are lost.
constexpr std::size_t kMaxOperations = 1u << 15;

/// Whether the event starts an operation that a later event completes.
bool starts(const wire::Event& event) {
  return (event.flags & wire::kEventPosts) != 0 && event.request != 0;
}
bool is_numbered(const wire::Event& event) { return (event.flags & wire::kEventNumbered) != 0; }
std::optional<Rank> rank_of(std::int32_t peer) {
  return peer < 0 ? std::nullopt : std::optional(Rank{static_cast<std::uint32_t>(peer)});
}

}  // namespace

WaitAnalysis::State::State(std::vector<WaitFunction> of) : functions(std::move(of)) {
  for (const WaitFunction& function : functions) {
    CallRole role = function.role;
    if (role == CallRole::kOtherCollective && function.name.starts_with("MPI_I")) {
      std::string twin = "MPI_" + function.name.substr(5);
      twin[4] = static_cast<char>(std::toupper(static_cast<unsigned char>(twin[4])));
      role = role_of(twin, "collective");
    }
    collective_roles.push_back(role);
    is_untracked.push_back(function.name.starts_with("MPI_Isendrecv"));
  }
}

// ---- events ----

std::uint64_t& WaitAnalysis::State::gathering_of(ProcessIndex index, ThreadIndex thread) {
  auto& gathering = processes[raw(index)].gathering;
  const std::uint32_t slot = raw(thread_of(index, thread).thread);
  if (slot >= gathering.size()) gathering.resize(slot + 1);
  return gathering[slot];
}

void WaitAnalysis::State::end_gathering(std::uint64_t& number) {
  const std::uint64_t ended = std::exchange(number, 0);
  OpenCall* const call = calls.find(ended);
  if (call == nullptr) return;
  call->is_gathering = false;
  if (!call->has_payload && call->requests.empty() && call->reasons.empty() && !call->lacks)
    call->lacks = NotAnalysed::kNotCovered;
  conclude_if_decided(ended, *call);
}

std::uint64_t WaitAnalysis::State::open(ProcessIndex index, FunctionIndex function,
                                        const wire::Event& event) {
  const std::uint64_t number = calls.open();
  OpenCall& call = *calls.find(number);
  call.begin_ns = event.begin_ns;
  call.end_ns = std::max(event.begin_ns, event.end_ns);
  call.thread = thread_of(index, event.thread);
  call.function = function;
  call.calls = event.calls;
  return number;
}

void WaitAnalysis::State::add(ProcessIndex index, FunctionIndex function,
                              const wire::Event& event) {
  if (event.kind == wire::kKindCompletion) {
    add_part(index, function, event);
  } else if (event.kind == wire::kKindMpi) {
    if (auto& gathering = gathering_of(index, event.thread); gathering != 0)
      end_gathering(gathering);
    const CallRole role = functions[raw(function)].role;
    const bool is_message = sends(event) || receives(event);
    if (!is_message && (is_collective(role) || is_numbered(event))) {
      add_collective(index, function, event);
    } else if (may_wait(role)) {
      add_call(index, function, role, event);
    } else if (is_message || role == CallRole::kPost) {
      post_message(index, function, event);
    } else if (role == CallRole::kFree) {
      forget(index, event.request);
    } else {
      forget_ended(index, event);
      messages.add(index, event, false);
    }
  }
  if (--until_batch == 0) {
    follow();
    until_batch = std::max(kWaitBatch, calls.used());
  }
}

void WaitAnalysis::State::post_message(ProcessIndex index, FunctionIndex function,
                                       const wire::Event& event) {
  std::uint64_t number = 0;
  if (sends(event) && starts(event) && !is_untracked[raw(function)]) {
    number = track(index, event);
    Request& request = *requests.find(number & ~kRequestMark);
    request.is_send = true;
    request.bytes = event.bytes;
    request.destination = *rank_of(event.peer);
  }
  messages.add(index, event, functions[raw(function)].role == CallRole::kPost, number);
}

/// A request that a call of several has started or completed, or the receive of an MPI_Sendrecv.
void WaitAnalysis::State::add_part(ProcessIndex index, FunctionIndex function,
                                   const wire::Event& event) {
  if (starts(event)) return post_message(index, function, event);
  const std::uint64_t number = gathering_of(index, event.thread);
  OpenCall* const call = calls.find(number);
  const bool is_of_call =
      call != nullptr && call->begin_ns == event.begin_ns && call->end_ns == event.end_ns;
  if (is_of_call && receives(event)) {
    call->has_payload = true;
    ++call->pending;
  } else if (is_of_call && !wait_for(index, number, event.request)) {
    call->lacks = NotAnalysed::kNotCovered;
  }
  forget_ended(index, event);
  messages.add(index, event, false, is_of_call ? number : 0);
}

void WaitAnalysis::State::add_call(ProcessIndex index, FunctionIndex function, CallRole role,
                                   const wire::Event& event) {
  const std::uint64_t number = open(index, function, event);
  OpenCall& call = *calls.find(number);
  call.is_gathering = role == CallRole::kSendReceive || role == CallRole::kWaitSeveral;
  if (call.is_gathering) gathering_of(index, event.thread) = number;
  const bool takes = role != CallRole::kNotAnalysed && (sends(event) || receives(event));
  if (takes) {
    call.has_payload = true;
    call.sends = sends(event);
    call.destination = *rank_of(event.peer);
    ++call.pending;
    messages.add(index, event, false, number);
    return;
  }
  messages.add(index, event, false);
  if (role == CallRole::kProbe) return add_probe(index, number, event);
  if (call.is_gathering) return;
  if (role != CallRole::kWait || !wait_for(index, number, event.request))
    return lack(number, NotAnalysed::kNotCovered);
  forget_ended(index, event);
  conclude_if_decided(number, call);
}

// The message of a probe is the next one of its channel: the one that the next receive gets.
void WaitAnalysis::State::add_probe(ProcessIndex index, std::uint64_t number,
                                    const wire::Event& event) {
  const auto source = rank_of(event.peer);
  if (!source) return lack(number, NotAnalysed::kNotCovered);
  OpenCall& call = *calls.find(number);
  ++call.pending;
  auto& probes = processes[raw(index)].probes;
  probes.push_back({number, call.end_ns, event.comm, *source, event.tag});
  if (probes.size() <= kMaxProbes) return;
  const std::uint64_t oldest = probes.front().call;
  probes.pop_front();
  give(oldest, {}, NotAnalysed::kMissing);
}

void WaitAnalysis::State::add_collective(ProcessIndex index, FunctionIndex function,
                                         const wire::Event& event) {
  const CallRole role = functions[raw(function)].role;
  if (!is_collective(role)) {
    if (is_collective(collective_roles[raw(function)]))
      return post_collective(index, function, event);
    collectives.arrive(index, event.comm, event.number,
                       nullptr);  // Its number counts, and its time.
    if (may_wait(role)) lack(open(index, function, event), NotAnalysed::kNotCovered);
    return;
  }
  const std::uint64_t number = open(index, function, event);
  OpenCall& call = *calls.find(number);
  if (event.comm == kCommSelf) return conclude(number, call);
  if (!is_numbered(event)) return lack(number, NotAnalysed::kNoNumber);
  ++call.pending;
  const Arrival arrival{number, rank_of(event.peer), event.begin_ns, call.thread, function};
  if (!collectives.arrive(index, event.comm, event.number, &arrival))
    give(number, {}, NotAnalysed::kMissing);
}

void WaitAnalysis::State::post_collective(ProcessIndex index, FunctionIndex function,
                                          const wire::Event& event) {
  if (!starts(event)) {
    collectives.arrive(index, event.comm, event.number, nullptr);
    return;
  }
  const std::uint64_t number = track(index, event);
  if (event.comm == kCommSelf) return give(number, {});
  const Arrival arrival{number, rank_of(event.peer), event.begin_ns, thread_of(index, event.thread),
                        function};
  if (!collectives.arrive(index, event.comm, event.number, &arrival))
    give(number, {}, NotAnalysed::kMissing);
}

// ---- requests ----

/// Follows a request until its completion.
std::uint64_t WaitAnalysis::State::track(ProcessIndex index, const wire::Event& event) {
  auto& by_number = processes[raw(index)].requests;
  if (by_number.size() >= kMaxOperations) {
    for (const auto& [request, older] : std::exchange(by_number, {})) untrack(older);
  }
  const std::uint64_t number = requests.open() | kRequestMark;
  const auto [place, is_new] = by_number.try_emplace(event.request, number);
  if (!is_new) untrack(std::exchange(place->second, number));  // Of a damaged file.
  return number;
}

/// Forgets the request that the event has completed, if it has.
void WaitAnalysis::State::forget_ended(ProcessIndex index, const wire::Event& event) {
  if ((event.flags & wire::kEventCompletes) != 0) forget(index, event.request);
}

void WaitAnalysis::State::forget(ProcessIndex index, std::uint64_t event_request) {
  auto& by_number = processes[raw(index)].requests;
  const auto found = by_number.find(event_request);
  if (found == by_number.end()) return;
  const std::uint64_t number = found->second;
  by_number.erase(found);
  untrack(number);
}

void WaitAnalysis::State::untrack(std::uint64_t number) {
  requests.find(number & ~kRequestMark)->is_tracked = false;
  close_if_done(number & ~kRequestMark);
}

void WaitAnalysis::State::close_if_done(std::uint64_t number) {
  const Request& request = *requests.find(number);
  if (request.is_decided && !request.is_tracked) requests.close(number);
}

/// The call has waited for the request. Returns false if the request is not analysed.
bool WaitAnalysis::State::wait_for(ProcessIndex index, std::uint64_t call_number,
                                   std::uint64_t event_request) {
  const auto& by_number = processes[raw(index)].requests;
  const auto posted = by_number.find(event_request);
  if (posted == by_number.end()) return false;
  OpenCall& call = *calls.find(call_number);
  Request& request = *requests.find(posted->second & ~kRequestMark);
  call.has_payload = true;
  if (request.is_decided) {
    apply(call, request);
  } else if (request.call == 0) {
    request.call = call_number;
    call.requests.push_back(posted->second);
    ++call.pending;
  }
  return true;
}

void WaitAnalysis::State::apply(OpenCall& call, const Request& request) const {
  if (request.lacks) call.lacks = request.lacks;
  if (!request.reason) return;
  if (request.is_send) {
    // A call that has returned before did not wait: the send was buffered.
    if (request.reason->until > call.end_ns) return;
    // The call has waited for something else if it was longer.
    const bool has_one = functions[raw(call.function)].role == CallRole::kWait;
    if (!has_one && request.bytes < kSurelyBuffered) return;
  }
  call.reasons.push_back(*request.reason);
}

/// The call has not waited for its requests that are not decided. Ends their part in it.
void WaitAnalysis::State::drop_requests(OpenCall& call) {
  call.pending -= static_cast<std::uint32_t>(call.requests.size());
  call.has_payload = true;
  call.requests.clear();
}

}  // namespace xylem::storage
