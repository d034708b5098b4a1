#include "storage/read/wait_states.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/saturating.h"
#include "storage/read/collective_matcher_internal.h"
#include "storage/read/wait_causes_internal.h"

namespace xylem::storage {
namespace {

constexpr Nanos kNever = std::numeric_limits<Nanos>::max();
/// After this number of events, or of calls in flight, waits are followed to their causes.
constexpr std::size_t kBatch = 1u << 16;
/// A smaller message in an MPI_Sendrecv is taken as buffered. MPI libraries buffer at least so
/// much.
constexpr std::uint64_t kSurelyBuffered = 1024;
/// Threads of a hostile file may have any number.
constexpr std::uint32_t kMaxThread = 63;

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
  std::uint32_t function = 0;
  std::uint32_t calls = 1;
  std::uint32_t generation = 0;
  std::uint32_t pending = 0;  // Messages or collectives that are not decided.
  bool is_used = false;
  bool is_gathering = false;  // Its completions may follow.
  bool has_payload = false;
  bool sends = false;
  std::optional<NotAnalysed> lacks;
  std::uint32_t destination = 0;  // Of a send.
  std::vector<Reason> reasons;
};

bool is_numbered(const wire::Event& event) { return (event.flags & wire::kEventNumbered) != 0; }
bool sends(const wire::Event& event) {
  return (event.flags & wire::kEventSend) != 0 && event.peer >= 0;
}
bool receives(const wire::Event& event) {
  return (event.flags & wire::kEventReceive) != 0 && event.peer >= 0;
}

/// Calls in flight. A number of a call that is no longer in flight stands for no call.
class OpenCalls {
 public:
  std::uint64_t open() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(calls_.size()));
      calls_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    OpenCall& call = calls_[slot];
    call.is_used = true;
    return std::uint64_t{call.generation} << 32 | (slot + 1);
  }
  OpenCall* find(std::uint64_t number) {
    const auto slot = static_cast<std::uint32_t>(number);
    if (slot == 0) return nullptr;
    OpenCall& call = calls_[slot - 1];
    return call.is_used && call.generation == number >> 32 ? &call : nullptr;
  }
  void close(OpenCall& call) {
    const auto slot = static_cast<std::uint32_t>(&call - calls_.data());
    const std::uint32_t generation = call.generation + 1;
    std::vector<Reason> reasons = std::move(call.reasons);
    reasons.clear();  // Its memory is used again.
    call = OpenCall{};
    call.reasons = std::move(reasons);
    call.generation = generation;
    free_.push_back(slot);
  }
  std::uint64_t number(const OpenCall& call) const {
    return std::uint64_t{call.generation} << 32 |
           static_cast<std::uint64_t>(&call - calls_.data() + 1);
  }
  std::vector<OpenCall>& all() { return calls_; }
  std::size_t used() const { return calls_.size() - free_.size(); }

 private:
  std::vector<OpenCall> calls_;
  std::vector<std::uint32_t> free_;
};

}  // namespace

struct WaitAnalysis::State final : MessageSink, CollectiveMatcher::Sink {
  struct Process {
    std::uint32_t world = 0, rank = 0;
    std::uint32_t coverage = 0;                 // Index into `coverages`.
    std::vector<std::uint64_t> gathering = {};  // By thread: the call whose completions may follow.
  };

  explicit State(std::vector<WaitFunction> of) : functions(std::move(of)) {}

  // ---- events ----

  void add(ProcessIndex index, std::uint32_t function, const wire::Event& event);
  std::uint64_t open(ProcessIndex index, std::uint32_t function, const wire::Event& event);
  void add_completion(ProcessIndex index, const wire::Event& event);
  void add_collective(ProcessIndex index, std::uint32_t function, const wire::Event& event);
  void add_call(ProcessIndex index, std::uint32_t function, CallRole role,
                const wire::Event& event);
  std::uint64_t& gathering_of(ProcessIndex index, std::uint32_t thread);
  void end_gathering(std::uint64_t& number);

  // ---- decisions ----

  void pair(const MessageHalf& send, const MessageHalf& receive) override;
  void unmatched(const MessageHalf& half, Unmatched reason) override;
  void collective(const std::vector<CollectiveMatcher::Arrival>& arrivals,
                  bool is_complete) override;
  void explain(const std::vector<CollectiveMatcher::Arrival>& arrivals);
  void explain_root(const std::vector<CollectiveMatcher::Arrival>& arrivals, CallRole role);
  void decide(OpenCall& call);
  /// An MPI_Sendrecv may return after the post because of its receive.
  bool may_wait_for_receiver(const OpenCall& call, const MessageHalf& send) const {
    return functions[call.function].role != CallRole::kSendReceive || send.bytes >= kSurelyBuffered;
  }
  void settle_if_decided(OpenCall& call) {
    if (call.pending == 0 && !call.is_gathering) settle(call);
  }
  void settle(OpenCall& call);

