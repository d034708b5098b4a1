#include <algorithm>
#include <array>
#include <utility>

#include "base/saturating.h"
#include "predict/source/run_calls_internal.h"
#include "predict/source/run_program.h"

namespace xylem::predict {
namespace {

/// Maximum number of threads of a rank that call MPI: the CPU numbers of an operation.
constexpr std::uint32_t kMaxThreads = 256;
/// Sampling records at least one of so many tests.
constexpr Nanos kMaxTestsWithoutRecord = 1000;
constexpr Nanos kMillion = 1'000'000;

/// Times of a damaged file may be anything. 2^61 ns are 73 years, so differences do not overflow.
Nanos clamp_time(Nanos time) {
  constexpr Nanos kMax = Nanos{1} << 61;
  return std::clamp(time, -kMax, kMax);
}

bool has(const wire::Event& event, std::uint16_t flags) { return (event.flags & flags) != 0; }

bool starts_with_any(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view it) { return name.starts_with(it); });
}

/// Functions on communicators that other ranks must call too: they may wait.
constexpr std::array<std::string_view, 18> kMakeCommunicators = {
    "MPI_Comm_create",  "MPI_Comm_dup",          "MPI_Comm_idup",        "MPI_Comm_split",
    "MPI_Comm_free",    "MPI_Comm_disconnect",   "MPI_Comm_accept",      "MPI_Comm_connect",
    "MPI_Comm_join",    "MPI_Comm_spawn",        "MPI_Cart_create",      "MPI_Cart_sub",
    "MPI_Graph_create", "MPI_Dist_graph_create", "MPI_Intercomm_create", "MPI_Intercomm_merge",
    "MPIX_Comm_agree",  "MPIX_Comm_shrink"};

constexpr std::array<std::string_view, 6> kLocalClasses = {
    "communicator", "datatype", "environment", "tool", "other", "file"};

}  // namespace

FunctionUse use_of(std::string_view function, std::string_view function_class) {
  using enum FunctionUse::Kind;
  FunctionUse use;
  if (function.ends_with("_c")) function.remove_suffix(2);
  use.synchronous = function == "MPI_Ssend" || function == "MPI_Issend";
  use.buffered = function == "MPI_Bsend" || function == "MPI_Ibsend";
  use.about_files = function_class == "file";
  if (function == "MPI_Init" || function == "MPI_Init_thread") {
    use.kind = kInit;
  } else if (function == "MPI_Finalize") {
    use.kind = kFinalize;
  } else if (function.starts_with("MPI_Sendrecv") || function.starts_with("MPI_Isendrecv")) {
    use.kind = kSendReceive;
  } else if (function == "MPI_Iprobe" || function == "MPI_Improbe" ||
             function.starts_with("MPI_Test") || function == "MPI_Request_get_status" ||
             function == "MPI_Parrived") {
    use.kind = kPoll;
  } else if (function == "MPI_Waitall" || function == "MPI_Waitany" || function == "MPI_Waitsome") {
    use.kind = kCompletesSeveral;
  } else if (function_class == "collective") {
    if (const auto known = collective_function(function)) {
      use.kind = kCollective;
      use.collective = *known;
    } else if (!function.ends_with("_init")) {
      use.kind = kRefused;
    }
  } else if (function_class == "one_sided") {
    use.kind = function.starts_with("MPI_Win_") ? kOther : kRefused;
  } else if (std::ranges::find(kLocalClasses, function_class) != kLocalClasses.end() &&
             (!starts_with_any(function, kMakeCommunicators) || function.ends_with("_keyval"))) {
    use.kind = kComputing;
  }
  return use;
}

Nanos ProcessorWaits::within(Nanos begin, Nanos end) {
  while (at_ + 1 < pieces_.size() && pieces_[at_].until <= begin) ++at_;
  Nanos waited = 0;
  for (std::size_t i = at_; i < pieces_.size() && begin < end; ++i) {
    const bool is_last = i + 1 == pieces_.size();
    const Nanos until = is_last ? end : std::min(end, pieces_[i].until);
    if (until <= begin) continue;
    const Nanos length = until - begin;
    waited += length / kMillion * pieces_[i].millionths +
              length % kMillion * pieces_[i].millionths / kMillion;
    begin = until;
  }
  return waited;
}

