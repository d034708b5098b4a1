// What the analysis of wait states does with events, and with the requests of sends and
// collectives.

#include <algorithm>
#include <cctype>
#include <utility>

#include "storage/read/message_key.h"
#include "storage/read/wait_analysis_internal.h"

namespace xylem::storage {
namespace {

/// Limits the work for calls that may complete any of many requests. Further requests, further
/// calls and older probes are not considered.
constexpr std::size_t kMaxConsidered = 256;
constexpr std::size_t kMaxCallsOfRequest = 64;
constexpr std::size_t kMaxProbes = 64;

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
    call->lacks = call->guess_lacks.value_or(NotAnalysed::kNotCovered);
  settle_if_decided(ended, *call);
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
    add_completion(index, event);
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
  if (!sends(event) || event.request == 0 || is_untracked[raw(function)]) {
    forget(index, event.request);
  } else {
    number = track(index, event);
    Request& request = *requests.find(number & ~kRequestMark);
    request.is_send = true;
    request.bytes = event.bytes;
    request.destination = *rank_of(event.peer);
  }
  messages.add(index, event, functions[raw(function)].role == CallRole::kPost, number);
}

void WaitAnalysis::State::add_completion(ProcessIndex index, const wire::Event& event) {
  const std::uint64_t number = gathering_of(index, event.thread);
  OpenCall* const call = calls.find(number);
  const bool is_of_call = call != nullptr && call->begin_ns == event.begin_ns &&
                          call->end_ns == event.end_ns && receives(event);
  if (is_of_call) {
    call->has_payload = true;
    ++call->pending;
  }
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
  if (role == CallRole::kWaitSeveral) return consider_requests(index, number);
  if (call.is_gathering) return;
  const auto posted = processes[raw(index)].requests.find(event.request);
  if (role != CallRole::kWait || posted == processes[raw(index)].requests.end())
    return lack(number, NotAnalysed::kNotCovered);
  const std::uint64_t request = posted->second;
  wait_for(number, request);
  forget(index, event.request);
  settle_if_decided(number, call);
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
    forget(index, event.request);
    collectives.arrive(index, event.comm, event.number,
                       nullptr);  // Its number counts, and its time.
    if (may_wait(role)) lack(open(index, function, event), NotAnalysed::kNotCovered);
    return;
  }
  const std::uint64_t number = open(index, function, event);
  OpenCall& call = *calls.find(number);
  if (event.comm == kCommSelf) return settle(number, call);
  if (!is_numbered(event)) return lack(number, NotAnalysed::kNoNumber);
  ++call.pending;
  const Arrival arrival{number, rank_of(event.peer), event.begin_ns, call.thread, function};
  if (!collectives.arrive(index, event.comm, event.number, &arrival))
    give(number, {}, NotAnalysed::kMissing);
}

void WaitAnalysis::State::post_collective(ProcessIndex index, FunctionIndex function,
                                          const wire::Event& event) {
  if (event.request == 0) {
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

/// From now on, the handle stands for this request.
std::uint64_t WaitAnalysis::State::track(ProcessIndex index, const wire::Event& event) {
  const std::uint64_t number = requests.open() | kRequestMark;
  Request& request = *requests.find(number & ~kRequestMark);
  request.thread = thread_of(index, event.thread);
  const auto [place, is_new] = processes[raw(index)].requests.try_emplace(event.request, number);
  if (!is_new) untrack(std::exchange(place->second, number));
  return number;
}

/// From now on, the handle stands for no request.
void WaitAnalysis::State::forget(ProcessIndex index, std::uint64_t handle) {
  auto& by_handle = processes[raw(index)].requests;
  const auto found = by_handle.find(handle);
  if (found == by_handle.end()) return;
  const std::uint64_t number = found->second;
  by_handle.erase(found);
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

void WaitAnalysis::State::wait_for(std::uint64_t call_number, std::uint64_t request_number) {
  OpenCall& call = *calls.find(call_number);
  Request& request = *requests.find(request_number & ~kRequestMark);
  call.has_payload |= !call.is_gathering;
  if (request.is_decided) return apply(call, request);
  request.calls.push_back(call_number);
  call.requests.push_back(request_number);
  ++call.pending;
}

/// The record does not say which requests the call has completed, if they do not receive. It may
/// have waited for those of its thread.
void WaitAnalysis::State::consider_requests(ProcessIndex index, std::uint64_t call_number) {
  const auto& by_handle = processes[raw(index)].requests;
  if (by_handle.empty() || by_handle.size() > kMaxConsidered) return;
  OpenCall& call = *calls.find(call_number);
  for (const auto& [handle, number] : by_handle) {
    const Request& request = *requests.find(number & ~kRequestMark);
    if (!(request.thread == call.thread) || request.calls.size() >= kMaxCallsOfRequest) continue;
    if (request.is_send && request.bytes < kSurelyBuffered) {
      call.has_payload = true;
    } else {
      wait_for(call_number, number);
    }
  }
}

void WaitAnalysis::State::apply(OpenCall& call, const Request& request) const {
  const bool is_sure = functions[raw(call.function)].role == CallRole::kWait;
  if (request.lacks) {
    (is_sure ? call.lacks : call.guess_lacks) = request.lacks;
    return;
  }
  call.has_payload = true;
  if (!request.reason) return;
  // A send that has returned before was buffered. Another request may be completed by another call.
  const bool is_of_later = request.reason->until > call.end_ns;
  if (is_of_later && (request.is_send || !is_sure)) return;
  call.reasons.push_back(*request.reason);
  call.reasons.back().is_guess = !is_sure;
}

/// The call has not waited for its requests that are not decided. Ends their part in it.
void WaitAnalysis::State::drop_requests(OpenCall& call) {
  call.pending -= static_cast<std::uint32_t>(call.requests.size());
  call.has_payload = true;
  call.requests.clear();
}

}  // namespace xylem::storage
