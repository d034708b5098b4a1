@0xd2b7a1f0c35e9a41;
# The messages of the overlay. One frame carries one Message.
#
# New fields go to the end, ordinals are never reused. A receiver that does not know a message's tag
# counts the message and goes on. `up` is towards the front end, `down` away from it.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("xylem::wire::schema");

enum Role {
  # A program that joins as a leaf uses the role backEnd and sets Hello.program. Older versions do
  # not know programs and treat it as a back end.
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
  # Identity of a packet. It stays the same wherever and however often the packet arrives.
  stream @0 :UInt32;
  lane @1 :UInt32;               # 0: the leaf itself; else a process or a service of one leaf
  wave @2 :UInt64;               # a chunk: its first record; a series: number of the sample
  waveEnd @3 :UInt64;            # a chunk or series: one more than its last number; else wave + 1
  sources @4 :List(Interval);    # leaf ids
}

struct Hello {
  # First message of the connecting side. The other side answers with Challenge or Refusal.
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
  program @11 :Bool;             # with the role backEnd: a program that joins as a leaf
}

struct Challenge {
  # From the accepting side, after a hello that it accepts. The connecting side answers with Proof.
  nonce @0 :Data;
}

struct Welcome {
  # From the accepting side, after a correct Proof. Its own proof answers the hello's nonce. After
  # this message both sides may send any other message.
  major @0 :UInt32;
  features @1 :UInt64;
  proof @2 :Data;
  node @3 :UInt32;
  clock @4 :UInt64;              # identity of the sender's clock (base/this_host.h); 0: unknown
  rootClock @5 :UInt64;          # identity of the front end's clock; 0: unknown
}

struct Proof {
  # From the connecting side, after a Challenge. `mac` is an HMAC-SHA-256 with the run's key over
  # both nonces and a label for the direction.
  mac @0 :Data;
}

struct Refusal {
  # From the accepting side, in place of Challenge or Welcome. It then closes the connection. The
  # sentence is for people.
  sentence @0 :Text;
}

struct Address {
  host @0 :Text;                 # numeric address; empty with a unix path
  port @1 :UInt16;
  unixPath @2 :Text;             # abstract or file name, only for peers of the same host
  hostKey @3 :Text;              # host of unixPath; empty: the path is unique across hosts
}

struct HostReport {
  # Back end to the front end, once: its host.
  name @0 :Text;
  hostKey @1 :Text;
  addresses @2 :List(Text);      # numeric addresses of this host, reachable ones first
  pid @3 :UInt32;
  cores @4 :UInt32;
  load @5 :Float64;
  processes @6 :UInt32;          # processes registered so far
}

struct StartCommProcess {
  # Front end to a back end, down: start a communication process on this host.
  node @0 :UInt32;
  level @1 :UInt32;
}

struct CommProcessReport {
  # Communication process to the front end, once: the addresses on which it listens.
  node @0 :UInt32;
  addresses @1 :List(Address);
  pid @2 :UInt32;
  failure @3 :Text;              # from a back end that could not start it: the reason
}

struct Assignment {
  # Front end to a node: its place in the tree. Parents are in the order in which to try them.
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
  # Up, forwarded to the front end: a node has attached to a parent.
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
  tombstone @2 :Bool;            # replaces a packet that was given up; payload is a Tombstone
  last @3 :Bool;                 # the source sends nothing more on this stream
  payload @4 :Data;
}

struct Tombstone {
  reason @0 :Text;
  calls @1 :UInt64;              # for a series: samples; for a stream: waves
  lanes @2 :List(LaneCalls);     # for a window: calls of each process
  accounts @3 :List(AccountRow); # for a window: its accounts, which count as if it had arrived
}

struct LaneCalls {
  leaf @0 :UInt32;
  lane @1 :UInt32;
  calls @2 :UInt64;
}

struct Acknowledgement {
  # Down, after the data is stored. A leaf deletes the packets in `stored`. A node forwards each
  # part to the children it concerns.
  stored @0 :List(PacketId);
  resend @1 :List(PacketId);
}

struct Control {
  # Down: state with a version. A node keeps the newest version and gives it to each child.
  version @0 :UInt64;
  enabled @1 :Bool;              # capture libraries record calls
  chunks @2 :Bool;               # --detail trace
  windowNs @3 :UInt64;
  finish @4 :Bool;               # the run is over: send the rest, then leave
  epochNs @5 :Int64;             # zero of the run's time, on the front end's monotonic clock
  streams @6 :List(StreamSpec);  # the open streams of tools
  services @7 :List(ServiceSpec); # a service's position, counted from 1, is the lane of its packets
  factsNs @8 :UInt64;            # interval at which back ends measure their hosts; 0: never
  factsAtOnce @9 :Bool;          # the tree waits for the first measurement, so measure at once
  streamsFixed @10 :Bool;        # the streams are set by the run; no others will be opened
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
  aggregation @5 :Text;          # empty: packets are forwarded unchanged
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
  # Down: to the leaves of its stream. A node keeps recent multicasts for children that attach
  # later. A multicast travels whole; the node directly above a leaf sends that leaf its share.
  stream @0 :UInt32;
  number @1 :UInt64;             # counted from 1 in each stream; a leaf drops numbers it has seen
  leaves @2 :List(Interval);     # leaves of the stream; empty: all
  payload @3 :Data;              # one Fields
  to @4 :List(Interval);         # the recipients, a part of `leaves`; empty: see wire/message.h
  share @5 :UInt16;              # 0 whole, 1 the leaf's part, 2 nothing, 3 the part failed
}

