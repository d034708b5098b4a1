@0xd2b7a1f0c35e9a41;
# The messages of the overlay. One frame carries one Message.
#
# New fields go to the end, ordinals are never reused. Who receives a message whose tag it does not
# know counts it and goes on. `up` is towards the front end, `down` away from it.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("xylem::wire::schema");

enum Role {
  # A program that only sends on streams says backEnd and Hello.program: who knows no programs takes
  # it for a back end.
  frontEnd @0;
  commProcess @1;
  backEnd @2;
  tool @3;
}

struct Interval {
  first @0 :UInt64;
  end @1 :UInt64;
}

struct PacketId {
  # What makes a packet the same packet, wherever and however often it arrives.
  stream @0 :UInt32;
  lane @1 :UInt32;               # 0: the leaf itself; else one process of a single leaf
  wave @2 :UInt64;               # a chunk: first record of the range
  waveEnd @3 :UInt64;            # a chunk: one past its last record; else wave + 1
  sources @4 :List(Interval);    # leaf ids
}

struct Hello {
  # First message of whoever connects. The other side answers with Challenge or Refusal.
  magic @0 :UInt32;
  major @1 :UInt32;
  features @2 :UInt64;
  role @3 :Role;
  run @4 :Text;
  node @5 :UInt32;               # 0xffffffff: not yet given
  leaf @6 :UInt32;               # back ends; 0xffffffff: not yet given
  level @7 :UInt32;              # a node accepts only children of a deeper level
  nonce @8 :Data;                # 16 bytes, answered in Welcome.proof
  controlVersion @9 :UInt64;     # last control state seen
  hostKey @10 :Text;             # identity of the host's run folder
  program @11 :Bool;             # with the role backEnd: a program that only sends on streams
}

struct Challenge {
  # Whoever accepts, after a hello it may take. The connecting side answers with Proof.
  nonce @0 :Data;
}

struct Welcome {
  # Whoever accepts, after a right Proof; its own proof answers the hello's nonce. From here on both
  # sides may send anything else.
  major @0 :UInt32;
  features @1 :UInt64;
  proof @2 :Data;
  node @3 :UInt32;
}

struct Proof {
  # HMAC-SHA-256 with the run's key over the other side's nonce and a label for the direction.
  mac @0 :Data;
}

struct Refusal {
  # Whoever accepts, in place of Challenge or Welcome; then it closes. The sentence is for people.
  sentence @0 :Text;
}

struct Address {
  host @0 :Text;                 # numeric address; empty with a unix path
  port @1 :UInt16;
  unixPath @2 :Text;             # abstract or file name, only for peers of the same host
  hostKey @3 :Text;              # the host on which unixPath has a meaning; empty: where it is found
}

struct HostReport {
  # Back end, once, to the front end: who am I.
  name @0 :Text;
  hostKey @1 :Text;
  addresses @2 :List(Text);      # numeric, this host's, reachable first
  pid @3 :UInt32;
  cores @4 :UInt32;
  load @5 :Float64;
  processes @6 :UInt32;          # registered so far
}

struct StartCommProcess {
  # Front end to a back end, down: start a communication process on your host.
  node @0 :UInt32;
  level @1 :UInt32;
}

struct CommProcessReport {
  # Communication process, once, to the front end: I listen there.
  node @0 :UInt32;
  addresses @1 :List(Address);
  pid @2 :UInt32;
  failure @3 :Text;              # a back end that could not start it says why
}

struct Assignment {
  # Front end to a node: your place in the tree. Parents in the order in which to try them.
  node @0 :UInt32;
  leaf @1 :UInt32;               # back ends
  level @2 :UInt32;
  parents @3 :List(Parent);
}

struct Parent {
  node @0 :UInt32;
  addresses @1 :List(Address);
}

struct Attached {
  # Up, relayed to the front end: a node has found its parent.
  node @0 :UInt32;
  parent @1 :UInt32;
}