  // ---- batches ----

  void settle_buffered_sends();
  void follow();

  std::vector<WaitFunction> functions;
  std::vector<Process> processes;
  std::vector<Nanos> promised;
  std::vector<WaitCoverage> coverages;
  MessageMatcher messages{*this};
  CollectiveMatcher collectives{*this};
  WaitCauses causes;
  OpenCalls calls;
  std::vector<WaitSpan> spans;
  std::size_t until_batch = kBatch;
};

// ---- events ----

std::uint64_t& WaitAnalysis::State::gathering_of(ProcessIndex index, std::uint32_t thread) {
  auto& gathering = processes[index].gathering;
  const std::uint32_t slot = std::min(thread, kMaxThread);
  if (slot >= gathering.size()) gathering.resize(slot + 1);
  return gathering[slot];
}

void WaitAnalysis::State::end_gathering(std::uint64_t& number) {
  OpenCall* const call = calls.find(number);
  number = 0;
  if (call == nullptr) return;
  call->is_gathering = false;
  if (!call->has_payload && !call->lacks) call->lacks = NotAnalysed::kNotCovered;
  settle_if_decided(*call);
}

std::uint64_t WaitAnalysis::State::open(ProcessIndex index, std::uint32_t function,
                                        const wire::Event& event) {
  const std::uint64_t number = calls.open();
  OpenCall& call = *calls.find(number);
  call.begin_ns = event.begin_ns;
  call.end_ns = std::max(event.begin_ns, event.end_ns);
  call.thread = {index, std::min(event.thread, kMaxThread)};
  call.function = function;
  call.calls = event.calls;
  return number;
}