std::uint32_t TagNumbers::number_of(CommId comm, std::int32_t tag) {
  if (comm == wire::kCommWorld && tag >= 0 && static_cast<std::uint32_t>(tag) < kFirstNumber)
    return static_cast<std::uint32_t>(tag);
  const auto next = kFirstNumber + static_cast<std::uint32_t>(numbers_.size());
  return numbers_.try_emplace({comm, tag}, next).first->second;
}

Unexpected RunCalls::refuse(std::string_view name, std::string_view why) const {
  return unexpected(Code::kInvalidArgument, "rank " + std::to_string(rank_) + " calls " +
                                                std::string(name) + ": " + std::string(why));
}

Unexpected RunCalls::too_many() const {
  return unexpected(Code::kExhausted,
                    "the program has more than " + std::to_string(kMaxOperationsOfRun) +
                        " operations, which need more than 24 GB; record a shorter run");
}

// ---- threads and computing ----

void RunCalls::begin_thread(Thread& thread, const wire::Event& event) {
  thread.has_begun = true;
  thread.last_end = event.begin_ns;
  const std::uint32_t index = raw(event.thread);
  if (!has_begun_) {
    has_begun_ = true;
    first_ = index;
    return;
  }
  const Thread& first = threads_[first_];
  const bool is_in_call = first.call_end > event.begin_ns;
  thread.strand =
      (is_in_call ? first.before_call : first.strand).on_cpu(static_cast<std::uint8_t>(index));
  thread.last_end = is_in_call ? first.call_begin : first.last_end;
}

/// Calls of other threads that had ended are complete: what begins now may wait for their
/// operations.
Result<void> RunCalls::end_calls_before(const wire::Event& event) {
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    Thread& it = threads_[i];
    if (i == raw(event.thread) || it.pending.kind == Pending::Kind::kNothing) continue;
    if (it.call_end > event.begin_ns) continue;
    sequence_.go_on(it.strand);
    auto ended = end_call(it);
    if (!ended) return ended;
    it.strand = sequence_.strand();
  }
  return {};
}

/// Makes the event's thread the current one.
Result<RunCalls::Thread*> RunCalls::enter(const wire::Event& event) {
  const std::uint32_t index = raw(event.thread);
  if (index >= kMaxThreads) {
    return unexpected(Code::kInvalidArgument,
                      "rank " + std::to_string(rank_) + " calls MPI from more than " +
                          std::to_string(kMaxThreads) + " threads; a program cannot express this");
  }
  if (index >= threads_.size()) threads_.resize(index + 1);
  threads_[current_].strand = sequence_.strand();
  if (threads_.size() > 1) {
    auto ended = end_calls_before(event);
    if (!ended) return unexpected(ended.error());
  }
  Thread& thread = threads_[index];
  if (!thread.has_begun) begin_thread(thread, event);
  current_ = index;
  sequence_.go_on(thread.strand);
  return &thread;
}

/// The part of a gap after a test without success that is computing.
Nanos RunCalls::after_polls(Thread& thread, const wire::Event& event, const FunctionUse& use,
                            Nanos gap) {
  if (use.kind != FunctionUse::Kind::kPoll) return gap;  // The loop has ended without success.
  // A record that stands for several calls, or for none, is that of a sampled function. Else there
  // is no other test in the gap.
  const bool is_sampled = thread.poll_is_sampled || event.calls != 1;
  if (!is_sampled) return gap < kMaxPollTurn ? 0 : gap;
  if (event.function == thread.poll && event.calls > 0) {
    const Nanos polled = saturating_multiply(thread.poll_ns, Nanos{event.calls} - 1);
    const Nanos computed = gap - std::min(gap, polled);
    thread.turn_ns = computed / event.calls;
    return *thread.turn_ns < kMaxPollTurn ? 0 : computed;
  }
  // It is not known how many tests are in the gap.
  const Nanos turn = thread.turn_ns.value_or(kMaxPollTurn);
  const Nanos longest = saturating_multiply(kMaxTestsWithoutRecord, thread.poll_ns + turn);
  return turn <= kMaxPollTurn && gap <= longest ? 0 : gap;
}

