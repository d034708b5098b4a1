#include "tests/support/wire_samples.h"

#include <limits>
#include <numeric>

namespace xylem::wire::testing {

namespace {

template <typename Array>
Array counted_from(std::uint8_t first) {
  Array array;
  std::iota(array.begin(), array.end(), first);
  return array;
}

Bytes bytes_of(const std::string& text) {
  Bytes bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

IntervalSet leaves(std::uint64_t first, std::uint64_t end, std::uint64_t lone) {
  IntervalSet set = IntervalSet::range(first, end);
  set.insert(lone);
  return set;
}

PacketId window_id() {
  const std::uint64_t wave = window_wave(77, 3);
  return {kWindowStream, kLeafLane, wave, wave + 1, leaves(2, 9, 31)};
}

PacketId chunk_id() { return {kChunkStream, Lane{5}, 8192, 16001, IntervalSet::of(12)}; }

Hello sample_hello() {
  Hello m;
  m.features = 0x8000000000000005;
  m.role = Role::kCommProcess;
  m.run = "20240607-1f2e";
  m.node = NodeId{17};
  m.leaf = LeafId{4};
  m.level = 2;
  m.nonce = counted_from<Nonce>(1);
  m.control_version = 9;
  m.host_key = "node12:/dev/shm/xylem-1000-1f2e";
  return m;
}

Hello sample_hello_of_program() {
  Hello m = sample_hello();
  m.role = Role::kProgram;
  return m;
}

Welcome sample_welcome() {
  Welcome m;
  m.features = 5;
  m.proof = counted_from<Mac>(64);
  m.node = NodeId{3};
  return m;
}

Welcome sample_welcome_of_clocks() {
  Welcome m = sample_welcome();
  m.clock = 0x0123456789abcdef;
  m.root_clock = 0xfedcba9876543210;
  return m;
}

std::vector<Address> sample_addresses() {
  return {{"10.1.2.3", 40001, "", ""}, {"", 0, "@xylem-1f2e-17", "node12:/dev/shm/xylem"}};
}

HostReport sample_host_report() {
  HostReport m;
  m.name = "node12";
  m.host_key = "node12:/dev/shm/xylem-1000-1f2e";
  m.addresses = {"10.1.2.3", "fe80::1"};
  m.pid = 4242;
  m.cores = 64;
  m.load = 1.25;
  m.processes = 16;
  return m;
}

Packet sample_packet() {
  Packet m(chunk_id(), bytes_of("any bytes at all"));
  m.alone = true;
  m.last = true;
  return m;
}

StreamSpec sample_stream() {
  StreamSpec spec;
  spec.id = StreamId{107};
  spec.name = "queue lengths";
  spec.leaves = leaves(1, 20, 40);
  spec.synchronisation = Synchronisation::kTimeOut;
  spec.time_out_ns = 40 * kMillisecond;
  spec.aggregation = "histogram";
  spec.parameters = bytes_of("fields");
  spec.plugin = "/opt/tool/libhistogram.so";
  spec.plugin_sha256 = counted_from<Sha256>(33);
  spec.when_full = WhenFull::kDropOldest;
  return spec;
}

Control sample_control() {
  Control m;
  m.version = 12;
  m.enabled = false;
  m.chunks = true;
  m.window_ns = 125 * kMillisecond;
  m.finish = true;
  m.epoch_ns = -123456789;
  return m;
}

Control sample_control_of_streams() {
  Control m = sample_control();
  m.streams = {sample_stream(), {}};
  return m;
}

Control sample_control_of_run() {
  Control m = sample_control_of_streams();
  m.streams_fixed = true;
  return m;
}

Control sample_control_of_services() {
  Control m = sample_control();
  m.services = {{"host", "", 1 * kSecond, 10 * kSecond},
                {"gpu-power", "/opt/site/gpu-power --all", 500 * kMillisecond, 2 * kSecond}};
  return m;
}

Control sample_control_of_narrowed_stream() {
  Control m = sample_control();
  StreamSpec spec;
  spec.id = StreamId{108};
  spec.name = "work";
  spec.narrowing = "every_third";
  spec.narrowing_parameters = bytes_of("more fields");
  spec.narrowing_plugin = "/opt/tool/every_third.so";
  spec.narrowing_sha256 = counted_from<Sha256>(65);
  m.streams = {std::move(spec)};
  return m;
}

Multicast sample_multicast_to_some() {
  Multicast m{StreamId{107}, 12, leaves(1, 20, 40), bytes_of("fields")};
  m.to = leaves(3, 7, 40);
  return m;
}

Multicast sample_multicast_share(MulticastShare share, Bytes payload) {
  Multicast m{StreamId{107}, 12, IntervalSet::of(5), std::move(payload)};
  m.share = share;
  return m;
}

LinkReport sample_link_report() {
  LinkReport m;
  m.node = NodeId{17};
  m.queue_bytes = 65536;
  m.sent_bytes = std::uint64_t{1} << 40;
  m.sent_packets = 1000001;
  m.round_trip_ns = 54321;
  m.offset_ns = -7654321;
  m.error_ns = 1111;
  m.refused = 2;
  return m;
}

Notice sample_notice() {
  Notice m;
  m.role = Role::kCommProcess;
  m.host = "node12";
  m.pid = 4243;
  m.error = true;
  m.age_ns = 250 * kMillisecond;
  m.text = "no parent for too long, giving up node=17";
  m.dropped = 3;
  return m;
}

Assignment sample_assignment() {
  const Parent first{NodeId{6}, sample_addresses()};
  const Parent root{NodeId{0}, {{"10.1.2.1", 40000, "", ""}}};
  return {NodeId{17}, LeafId{4}, 3, {first, root}};
}

Control sample_control_of_facts() {
  Control m = sample_control();
  m.facts_ns = 10 * kSecond;
  m.facts_at_once = true;
  return m;
}

}  // namespace

std::vector<NamedMessage> sample_messages() {
  return {
      {"hello", sample_hello()},
      {"challenge", Challenge{counted_from<Nonce>(100)}},
      {"welcome", sample_welcome()},
      {"proof", Proof{counted_from<Mac>(200)}},
      {"refusal", Refusal{"this front end speaks version 1, the caller version 2"}},
      {"host_report", sample_host_report()},
      {"start_comm_process", StartCommProcess{NodeId{18}, 2}},
      {"comm_process_report",
       CommProcessReport{NodeId{18}, sample_addresses(), 4243, "no more processes"}},
      {"assignment", sample_assignment()},
      {"attached", Attached{NodeId{17}, NodeId{6}}},
      {"leaf_set", LeafSet{leaves(1, 20, 40), IntervalSet::of(7)}},
      {"packet", sample_packet()},
      {"acknowledgement", Acknowledgement{{window_id(), chunk_id()}, {chunk_id()}}},
      {"control", sample_control()},
      {"ping", Ping{123456789012345}},
      {"pong", Pong{1, 2, 3, -4, 5}},
      {"goodbye", Goodbye{"all is acknowledged"}},
      {"link_report", sample_link_report()},
      {"notice", sample_notice()},
      {"control_of_streams", sample_control_of_streams()},
      {"multicast", Multicast{StreamId{107}, 12, leaves(1, 20, 40), bytes_of("fields")}},
      {"multicast_to_some", sample_multicast_to_some()},
      {"multicast_part", sample_multicast_share(MulticastShare::kPart, bytes_of("part"))},
      {"multicast_nothing", sample_multicast_share(MulticastShare::kNothing, {})},
      {"multicast_failed", sample_multicast_share(MulticastShare::kFailed, {})},
      {"control_of_narrowed_stream", sample_control_of_narrowed_stream()},
      {"control_of_services", sample_control_of_services()},
      {"multicast_gap", MulticastGap{StreamId{107}, LeafId{4}, 9, 12}},
      {"stream_refused",
       StreamRefused{StreamId{107}, NodeId{17}, "node12", "libhistogram.so: no such file"}},
      {"streams_taken", StreamsTaken{13}},
      {"credit", Credit{1048576}},
      {"host_facts", HostFacts{LeafId{4}, {{"idle", 0.75}, {"round_trip", 54.3}}}},
      {"control_of_facts", sample_control_of_facts()},
      {"hello_of_program", sample_hello_of_program()},
      {"control_of_run", sample_control_of_run()},
      {"welcome_of_clocks", sample_welcome_of_clocks()},
  };
}

Registration sample_registration() {
  ProcessRow early;
  early.lane = Lane{1};
  early.pid = 501;
  early.program = "/usr/bin/lmp";
  ProcessRow running = early;
  running.lane = Lane{2};
  running.pid = 502;
  running.initialised = true;
  running.world_key = counted_from<WorldKey>(7);
  running.rank = Rank{3};
  running.world_size = 4;
  running.mpi_library = "Open MPI 4.1.4";
  return {"node12",
          {{FunctionId{0}, "MPI_Send", 1}, {FunctionId{9}, "MPI_Bcast", 2}},
          {early, running}};
}

Registration sample_registration_of_definitions() {
  Registration registration = sample_registration();
  registration.functions.clear();
  registration.processes.erase(registration.processes.begin());
  Definitions& definitions = registration.processes[0].definitions;
  definitions.communicators = {
      {CommId{77}, CommId{0}, 0x8123456789abcdef, CommunicatorKind::kCartesian, 4, 0},
      {CommId{78}, std::nullopt, 5, CommunicatorKind::kInter, 1, 3}};
  definitions.members = {{0x8123456789abcdef, 3, false}, {5, 2, true}};
  definitions.names = {{CommId{77}, "grid of 2 x 2"}};
  definitions.dimensions = {{CommId{77}, 0, 2, true}, {CommId{77}, 1, 2, false}};
  definitions.neighbours = {{CommId{79}, true, 0, Rank{1}}, {CommId{79}, false, 1, std::nullopt}};
  definitions.call_sites = {
      {CallSiteId{0x8000000000000001}, "/usr/bin/solver", {std::byte{0xab}, std::byte{1}}, 0x1234},
      {CallSiteId{9}, "/usr/lib/libhalo.so", {}, 16}};
  definitions.lost = 6;
  return registration;
}

Registration sample_registration_of_processors() {
  Registration registration = sample_registration();
  registration.processes.back().processors = "0-3,8";
  registration.processor = "AMD EPYC 9R14";
  registration.frequency_hz = 3'700'000'000;
  return registration;
}

Registration sample_registration_of_threads() {
  Registration registration = sample_registration();
  ProcessRow& process = registration.processes.back();
  process.thread_level = 4;
  process.definitions.threads = {{ThreadIndex{0}, 4711, 123'456'789'012},
                                 {ThreadIndex{63}, 0xffffffff, 0}};
  process.definitions.record_costs = {{RecordShape::kCounted, 1'250},
                                      {RecordShape::kPart, 0xffffffff}};
  process.definitions.regions = {{~0ULL, "solve"}, {1, ""}};
  process.definitions.region_sums = {{~0ULL, ThreadIndex{1}, 3, 5'000, 3'000, 4'000, true},
                                     {1, ThreadIndex{0}, ~0ULL, ~0ULL, ~0ULL, 0, false}};
  return registration;
}

Registration sample_registration_of_services() {
  return {"node12",
          {},
          {},
          {{Lane{1}, "host"}, {Lane{2}, "gpu-power"}},
          {{"host", {{"cpu.user", "%", 100, true}, {"load.1m", "", 0.01, false}}},
           {"gpu-power", {{"watts", "W", 1, false}}}}};
}

SeriesSample sample_series() {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  SeriesSample sample;
  sample.at_ns = 1'500'000'123;
  sample.span_ns = 1'000'000'456;
  sample.slice = 6;
  sample.layout = 0x0123456789abcdef;
  sample.captured = 42;
  sample.entries = {{kLeafLane, {0, 0, 3, -70000, kUnknown, 0.25, 9007199254740992.0, 0}},
                    {Lane{7}, {}}};
  return sample;
}

Tombstone sample_tombstone() { return {"the journal was full", 8192}; }

Tombstone sample_tombstone_of_window() {
  return {"the journal was full",
          1010,
          {{LeafId{4}, Lane{2}, 1003}, {LeafId{5}, Lane{1}, 7}},
          sample_window().accounts};
}

ProfileWindow sample_window() {
  ProfileRow row;
  row.leaf = LeafId{4};
  row.lane = Lane{2};
  row.function = FunctionId{9};
  row.estimated = true;
  row.calls = 1003;
  row.calls_so_far = 5000;
  row.time_ns = 999999;
  row.min_ns = 90;
  row.max_ns = 70000;
  row.bytes = 1 << 20;
  row.histogram.add(0, 3);
  row.histogram.add(700, 999);
  row.histogram.add(~std::uint64_t{0});
  AccountRow account;
  account.leaf = LeafId{4};
  account.lane = Lane{2};
  account.captured = 6000;
  account.lost = 10;
  account.windowed = 5990;
  account.events = 4000;
  account.event_calls = 5000;
  account.ended = true;
  account.loss_by_function = {{FunctionId{0}, 4}, {FunctionId{9}, 6}};
  ProfileWindow window;
  window.begin_ns = -250 * kMillisecond;
  window.end_ns = 250 * kMillisecond;
  window.rows = {row};
  window.matrix = {{LeafId{4}, Lane{2}, Rank{1}, 4096, 8}};
  window.accounts = {account};
  window.waits = {{LeafId{4}, Lane{2}, Rank{0}, 77777, 12}};
  return window;
}

ProfileWindow sample_window_of_calls_under_way() {
  ProfileWindow window = sample_window();
  AccountRow& account = window.accounts.front();
  account.since_ns = 1'234'567'890;
  account.until_ns = 9'876'543'210;
  account.threads = 3;
  UnderWayRow receive;
  receive.leaf = LeafId{4};
  receive.lane = Lane{2};
  receive.thread = ThreadIndex{1};
  receive.function = FunctionId{9};
  receive.begin_ns = 5'000'000'001;
  receive.peer = Rank{7};
  receive.comm = CommId{0x12345678};
  UnderWayRow unknown = receive;
  unknown.thread = ThreadIndex{2};
  unknown.peer.reset();
  unknown.comm.reset();
  window.under_way = {receive, unknown};
  window.earlier = {{LeafId{4}, Lane{2}, FunctionId{8}, true, -500 * kMillisecond,
                     -250 * kMillisecond, 249'999'999}};
  return window;
}

std::vector<Event> sample_events() {
  std::vector<Event> events(100);
  for (std::size_t i = 0; i < events.size(); ++i) {
    Event& event = events[i];
    const auto n = static_cast<std::int32_t>(i);
    event.begin_ns = 1000 * n;
    event.end_ns = 1000 * n + 350 + n % 7;
    event.bytes = i % 3 == 0 ? 0 : 8u * static_cast<std::uint64_t>(n);
    event.comm = i % 5 == 0 ? kNoComm : CommId{1};
    event.peer = i % 5 == 0 ? kNoPeer : n % 4;
    event.tag = i % 5 == 0 ? kNoTag : 17;
    event.request = i % 4 == 0 ? 0x7f0000001000 + 64 * i : 0;
    event.result = i == 50 ? 13 : 0;
    event.calls = i % 10 == 0 ? 1000 : 1;
    event.thread = ThreadIndex{static_cast<std::uint32_t>(i % 2)};
    event.function = FunctionId{static_cast<std::uint16_t>(i % 6)};
    event.kind = i % 9 == 0 ? kKindCompletion : kKindMpi;
  }
  return events;
}

std::vector<Fields> sample_waves() {
  const Fields every_type{{1, std::int64_t{-42}},
                          {2, std::uint64_t{1} << 63},
                          {3, 0.1},
                          {4, std::string("node01")},
                          {5, std::vector<std::byte>{std::byte{1}, std::byte{0}, std::byte{255}}},
                          {6, std::vector<std::int64_t>{-1, 0, 1}},
                          {7, std::vector<std::uint64_t>{1, 2}},
                          {8, std::vector<double>{-0.5, 1e300}},
                          {65535, std::vector<std::string>{"main", "", std::string("a\0b", 3)}}};
  return {every_type, {}, Fields{{1, std::int64_t{7}}}};
}

}  // namespace xylem::wire::testing