struct LeafSet {
  # Up: the leaves that are below this link now, and those of them that will send nothing more.
  leaves @0 :List(Interval);
  ended @1 :List(Interval);
}

struct Packet {
  # Up: the unit that is journalled, stored and acknowledged.
  id @0 :PacketId;
  alone @1 :Bool;                # resent: not to be merged
  tombstone @2 :Bool;            # stands for a packet that was given up; payload is a Tombstone
  last @3 :Bool;                 # the source sends nothing more on this stream
  payload @4 :Data;
}

struct Tombstone {
  reason @0 :Text;
  calls @1 :UInt64;              # of a series or a stream: samples, or waves
  lanes @2 :List(LaneCalls);     # of a window: whose calls they were
  accounts @3 :List(AccountRow); # of a window: those in it, which count as if it had come
}

struct LaneCalls {
  leaf @0 :UInt32;
  lane @1 :UInt32;
  calls @2 :UInt64;
}

struct Acknowledgement {
  # Down, after the commit. A leaf drops what is named; a node passes each part on to whom it concerns.
  stored @0 :List(PacketId);
  resend @1 :List(PacketId);
}

struct Control {
  # Down: state with a version. A node keeps the newest and gives it to each child.
  version @0 :UInt64;
  enabled @1 :Bool;              # captures record
  chunks @2 :Bool;               # --detail trace
  windowNs @3 :UInt64;
  finish @4 :Bool;               # the run is over: send the rest, then leave
  epochNs @5 :Int64;             # zero of the run's time, on the front end's monotonic clock
  streams @6 :List(StreamSpec);  # those of tools that are open
  services @7 :List(ServiceSpec); # numbered by their place, from 1: the lane of their packets
  factsNs @8 :UInt64;            # each back end measures its host so often; 0: it does not
  factsAtOnce @9 :Bool;          # the tree waits for the first: as soon as it can
  streamsFixed @10 :Bool;        # a run's: those that `streams` names, and no others later
}

struct ServiceSpec {
  # An auxiliary service of each host; see wire/series.h.
  name @0 :Text;
  program @1 :Text;              # absolute path and arguments; empty: built in
  intervalNs @2 :UInt64;
  timeoutNs @3 :UInt64;
}

struct StreamSpec {
  id @0 :UInt32;
  name @1 :Text;
  leaves @2 :List(Interval);     # empty: all, also those that join later
  synchronisation @3 :UInt16;    # see wire/stream.h
  timeOutNs @4 :UInt64;
  aggregation @5 :Text;          # empty: packets are passed on as they are
  parameters @6 :Data;           # one Fields
  plugin @7 :Text;               # absolute path; empty: built in
  pluginSha256 @8 :Data;         # 32 bytes
  whenFull @9 :UInt16;
  narrowing @10 :Text;           # empty: a multicast is the same for all leaves
  narrowingParameters @11 :Data; # one Fields
  narrowingPlugin @12 :Text;     # absolute path; empty: built in
  narrowingSha256 @13 :Data;     # 32 bytes with a plugin, else none
}

struct Multicast {
  # Down: to the leaves of its stream. A node keeps the recent ones for children that attach later. It
  # travels whole; the node directly above a leaf sends it that leaf's share.
  stream @0 :UInt32;
  number @1 :UInt64;             # from 1, by stream; a leaf drops what it has seen
  leaves @2 :List(Interval);     # those of the stream; empty: all
  payload @3 :Data;              # one Fields
  to @4 :List(Interval);         # of the leaves those for whom it is; empty: see wire/message.h
  share @5 :UInt16;              # 0 whole, 1 the leaf's part, 2 nothing for it, 3 its part failed
}

struct MulticastGap {
  # Up, relayed to the front end: a leaf missed these, and nobody had them any more. Told again to
  # each new parent, since a node that dies takes along what it had not passed on.
  stream @0 :UInt32;
  leaf @1 :UInt32;
  first @2 :UInt64;
  end @3 :UInt64;
}