void WaitAnalysis::State::add(ProcessIndex index, std::uint32_t function,
                              const wire::Event& event) {
  if (event.kind == wire::kKindCompletion) {
    add_completion(index, event);
  } else if (event.kind == wire::kKindMpi) {
    if (auto& gathering = gathering_of(index, event.thread); gathering != 0)
      end_gathering(gathering);
    const CallRole role = functions[function].role;
    const bool is_message = sends(event) || receives(event);
    if (!is_message && (is_collective(role) || is_numbered(event))) {
      add_collective(index, function, event);
    } else if (may_wait(role)) {
      add_call(index, function, role, event);
    } else if (is_message || role == CallRole::kPost) {
      messages.add(index, event, role == CallRole::kPost);
    }
  }
  if (--until_batch == 0) {
    follow();
    until_batch = std::max(kBatch, calls.used());
  }
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

void WaitAnalysis::State::add_call(ProcessIndex index, std::uint32_t function, CallRole role,
                                   const wire::Event& event) {
  const std::uint64_t number = open(index, function, event);
  OpenCall& call = *calls.find(number);
  call.is_gathering = role == CallRole::kSendReceive || role == CallRole::kWaitSeveral;
  if (call.is_gathering) gathering_of(index, event.thread) = number;
  const bool takes = role != CallRole::kNotAnalysed && (sends(event) || receives(event));
  if (takes) {
    call.has_payload = true;
    call.sends = sends(event);
    call.destination = static_cast<std::uint32_t>(event.peer);
    ++call.pending;
    messages.add(index, event, false, number);
    return;
  }
  messages.add(index, event, false);
  if (call.is_gathering) return;
  call.lacks = NotAnalysed::kNotCovered;
  settle(call);
}

void WaitAnalysis::State::add_collective(ProcessIndex index, std::uint32_t function,
                                         const wire::Event& event) {
  const CallRole role = functions[function].role;
  if (!is_collective(role)) {  // Its number counts, and its time.
    collectives.arrive(index, event.comm, event.number, nullptr);
    if (!may_wait(role)) return;
    OpenCall& call = *calls.find(open(index, function, event));
    call.lacks = NotAnalysed::kNotCovered;
    return settle(call);
  }
  const std::uint64_t number = open(index, function, event);
  OpenCall& call = *calls.find(number);
  constexpr std::uint32_t kCommSelf = 1;  // The same number on all ranks, but each one is alone.
  if (event.comm == kCommSelf) return settle(call);
  if (!is_numbered(event)) {
    call.lacks = NotAnalysed::kNoNumber;
    return settle(call);
  }
  ++call.pending;
  const CollectiveMatcher::Arrival arrival{number, event.peer};
  if (!collectives.arrive(index, event.comm, event.number, &arrival)) {
    call.lacks = NotAnalysed::kMissing;
    settle(call);
  }
}

// ---- decisions ----

void WaitAnalysis::State::decide(OpenCall& call) {
  --call.pending;
  settle_if_decided(call);
}

void WaitAnalysis::State::pair(const MessageHalf& send, const MessageHalf& receive) {
  if (OpenCall* call = calls.find(receive.call)) {
    call->reasons.push_back(
        {send.begin_ns, {send.process, std::min(send.thread, kMaxThread)}, WaitKind::kLateSender});
    decide(*call);
  }
  OpenCall* const call = calls.find(send.call);
  if (call == nullptr) return;
  if (!receive.posted_ns) {
    call->lacks = NotAnalysed::kMissing;
  } else if (*receive.posted_ns <= call->end_ns && may_wait_for_receiver(*call, send)) {
    call->reasons.push_back({*receive.posted_ns,
                             {receive.process, std::min(receive.posting_thread, kMaxThread)},
                             WaitKind::kLateReceiver});
  }
  decide(*call);
}

void WaitAnalysis::State::unmatched(const MessageHalf& half, Unmatched reason) {
  OpenCall* const call = calls.find(half.call);
  if (call == nullptr) return;
  call->lacks = reason == Unmatched::kNoNumber    ? NotAnalysed::kNoNumber
                : reason == Unmatched::kAmbiguous ? NotAnalysed::kAmbiguous
                                                  : NotAnalysed::kMissing;
  decide(*call);
}

void WaitAnalysis::State::collective(const std::vector<CollectiveMatcher::Arrival>& arrivals,
                                     bool is_complete) {
  const std::uint32_t function = calls.find(arrivals.front().call)->function;
  const bool has_one_function = std::ranges::all_of(arrivals, [&](const auto& arrival) {
    return calls.find(arrival.call)->function == function;
  });
  // On an intercommunicator, only some ranks know the root.
  const bool has_one_root = std::ranges::all_of(
      arrivals, [&](const auto& arrival) { return arrival.root == arrivals.front().root; });
  if (is_complete && has_one_function && has_one_root) {
    explain(arrivals);
  } else {
    const bool is_missing = !is_complete || !has_one_function;
    for (const auto& arrival : arrivals) {
      calls.find(arrival.call)->lacks =
          is_missing ? NotAnalysed::kMissing : NotAnalysed::kNotCovered;
    }
  }
  for (const auto& arrival : arrivals) decide(*calls.find(arrival.call));
}

void WaitAnalysis::State::explain(const std::vector<CollectiveMatcher::Arrival>& arrivals) {
  const CallRole role = functions[calls.find(arrivals.front().call)->function].role;
  if (role != CallRole::kSynchronising) return explain_root(arrivals, role);
  const OpenCall* last = nullptr;
  for (const auto& arrival : arrivals) {
    const OpenCall* const call = calls.find(arrival.call);
    const auto is_later = [this](const OpenCall& a, const OpenCall& b) {
      return std::pair(a.begin_ns, processes[b.thread.process].rank) >
             std::pair(b.begin_ns, processes[a.thread.process].rank);
    };
    if (last == nullptr || is_later(*call, *last)) last = call;
  }
  for (const auto& arrival : arrivals) {
    OpenCall* const call = calls.find(arrival.call);
    if (call == last) continue;
    call->reasons.push_back({last->begin_ns, last->thread, WaitKind::kWaitAtCollective});
  }
}

void WaitAnalysis::State::explain_root(const std::vector<CollectiveMatcher::Arrival>& arrivals,
                                       CallRole role) {
  OpenCall* root = nullptr;
  const OpenCall* last = nullptr;  // Of the others.
  for (const auto& arrival : arrivals) {
    OpenCall* const call = calls.find(arrival.call);
    const std::uint32_t rank = processes[call->thread.process].rank;
    if (arrival.root >= 0 && rank == static_cast<std::uint32_t>(arrival.root)) {
      root = call;
    } else if (last == nullptr || std::pair(call->begin_ns, last->thread.process) >
                                      std::pair(last->begin_ns, call->thread.process)) {
      last = call;
    }
  }
  if (root == nullptr) {  // Of an intercommunicator, the root is not known.
    for (const auto& arrival : arrivals) calls.find(arrival.call)->lacks = NotAnalysed::kNotCovered;
  } else if (role == CallRole::kToRoot) {
    if (last != nullptr)
      root->reasons.push_back({last->begin_ns, last->thread, WaitKind::kEarlyRoot});
  } else {
    for (const auto& arrival : arrivals) {
      OpenCall* const call = calls.find(arrival.call);
      if (call != root)
        call->reasons.push_back({root->begin_ns, root->thread, WaitKind::kLateRoot});
    }
  }
}

void WaitAnalysis::State::settle(OpenCall& call) {
  WaitCoverage& coverage = coverages[processes[call.thread.process].coverage];
  const Nanos duration = saturating_subtract(call.end_ns, call.begin_ns);
  const auto count = [&](WaitCoverage::Part& part) {
    part.calls += call.calls;
    part.time_ns = saturating_add(part.time_ns, duration);
  };
  count(coverage.blocking);
  count(call.lacks ? coverage.not_analysed[static_cast<std::size_t>(*call.lacks)]
                   : coverage.analysed);
  // An MPI_Sendrecv surely waits for its message. Only the time after that is its send's.
  std::ranges::sort(call.reasons, [](const Reason& a, const Reason& b) {
    const auto order = [](const Reason& reason) {
      return std::tuple(reason.kind == WaitKind::kLateReceiver, reason.until, reason.cause.process,
                        reason.cause.thread);
    };
    return order(a) < order(b);
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
  calls.close(call);
}

// ---- batches ----

// A receive that is posted after a send has returned did not keep the send waiting. The message may
// be completed much later, so this is decided as soon as nothing earlier can have been posted.
void WaitAnalysis::State::settle_buffered_sends() {
  for (OpenCall& call : calls.all()) {
    if (!call.is_used || !call.sends || call.pending != 1 || call.is_gathering) continue;
    if (functions[call.function].role != CallRole::kBlockingSend) continue;
    const auto receiver = messages.find(processes[call.thread.process].world, call.destination);
    if (!receiver) continue;
    if (saturating_add(call.end_ns, kClockSlack) >= promised[*receiver]) continue;
    if (messages.has_posted(*receiver, call.begin_ns, call.end_ns)) continue;
    settle(call);
  }
}

void WaitAnalysis::State::follow() {
  settle_buffered_sends();
  Nanos known = kNever;
  for (const Nanos promise : promised) known = std::min(known, promise);
  for (const OpenCall& call : calls.all()) {
    if (call.is_used) known = std::min(known, call.begin_ns);
  }
  causes.follow(known);
}

// ---- the interface ----

WaitAnalysis::WaitAnalysis(std::vector<WaitFunction> functions)
    : state_(std::make_unique<State>(std::move(functions))) {}
WaitAnalysis::~WaitAnalysis() = default;

ProcessIndex WaitAnalysis::add_process(std::uint32_t world, std::uint32_t rank) {
  auto& coverages = state_->coverages;
  auto of = std::ranges::find(coverages, WorldId{world}, &WaitCoverage::world);
  if (of == coverages.end()) {
    of = coverages.insert(of, WaitCoverage{});
    of->world = WorldId{world};
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

void WaitAnalysis::add_member(ProcessIndex process, std::uint32_t comm) {
  state_->collectives.add_member(state_->processes[process].world, comm, process);
}

void WaitAnalysis::expect_ranks(std::uint32_t world, std::uint64_t ranks) {
  state_->collectives.expect(world, 0, ranks);
}

void WaitAnalysis::add(ProcessIndex process, std::uint32_t function, const wire::Event& event) {
  state_->add(process, function, event);
}

// The completions of a call begin with the call.
void WaitAnalysis::promise(ProcessIndex process, Nanos begin) {
  state_->promised[process] = std::max(state_->promised[process], begin);
  for (std::uint64_t& number : state_->processes[process].gathering) {
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
  for (ProcessIndex i = 0; i < state_->processes.size(); ++i) end(i);
  state_->messages.finish();
  state_->follow();
  WaitStates result;
  result.rows = state_->causes.rows(state_->functions);
  result.worlds = std::move(state_->coverages);
  std::ranges::sort(result.worlds, {}, &WaitCoverage::world);
  for (WaitCoverage& world : result.worlds) {
    const auto unfollowed = state_->causes.unfollowed().find(raw(world.world));
    if (unfollowed != state_->causes.unfollowed().end()) world.unfollowed_ns = unfollowed->second;
  }
  return result;
}

std::size_t WaitAnalysis::in_flight() const {
  return state_->messages.in_flight() + state_->collectives.in_flight() + state_->calls.used() +
         state_->causes.kept();
}

// ---- names ----

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
