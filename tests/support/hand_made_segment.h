#pragma once

// A process's segment, filled by a test instead of MPI calls. The segment follows the rules of
// capture/core/ring.h.

#include <sys/mman.h>

#include <cstring>
#include <string>
#include <vector>

#include "backend/agent/segment.h"
#include "backend/leaf/mapping.h"
#include "capture/core/ring.h"

namespace xylem::testing {

/// The fields of a record that a test sets. The others are filled in.
struct HandMadeCall {
  std::uint16_t function = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  std::int32_t peer = capture::kNoPeer;
  std::uint32_t calls = 1;
  std::uint16_t flags = 0;  ///< With kRecordPart, `calls` must be 0.
  std::uint64_t request = 0;
  std::uint64_t caller = 0;
  bool is_counted = false;  ///< The call was counted when it began: see HandMadeSegment::begin().
};

/// The process's side of a segment. Times are CLOCK_MONOTONIC ns unless header().clock is changed.
class HandMadeSegment {
 public:
  explicit HandMadeSegment(std::uint32_t ring_records = 1024, std::uint32_t functions = 8)
      : capacity_(ring_records) {
    const std::size_t bytes = capture::segment_bytes(capture::kMaxThreads, ring_records);
    fd_ = *backend::make_memory("hand-made", bytes);
    mapping_ = *backend::Mapping::of(fd_.get(), bytes);
    capture::SegmentHeader& at = header();
    at.magic = capture::kSegmentMagic;
    at.layout_version = capture::kLayoutVersion;
    at.ring_records = ring_records;
    at.max_rings = capture::kMaxThreads;
    at.segment_bytes = bytes;
    at.pid = 4711;
    at.clock = capture::ClockKind::kMonotonic;
    at.enabled.store(1);
    at.function_count = functions;
    for (std::uint32_t t = 0; t < capture::kMaxThreads; ++t) {
      ring_at(t).limit.store(ring_records);
      for (std::uint8_t block = 0; block < capture::kRingBlocks; ++block)
        ring_at(t).block_of[block].store(block);
    }
    for (std::uint32_t f = 0; f < functions; ++f) {
      const std::string name = "MPI_Function_" + std::to_string(f);
      std::memcpy(at.functions[f].name, name.c_str(), name.size() + 1);
    }
    std::memcpy(at.program, "hand-made", 10);
  }

  /// Sets the state that a process has after MPI_Init.
  void enter_world(std::uint32_t rank, std::uint32_t size) {
    header().rank = rank;
    header().world_size = size;
    header().world_key[0] = 1;
    header().state.store(capture::ProcessState::kRunning);
  }

  /// Counts a call and writes its record, or a part if `flags` says so. If the ring is full,
  /// counts the call as lost and returns false.
  bool write(std::uint32_t thread, const HandMadeCall& call) {
    capture::ThreadRing& ring = ring_at(thread);
    if (header().threads.load() <= thread) header().threads.store(thread + 1);
    ring.used.store(1);
    if (!call.is_counted) ring.calls[call.function].fetch_add(call.calls);
    const std::uint64_t head = ring.head.load();
    if (head - ring.tail.load() >= capacity_) {
      ring.lost[call.function].fetch_add(call.calls);
      return false;
    }
    capture::Record& record = records_of(thread)[capture::slot_of(ring, head, capacity_)];
    record = {};
    record.begin = call.begin;
    record.end = call.end;
    record.request = call.request & capture::kMaxRecordBytes;
    record.bytes = call.bytes & capture::kMaxRecordBytes;
    record.comm = capture::kCommWorld;
    record.peer = call.peer;
    record.tag = capture::kNoTag;
    record.calls = call.calls & capture::kMaxRecordCalls;
    record.function = call.function & 0xfff;
    record.flags = call.flags;
    record.cpu = capture::kNoCpu;
    record.caller = call.caller & capture::kMaxAddress;
    ring.head.store(head + 1, std::memory_order_release);
    return true;
  }

