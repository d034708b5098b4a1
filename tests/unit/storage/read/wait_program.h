#pragma once

// Programs whose events a test writes down, to analyse their wait states.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "storage/read/wait_states.h"

namespace xylem::storage::wait_program {

/// Indexes into functions().
constexpr FunctionIndex kRecv{0}, kSendCall{1}, kIsend{2}, kIrecv{3}, kWaitCall{4}, kWaitallCall{5},
    kSendrecv{6}, kBarrier{7}, kBcast{8}, kReduce{9}, kIbarrier{10}, kScan{11}, kIbcast{12},
    kIreduce{13}, kProbeCall{14};
inline std::vector<WaitFunction> functions() {
  std::vector<WaitFunction> made;
  for (const char* name : {"MPI_Recv", "MPI_Send", "MPI_Isend", "MPI_Irecv", "MPI_Wait",
                           "MPI_Waitall", "MPI_Sendrecv"}) {
    made.push_back({name, role_of(name, "point_to_point")});
  }
  for (const char* name : {"MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Ibarrier", "MPI_Scan",
                           "MPI_Ibcast", "MPI_Ireduce"}) {
    made.push_back({name, role_of(name, "collective")});
  }
  made.push_back({"MPI_Probe", role_of("MPI_Probe", "probe")});
  return made;
}

struct ProgramEvent {
  FunctionIndex function{};
  wire::Event event;
};

/// Events of some ranks. Each function appends one call to a rank, with its begin and end.
class Program {
 public:
  explicit Program(std::uint32_t ranks) : ranks_(ranks) {}

  ProgramEvent& call(std::uint32_t rank, FunctionIndex function, Nanos begin, Nanos end) {
    ProgramEvent& made = ranks_[rank].emplace_back();
    made.function = function;
    made.event.begin_ns = begin;
    made.event.end_ns = end;
    made.event.comm = CommId{0};
    made.event.tag = 1;
    made.event.bytes = 1024;
    return made;
  }
  ProgramEvent& message(std::uint32_t rank, FunctionIndex function, std::uint8_t flag,
                        std::uint32_t peer, Nanos begin, Nanos end) {
    ProgramEvent& made = call(rank, function, begin, end);
    made.event.flags = flag | wire::kEventNumbered;
    made.event.peer = static_cast<std::int32_t>(peer);
    const bool sends = flag == wire::kEventSend;
    made.event.number = numbers_[{sends, sends ? rank : peer, sends ? peer : rank}]++;
    return made;
  }
  ProgramEvent& send(std::uint32_t rank, std::uint32_t to, Nanos begin, Nanos end,
                     FunctionIndex function = kSendCall) {
    return message(rank, function, wire::kEventSend, to, begin, end);
  }
  ProgramEvent& receive(std::uint32_t rank, std::uint32_t from, Nanos begin, Nanos end,
                        FunctionIndex function = kRecv) {
    return message(rank, function, wire::kEventReceive, from, begin, end);
  }
  /// A send or a collective that does not block, and the MPI_Wait for it.
  void isend(std::uint32_t rank, std::uint32_t to, Nanos at, std::uint64_t request) {
    start(send(rank, to, at, at + 1, kIsend), request);
  }
  void wait_for(std::uint32_t rank, std::uint64_t request, Nanos begin, Nanos end) {
    wire::Event& event = call(rank, kWaitCall, begin, end).event;
    event.request = request;
    event.flags = wire::kEventCompletes;
  }
  void nonblocking(std::uint32_t rank, FunctionIndex function, Nanos at, std::uint64_t request,
                   std::int32_t root = wire::kNoPeer) {
    start(collective(rank, function, at, at + 1, root), request);
  }
  void probe(std::uint32_t rank, std::uint32_t from, Nanos begin, Nanos end) {
    call(rank, kProbeCall, begin, end).event.peer = static_cast<std::int32_t>(from);
  }
  /// A message that the last call of the rank has completed.
  ProgramEvent& completion(std::uint32_t rank, std::uint32_t from) {
    const ProgramEvent of = ranks_[rank].back();
    ProgramEvent& made = receive(rank, from, of.event.begin_ns, of.event.end_ns, of.function);
    made.event.kind = wire::kKindCompletion;
    made.event.calls = 0;
    return made;
  }
  /// A request of a send or a collective that the last call of the rank has completed.
  void completed(std::uint32_t rank, std::uint64_t request) {
    const ProgramEvent of = ranks_[rank].back();
    ProgramEvent& made = call(rank, of.function, of.event.begin_ns, of.event.end_ns);
    made.event.kind = wire::kKindCompletion;
    made.event.calls = 0;
    made.event.request = request;
    made.event.flags = wire::kEventCompletes;
  }
  void sendrecv(std::uint32_t rank, std::uint32_t to, std::uint32_t from, Nanos begin, Nanos end) {
    send(rank, to, begin, end, kSendrecv);
    completion(rank, from);
  }
  ProgramEvent& collective(std::uint32_t rank, FunctionIndex function, Nanos begin, Nanos end,
                           std::int32_t root = wire::kNoPeer) {
    ProgramEvent& made = call(rank, function, begin, end);
    made.event.flags = wire::kEventNumbered;
    made.event.peer = root;
    made.event.number = collectives_[rank]++;
    return made;
  }

  /// In which order the ranks' events are added.
  enum class Order { kByTime, kByRank };
  WaitStates analyse(Order order = Order::kByTime) const {
    WaitAnalysis analysis(functions());
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      analysis.add_process(WorldId{0}, Rank{rank});
      analysis.add_member(ProcessIndex{rank}, CommId{0});
    }
    std::vector<std::size_t> at(ranks_.size());
    while (true) {
      std::optional<std::uint32_t> next;
      for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        if (at[rank] == ranks_[rank].size()) continue;
        if (!next || (order == Order::kByTime && ranks_[rank][at[rank]].event.end_ns <
                                                     ranks_[*next][at[*next]].event.end_ns)) {
          next = rank;
        }
      }
      if (!next) break;
      const ProgramEvent& of = ranks_[*next][at[*next]++];
      analysis.add(ProcessIndex{*next}, of.function, of.event);
    }
    return analysis.finish();
  }

  std::vector<std::vector<ProgramEvent>>& ranks() { return ranks_; }

 private:
  static void start(ProgramEvent& made, std::uint64_t request) {
    made.event.request = request;
    made.event.flags |= wire::kEventPosts;
  }

  std::vector<std::vector<ProgramEvent>> ranks_;
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
  std::map<std::uint32_t, std::uint32_t> collectives_;
};

/// "rank 1 for 2 (root 3): late_sender MPI_Recv 40 ns, 1 calls"
inline std::vector<std::string> lines(const WaitStates& states) {
  std::vector<std::string> made;
  for (const WaitState& row : states.rows) {
    made.push_back(std::to_string(raw(row.rank)) + " for " + std::to_string(raw(*row.cause_rank)) +
                   " root " + std::to_string(raw(*row.root_rank)) + ": " +
                   wait_kind_name(row.kind) + " " + row.function + " " +
                   std::to_string(row.time_ns) + " ns, " + std::to_string(row.calls));
  }
  return made;
}

}  // namespace xylem::storage::wait_program