/// How long the thread has computed since its last call.
Nanos RunCalls::computed(Thread& thread, const wire::Event& event, const FunctionUse& use) {
  Nanos gap = std::max<Nanos>(event.begin_ns - thread.last_end, 0);
  if (thread.polls) gap = after_polls(thread, event, use, gap);
  gap -= std::min(gap, saturating_add(thread.added, counted_cost(event)));
  // Only the first thread is measured.
  if (gap > 0 && raw(event.thread) == first_) {
    gap -= std::min(gap, waits_.within(event.begin_ns - gap, event.begin_ns));
  }
  return gap;
}

/// Calls without a record come before the record that stands for them.
Nanos RunCalls::counted_cost(const wire::Event& event) const {
  return event.calls > 1 ? saturating_multiply(costs_.counted, Nanos{event.calls} - 1) : 0;
}

Nanos RunCalls::cost_of(const wire::Event& event, const FunctionUse& use) const {
  if (event.kind == wire::kKindCompletion) return costs_.part;
  Nanos cost = costs_.call;
  if (use.kind == FunctionUse::Kind::kCollective) {
    cost = costs_.collective;
  } else if (has(event, wire::kEventPosts)) {
    cost = costs_.start;
  } else if (use.kind == FunctionUse::Kind::kPoll ||
             use.kind == FunctionUse::Kind::kCompletesSeveral ||
             has(event, wire::kEventCompletes)) {
    cost = costs_.completion;
  } else if (has(event, wire::kEventSend | wire::kEventReceive)) {
    cost = costs_.message;
  }
  return cost;
}

// ---- events ----

Result<void> RunCalls::add(const wire::Event& recorded, const FunctionUse& use,
                           std::string_view name) {
  if (has_ended_ || recorded.kind == wire::kKindRegion) return {};
  wire::Event event = recorded;
  event.begin_ns = clamp_time(event.begin_ns);
  event.end_ns = std::max(event.begin_ns, clamp_time(event.end_ns));
  if (has(event, wire::kEventSend | wire::kEventReceive) &&
      (event.peer < 0 || static_cast<std::uint32_t>(event.peer) >= shared_.ranks)) {
    return refuse(name, "the other rank of its message is not in its world; the file is damaged");
  }
  if (shared_.operations_left == 0) return too_many();
  const std::uint32_t size = sequence_.size();
  auto thread = enter(event);
  if (!thread) return unexpected(thread.error());
  auto done = event.kind == wire::kKindCompletion ? part(**thread, event, use, name)
                                                  : call(**thread, event, use, name);
  if (!done) return done;
  const std::uint64_t added = sequence_.size() - size;
  if (added > shared_.operations_left) return too_many();
  shared_.operations_left -= added;
  return {};
}

Result<void> RunCalls::begin_call(Thread& thread, const wire::Event& event,
                                  const FunctionUse& use) {
  auto ended = end_call(thread);
  if (!ended) return ended;
  const Nanos gap = computed(thread, event, use);
  const Nanos in_files = std::min(gap, std::exchange(thread.in_files, 0));
  const std::uint64_t ns = scale_.next(static_cast<std::uint64_t>(gap - in_files)) +
                           static_cast<std::uint64_t>(in_files);
  if (ns > 0) sequence_.run({.amount = ns, .kind = Kind::kCompute});
  thread.before_call = sequence_.strand();
  thread.call_begin = event.begin_ns;
  thread.call_end = thread.last_end = event.end_ns;
  thread.function = event.function;
  thread.added = cost_of(event, use);
  const bool polled = std::exchange(thread.polls, has(event, wire::kEventFindsNothing));
  if (thread.polls) {
    if (!polled || thread.poll != event.function) thread.turn_ns.reset();
    thread.poll = event.function;
    thread.poll_is_sampled = use.is_sampled;
    thread.poll_ns = thread.call_end - thread.call_begin;
  }
  return {};
}