struct MulticastGap {
  # Up, forwarded to the front end: a leaf missed these multicasts, and no node had kept them. The
  # leaf repeats this message to each new parent, because a node that dies loses what it had not
  # forwarded.
  stream @0 :UInt32;
  leaf @1 :UInt32;
  first @2 :UInt64;
  end @3 :UInt64;
}

struct StreamRefused {
  # Up, forwarded to the front end: a node cannot take part in a stream.
  stream @0 :UInt32;
  node @1 :UInt32;
  host @2 :Text;
  reason @3 :Text;
}

struct StreamsTaken {
  # Up: this node and all nodes below it have accepted or refused the streams of this version of
  # Control.
  version @0 :UInt64;
}

struct Ping {
  # Each side sends it at each heartbeat; the answer is Pong. Times are the sender's
  # CLOCK_MONOTONIC.
  sentNs @0 :Int64;
}

struct Pong {
  pingSentNs @0 :Int64;
  receivedNs @1 :Int64;          # on the parent's clock
  sentNs @2 :Int64;
  rootOffsetNs @3 :Int64;        # parent's clock + this = front end's clock
  rootErrorNs @4 :Int64;         # maximum error of rootOffsetNs
}

struct Goodbye {
  # A child leaves on purpose; none of its data is missing.
  reason @0 :Text;
}

struct LinkReport {
  # Up, forwarded to the front end each second: state of the link to the parent.
  node @0 :UInt32;
  queueBytes @1 :UInt64;
  sentBytes @2 :UInt64;
  sentPackets @3 :UInt64;
  roundTripNs @4 :Int64;
  offsetNs @5 :Int64;
  errorNs @6 :Int64;             # negative: the offset is not known yet
  refused @7 :UInt64;            # connections that this process has refused
  transport @8 :UInt16;          # 0 not known, 1 Unix socket, 2 TCP, 3 TCP with TLS
}

struct Notice {
  # Up, forwarded to the front end: a warning or an error that a process of the tree has logged.
  role @0 :Role;
  host @1 :Text;
  pid @2 :UInt32;
  error @3 :Bool;                # true: an error; false: a warning
  ageNs @4 :Int64;               # time between writing and sending; relaying nodes add their own
  text @5 :Text;                 # one line of at most 512 bytes
  dropped @6 :UInt32;            # number of notices that the sender dropped before this one
  number @7 :UInt64;             # with host and pid: identifies a notice, for duplicates; 0: none
}

struct Credit {
  # Either side, to a neighbour with feature bit 0. `granted` is the total number of bytes that the
  # receiver may send on this link in frames with packets and multicasts, counted from the link's
  # start. A link starts with 65536.
  granted @0 :UInt64;
}

struct HostFact {
  name @0 :Text;                 # for example "idle"; see placement/facts.h
  value @1 :Float64;
}

struct HostFacts {
  # Back end, up, forwarded to the front end: measurements of its host. Unknown values are left out.
  # If Control.factsAtOnce is set, the first message is sent while the front end is the back end's
  # parent.
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

# ---- Payloads of packets. Nodes that only relay do not open them. ----

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
  clock @7 :Text;                # describes the clock of its times, for people; empty: run's clock
  unwatched @8 :Text;            # why the process is not recorded; empty: it is recorded
  definitions @9 :Definitions;   # null: no new ones
  processors @10 :Text;          # where it may run, as in "0-3,8"; empty: not known
  threadLevel @11 :UInt8;        # MPI_THREAD_SINGLE + 1, ...; 0: not known
}

struct Definitions {
  # What the process has defined; see wire/definitions.h. Repeating it has no effect.
  communicators @0 :List(CommunicatorRow);
  members @1 :List(MemberRow);
  names @2 :List(CommunicatorName);
  dimensions @3 :List(DimensionRow);
  neighbours @4 :List(NeighbourRow);
  lost @5 :UInt64;               # definitions so far that are missing
  callSites @6 :List(CallSiteRow);
  threads @7 :List(ThreadRow);
  recordCosts @8 :List(RecordCostRow);
  regions @9 :List(RegionRow);
  regionSums @10 :List(RegionSumRow);
}

struct RegionRow {
  region @0 :UInt64;             # a hash of the name
  name @1 :Text;
}

struct RegionSumRow {
  region @0 :UInt64;
  thread @1 :UInt32;
  estimated @2 :Bool;            # mpiNs includes estimates
  visits @3 :UInt64;
  timeNs @4 :UInt64;
  maxNs @5 :UInt64;
  mpiNs @6 :UInt64;
}

struct ThreadRow {
  thread @0 :UInt32;
  osThread @1 :UInt32;           # as the process sees it
  sinceNs @2 :Int64;             # 0: not known
}

