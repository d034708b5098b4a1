#include "predict/trace/collective_messages.h"

#include <vector>

#include "base/check.h"
#include "base/saturating.h"

namespace xylem::predict {
namespace {

constexpr std::uint64_t kFemtosecondsPerNanosecond = 1'000'000;

Operation operation_of(const Message& message, Kind kind, const Communicator& communicator) {
  Operation made;
  made.kind = kind;
  made.amount = message.bytes;
  made.peer = communicator.members.empty() ? message.peer : communicator.members[message.peer];
  made.tag = kFirstCollectiveTag + communicator.number;
  return made;
}

/// Nanoseconds for `bytes`, rounded to the nearest, halves up. At most 2^64 - 1.
std::uint64_t reduce_ns(std::uint64_t bytes, std::uint64_t fs_per_byte) {
  const std::uint64_t whole = saturating_multiply(bytes / kFemtosecondsPerNanosecond, fs_per_byte);
  const std::uint64_t rest = bytes % kFemtosecondsPerNanosecond * fs_per_byte;
  return saturating_add(whole,
                        (rest + kFemtosecondsPerNanosecond / 2) / kFemtosecondsPerNanosecond);
}

void append_messages(const Step& step, const Communicator& communicator, Sequence& sequence) {
  if (step.receives.size() + step.sends.size() == 1) {
    const bool sends = step.receives.empty();
    sequence.run(operation_of(sends ? step.sends[0] : step.receives[0],
                              sends ? Kind::kSend : Kind::kReceive, communicator));
    return;
  }
  std::vector<std::uint32_t> posted;
  for (const Message& it : step.receives) {
    posted.push_back(sequence.start(operation_of(it, Kind::kReceive, communicator)));
  }
  if (step.sends.size() == 1) {
    sequence.run(operation_of(step.sends[0], Kind::kSend, communicator));
  } else {
    for (const Message& it : step.sends) {
      posted.push_back(sequence.start(operation_of(it, Kind::kSend, communicator)));
    }
  }
  sequence.wait_for(posted);
}

}  // namespace

void append_schedule(const Schedule& schedule, const Communicator& communicator,
                     std::uint64_t reduce_fs_per_byte, Sequence& sequence) {
  CHECK(communicator.number < kFirstCollectiveTag && reduce_fs_per_byte <= kMaxReduceFsPerByte);
  for (const Step& step : schedule) {
    if (step.receives.empty() && step.sends.empty()) continue;
    append_messages(step, communicator, sequence);
    std::uint64_t reduced = 0;
    for (const Message& it : step.receives) {
      if (it.effect == Effect::kStore) continue;
      const std::uint64_t times = it.effect == Effect::kCombineAndPrefix ? 2 : 1;
      reduced = saturating_add(reduced, saturating_multiply(it.bytes, times));
    }
    const std::uint64_t ns = reduce_ns(reduced, reduce_fs_per_byte);
    if (ns > 0) sequence.run({.amount = ns, .kind = Kind::kCompute});
  }
}

void append_collective(const CollectiveCall& call, const Communicator& communicator,
                       std::uint32_t rank, const CollectiveModel& model, Sequence& sequence) {
  append_schedule(
      schedule_of(call, model.choice.choose(call, communicator.ranks), communicator.ranks, rank),
      communicator, model.reduce_fs_per_byte, sequence);
}

}  // namespace xylem::predict