  /// Counts a call and publishes it as the call under way, as a thread does that begins a call.
  /// write() with `is_counted` ends it.
  void begin(std::uint32_t thread, std::uint16_t function, std::uint64_t ticks,
             std::int32_t peer = capture::kNoPeer, std::uint32_t comm = capture::kCommWorld) {
    count(thread, function);
    capture::CallUnderWay& now = ring_at(thread).under_way;
    now.where.store(capture::where_of(peer, comm), std::memory_order_release);
    now.function.store(function, std::memory_order_release);
    now.begin.store(ticks, std::memory_order_release);
  }
  /// Takes the published call back, as a thread does before it reads the end's time.
  void take_back(std::uint32_t thread) {
    ring_at(thread).under_way.begin.store(0, std::memory_order_release);
  }

  /// Counts a call that has no record, because sampling leaves it out or because the process dies
  /// in it.
  void count(std::uint32_t thread, std::uint16_t function) {
    if (header().threads.load() <= thread) header().threads.store(thread + 1);
    ring_at(thread).calls[function].fetch_add(1);
  }

  /// Appends an entry to the log of definitions; `payload` is a type of capture/core/definitions.h.
  template <typename Payload>
  void define(capture::DefinitionKind kind, const Payload& payload) {
    static_assert(sizeof payload % 8 == 0);
    append_definition(capture::DefinitionHead{kind, sizeof payload, 0});
    append_definition(payload);
    header().definitions.head.store(defined_, std::memory_order_release);
  }

  /// Does what the first step of each call does: tells a sleeping agent. Returns true if the agent
  /// slept.
  bool wake_agent() {
    std::uint32_t asleep = capture::kOnAgentSleeps;
    return header().enabled.compare_exchange_strong(asleep, capture::kOn);
  }

  std::uint64_t calls(std::uint16_t function) {
    std::uint64_t sum = 0;
    for (std::uint32_t t = 0; t < header().threads.load(); ++t)
      sum += ring_at(t).calls[function].load();
    return sum;
  }
  std::uint64_t lost(std::uint16_t function) {
    std::uint64_t sum = 0;
    for (std::uint32_t t = 0; t < header().threads.load(); ++t)
      sum += ring_at(t).lost[function].load();
    return sum;
  }

  const UniqueFd& fd() const { return fd_; }
  /// The agent's view of the same memory.
  backend::Segment view() { return *backend::Segment::map(fd_); }
  capture::SegmentHeader& header() {
    return *reinterpret_cast<capture::SegmentHeader*>(mapping_.bytes().data());
  }
  capture::ThreadRing& ring_at(std::uint32_t thread) {
    return *reinterpret_cast<capture::ThreadRing*>(mapping_.bytes().data() +
                                                   capture::ring_offset(thread));
  }
  capture::Record* records_of(std::uint32_t thread) {
    return reinterpret_cast<capture::Record*>(
        mapping_.bytes().data() + capture::records_offset(thread, capture::kMaxThreads, capacity_));
  }

 private:
  template <typename Part>
  void append_definition(const Part& part) {
    std::byte* const log = mapping_.bytes().data() + capture::definitions_offset();
    std::memcpy(log + defined_ % capture::kDefinitionBytes, &part, sizeof part);
    defined_ += sizeof part;
  }

  std::uint32_t capacity_;
  std::uint64_t defined_ = 0;
  UniqueFd fd_;
  backend::Mapping mapping_;
};

/// Zeroed, page-aligned memory for a journal. It outlives the objects that use it, as a memfd does.
class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : fd_(*backend::make_memory("test", bytes)),
        mapping_(*backend::Mapping::of(fd_.get(), bytes)) {}
  std::span<std::byte> bytes() const { return mapping_.bytes(); }

 private:
  UniqueFd fd_;
  backend::Mapping mapping_;
};

}  // namespace xylem::testing
