#pragma once

// Makes messages from a fuzzer's bytes. A peer that has the key can send such messages.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/any_payload.h"
#include "wire/message.h"

namespace xylem::testing {

inline wire::PacketId any_packet_id(ByteSource& in) {
  wire::PacketId id;
  id.stream = any_stream(in);
  id.lane = in.coin() ? kLeafLane : Lane{in.number<std::uint32_t>()};
  id.wave = in.number<std::uint64_t>();
  id.wave_end = in.coin() ? id.wave + 1 : id.wave + in.number<std::uint64_t>();
  id.sources = any_leaves(in);
  return id;
}

inline wire::Packet any_packet(ByteSource& in) {
  wire::Packet packet(any_packet_id(in), {});
  packet.alone = in.coin();
  packet.tombstone = in.below(4) == 0;
  packet.last = in.below(4) == 0;
  packet.payload = any_payload(in);
  return packet;
}

inline wire::StreamSpec any_stream_spec(ByteSource& in) {
  static const std::array<std::string, 13> kAggregations{
      "",          "sum",           "min",       "max", "count",  "moments", "classes",
      "histogram", "concatenation", "quantiles", "top", "matrix", "unheard"};
  wire::StreamSpec spec;
  spec.id = any_stream(in);
  spec.name = any_name(in);
  spec.leaves = any_leaves(in);
  spec.synchronisation =
      in.one_of(std::array{wire::Synchronisation::kWaitForAll, wire::Synchronisation::kTimeOut,
                           wire::Synchronisation::kAsItComes});
  spec.time_out_ns = in.number<Nanos>();
  spec.aggregation = in.one_of(kAggregations);
  if (in.coin()) spec.parameters = wire::encode_fields(any_fields(in));
  if (in.below(16) == 0) spec.plugin = "/nowhere/filter.so";
  if (in.coin()) spec.narrowing = in.below(8) == 0 ? "unheard" : "scatter";
  if (in.below(4) == 0) spec.narrowing_parameters = wire::encode_fields(any_fields(in));
  if (in.below(16) == 0) spec.narrowing_plugin = "/nowhere/narrow.so";
  spec.when_full = in.one_of(
      std::array{wire::WhenFull::kBlock, wire::WhenFull::kDropOldest, wire::WhenFull::kDropNewest});
  return spec;
}

inline std::vector<wire::Address> any_addresses(ByteSource& in) {
  static const std::array<wire::Address, 4> kAddresses{
      wire::Address{"10.0.0.1", 4711, "", ""}, wire::Address{"", 0, "/run/x", "folder:1"},
      wire::Address{}, wire::Address{"no address", 0, "", ""}};
  std::vector<wire::Address> addresses(in.below(3));
  for (wire::Address& address : addresses) address = in.one_of(kAddresses);
  return addresses;
}

inline wire::Control any_control(ByteSource& in) {
  wire::Control control;
  control.version = in.number<std::uint64_t>();
  control.enabled = in.coin();
  control.chunks = in.coin();
  control.window_ns = in.coin() ? 250 * kMillisecond : in.number<Nanos>();
  control.finish = in.below(8) == 0;
  control.epoch_ns = in.number<Nanos>();
  for (std::size_t left = in.below(4); left > 0; --left) {
    control.streams.push_back(any_stream_spec(in));
  }
  return control;
}

inline wire::Assignment any_assignment(ByteSource& in) {
  wire::Assignment assignment;
  assignment.node = NodeId{in.number<std::uint32_t>()};
  assignment.leaf = LeafId{in.number<std::uint32_t>()};
  assignment.level = in.number<std::uint32_t>();
  for (std::size_t left = in.below(4); left > 0; --left) {
    assignment.parents.push_back({NodeId{in.number<std::uint32_t>()}, any_addresses(in)});
  }
  return assignment;
}

inline wire::LinkReport any_link_report(ByteSource& in) {
  wire::LinkReport report;
  report.node = NodeId{in.number<std::uint32_t>()};
  report.queue_bytes = in.number<std::uint64_t>();
  report.sent_bytes = in.number<std::uint64_t>();
  report.sent_packets = in.number<std::uint64_t>();
  report.round_trip_ns = in.number<Nanos>();
  report.offset_ns = in.number<Nanos>();
  report.error_ns = in.number<Nanos>();
  report.refused = in.number<std::uint64_t>();
  return report;
}

inline wire::HostFacts any_host_facts(ByteSource& in) {
  wire::HostFacts facts;
  facts.leaf = LeafId{in.number<std::uint32_t>()};
  for (std::size_t left = in.below(4); left > 0; --left) {
    facts.facts.push_back({any_name(in), static_cast<double>(in.number<std::int64_t>()) / 1e6});
  }
  return facts;
}

inline wire::Notice any_notice(ByteSource& in) {
  wire::Notice notice;
  notice.role = in.coin() ? wire::Role::kBackEnd : wire::Role::kCommProcess;
  notice.host = any_name(in);
  notice.pid = in.number<std::uint32_t>();
  notice.error = in.coin();
  notice.age_ns = in.number<Nanos>();
  notice.text = any_name(in);
  notice.dropped = in.number<std::uint32_t>();
  notice.number = in.number<std::uint64_t>();
  return notice;
}

inline wire::Acknowledgement any_acknowledgement(ByteSource& in) {
  wire::Acknowledgement message;
  for (std::size_t left = in.below(4); left > 0; --left) {
    (in.coin() ? message.stored : message.resend).push_back(any_packet_id(in));
  }
  return message;
}

inline wire::HostReport any_host_report(ByteSource& in) {
  wire::HostReport report;
  report.name = any_name(in);
  report.host_key = any_name(in);
  report.addresses = {any_name(in)};
  report.pid = in.number<std::uint32_t>();
  report.cores = in.number<std::uint32_t>();
  report.load = in.number<std::int32_t>();
  report.processes = in.number<std::uint32_t>();
  return report;
}

inline wire::Multicast any_multicast(ByteSource& in) {
  wire::Multicast multicast;
  multicast.stream = any_stream(in);
  multicast.number = in.number<std::uint64_t>();
  multicast.leaves = any_leaves(in);
  multicast.to = any_leaves(in);
  multicast.share =
      in.coin() ? wire::MulticastShare::kWhole
                : in.one_of(std::array{wire::MulticastShare::kPart, wire::MulticastShare::kNothing,
                                       wire::MulticastShare::kFailed});
  const bool has_payload = multicast.share == wire::MulticastShare::kWhole ||
                           multicast.share == wire::MulticastShare::kPart;
  if (has_payload) multicast.payload = any_payload(in);
  return multicast;
}

inline wire::Message any_unchecked_message(ByteSource& in) {
  const auto node = [&] { return NodeId{in.number<std::uint32_t>()}; };
  switch (in.below(18)) {
    case 0:
      return any_host_report(in);
    case 1:
      return wire::StartCommProcess{node(), in.number<std::uint32_t>()};
    case 2:
      return wire::CommProcessReport{node(), any_addresses(in), in.number<std::uint32_t>(),
                                     any_name(in)};
    case 3:
      return any_assignment(in);
    case 4:
      return wire::Attached{node(), node()};
    case 5: {
      const IntervalSet leaves = any_leaves(in);
      return wire::LeafSet{leaves, in.coin() ? leaves : any_leaves(in)};
    }
    case 6:
    case 7:
    case 8:
      return any_packet(in);
    case 9:
      return any_acknowledgement(in);
    case 10:
    case 11:
      return any_control(in);
    case 12:
      return wire::Goodbye{any_name(in)};
    case 13:
      if (in.coin()) return any_host_facts(in);
      return any_link_report(in);
    case 14:
      return any_multicast(in);
    case 15: {
      const auto first = in.number<std::uint64_t>();
      return wire::MulticastGap{any_stream(in), LeafId{in.number<std::uint32_t>()}, first,
                                first + in.number<std::uint32_t>()};
    }
    case 16:
      if (in.coin()) return wire::StreamsTaken{in.number<std::uint64_t>()};
      return wire::StreamRefused{any_stream(in), node(), any_name(in), any_name(in)};
    default:
      return any_notice(in);
  }
}

/// Returns a message after encoding and decoding, as a link delivers it; nullopt if the decoder
/// refuses it.
inline std::optional<wire::Message> any_message(ByteSource& in) {
  constexpr std::size_t kLengthBytes = 4;
  const wire::Bytes frame = wire::encode(any_unchecked_message(in));
  auto message = wire::decode(std::span(frame).subspan(kLengthBytes));
  if (!message) return std::nullopt;
  return std::move(*message);
}

}  // namespace xylem::testing