Result<void> RunCalls::call(Thread& thread, const wire::Event& event, const FunctionUse& use,
                            std::string_view name) {
  using enum FunctionUse::Kind;
  if (use.kind == kInit) {
    thread.last_end = event.end_ns;
    thread.added = cost_of(event, use);
    return {};
  }
  if (use.kind == kComputing) {
    has_files_ |= use.about_files;
    const Nanos cost = saturating_add(cost_of(event, use), counted_cost(event));
    thread.added = saturating_add(thread.added, cost);
    if (use.about_files) {
      thread.in_files = saturating_add(thread.in_files, event.end_ns - event.begin_ns);
    }
    return {};
  }
  constexpr std::uint16_t kMatters = wire::kEventSend | wire::kEventReceive | wire::kEventPosts |
                                     wire::kEventCompletes | wire::kEventCollective;
  if (event.calls > 1 && use.kind != kPoll && has(event, kMatters)) {
    return refuse(name, "the function was sampled; record the run again with --sample none");
  }
  auto begun = begin_call(thread, event, use);
  if (!begun) return begun;
  if (event.result != 0) {
    // It may have completed some of its requests.
    if (use.kind == kCompletesSeveral) thread.pending.kind = Pending::Kind::kCompletion;
    return {};
  }
  if (use.kind == kRefused) {
    return refuse(name,
                  "a program cannot express one-sided transfers and collectives on neighbours; "
                  "predict a run without them");
  }
  if (use.kind == kFinalize) return finalize();
  if (use.kind == kCollective) {
    if (event.comm == wire::kCommSelf) return {};
    if (!has(event, wire::kEventCollective)) {
      return refuse(name, "the run was recorded by an older xylem; record it again");
    }
    thread.pending.kind = Pending::Kind::kCollective;
    thread.pending.event = event;
    thread.pending.function = use.collective;
    thread.pending.name = name;
  } else {
    operate(thread, event, use);
  }
  return {};
}

/// A further record of a call, or of a test that sampling has left out.
Result<void> RunCalls::part(Thread& thread, const wire::Event& event, const FunctionUse& use,
                            std::string_view name) {
  const bool is_of_call = event.begin_ns == thread.call_begin && event.end_ns == thread.call_end &&
                          event.function == thread.function;
  if (use.kind == FunctionUse::Kind::kComputing) return {};
  if (!is_of_call) {
    if (use.kind != FunctionUse::Kind::kPoll) {
      return refuse(name, "the function was sampled; record the run again with --sample none");
    }
    auto begun = begin_call(thread, event, use);
    if (!begun) return begun;
    operate(thread, event, use);
    return {};
  }
  thread.added += costs_.part;
  Pending& pending = thread.pending;
  if (has(event, wire::kEventBlock)) {
    if (event.peer >= 0)
      pending.blocks.push_back({static_cast<std::uint32_t>(event.peer), event.bytes, event.room});
  } else if (has(event, wire::kEventPosts)) {
    start(event, use);
  } else if (has(event, wire::kEventCompletes)) {
    complete(event, pending.operations);
  } else if (has(event, wire::kEventReceive) && pending.receive) {
    sequence_.replace(*pending.receive, receive_of(event));
    pending.receive.reset();
  }
  return {};
}

// ---- operations ----

Operation RunCalls::send_of(const wire::Event& event, const FunctionUse& use) const {
  Operation made;
  made.kind = Kind::kSend;
  made.amount = event.bytes;
  made.peer = static_cast<std::uint32_t>(event.peer);
  made.tag = shared_.tags.number_of(event.comm, event.tag);
  made.synchronous = use.synchronous;
  made.buffered = use.buffered;
  return made;
}

Operation RunCalls::receive_of(const wire::Event& event) const {
  Operation made;
  made.kind = Kind::kReceive;
  made.amount = event.bytes;
  made.peer = static_cast<std::uint32_t>(event.peer);
  made.tag = shared_.tags.number_of(event.comm, event.tag);
  return made;
}

