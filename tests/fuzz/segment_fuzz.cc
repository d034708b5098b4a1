// The memory of a monitored process that writes anything into it, through the agent of its host.
// The input is a list of injuries to a real segment, ten bytes each: where, and eight bytes to be
// there.

#include <array>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "base/log.h"
#include "tests/support/agent_host.h"
#include "wire/chunk.h"
#include "wire/profile.h"

using namespace xylem;

namespace {

constexpr std::uint32_t kRingRecords = 64;

// Where there is something: the header's front, definitions, one thread's counters, its records.
std::byte* place(testing::HandMadeSegment& segment, std::size_t where) {
  const std::size_t word = where >> 2;
  auto* const header = reinterpret_cast<std::byte*>(&segment.header());
  auto* const ring = reinterpret_cast<std::byte*>(&segment.ring_at(0));
  auto* const records = reinterpret_cast<std::byte*>(segment.records_of(0));
  switch (where & 3) {
    case 0:
      return header + 8 * (word % 64);
    case 1:
      return word % 2 == 0 ? ring + 8 * (word / 2 % 32)
                           : header + capture::definitions_offset() + 8 * (word / 2 % 32);
    case 2:
      return ring + 8 * (word % (sizeof(capture::ThreadRing) / 8));
    default:
      return records + 8 * (word % (kRingRecords * sizeof(capture::Record) / 8));
  }
}

void injure(testing::HandMadeSegment& segment, const std::uint8_t* bytes, std::size_t size) {
  for (; size >= 10; bytes += 10, size -= 10) {
    std::memcpy(place(segment, bytes[0] | std::size_t{bytes[1]} << 8), bytes + 2, 8);
  }
}

void call(testing::HandMadeSegment& segment, testing::AgentHost& host, std::uint64_t bytes) {
  const auto now = static_cast<std::uint64_t>(host.network.now);
  segment.write(0, {.function = 1, .begin = now, .end = now + 500, .bytes = bytes, .peer = 1});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  set_log_sink([](Level, std::string_view) {});
  testing::AgentHost host(256u << 10);
  host.control.chunks = true;
  host.start();
  testing::HandMadeSegment& segment = host.add_process(kRingRecords);
  host.talk();
  // Half of the injuries before the agent has looked at it for long, half later.
  const std::size_t half = size / 20 * 10;
  call(segment, host, 8);
  for (std::uint64_t group = 0; group < 8; ++group)
    segment.define(capture::DefinitionKind::kMember, capture::MemberDefinition{group, 0, 0});
  injure(segment, bytes, half);
  host.pass(300 * kMillisecond);
  injure(segment, bytes + half, size - half);
  host.pass(300 * kMillisecond);
  // A neighbour's figures are its own, whatever this process has written.
  testing::HandMadeSegment& neighbour = host.add_process(kRingRecords);
  for (int i = 0; i < 5; ++i) call(neighbour, host, 8);
  for (Lane lane{1}; raw(lane) <= 2; lane = Lane{raw(lane) + 1}) host.end_process(lane);
  host.run_to_the_end();
  CHECK(host.network.stopped);
  const testing::StoredSums sums = testing::add_up(host.root);
  CHECK(sums.undecodable == 0);
  const auto calls = sums.calls.find({Lane{2}, FunctionId{1}});
  CHECK(calls != sums.calls.end() && calls->second == 5);
  return 0;
}