struct StreamRefused {
  # Up, relayed to the front end: a node cannot take part in a stream.
  stream @0 :UInt32;
  node @1 :UInt32;
  host @2 :Text;
  reason @3 :Text;
}

struct StreamsTaken {
  # Up: this node and all below have taken, or refused, the streams of that version of control.
  version @0 :UInt64;
}

struct Ping {
  # Each side, each heartbeat; answered by Pong. Times are the sender's CLOCK_MONOTONIC.
  sentNs @0 :Int64;
}

struct Pong {
  pingSentNs @0 :Int64;
  receivedNs @1 :Int64;          # on the parent's clock
  sentNs @2 :Int64;
  rootOffsetNs @3 :Int64;        # parent's clock + this = front end's clock
  rootErrorNs @4 :Int64;         # bound of that
}

struct Goodbye {
  # A child that leaves on purpose; nothing of it is missing.
  reason @0 :Text;
}

struct LinkReport {
  # Up, relayed to the front end each second: how the link to my parent does.
  node @0 :UInt32;
  queueBytes @1 :UInt64;
  sentBytes @2 :UInt64;
  sentPackets @3 :UInt64;
  roundTripNs @4 :Int64;
  offsetNs @5 :Int64;
  errorNs @6 :Int64;             # negative: the offset is not known yet
  refused @7 :UInt64;            # connections turned away here
  transport @8 :UInt16;          # 0 not known, 1 Unix socket, 2 TCP, 3 TCP with TLS
}

struct Notice {
  # Up, relayed to the front end: a warning or an error that a process of the tree has logged.
  role @0 :Role;
  host @1 :Text;
  pid @2 :UInt32;
  error @3 :Bool;                # else a warning
  ageNs @4 :Int64;               # from its writing to its sending; relaying nodes add their own
  text @5 :Text;                 # one line of at most 512 bytes
  dropped @6 :UInt32;            # notices that the sender gave up before this one
  number @7 :UInt64;             # host, pid and number name a notice: it may come twice. 0: none
}

struct Credit {
  # Either side, to a neighbour with the feature bit 0: so many bytes of frames with packets and
  # multicasts may be sent on this link in all, since its begin. A link begins with 65536.
  granted @0 :UInt64;
}

struct HostFact {
  name @0 :Text;                 # "idle": those of placement/facts.h
  value @1 :Float64;
}

struct HostFacts {
  # Back end, up, relayed to the front end: what it has measured of its host. What is not known is not
  # there. The first one while the front end is its parent, when Control.factsAtOnce says so.
  leaf @0 :UInt32;
  facts @1 :List(HostFact);      # at most 64
}

struct Message {
  union {
    hello @0 :Hello;
    challenge @1 :Challenge;
    welcome @2 :Welcome;
    proof @3 :Proof;
    refusal @4 :Refusal;
    hostReport @5 :HostReport;
    startCommProcess @6 :StartCommProcess;
    commProcessReport @7 :CommProcessReport;
    assignment @8 :Assignment;
    attached @9 :Attached;
    leafSet @10 :LeafSet;
    packet @11 :Packet;
    acknowledgement @12 :Acknowledgement;
    control @13 :Control;
    ping @14 :Ping;
    pong @15 :Pong;
    goodbye @16 :Goodbye;
    linkReport @17 :LinkReport;
    notice @18 :Notice;
    multicast @19 :Multicast;
    multicastGap @20 :MulticastGap;
    streamRefused @21 :StreamRefused;
    streamsTaken @22 :StreamsTaken;
    credit @23 :Credit;
    hostFacts @24 :HostFacts;
  }
}

# ---- Payloads of packets. Not opened by nodes that only relay. ----

struct FunctionRow {
  id @0 :UInt16;
  name @1 :Text;
  functionClass @2 :UInt8;
}

