#include "wire/message.h"

#include <capnp/message.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "wire/flat_internal.h"
#include "xylem.capnp.h"

// A frame, in bytes:
//
//   0  length of what follows, little-endian
//   4  format of what follows; 0: one flat Cap'n Proto segment, without a segment table
//   8  the segment, in 8-byte words; its root is a Message
//
// The usual segment table would put the segment at 12. With the format word it is aligned in a
// buffer that starts aligned, and so is every further frame behind it: none is copied to be read.

namespace xylem::wire {

namespace {

using internal::blob;
using internal::fixed;
using internal::require;
using internal::text;

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kHeadBytes = 8;
constexpr std::uint32_t kFlatFormat = 0;
// Most messages are smaller; the others are built twice.
constexpr std::size_t kUsualWords = 64;
// Root pointer, Message, Packet, PacketId and the tag of its list.
constexpr std::size_t kPacketWords = 12;
constexpr std::size_t kWordsPerInterval = 2;
constexpr std::uint64_t kNoId = 0xffffffff;

// ---- Into the schema. One overload a message; `out` is where it goes. ----

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

void write(const Parent& parent, schema::Parent::Builder out);

template <typename T, typename Builders>
void write_all(const std::vector<T>& values, Builders out) {
  unsigned i = 0;
  for (const T& value : values) write(value, out[i++]);
}

void write(const Unknown&, schema::Message::Builder) {
  constexpr bool kUnknownTagsAreSent = false;
  CHECK(kUnknownTagsAreSent);
}

void write(const Hello& m, schema::Message::Builder message) {
  auto out = message.initHello();
  out.setMagic(m.magic);
  out.setMajor(m.major);
  out.setFeatures(m.features);
  out.setRole(static_cast<schema::Role>(m.role));
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

void write(const Control& m, schema::Message::Builder message) {
  auto out = message.initControl();
  out.setVersion(m.version);
  out.setEnabled(m.enabled);
  out.setChunks(m.chunks);
  out.setWindowNs(static_cast<std::uint64_t>(m.window_ns));
  out.setFinish(m.finish);
  out.setEpochNs(m.epoch_ns);
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
  out.setRole(static_cast<schema::Role>(m.role));
  out.setHost(text(m.host));
  out.setPid(m.pid);
  out.setError(m.error);
  out.setAgeNs(m.age_ns);
  out.setText(text(m.text));
  out.setDropped(m.dropped);
}

// ---- Out of the schema. Each throws Malformed on what no sender of ours writes. ----

IntervalSet read(capnp::List<schema::Interval>::Reader in) {
  IntervalSet set;
  std::uint64_t bound = 0;  // The next interval starts here or later: they do not even touch.
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

// No room is reserved: an element of ours takes about as much memory as it took bytes, and Cap'n
// Proto's limit counts each of them.
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
  return m;
}

Welcome read(schema::Welcome::Reader in) {
  Welcome m;
  m.major = in.getMajor();
  m.features = in.getFeatures();
  m.proof = fixed<Mac>(in.getProof(), "the welcome's proof is not 32 bytes");
  m.node = NodeId{in.getNode()};
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
  // A later version may know more; then it is not known here.
  const auto transport = static_cast<Transport>(in.getTransport());
  m.transport = transport > Transport::kTls ? Transport::kUnknown : transport;
  return m;
}

// It ends on somebody's terminal, so it must not be able to steer it.
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
    case Tag::GOODBYE:
      return Goodbye{text(in.getGoodbye().getReason())};
    default:
      return Unknown{static_cast<std::uint16_t>(in.which())};
  }
}

// ---- Frames. ----

std::uint32_t load_u32(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < sizeof(value); ++i) {
    value |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  }
  return value;
}

template <typename M>
Bytes encode_frame(std::size_t words, const M& m) {
  Bytes frame = internal::encode_flat<schema::Message>(
      kHeadBytes, words, [&](schema::Message::Builder out) { write(m, out); });
  const std::size_t length = frame.size() - kLengthBytes;
  CHECK(length <= kMaxFrameBytes);
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    frame[i] = static_cast<std::byte>(length >> (8 * i) & 0xff);
  }
  return frame;
}

}  // namespace

const char* role_name(Role role) {
  switch (role) {
    case Role::kFrontEnd:
      return "front_end";
    case Role::kCommProcess:
      return "comm_process";
    case Role::kBackEnd:
      return "back_end";
    case Role::kTool:
      return "tool";
  }
  return "unknown";
}

const char* transport_name(Transport transport) {
  switch (transport) {
    case Transport::kUnix:
      return "unix";
    case Transport::kTcp:
      return "tcp";
    case Transport::kTls:
      return "tls";
    case Transport::kUnknown:
      break;
  }
  return "";
}

Bytes encode(const Packet& packet) {
  const std::size_t payload =
      (packet.payload.size() + sizeof(capnp::word) - 1) / sizeof(capnp::word);
  const std::size_t sources = kWordsPerInterval * packet.id.sources.intervals().size();
  return encode_frame(kPacketWords + sources + payload, packet);
}

Bytes encode(const Message& message) {
  return std::visit(
      [](const auto& m) {
        if constexpr (std::is_same_v<std::decay_t<decltype(m)>, Packet>) {
          return encode(m);
        } else {
          return encode_frame(kUsualWords, m);
        }
      },
      message);
}

Result<Message> decode(std::span<const std::byte> frame) {
  constexpr std::size_t kFormatBytes = kHeadBytes - kLengthBytes;
  if (frame.size() < kFormatBytes) {
    return internal::corrupt("a frame", frame.size(), "it has no room for its format");
  }
  if (load_u32(frame) != kFlatFormat) {
    return internal::corrupt("a frame", frame.size(), "its format is unknown");
  }
  return internal::decode_flat<schema::Message>(
      "a frame", frame.subspan(kFormatBytes), [](schema::Message::Reader in) { return read(in); });
}

Result<std::optional<std::size_t>> frame_length(std::span<const std::byte> bytes,
                                                std::size_t limit) {
  if (bytes.size() < kLengthBytes) return std::optional<std::size_t>();
  const std::size_t length = load_u32(bytes);
  if (length == 0) return internal::corrupt("a frame", length, "it is empty");
  if (length > limit) {
    return internal::corrupt("a frame", length,
                             "no more than " + std::to_string(limit) + " bytes are taken here");
  }
  return std::optional<std::size_t>(length);
}

}  // namespace xylem::wire
