#include <type_traits>
#include <utility>

#include "wire/flat_internal.h"
#include "wire/message_internal.h"

namespace xylem::wire {
namespace {

using internal::blob;
using internal::fixed;
using internal::text;

// One overload a message; `out` is where it goes.

void write(const IntervalSet& set, capnp::List<schema::Interval>::Builder out) {
  unsigned i = 0;
  for (const auto& interval : set.intervals()) {
    out[i].setFirst(interval.first);
    out[i++].setEnd(interval.end);
  }
}

unsigned count(const IntervalSet& set) { return static_cast<unsigned>(set.intervals().size()); }

template <typename T>
unsigned count(const std::vector<T>& values) {
  return static_cast<unsigned>(values.size());
}

void write(const PacketId& id, schema::PacketId::Builder out) {
  out.setStream(raw(id.stream));
  out.setLane(raw(id.lane));
  out.setWave(id.wave);
  out.setWaveEnd(id.wave_end);
  write(id.sources, out.initSources(count(id.sources)));
}

void write(const Address& address, schema::Address::Builder out) {
  out.setHost(text(address.host));
  out.setPort(address.port);
  out.setUnixPath(text(address.unix_path));
  out.setHostKey(text(address.host_key));
}

void write(const Parent& m, schema::Parent::Builder out);
void write(const StreamSpec& spec, schema::StreamSpec::Builder out);
void write(const ServiceSpec& spec, schema::ServiceSpec::Builder out);

template <typename T, typename Builders>
void write_all(const std::vector<T>& values, Builders out) {
  unsigned i = 0;
  for (const T& value : values) write(value, out[i++]);
}

void write(const Unknown&, schema::Message::Builder) {
  constexpr bool kUnknownTagsAreSent = false;
  CHECK(kUnknownTagsAreSent);
}

schema::Role written(Role role) {
  return static_cast<schema::Role>(role == Role::kProgram ? Role::kBackEnd : role);
}

void write(const Hello& m, schema::Message::Builder message) {
  auto out = message.initHello();
  out.setMagic(m.magic);
  out.setMajor(m.major);
  out.setFeatures(m.features);
  out.setRole(written(m.role));
  out.setProgram(m.role == Role::kProgram);
  out.setRun(text(m.run));
  out.setNode(raw(m.node));
  out.setLeaf(raw(m.leaf));
  out.setLevel(m.level);
  out.setNonce(fixed(m.nonce));
  out.setControlVersion(m.control_version);
  out.setHostKey(text(m.host_key));
}

void write(const Challenge& m, schema::Message::Builder message) {
  message.initChallenge().setNonce(fixed(m.nonce));
}

void write(const Welcome& m, schema::Message::Builder message) {
  auto out = message.initWelcome();
  out.setMajor(m.major);
  out.setFeatures(m.features);
  out.setProof(fixed(m.proof));
  out.setNode(raw(m.node));
  out.setClock(m.clock);
  out.setRootClock(m.root_clock);
}

void write(const Proof& m, schema::Message::Builder message) {
  message.initProof().setMac(fixed(m.mac));
}

void write(const Refusal& m, schema::Message::Builder message) {
  message.initRefusal().setSentence(text(m.sentence));
}

void write(const HostReport& m, schema::Message::Builder message) {
  auto out = message.initHostReport();
  out.setName(text(m.name));
  out.setHostKey(text(m.host_key));
  auto addresses = out.initAddresses(count(m.addresses));
  unsigned i = 0;
  for (const std::string& address : m.addresses) addresses.set(i++, text(address));
  out.setPid(m.pid);
  out.setCores(m.cores);
  out.setLoad(m.load);
  out.setProcesses(m.processes);
}

void write(const StartCommProcess& m, schema::Message::Builder message) {
  auto out = message.initStartCommProcess();
  out.setNode(raw(m.node));
  out.setLevel(m.level);
}

void write(const CommProcessReport& m, schema::Message::Builder message) {
  auto out = message.initCommProcessReport();
  out.setNode(raw(m.node));
  write_all(m.addresses, out.initAddresses(count(m.addresses)));
  out.setPid(m.pid);
  out.setFailure(text(m.failure));
}

void write(const Parent& m, schema::Parent::Builder out) {
  out.setNode(raw(m.node));
  write_all(m.addresses, out.initAddresses(count(m.addresses)));
}

void write(const Assignment& m, schema::Message::Builder message) {
  auto out = message.initAssignment();
  out.setNode(raw(m.node));
  out.setLeaf(raw(m.leaf));
  out.setLevel(m.level);
  write_all(m.parents, out.initParents(count(m.parents)));
}

void write(const Attached& m, schema::Message::Builder message) {
  auto out = message.initAttached();
  out.setNode(raw(m.node));
  out.setParent(raw(m.parent));
}

void write(const LeafSet& m, schema::Message::Builder message) {
  auto out = message.initLeafSet();
  write(m.leaves, out.initLeaves(count(m.leaves)));
  write(m.ended, out.initEnded(count(m.ended)));
}

void write(const Packet& m, schema::Message::Builder message) {
  auto out = message.initPacket();
  write(m.id, out.initId());
  out.setAlone(m.alone);
  out.setTombstone(m.tombstone);
  out.setLast(m.last);
  out.setPayload(blob(std::span(m.payload)));
}

void write(const Acknowledgement& m, schema::Message::Builder message) {
  auto out = message.initAcknowledgement();
  write_all(m.stored, out.initStored(count(m.stored)));
  write_all(m.resend, out.initResend(count(m.resend)));
}

void write(const StreamSpec& spec, schema::StreamSpec::Builder out) {
  out.setId(raw(spec.id));
  out.setName(text(spec.name));
  write(spec.leaves, out.initLeaves(count(spec.leaves)));
  out.setSynchronisation(static_cast<std::uint16_t>(spec.synchronisation));
  out.setTimeOutNs(static_cast<std::uint64_t>(spec.time_out_ns));
  out.setAggregation(text(spec.aggregation));
  out.setParameters(blob(std::span(spec.parameters)));
  out.setPlugin(text(spec.plugin));
  out.setPluginSha256(fixed(spec.plugin_sha256));
  out.setWhenFull(static_cast<std::uint16_t>(spec.when_full));
  if (!spec.narrowing.empty()) out.setNarrowing(text(spec.narrowing));
  if (!spec.narrowing_parameters.empty()) {
    out.setNarrowingParameters(blob(std::span(spec.narrowing_parameters)));
  }
  if (!spec.narrowing_plugin.empty()) out.setNarrowingPlugin(text(spec.narrowing_plugin));
  if (spec.narrowing_sha256 != Sha256{}) out.setNarrowingSha256(fixed(spec.narrowing_sha256));
}

void write(const ServiceSpec& spec, schema::ServiceSpec::Builder out) {
  out.setName(text(spec.name));
  out.setProgram(text(spec.program));
  out.setIntervalNs(static_cast<std::uint64_t>(spec.interval_ns));
  out.setTimeoutNs(static_cast<std::uint64_t>(spec.timeout_ns));
}

void write(const Control& m, schema::Message::Builder message) {
  auto out = message.initControl();
  out.setVersion(m.version);
  out.setEnabled(m.enabled);
  out.setChunks(m.chunks);
  out.setWindowNs(static_cast<std::uint64_t>(m.window_ns));
  out.setFinish(m.finish);
  out.setEpochNs(m.epoch_ns);
  write_all(m.streams, out.initStreams(count(m.streams)));
  if (!m.services.empty()) write_all(m.services, out.initServices(count(m.services)));
  out.setFactsNs(static_cast<std::uint64_t>(m.facts_ns));
  out.setFactsAtOnce(m.facts_at_once);
  out.setStreamsFixed(m.streams_fixed);
}

void write(const Ping& m, schema::Message::Builder message) {
  message.initPing().setSentNs(m.sent_ns);
}

void write(const Pong& m, schema::Message::Builder message) {
  auto out = message.initPong();
  out.setPingSentNs(m.ping_sent_ns);
  out.setReceivedNs(m.received_ns);
  out.setSentNs(m.sent_ns);
  out.setRootOffsetNs(m.root_offset_ns);
  out.setRootErrorNs(m.root_error_ns);
}

void write(const Goodbye& m, schema::Message::Builder message) {
  message.initGoodbye().setReason(text(m.reason));
}

void write(const LinkReport& m, schema::Message::Builder message) {
  auto out = message.initLinkReport();
  out.setNode(raw(m.node));
  out.setQueueBytes(m.queue_bytes);
  out.setSentBytes(m.sent_bytes);
  out.setSentPackets(m.sent_packets);
  out.setRoundTripNs(m.round_trip_ns);
  out.setOffsetNs(m.offset_ns);
  out.setErrorNs(m.error_ns);
  out.setRefused(m.refused);
  out.setTransport(static_cast<std::uint16_t>(m.transport));
}

void write(const Notice& m, schema::Message::Builder message) {
  auto out = message.initNotice();
  out.setRole(written(m.role));
  out.setHost(text(m.host));
  out.setPid(m.pid);
  out.setError(m.error);
  out.setAgeNs(m.age_ns);
  out.setText(text(m.text));
  out.setDropped(m.dropped);
  out.setNumber(m.number);
}

void write(const Multicast& m, schema::Message::Builder message) {
  auto out = message.initMulticast();
  out.setStream(raw(m.stream));
  out.setNumber(m.number);
  write(m.leaves, out.initLeaves(count(m.leaves)));
  out.setPayload(blob(std::span(m.payload)));
  if (!m.to.empty()) write(m.to, out.initTo(count(m.to)));
  out.setShare(static_cast<std::uint16_t>(m.share));
}

void write(const MulticastGap& m, schema::Message::Builder message) {
  auto out = message.initMulticastGap();
  out.setStream(raw(m.stream));
  out.setLeaf(raw(m.leaf));
  out.setFirst(m.first);
  out.setEnd(m.end);
}

void write(const StreamRefused& m, schema::Message::Builder message) {
  auto out = message.initStreamRefused();
  out.setStream(raw(m.stream));
  out.setNode(raw(m.node));
  out.setHost(text(m.host));
  out.setReason(text(m.reason));
}

void write(const Credit& m, schema::Message::Builder message) {
  message.initCredit().setGranted(m.granted);
}

void write(const HostFacts& m, schema::Message::Builder message) {
  auto out = message.initHostFacts();
  out.setLeaf(raw(m.leaf));
  auto facts = out.initFacts(count(m.facts));
  unsigned i = 0;
  for (const HostFact& fact : m.facts) {
    facts[i].setName(text(fact.name));
    facts[i++].setValue(fact.value);
  }
}

void write(const StreamsTaken& m, schema::Message::Builder message) {
  auto out = message.initStreamsTaken();
  out.setVersion(m.version);
}

}  // namespace

namespace internal {

void write_message(const Message& message, schema::Message::Builder out) {
  std::visit([&](const auto& m) { write(m, out); }, message);
}

void write_message(const Packet& packet, schema::Message::Builder out) { write(packet, out); }

}  // namespace internal
}  // namespace xylem::wire