struct ProcessRow {
  lane @0 :UInt32;
  pid @1 :UInt32;
  worldKey @2 :Data;             # 16 bytes; empty until MPI_Init has returned
  rank @3 :UInt32;
  worldSize @4 :UInt32;
  mpiLibrary @5 :Text;
  program @6 :Text;
  clock @7 :Text;                # of its times, for people; empty: the run's
  unwatched @8 :Text;            # why nothing of it is recorded; empty: it is watched
}

struct Registration {
  # Stream 1. State, not change: what is told again says the same.
  host @0 :Text;
  functions @1 :List(FunctionRow);
  processes @2 :List(ProcessRow);
  services @3 :List(ServiceRow);
  layouts @4 :List(SeriesLayout);
}

struct ServiceRow {
  lane @0 :UInt32;
  name @1 :Text;
}

struct SeriesLayout {
  # What the numbers of a sample mean, in order. Samples name it by a hash of its rows.
  service @0 :Text;
  rows @1 :List(MetricRow);
}

struct MetricRow {
  name @0 :Text;
  unit @1 :Text;
  scale @2 :Float64;
  perSecond @3 :Bool;
}

struct ProfileRow {
  leaf @0 :UInt32;
  lane @1 :UInt32;
  function @2 :UInt16;
  estimated @3 :Bool;
  calls @4 :UInt64;
  callsSoFar @5 :UInt64;         # of this function and process, up to this window
  timeNs @6 :UInt64;
  minNs @7 :UInt64;
  maxNs @8 :UInt64;
  bytes @9 :UInt64;
  histogram @10 :Data;           # see wire/profile.h
}

struct MatrixRow {
  leaf @0 :UInt32;
  lane @1 :UInt32;
  destination @2 :UInt32;        # world rank
  bytes @3 :UInt64;
  messages @4 :UInt64;
}

struct AccountRow {
  # Counters of a process as they stand; later ones replace earlier ones.
  leaf @0 :UInt32;
  lane @1 :UInt32;
  captured @2 :UInt64;           # calls, by the process's own counters
  lost @3 :UInt64;               # calls that met a full ring
  ended @4 :Bool;                # the process is gone and these are final
  events @5 :UInt64;             # records that its chunks hold so far
  eventCalls @6 :UInt64;         # calls that these records stand for
  lossByFunction @7 :List(LossRow);
  windowed @8 :UInt64;           # calls in windows so far, this one included
  lostMessages @9 :UInt64;       # sends whose record met a full ring: no matrix row counts them
  lostMessageBytes @10 :UInt64;  # their payload
  lostReceives @11 :UInt64;      # receives whose record met a full ring: no wait row counts them
  untrackedReceives @12 :UInt64; # receives whose completion the library could not follow
  silentSinceNs @13 :Int64;      # has made no call since then, of the run's epoch; 0: it makes calls, or is not looked at
  inside @14 :UInt16 = 65535;    # while it is silent: the function that it has called and that has not returned; 65535: none, or not known
  stopped @15 :Bool;             # while it is silent: a signal has stopped it
  outside @16 :Bool;             # while it is silent: no call is under way; with neither this nor `inside` it is not known
}

struct WaitRow {
  # Time that a process spent in calls that received from a world rank.
  leaf @0 :UInt32;
  lane @1 :UInt32;
  peer @2 :UInt32;
  timeNs @3 :UInt64;
  calls @4 :UInt64;
}

struct LossRow {
  function @0 :UInt16;
  calls @1 :UInt64;
}

struct ProfileWindow {
  # Stream 2.
  beginNs @0 :Int64;             # of the run's epoch
  endNs @1 :Int64;
  rows @2 :List(ProfileRow);
  matrix @3 :List(MatrixRow);
  accounts @4 :List(AccountRow);
  waits @5 :List(WaitRow);
}