struct RecordCostRow {
  shape @0 :UInt8;               # see RecordShape in wire/definitions.h
  picoseconds @1 :UInt32;
}

struct CallSiteRow {
  site @0 :UInt64;
  object @1 :Text;               # path of the program or library, on its host
  buildId @2 :Data;              # empty: it has none
  offset @3 :UInt64;             # address of the call in the file
}

struct CommunicatorRow {
  comm @0 :UInt32;
  parent @1 :UInt32 = 0xffffffff; # 0xffffffff: none, or not known
  group @2 :UInt64;
  kind @3 :UInt8;
  size @4 :UInt32;
  secondSize @5 :UInt32;
}

struct MemberRow {
  group @0 :UInt64;
  place @1 :UInt32;
  isSecond @2 :Bool;
}

struct CommunicatorName {
  comm @0 :UInt32;
  name @1 :Text;
}

struct DimensionRow {
  comm @0 :UInt32;
  position @1 :UInt32;
  size @2 :Int32;
  isPeriodic @3 :Bool;
}

struct NeighbourRow {
  comm @0 :UInt32;
  isSource @1 :Bool;
  position @2 :UInt32;
  rank @3 :UInt32 = 0xffffffff;  # world rank; 0xffffffff: a process of another world
}

struct Registration {
  # Stream 1. The current state, not a change: repeating it has no effect.
  host @0 :Text;
  functions @1 :List(FunctionRow);
  processes @2 :List(ProcessRow);
  services @3 :List(ServiceRow);
  layouts @4 :List(SeriesLayout);
  processor @5 :Text;            # model of the host's processor; empty: unknown, or in another packet
  frequencyHz @6 :UInt64;        # its frequency; 0: unknown, or in another packet
}

struct ServiceRow {
  lane @0 :UInt32;
  name @1 :Text;
}

struct SeriesLayout {
  # What the numbers of a sample mean, in order. Samples refer to a layout by a hash of its rows.
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
  callsSoFar @5 :UInt64;         # calls of this function and process so far, this window included
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
  # Current counters of a process. Later rows replace earlier rows.
  leaf @0 :UInt32;
  lane @1 :UInt32;
  captured @2 :UInt64;           # calls, by the process's own counters
  lost @3 :UInt64;               # calls without a record because the ring was full
  ended @4 :Bool;                # the process has ended; these counters are final
  events @5 :UInt64;             # records that its chunks hold so far
  eventCalls @6 :UInt64;         # calls that these records represent
  lossByFunction @7 :List(LossRow);
  windowed @8 :UInt64;           # calls in windows so far, this one included
  lostMessages @9 :UInt64;       # sends without a record (ring full): in no matrix row
  lostMessageBytes @10 :UInt64;  # their payload
  lostReceives @11 :UInt64;      # receives without a record (ring full): in no wait row
  untrackedReceives @12 :UInt64; # receives whose completion the library could not track
  # The process has made no call since this time of the run. 0: it makes calls, or was not checked.
  # The next three fields are valid only if this one is not 0.
  silentSinceNs @13 :Int64;
  inside @14 :UInt16 = 65535;    # function that has not returned; 65535: none, or not known
  stopped @15 :Bool;             # a signal has stopped the process
  outside @16 :Bool;             # no call is in progress; false also if this is not known
  sinceNs @17 :Int64;            # time of the run from which the process was watched; 0: not known
  untilNs @18 :Int64;            # its end; 0: it runs
  threads @19 :UInt32;           # threads that called MPI at the same time; 0: not known
  lostParts @20 :UInt64;         # parts of calls without a record (ring full), but for messages
}

struct WaitRow {
  # Time that a process spent in calls that received from a world rank.
  leaf @0 :UInt32;
  lane @1 :UInt32;
  peer @2 :UInt32;
  timeNs @3 :UInt64;
  calls @4 :UInt64;
}

struct UnderWayRow {
  # A call that had not returned at the end of the window.
  leaf @0 :UInt32;
  lane @1 :UInt32;
  thread @2 :UInt32;
  function @3 :UInt16;
  beginNs @4 :Int64;
  peer @5 :UInt32 = 0xffffffff;  # world rank; 0xffffffff: none, or not known
  comm @6 :UInt32 = 0xffffffff;  # 0xffffffff: not known
}

struct EarlierRow {
  # Time that passed in an earlier window and became known only after that window was sent.
  leaf @0 :UInt32;
  lane @1 :UInt32;
  function @2 :UInt16;
  estimated @3 :Bool;
  beginNs @4 :Int64;             # the earlier window
  endNs @5 :Int64;
  timeNs @6 :UInt64;
}

struct LossRow {
  function @0 :UInt16;
  calls @1 :UInt64;
}

struct ProfileWindow {
  # Stream 2.
  beginNs @0 :Int64;             # since the run's epoch
  endNs @1 :Int64;
  rows @2 :List(ProfileRow);
  matrix @3 :List(MatrixRow);
  accounts @4 :List(AccountRow);
  waits @5 :List(WaitRow);
  underWay @6 :List(UnderWayRow);
  earlier @7 :List(EarlierRow);
}