/// The operations of a call that is not a collective.
void RunCalls::operate(Thread& thread, const wire::Event& event, const FunctionUse& use) {
  if (has(event, wire::kEventPosts)) return start(event, use);
  if (use.kind == FunctionUse::Kind::kSendReceive) {
    Pending& pending = thread.pending;
    pending.kind = Pending::Kind::kSendReceive;
    // Until its message is known, it does nothing.
    pending.receive = sequence_.start({.kind = Kind::kCompute});
    pending.operations.push_back(*pending.receive);
    if (has(event, wire::kEventSend))
      pending.operations.push_back(sequence_.start(send_of(event, use)));
    return;
  }
  const bool may_have_parts =
      use.kind == FunctionUse::Kind::kCompletesSeveral || use.kind == FunctionUse::Kind::kPoll;
  if (may_have_parts || has(event, wire::kEventCompletes)) {
    thread.pending.kind = Pending::Kind::kCompletion;
    if (has(event, wire::kEventCompletes)) complete(event, thread.pending.operations);
  } else if (has(event, wire::kEventSend)) {
    sequence_.run(send_of(event, use));
  } else if (has(event, wire::kEventReceive)) {
    sequence_.run(receive_of(event));
  }
}

void RunCalls::start(const wire::Event& event, const FunctionUse& use) {
  Open opened;
  const bool receives =
      use.kind == FunctionUse::Kind::kSendReceive || !has(event, wire::kEventSend);
  // What it receives is known when it is completed.
  if (receives) opened.receive = sequence_.start({.kind = Kind::kCompute});
  if (has(event, wire::kEventSend)) opened.send = sequence_.start(send_of(event, use));
  if (event.request != 0) open_[event.request] = opened;
}

/// Adds the operations of a request that is complete.
void RunCalls::complete(const wire::Event& event, std::vector<std::uint32_t>& operations) {
  const auto found = open_.find(event.request);
  if (found == open_.end()) return;
  const Open opened = found->second;
  open_.erase(found);
  if (opened.receive && has(event, wire::kEventReceive)) {
    sequence_.replace(*opened.receive, receive_of(event));
    operations.push_back(*opened.receive);
  }
  if (opened.send) operations.push_back(*opened.send);
  if (opened.collective) operations.push_back(*opened.collective);
}

/// All parts of the thread's newest call have been read.
Result<void> RunCalls::end_call(Thread& thread) {
  Pending& pending = thread.pending;
  const auto kind = std::exchange(pending.kind, Pending::Kind::kNothing);
  Result<void> done;
  if (kind == Pending::Kind::kCollective) {
    done = collect(pending);
  } else if (kind != Pending::Kind::kNothing && !pending.operations.empty()) {
    sequence_.wait_for(pending.operations);
  }
  pending.operations.clear();
  pending.blocks.clear();
  pending.receive.reset();
  return done;
}

Result<void> RunCalls::collect(const Pending& pending) {
  const auto found =
      shared_.collectives.find(pending.function, rank_, pending.event, pending.blocks);
  if (!found) return refuse(pending.name, found.error().message + ", so it cannot be replayed");
  const Strand before = sequence_.strand();
  append_collective(found->call, found->communicator, found->place, shared_.model, sequence_);
  if (!pending.function.is_immediate) return {};
  const std::uint32_t end = sequence_.run({.kind = Kind::kCompute});
  if (pending.event.request != 0) open_[pending.event.request].collective = end;
  sequence_.go_on(before);
  return {};
}

/// The rank waits for all its threads.
Result<void> RunCalls::finalize() {
  has_ended_ = true;
  std::vector<std::uint32_t> last;
  const Strand mine = sequence_.strand();
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    if (i == current_ || !threads_[i].has_begun) continue;
    sequence_.go_on(threads_[i].strand);
    auto ended = end_call(threads_[i]);
    if (!ended) return ended;
    last.push_back(sequence_.run({.kind = Kind::kCompute}));
  }
  sequence_.go_on(mine);
  if (!last.empty()) sequence_.wait_for(last);
  return {};
}

Result<RankProgram> RunCalls::finish() {
  // Without MPI_Finalize, threads end where they are.
  for (std::uint32_t i = 0; i < threads_.size() && !has_ended_; ++i) {
    if (i != current_) threads_[current_].strand = sequence_.strand();
    if (i != current_) sequence_.go_on(threads_[i].strand);
    current_ = i;
    auto ended = end_call(threads_[i]);
    if (!ended) return unexpected(ended.error());
  }
  return std::move(sequence_).finish();
}

}  // namespace xylem::predict
