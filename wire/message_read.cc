#include <cmath>
#include <limits>
#include <utility>

#include "wire/flat_internal.h"
#include "wire/message_internal.h"

namespace xylem::wire {
namespace {

using internal::blob;
using internal::fixed;
using internal::require;
using internal::text;

constexpr std::uint64_t kNoId = 0xffffffff;
constexpr std::uint64_t kLongestServiceNs = 3'600'000'000'000;  // An hour.

IntervalSet read(capnp::List<schema::Interval>::Reader in) {
  IntervalSet set;
  // The next interval must start here or later, so that intervals do not touch.
  std::uint64_t bound = 0;
  for (const auto interval : in) {
    require(interval.getFirst() >= bound, "its intervals are not ascending and apart");
    require(interval.getFirst() < interval.getEnd(), "it has an empty interval");
    require(interval.getEnd() <= kNoId, "it has an interval past the last id");
    set.insert(interval.getFirst(), interval.getEnd());
    bound = interval.getEnd() + 1;
  }
  return set;
}

PacketId read(schema::PacketId::Reader in) {
  PacketId id;
  id.stream = StreamId{in.getStream()};
  id.lane = Lane{in.getLane()};
  id.wave = in.getWave();
  id.wave_end = in.getWaveEnd();
  id.sources = read(in.getSources());
  require(id.wave < id.wave_end, "a packet has no wave");
  require(!id.sources.empty(), "a packet has no sources");
  require(id.lane == kLeafLane || id.sources.count() == 1,
          "a packet of one process has several sources");
  return id;
}

Address read(schema::Address::Reader in) {
  return {text(in.getHost()), in.getPort(), text(in.getUnixPath()), text(in.getHostKey())};
}

Parent read(schema::Parent::Reader in);
StreamSpec read(schema::StreamSpec::Reader in);

// Reserves no memory in advance. An element needs about as much memory as it has bytes in the
// message, and Cap'n Proto's limit counts each element.
template <typename Readers>
auto read_all(Readers in) {
  std::vector<decltype(read(in[0]))> values;
  for (const auto element : in) values.push_back(read(element));
  return values;
}

Parent read(schema::Parent::Reader in) {
  return {NodeId{in.getNode()}, read_all(in.getAddresses())};
}

Role read(schema::Role in) {
  const auto role = static_cast<std::uint16_t>(in);
  require(role <= static_cast<std::uint16_t>(Role::kTool), "it has an unknown role");
  return static_cast<Role>(role);
}

Hello read(schema::Hello::Reader in) {
  Hello m;
  m.magic = in.getMagic();
  m.major = in.getMajor();
  m.features = in.getFeatures();
  m.role = read(in.getRole());
  m.run = text(in.getRun());
  m.node = NodeId{in.getNode()};
  m.leaf = LeafId{in.getLeaf()};
  m.level = in.getLevel();
  m.nonce = fixed<Nonce>(in.getNonce(), "the hello's nonce is not 16 bytes");
  m.control_version = in.getControlVersion();
  m.host_key = text(in.getHostKey());
  if (in.getProgram() && m.role == Role::kBackEnd) m.role = Role::kProgram;
  return m;
}

Welcome read(schema::Welcome::Reader in) {
  Welcome m;
  m.major = in.getMajor();
  m.features = in.getFeatures();
  m.proof = fixed<Mac>(in.getProof(), "the welcome's proof is not 32 bytes");
  m.node = NodeId{in.getNode()};
  m.clock = in.getClock();
  m.root_clock = in.getRootClock();
  return m;
}

HostReport read(schema::HostReport::Reader in) {
  HostReport m;
  m.name = text(in.getName());
  m.host_key = text(in.getHostKey());
  for (const auto address : in.getAddresses()) m.addresses.push_back(text(address));
  m.pid = in.getPid();
  m.cores = in.getCores();
  m.load = in.getLoad();
  require(std::isfinite(m.load) && m.load >= 0, "a host's load is not a number from 0");
  m.processes = in.getProcesses();
  return m;
}

CommProcessReport read(schema::CommProcessReport::Reader in) {
  CommProcessReport m;
  m.node = NodeId{in.getNode()};
  m.addresses = read_all(in.getAddresses());
  m.pid = in.getPid();
  m.failure = text(in.getFailure());
  return m;
}

Assignment read(schema::Assignment::Reader in) {
  Assignment m;
  m.node = NodeId{in.getNode()};
  m.leaf = LeafId{in.getLeaf()};
  m.level = in.getLevel();
  m.parents = read_all(in.getParents());
  return m;
}

Packet read(schema::Packet::Reader in) {
  const auto payload = blob(in.getPayload());
  Packet m(read(in.getId()), Bytes(payload.begin(), payload.end()));
  m.alone = in.getAlone();
  m.tombstone = in.getTombstone();
  m.last = in.getLast();
  return m;
}

template <typename Enum>
Enum known(std::uint16_t value, Enum last, const char* otherwise) {
  require(value <= static_cast<std::uint16_t>(last), otherwise);
  return static_cast<Enum>(value);
}

StreamSpec read(schema::StreamSpec::Reader in) {
  StreamSpec spec;
  spec.id = StreamId{in.getId()};
  spec.name = text(in.getName());
  spec.leaves = read(in.getLeaves());
  spec.synchronisation = known(in.getSynchronisation(), Synchronisation::kAsItComes,
                               "a stream has an unknown synchronisation");
  require(in.getTimeOutNs() <= static_cast<std::uint64_t>(std::numeric_limits<Nanos>::max()),
          "the time-out of a stream is negative");
  spec.time_out_ns = static_cast<Nanos>(in.getTimeOutNs());
  spec.aggregation = text(in.getAggregation());
  const auto parameters = blob(in.getParameters());
  spec.parameters.assign(parameters.begin(), parameters.end());
  spec.plugin = text(in.getPlugin());
  spec.plugin_sha256 =
      fixed<Sha256>(in.getPluginSha256(), "the digest of a stream's plugin is not 32 bytes");
  spec.when_full =
      known(in.getWhenFull(), WhenFull::kDropNewest, "a stream has an unknown policy when full");
  spec.narrowing = text(in.getNarrowing());
  const auto narrowing_parameters = blob(in.getNarrowingParameters());
  spec.narrowing_parameters.assign(narrowing_parameters.begin(), narrowing_parameters.end());
  spec.narrowing_plugin = text(in.getNarrowingPlugin());
  if (in.getNarrowingSha256().size() > 0) {
    spec.narrowing_sha256 = fixed<Sha256>(
        in.getNarrowingSha256(), "the digest of a stream's narrowing plugin is not 32 bytes");
  }
  return spec;
}

Multicast read(schema::Multicast::Reader in) {
  const auto payload = blob(in.getPayload());
  const auto share =
      known(in.getShare(), MulticastShare::kFailed, "a multicast holds an unknown share");
  const bool has_payload =
      share == MulticastShare::kWhole || share == MulticastShare::kPart || payload.empty();
  require(has_payload, "a multicast that holds nothing for its leaf has a payload");
  return {StreamId{in.getStream()}, in.getNumber(),
          read(in.getLeaves()),     Bytes(payload.begin(), payload.end()),
          read(in.getTo()),         share};
}

MulticastGap read(schema::MulticastGap::Reader in) {
  require(in.getFirst() < in.getEnd(), "a gap is empty");
  return {StreamId{in.getStream()}, LeafId{in.getLeaf()}, in.getFirst(), in.getEnd()};
}

StreamRefused read(schema::StreamRefused::Reader in) {
  return {StreamId{in.getStream()}, NodeId{in.getNode()}, text(in.getHost()), text(in.getReason())};
}

ServiceSpec read(schema::ServiceSpec::Reader in) {
  ServiceSpec spec;
  spec.name = text(in.getName());
  require(is_service_name(spec.name), "a service has no name that can be one");
  spec.program = text(in.getProgram());
  require(spec.program.empty() || spec.program.front() == '/', "a service's program has no path");
  const auto duration = [](std::uint64_t ns) {
    require(ns > 0 && ns <= kLongestServiceNs, "a service's interval is none");
    return static_cast<Nanos>(ns);
  };
  spec.interval_ns = duration(in.getIntervalNs());
  spec.timeout_ns = duration(in.getTimeoutNs());
  return spec;
}

HostFacts read(schema::HostFacts::Reader in) {
  HostFacts m;
  m.leaf = LeafId{in.getLeaf()};
  const auto facts = in.getFacts();
  require(facts.size() <= kMaxHostFacts, "a host has too many facts");
  for (const auto fact : facts) m.facts.push_back({text(fact.getName()), fact.getValue()});
  return m;
}

Control read(schema::Control::Reader in) {
  Control m;
  m.version = in.getVersion();
  m.enabled = in.getEnabled();
  m.chunks = in.getChunks();
  const std::uint64_t window = in.getWindowNs();
  require(window > 0 && window <= static_cast<std::uint64_t>(std::numeric_limits<Nanos>::max()),
          "the length of a window is not positive");
  m.window_ns = static_cast<Nanos>(window);
  m.finish = in.getFinish();
  m.epoch_ns = in.getEpochNs();
  m.streams = read_all(in.getStreams());
  const auto services = in.getServices();
  require(services.size() <= kMaxServices, "it names too many services");
  for (const auto service : services) m.services.push_back(read(service));
  require(in.getFactsNs() <= static_cast<std::uint64_t>(std::numeric_limits<Nanos>::max()),
          "hosts are to be measured too seldom");
  m.facts_ns = static_cast<Nanos>(in.getFactsNs());
  m.facts_at_once = in.getFactsAtOnce();
  m.streams_fixed = in.getStreamsFixed();
  return m;
}

Pong read(schema::Pong::Reader in) {
  Pong m;
  m.ping_sent_ns = in.getPingSentNs();
  m.received_ns = in.getReceivedNs();
  m.sent_ns = in.getSentNs();
  m.root_offset_ns = in.getRootOffsetNs();
  m.root_error_ns = in.getRootErrorNs();
  return m;
}

LinkReport read(schema::LinkReport::Reader in) {
  LinkReport m;
  m.node = NodeId{in.getNode()};
  m.queue_bytes = in.getQueueBytes();
  m.sent_bytes = in.getSentBytes();
  m.sent_packets = in.getSentPackets();
  m.round_trip_ns = in.getRoundTripNs();
  m.offset_ns = in.getOffsetNs();
  m.error_ns = in.getErrorNs();
  m.refused = in.getRefused();
  // A later version may have further transports; this version treats these as unknown.
  const auto transport = static_cast<Transport>(in.getTransport());
  m.transport = transport > Transport::kTls ? Transport::kUnknown : transport;
  return m;
}

// The text is printed on terminals, so it must not contain control characters.
std::string one_line(std::string text) {
  if (text.size() > kMaxNoticeBytes) text.resize(kMaxNoticeBytes);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return text;
}

Notice read(schema::Notice::Reader in) {
  require(in.getAgeNs() >= 0, "the age of a notice is negative");
  Notice m;
  m.role = read(in.getRole());
  m.host = one_line(text(in.getHost()));
  m.pid = in.getPid();
  m.error = in.getError();
  m.age_ns = in.getAgeNs();
  m.text = one_line(text(in.getText()));
  m.dropped = in.getDropped();
  m.number = in.getNumber();
  return m;
}

Message read_small(schema::Message::Reader in);

Message read(schema::Message::Reader in) {
  using Tag = schema::Message::Which;
  switch (in.which()) {
    case Tag::HELLO:
      return read(in.getHello());
    case Tag::WELCOME:
      return read(in.getWelcome());
    case Tag::HOST_REPORT:
      return read(in.getHostReport());
    case Tag::COMM_PROCESS_REPORT:
      return read(in.getCommProcessReport());
    case Tag::ASSIGNMENT:
      return read(in.getAssignment());
    case Tag::PACKET:
      return read(in.getPacket());
    case Tag::CONTROL:
      return read(in.getControl());
    case Tag::PONG:
      return read(in.getPong());
    case Tag::LINK_REPORT:
      return read(in.getLinkReport());
    case Tag::NOTICE:
      return read(in.getNotice());
    case Tag::MULTICAST:
      return read(in.getMulticast());
    case Tag::MULTICAST_GAP:
      return read(in.getMulticastGap());
    case Tag::STREAM_REFUSED:
      return read(in.getStreamRefused());
    default:
      return read_small(in);
  }
}

// The messages that are hardly more than a field, and those of a later version.
Message read_small(schema::Message::Reader in) {
  using Tag = schema::Message::Which;
  switch (in.which()) {
    case Tag::CHALLENGE:
      return Challenge{
          fixed<Nonce>(in.getChallenge().getNonce(), "the challenge's nonce is not 16 bytes")};
    case Tag::PROOF:
      return Proof{fixed<Mac>(in.getProof().getMac(), "the proof is not 32 bytes")};
    case Tag::REFUSAL:
      return Refusal{text(in.getRefusal().getSentence())};
    case Tag::START_COMM_PROCESS: {
      const auto start = in.getStartCommProcess();
      return StartCommProcess{NodeId{start.getNode()}, start.getLevel()};
    }
    case Tag::ATTACHED: {
      const auto attached = in.getAttached();
      return Attached{NodeId{attached.getNode()}, NodeId{attached.getParent()}};
    }
    case Tag::LEAF_SET: {
      const auto set = in.getLeafSet();
      return LeafSet{read(set.getLeaves()), read(set.getEnded())};
    }
    case Tag::ACKNOWLEDGEMENT: {
      const auto acknowledged = in.getAcknowledgement();
      return Acknowledgement{read_all(acknowledged.getStored()),
                             read_all(acknowledged.getResend())};
    }
    case Tag::PING:
      return Ping{in.getPing().getSentNs()};
    case Tag::STREAMS_TAKEN:
      return StreamsTaken{in.getStreamsTaken().getVersion()};
    case Tag::CREDIT:
      return Credit{in.getCredit().getGranted()};
    case Tag::HOST_FACTS:
      return read(in.getHostFacts());
    case Tag::GOODBYE:
      return Goodbye{text(in.getGoodbye().getReason())};
    default:
      return Unknown{static_cast<std::uint16_t>(in.which())};
  }
}

}  // namespace

namespace internal {

Message read_message(schema::Message::Reader in) { return read(in); }

}  // namespace internal
}  // namespace xylem::wire
