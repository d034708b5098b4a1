#include "storage/read/wait_states.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/saturating.h"
#include "storage/read/wait_analysis_internal.h"

namespace xylem::storage {
namespace {

constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

NotAnalysed not_analysed(Unmatched reason) {
  return reason == Unmatched::kNoNumber    ? NotAnalysed::kNoNumber
         : reason == Unmatched::kAmbiguous ? NotAnalysed::kAmbiguous
                                           : NotAnalysed::kMissing;
}

}  // namespace

// ---- decisions ----

void WaitAnalysis::State::give(std::uint64_t number, std::optional<Reason> reason,
                               std::optional<NotAnalysed> lacks) {
  if ((number & kRequestMark) == 0) {
    OpenCall* const call = calls.find(number);
    if (call == nullptr) return;
    if (lacks) call->lacks = lacks;
    if (reason) call->reasons.push_back(*reason);
    return decide(number, *call);
  }
  Request* const request = requests.find(number & ~kRequestMark);
  if (request == nullptr || request->is_decided) return;
  request->is_decided = true;
  request->reason = reason;
  request->lacks = lacks;
  OpenCall* const call = calls.find(request->call);
  if (call != nullptr && std::erase(call->requests, number) != 0) {
    apply(*call, *request);
    decide(request->call, *call);
  }
  close_if_done(number & ~kRequestMark);
}

void WaitAnalysis::State::decide(std::uint64_t number, OpenCall& call) {
  --call.pending;
  conclude_if_decided(number, call);
}

void WaitAnalysis::State::lack(std::uint64_t number, NotAnalysed lacks) {
  OpenCall& call = *calls.find(number);
  call.lacks = lacks;
  conclude(number, call);
}

void WaitAnalysis::State::pair(const MessageHalf& send, const MessageHalf& receive) {
  const Reason late_sender{send.begin_ns, thread_of(send.process, send.thread),
                           WaitKind::kLateSender};
  give_to_probes(receive, late_sender);
  give(receive.call, late_sender);
  give_receiver(send, receive);
}

void WaitAnalysis::State::give_receiver(const MessageHalf& send, const MessageHalf& receive) {
  if (!receive.posted_ns) return give(send.call, {}, NotAnalysed::kMissing);
  const Reason late_receiver{*receive.posted_ns, thread_of(receive.process, receive.posting_thread),
                             WaitKind::kLateReceiver};
  const OpenCall* const call = calls.find(send.call);
  if (call == nullptr) return give(send.call, late_receiver);
  // An MPI_Sendrecv may return after the post because of its receive.
  const bool may_wait = functions[raw(call->function)].role != CallRole::kSendReceive ||
                        send.bytes >= kSurelyBuffered;
  const bool is_waiting = may_wait && *receive.posted_ns <= call->end_ns;
  give(send.call, is_waiting ? std::optional(late_receiver) : std::nullopt);
}

void WaitAnalysis::State::give_to_probes(const MessageHalf& receive, std::optional<Reason> reason,
                                         std::optional<NotAnalysed> lacks) {
  auto& probes = processes[raw(receive.process)].probes;
  if (probes.empty() || !receive.posted_ns) return;
  for (std::size_t at = 0; at < probes.size();) {
    const Probe probe = probes[at];
    const bool is_it = probe.comm == receive.comm && probe.source == receive.source &&
                       probe.tag == receive.tag && probe.end_ns <= *receive.posted_ns;
    if (!is_it) {
      ++at;
      continue;
    }
    probes.erase(probes.begin() + static_cast<std::ptrdiff_t>(at));
    give(probe.call, reason, lacks);
  }
}

void WaitAnalysis::State::unmatched(const MessageHalf& half, Unmatched reason) {
  if (!half.is_send) give_to_probes(half, {}, not_analysed(reason));
  give(half.call, {}, not_analysed(reason));
}

void WaitAnalysis::State::collective(const std::vector<Arrival>& arrivals, bool is_complete) {
  const Arrival& first = arrivals.front();
  const bool has_one_function = std::ranges::all_of(
      arrivals, [&](const Arrival& arrival) { return arrival.function == first.function; });
  // On an intercommunicator, only some ranks know the root.
  const bool has_one_root = std::ranges::all_of(
      arrivals, [&](const Arrival& arrival) { return arrival.root == first.root; });
  if (is_complete && has_one_function && has_one_root) return explain(arrivals);
  const bool is_missing = !is_complete || !has_one_function;
  for (const Arrival& arrival : arrivals) {
    give(arrival.call, {}, is_missing ? NotAnalysed::kMissing : NotAnalysed::kNotCovered);
  }
}

void WaitAnalysis::State::explain(const std::vector<Arrival>& arrivals) {
  const CallRole role = collective_roles[raw(arrivals.front().function)];
  if (role != CallRole::kSynchronising) return explain_root(arrivals, role);
  // Of several ranks that arrived last, the lowest.
  const Arrival& last = *std::ranges::max_element(arrivals, {}, [this](const Arrival& arrival) {
    return std::pair(arrival.begin_ns, ~raw(processes[raw(arrival.thread.process)].rank));
  });
  const Reason reason{last.begin_ns, last.thread, WaitKind::kWaitAtCollective};
  for (const Arrival& arrival : arrivals) {
    give(arrival.call, &arrival == &last ? std::nullopt : std::optional(reason));
  }
}

void WaitAnalysis::State::explain_root(const std::vector<Arrival>& arrivals, CallRole role) {
  const Arrival* root = nullptr;
  const Arrival* last = nullptr;  // Of the others.
  for (const Arrival& arrival : arrivals) {
    if (arrival.root == processes[raw(arrival.thread.process)].rank) {
      root = &arrival;
    } else if (last == nullptr || std::pair(arrival.begin_ns, last->thread.process) >
                                      std::pair(last->begin_ns, arrival.thread.process)) {
      last = &arrival;
    }
  }
  for (const Arrival& arrival : arrivals) {
    if (root == nullptr) {  // Of an intercommunicator, the root is not known.
      give(arrival.call, {}, NotAnalysed::kNotCovered);
    } else if (&arrival == root && role == CallRole::kToRoot && last != nullptr) {
      give(arrival.call, Reason{last->begin_ns, last->thread, WaitKind::kEarlyRoot});
    } else if (&arrival != root && role == CallRole::kFromRoot) {
      give(arrival.call, Reason{root->begin_ns, root->thread, WaitKind::kLateRoot});
    } else {
      give(arrival.call, {});
    }
  }
}

void WaitAnalysis::State::conclude(std::uint64_t number, OpenCall& call) {
  WaitCoverage& coverage = coverages[processes[raw(call.thread.process)].coverage];
  const Nanos duration = saturating_subtract(call.end_ns, call.begin_ns);
  const auto count = [&](WaitCoverage::Part& part) {
    part.calls += call.calls;
    part.time_ns = saturating_add(part.time_ns, duration);
  };
  count(coverage.blocking);
  count(call.lacks ? coverage.not_analysed[static_cast<std::size_t>(*call.lacks)]
                   : coverage.analysed);
  // A call that receives surely waits for its message. Only the time after that is its sends'.
  std::ranges::sort(call.reasons, {}, [](const Reason& reason) {
    return std::tuple(reason.kind == WaitKind::kLateReceiver, reason.until, reason.cause.process,
                      reason.cause.thread, reason.kind);
  });
  spans.clear();
  Nanos at = call.begin_ns;
  for (const Reason& reason : call.reasons) {
    const Nanos until = std::min(reason.until, call.end_ns);
    if (until <= at) continue;
    spans.push_back({at, until, reason.cause, reason.kind});
    coverage.waiting_ns = saturating_add(coverage.waiting_ns, saturating_subtract(until, at));
    at = until;
  }
  causes.add(call.thread, call.function, call.end_ns, spans);
  calls.close(number);
}

// ---- batches ----

// A receive that is posted after a send has returned did not keep the send waiting. The message may
// be completed much later, so this is decided as soon as nothing earlier can have been posted.
bool WaitAnalysis::State::is_surely_buffered(WorldId world, const OpenCall& call,
                                             Rank destination) const {
  const auto receiver = messages.find(world, destination);
  return receiver && saturating_add(call.end_ns, kClockSlack) < promised[raw(*receiver)] &&
         !messages.has_posted(*receiver, call.begin_ns, call.end_ns);
}

void WaitAnalysis::State::conclude_buffered_sends() {
  calls.for_each([&](std::uint64_t number, OpenCall& call) {
    if (call.is_gathering || call.pending == 0) return;
    const WorldId world = processes[raw(call.thread.process)].world;
    const CallRole role = functions[raw(call.function)].role;
    if (role == CallRole::kBlockingSend && call.sends && call.pending == 1) {
      if (is_surely_buffered(world, call, call.destination)) conclude(number, call);
      return;
    }
    if (call.requests.empty()) return;
    const bool has_not_waited = std::ranges::all_of(call.requests, [&](std::uint64_t of) {
      const Request& request = *requests.find(of & ~kRequestMark);
      return request.is_send && is_surely_buffered(world, call, request.destination);
    });
    if (!has_not_waited) return;
    drop_requests(call);
    conclude_if_decided(number, call);
  });
}

void WaitAnalysis::State::follow() {
  conclude_buffered_sends();
  Nanos known = kNever;
  for (const Nanos promise : promised) known = std::min(known, promise);
  calls.for_each(
      [&](std::uint64_t, const OpenCall& call) { known = std::min(known, call.begin_ns); });
  causes.follow(known);
}

// ---- the interface ----

WaitAnalysis::WaitAnalysis(std::vector<WaitFunction> functions)
    : state_(std::make_unique<State>(std::move(functions))) {}
WaitAnalysis::~WaitAnalysis() = default;

ProcessIndex WaitAnalysis::add_process(WorldId world, Rank rank) {
  auto& coverages = state_->coverages;
  auto of = std::ranges::find(coverages, world, &WaitCoverage::world);
  if (of == coverages.end()) {
    of = coverages.insert(of, WaitCoverage{});
    of->world = world;
  }
  const auto coverage = static_cast<std::uint32_t>(of - coverages.begin());
  state_->processes.push_back({world, rank, coverage});
  state_->promised.push_back(std::numeric_limits<Nanos>::min());
  state_->causes.add_process({world, rank});
  return state_->messages.add_process(world, rank);
}

void WaitAnalysis::expect_threads(ProcessIndex process) {
  state_->messages.expect_threads(process);
}

void WaitAnalysis::add_member(ProcessIndex process, CommId comm) {
  state_->collectives.add_member(state_->processes[raw(process)].world, comm, process);
}

void WaitAnalysis::expect_ranks(WorldId world, std::uint64_t ranks) {
  state_->collectives.expect(world, kCommWorld, ranks);
}

void WaitAnalysis::add(ProcessIndex process, FunctionIndex function, const wire::Event& event) {
  state_->add(process, function, event);
}

// The completions of a call begin with the call.
void WaitAnalysis::promise(ProcessIndex process, Nanos begin) {
  Nanos& promised = state_->promised[raw(process)];
  promised = std::max(promised, begin);
  for (std::uint64_t& number : state_->processes[raw(process)].gathering) {
    const OpenCall* const call = state_->calls.find(number);
    if (call != nullptr && call->begin_ns < begin) state_->end_gathering(number);
  }
  state_->messages.promise(process, begin);
}

void WaitAnalysis::end(ProcessIndex process) {
  promise(process, kNever);
  state_->collectives.leave(process);
}

WaitStates WaitAnalysis::finish() {
  for (std::uint32_t i = 0; i < state_->processes.size(); ++i) end(ProcessIndex{i});
  state_->messages.finish();
  for (State::Process& process : state_->processes) {  // Their messages were never received.
    const auto probes = std::exchange(process.probes, {});
    for (const State::Probe& probe : probes) state_->give(probe.call, {}, NotAnalysed::kMissing);
  }
  state_->follow();
  WaitStates result;
  result.rows = state_->causes.rows(state_->functions);
  result.worlds = std::move(state_->coverages);
  std::ranges::sort(result.worlds, {}, &WaitCoverage::world);
  for (WaitCoverage& world : result.worlds) {
    const auto unfollowed = state_->causes.unfollowed().find(world.world);
    if (unfollowed != state_->causes.unfollowed().end()) world.unfollowed_ns = unfollowed->second;
  }
  return result;
}

std::size_t WaitAnalysis::in_flight() const {
  return state_->messages.in_flight() + state_->collectives.in_flight() + state_->calls.used() +
         state_->requests.used() + state_->causes.kept();
}

}  // namespace xylem::storage
