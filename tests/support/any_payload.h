#pragma once

// Makes payloads, and parts of payloads, from a fuzzer's bytes. A peer that has the key can send
// such payloads. Numbers are mostly small, so that different values often refer to the same leaf,
// lane or function.

#include <array>
#include <string>
#include <vector>

#include "tests/support/byte_source.h"
#include "wire/chunk.h"
#include "wire/packet.h"
#include "wire/profile.h"
#include "wire/registration.h"
#include "wire/tombstone.h"
#include "wire/waves.h"

namespace xylem::testing {

inline std::string any_name(ByteSource& in) {
  static const std::array<std::string, 6> kNames{"",     "node1", "node2",
                                                 "node", "a b",   std::string("\xff\0\n", 3)};
  return in.one_of(kNames);
}

inline IntervalSet any_leaves(ByteSource& in) {
  IntervalSet leaves;
  for (std::size_t left = in.below(4); left > 0; --left) {
    const std::uint64_t first = in.number<std::uint32_t>();
    // Mostly few leaves; sometimes all possible leaves, to find code that visits each leaf.
    const std::size_t length = in.below(16);
    leaves.insert(first, length == 15 ? std::uint64_t{raw(wire::kNoLeaf)} : first + 1 + length % 3);
  }
  return leaves;
}

inline StreamId any_stream(ByteSource& in) {
  return in.one_of(std::array{wire::kEveryStream, wire::kRegistrationStream, wire::kWindowStream,
                              wire::kChunkStream, wire::kFirstToolStream,
                              StreamId{raw(wire::kFirstToolStream) + 1}, StreamId{0xffffffff}});
}

inline wire::Fields any_fields(ByteSource& in) {
  wire::Fields fields;
  for (std::size_t left = in.below(4); left > 0; --left) {
    const auto number = static_cast<wire::FieldNumber>(1 + in.below(8));
    switch (in.below(6)) {
      case 0:
        fields.set(number, in.number<std::int64_t>());
        break;
      case 1:
        fields.set(number, in.number<std::uint64_t>());
        break;
      case 2:
        fields.set(number, static_cast<double>(in.number<std::int64_t>()));
        break;
      case 3:
        fields.set(number, any_name(in));
        break;
      case 4:
        fields.set(number, std::vector<std::int64_t>(in.below(5), in.number<std::int64_t>()));
        break;
      default:
        fields.set(number, std::vector<double>(in.below(5), 0.5 * in.number<std::int32_t>()));
    }
  }
  return fields;
}

inline wire::Definitions any_definitions(ByteSource& in) {
  wire::Definitions definitions;
  for (std::size_t left = in.below(4); left > 0; --left) {
    const CommId comm{in.number<std::uint32_t>() & 3};
    definitions.communicators.push_back({comm, CommId{1}, in.number<std::uint64_t>(),
                                         wire::CommunicatorKind{in.byte()},
                                         in.number<std::uint32_t>(), in.number<std::uint32_t>()});
    definitions.members.push_back(
        {in.number<std::uint64_t>(), in.number<std::uint32_t>(), in.coin()});
    definitions.names.push_back({comm, any_name(in)});
    definitions.dimensions.push_back({comm, in.byte(), in.number<std::int32_t>(), in.coin()});
    definitions.neighbours.push_back({comm, in.coin(), in.byte(), std::nullopt});
    definitions.call_sites.push_back({CallSiteId{in.number<std::uint64_t>()}, any_name(in),
                                      std::vector<std::byte>(in.below(30), std::byte{7}),
                                      in.number<std::uint64_t>()});
  }
  definitions.lost = in.number<std::uint64_t>();
  return definitions;
}

inline wire::Bytes any_registration(ByteSource& in) {
  wire::Registration registration;
  registration.host = any_name(in);
  for (std::size_t left = in.below(4); left > 0; --left) {
    registration.functions.push_back({FunctionId{in.number<std::uint16_t>()}, any_name(in), 1});
  }
  for (std::size_t left = in.below(4); left > 0; --left) {
    wire::ProcessRow row;
    row.lane = Lane{in.number<std::uint32_t>()};
    row.pid = in.number<std::uint32_t>();
    row.initialised = in.coin();
    row.world_key.fill(in.byte() & 3);
    row.rank = Rank{in.number<std::uint32_t>()};
    row.world_size = in.number<std::uint32_t>();
    if (row.initialised) row.definitions = any_definitions(in);
    registration.processes.push_back(std::move(row));
  }
  return wire::encode(registration);
}

inline wire::AccountRow any_account(ByteSource& in) {
  wire::AccountRow row;
  row.leaf = LeafId{in.number<std::uint32_t>()};
  row.lane = Lane{in.number<std::uint32_t>()};
  for (std::uint64_t* counter :
       {&row.captured, &row.lost, &row.windowed, &row.events, &row.event_calls, &row.lost_messages,
        &row.lost_message_bytes, &row.lost_receives, &row.lost_parts, &row.untracked_receives}) {
    *counter = in.number<std::uint64_t>();
  }
  row.ended = in.coin();
  row.silent_since_ns = in.number<Nanos>();
  if (in.coin()) row.inside = FunctionId{in.number<std::uint16_t>()};
  row.stopped = in.coin();
  if (in.coin()) {
    row.loss_by_function = {{FunctionId{in.number<std::uint16_t>()}, in.number<std::uint64_t>()}};
  }
  return row;
}

inline wire::Bytes any_tombstone(ByteSource& in) {
  wire::Tombstone tombstone{any_name(in), in.number<std::uint64_t>()};
  for (std::size_t left = in.below(3); left > 0; --left) {
    tombstone.lanes.push_back({LeafId{in.number<std::uint32_t>()}, Lane{in.number<std::uint32_t>()},
                               in.number<std::uint64_t>()});
  }
  for (std::size_t left = in.below(3); left > 0; --left) {
    tombstone.accounts.push_back(any_account(in));
  }
  return wire::encode(tombstone);
}

inline wire::Bytes any_window(ByteSource& in) {
  wire::ProfileWindow window;
  window.begin_ns = in.number<Nanos>();
  window.end_ns = in.number<Nanos>();
  const auto process = [&](auto& row) {
    row.leaf = LeafId{in.number<std::uint32_t>()};
    row.lane = Lane{in.number<std::uint32_t>()};
  };
  for (std::size_t left = in.below(3); left > 0; --left) {
    wire::ProfileRow& row = window.rows.emplace_back();
    process(row);
    row.function = FunctionId{in.number<std::uint16_t>()};
    row.estimated = in.coin();
    row.calls = in.number<std::uint64_t>();
    row.calls_so_far = in.number<std::uint64_t>();
    row.time_ns = in.number<std::uint64_t>();
    row.min_ns = in.number<std::uint64_t>();
    row.max_ns = in.number<std::uint64_t>();
    row.bytes = in.number<std::uint64_t>();
    row.histogram.add(in.number<std::uint64_t>(), in.number<std::uint64_t>());
  }
  for (std::size_t left = in.below(3); left > 0; --left) {
    wire::MatrixRow& row = window.matrix.emplace_back();
    process(row);
    row.destination = Rank{in.number<std::uint32_t>()};
    row.bytes = in.number<std::uint64_t>();
    row.messages = in.number<std::uint64_t>();
    wire::WaitRow& wait = window.waits.emplace_back();
    process(wait);
    wait.peer = Rank{in.number<std::uint32_t>()};
    wait.time_ns = in.number<std::uint64_t>();
    wait.calls = in.number<std::uint64_t>();
  }
  for (std::size_t left = in.below(3); left > 0; --left) {
    window.accounts.push_back(any_account(in));
  }
  for (std::size_t left = in.below(3); left > 0; --left) {
    wire::UnderWayRow& row = window.under_way.emplace_back();
    process(row);
    row.thread = ThreadIndex{in.number<std::uint32_t>()};
    row.function = FunctionId{in.number<std::uint16_t>()};
    row.begin_ns = in.number<Nanos>();
    if (in.coin()) row.peer = Rank{in.number<std::uint32_t>()};
    if (in.coin()) row.comm = CommId{in.number<std::uint32_t>()};
    wire::EarlierRow& earlier = window.earlier.emplace_back();
    process(earlier);
    earlier.function = FunctionId{in.number<std::uint16_t>()};
    earlier.estimated = in.coin();
    earlier.begin_ns = in.number<Nanos>();
    earlier.end_ns = in.number<Nanos>();
    earlier.time_ns = in.number<std::uint64_t>();
  }
  return wire::encode(window);
}

inline wire::Bytes any_chunk(ByteSource& in) {
  std::vector<wire::Event> events(1 + in.below(4));
  for (wire::Event& event : events) {
    event.begin_ns = in.number<Nanos>();
    event.end_ns = in.number<Nanos>();
    event.calls = in.number<std::uint32_t>();
    event.peer = in.number<std::int32_t>();
    event.function = FunctionId{in.number<std::uint16_t>()};
    event.kind = in.byte();
  }
  static wire::ChunkEncoder encoder;
  return encoder.encode(events);
}

inline wire::Bytes any_payload(ByteSource& in) {
  switch (in.below(7)) {
    case 0:
      return any_registration(in);
    case 1:
      return any_window(in);
    case 2:
      return any_chunk(in);
    case 3:
      return any_tombstone(in);
    case 4: {
      std::vector<wire::Fields> waves(in.below(4));
      for (wire::Fields& wave : waves) wave = any_fields(in);
      return wire::encode_waves(waves);
    }
    case 5:
      return wire::encode_fields(any_fields(in));
    default: {
      const auto some = std::as_bytes(in.take(in.below(32)));
      return {some.begin(), some.end()};
    }
  }
}

}  // namespace xylem::testing
