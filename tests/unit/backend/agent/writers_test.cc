// The parts of the Collector alone: packet_writer.h, registration_writer.h, record_reader.h,
// silence_watch.h, chunk_writer.h. The whole is tested in collector_test.cc and, with deaths of the
// worker, in exactly_once_test.cc.

#include <gtest/gtest.h>

#include "backend/agent/chunk_writer.h"
#include "backend/agent/packet_writer.h"
#include "backend/agent/record_reader.h"
#include "backend/agent/region_writer.h"
#include "backend/agent/registration_writer.h"
#include "backend/agent/silence_watch.h"
#include "tests/support/hand_made_segment.h"

namespace xylem::backend {
namespace {

using testing::HandMadeSegment;

constexpr LeafId kWritingLeaf{5};
constexpr Nanos kPause = 200 * kMillisecond;
constexpr Nanos kChunkAge = 100 * kMillisecond;

/// Two processes and a journal, without a Collector.
class WritersTest : public ::testing::Test {
 protected:
  WritersTest() : memory_(Journal::kSmallest), journal_(*Journal::open(memory_.bytes())) {
    control_.enabled = true;
    control_.chunks = true;
    control_.window_ns = 1 * kSecond;
    clock_.follow(0, 0, 0);
    processes_.add(WatchedProcess(Lane{1}, first_.view(), 0));
    processes_.add(WatchedProcess(Lane{2}, second_.view(), 0));
  }

  Drain drain() {
    Drain drain{.leaf = kWritingLeaf, .control = control_, .clock = clock_};
    drain.now = drain.run_now = drain.read_at = now_;
    drain.round = ++round_;
    drain.budget = 1000;
    return drain;
  }
  /// Both have registered and are in MPI_COMM_WORLD.
  void enter_world() {
    first_.enter_world(0, 2);
    second_.enter_world(1, 2);
    for (auto& [lane, process] : processes_) process.announced = process.announced_world = true;
  }
  std::vector<wire::Registration> registrations() {
    std::vector<wire::Registration> found;
    for (const PacketKey& key : journal_.keys()) {
      if (key.stream != wire::kRegistrationStream) continue;
      found.push_back(*wire::decode_registration(journal_.read(key).payload));
    }
    return found;
  }
  std::vector<wire::Registration> registrations_since(std::size_t first) {
    std::vector<wire::Registration> found = registrations();
    found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(first));
    return found;
  }
  Draft draft_of(std::uint64_t wave, std::size_t bytes) {
    Draft draft;
    draft.packet.id.stream = wire::kWindowStream;
    draft.packet.id.wave = wave;
    draft.packet.id.wave_end = wave + 1;
    draft.packet.id.sources = IntervalSet::of(raw(kWritingLeaf));
    draft.packet.payload.resize(bytes);
    return draft;
  }

  Nanos now_ = 100 * kSecond;
  std::uint64_t round_ = 0;
  std::size_t seen_ = 0;  ///< Packets that the test has looked at.
  wire::Control control_;
  RunClock clock_;
  testing::Memory memory_;
  Journal journal_;
  HandMadeSegment first_, second_;
  WatchedProcesses processes_;
  PacketWriter packets_{journal_, kPause};
  RecordReader records_{[this] { return now_; }, [] { return TickPair{}; }, TickClock()};
};

TEST_F(WritersTest, AFullJournalPausesWritingUntilThePauseEndsOrRoomIsReported) {
  EXPECT_FALSE(packets_.write(draft_of(1, 2 * Journal::kSmallest), now_));
  EXPECT_TRUE(packets_.take_written().empty());
  EXPECT_FALSE(packets_.may_write(now_));
  EXPECT_EQ(packets_.retry_at(), now_ + kPause);
  EXPECT_TRUE(packets_.may_write(now_ + kPause));
  packets_.resume();
  EXPECT_TRUE(packets_.may_write(now_));
}

TEST_F(WritersTest, APacketThatAPredecessorWroteIsNotListedAgain) {
  ASSERT_TRUE(PacketWriter(journal_, kPause).write(draft_of(1, 10), now_));
  EXPECT_TRUE(packets_.write(draft_of(1, 10), now_));
  EXPECT_TRUE(packets_.take_written().empty());
  EXPECT_TRUE(packets_.write(draft_of(2, 10), now_));
  EXPECT_EQ(packets_.take_written().size(), 1u);
}

TEST_F(WritersTest, ProcessesAreAnnouncedOnceAndAgainWithTheirRank) {
  RegistrationWriter writer({.host = "host"}, packets_, processes_);
  EXPECT_TRUE(writer.announce(drain()));
  EXPECT_TRUE(writer.announce(drain()));
  ASSERT_EQ(registrations().size(), 2u);
  EXPECT_FALSE(registrations()[0].processes[0].initialised);
  first_.enter_world(0, 2);
  EXPECT_TRUE(writer.announce(drain()));
  ASSERT_EQ(registrations().size(), 3u);
  EXPECT_TRUE(registrations()[2].processes[0].initialised);
}

TEST_F(WritersTest, RegistrationsHaveTheProcessorOfTheHostAndThoseOfTheProcess) {
  std::string allowed = "0-3";
  RegistrationWriter writer({.host = "host",
                             .processor = {"a model", 2'000'000'000},
                             .allowed_processors = [&](std::uint32_t) { return allowed; }},
                            packets_, processes_);
  EXPECT_TRUE(writer.announce(drain()));
  allowed = "2";  // The launcher, or the MPI, has bound the process since.
  first_.enter_world(0, 2);
  EXPECT_TRUE(writer.announce(drain()));
  ASSERT_EQ(registrations().size(), 3u);
  for (const wire::Registration& found : registrations()) {
    EXPECT_EQ(found.processor, "a model");
    EXPECT_EQ(found.frequency_hz, 2'000'000'000u);
  }
  EXPECT_EQ(registrations()[0].processes[0].processors, "0-3");
  EXPECT_EQ(registrations()[2].processes[0].processors, "2");
}

TEST_F(WritersTest, ASharedFunctionTableIsJournalledOnce) {
  RegistrationWriter writer({.host = "host"}, packets_, processes_);
  EXPECT_TRUE(writer.announce(drain()));
  ASSERT_EQ(registrations().size(), 2u);
  EXPECT_FALSE(registrations()[0].functions.empty());
  EXPECT_TRUE(registrations()[1].functions.empty());
}

TEST_F(WritersTest, DefinitionsAreAnnouncedOnceWithTheRowOfTheirProcess) {
  RegistrationWriter writer({.host = "host"}, packets_, processes_);
  first_.define(capture::DefinitionKind::kMember, capture::MemberDefinition{7, 0, 0});
  EXPECT_TRUE(writer.announce(drain()));
  for (const wire::Registration& found : registrations())
    EXPECT_EQ(found.processes[0].definitions, wire::Definitions{}) << "it has no rank yet";
  first_.enter_world(0, 2);
  EXPECT_TRUE(writer.announce(drain()));
  EXPECT_TRUE(writer.announce(drain()));
  wire::Definitions expected;
  expected.members = {{7, 0, false}};
  ASSERT_EQ(registrations().size(), 4u);
  EXPECT_EQ(registrations()[3].processes[0].definitions, expected);
  EXPECT_TRUE(registrations()[3].processes[0].initialised);
  EXPECT_EQ(first_.header().definitions.tail.load(), first_.header().definitions.head.load());
}

TEST_F(WritersTest, ASuccessorReadsOnlyDefinitionsThatAreNotJournalled) {
  enter_world();
  first_.define(capture::DefinitionKind::kMember, capture::MemberDefinition{7, 0, 0});
  EXPECT_TRUE(RegistrationWriter({.host = "host"}, packets_, processes_).announce(drain()));
  first_.define(capture::DefinitionKind::kMember, capture::MemberDefinition{8, 0, 0});
  WatchedProcesses again;
  again.add(WatchedProcess(Lane{1}, first_.view(), 0));
  for (auto& [lane, process] : again) process.announced = process.announced_world = true;
  EXPECT_TRUE(RegistrationWriter({.host = "host"}, packets_, again).announce(drain()));
  ASSERT_EQ(registrations().size(), 2u);
  ASSERT_EQ(registrations()[1].processes[0].definitions.members.size(), 1u);
  EXPECT_EQ(registrations()[1].processes[0].definitions.members[0].group, 8u);
}

TEST_F(WritersTest, ThreadsHaveTimesOfTheRun) {
  RegistrationWriter writer({.host = "host"}, packets_, processes_);
  first_.enter_world(0, 2);
  const auto define = [&](std::uint32_t os_thread, Nanos since) {
    first_.define(capture::DefinitionKind::kThread,
                  capture::ThreadDefinition{3, os_thread, static_cast<std::uint64_t>(since)});
  };
  define(41, now_ - kSecond);
  define(42, now_ + 1000 * kSecond);  // A time that has not come yet cannot be.
  define(43, 0);                      // Before the run.
  EXPECT_TRUE(writer.announce(drain()));
  std::vector<wire::ThreadRow> found;
  for (const wire::Registration& it : registrations()) {
    const auto& threads = it.processes[0].definitions.threads;
    found.insert(found.end(), threads.begin(), threads.end());
  }
  EXPECT_EQ(found,
            (std::vector<wire::ThreadRow>{{ThreadIndex{3}, 41, clock_.to_run(now_ - kSecond)},
                                          {ThreadIndex{3}, 42, clock_.to_run(now_)},
                                          {ThreadIndex{3}, 43, 1}}));
}

TEST_F(WritersTest, SumsOfRegionsAreToldWhenTheyChangeAndCountUpToNow) {
  RegistrationWriter registrations({.host = "host"}, packets_, processes_);
  RegionWriter writer(registrations, records_, processes_);
  enter_world();
  capture::ThreadRing& ring = first_.ring_at(2);
  first_.header().threads.store(3);
  ring.regions_version = 2;
  ring.regions.count = 1;
  ring.regions.sums[0].region = 77;
  ring.regions.sums[0].visits = 3;
  ring.regions.sums[0].time_ns = 5'000;
  ring.regions.sums[0].max_ns = 3'000;
  ring.regions.sums[0].mpi_ticks = 4'000;  // Nanoseconds: the process has no tick counter.
  const auto told = [&] {
    auto step = drain();
    EXPECT_TRUE(writer.drain(step));
    std::vector<wire::RegionSumRow> rows;
    for (const wire::Registration& it :
         registrations_since(std::exchange(seen_, journal_.keys().size()))) {
      const auto& sums = it.processes[0].definitions.region_sums;
      rows.insert(rows.end(), sums.begin(), sums.end());
    }
    return rows;
  };
  using Rows = std::vector<wire::RegionSumRow>;
  const ThreadIndex thread{2};
  EXPECT_EQ(told(), (Rows{{77, thread, 3, 5'000, 3'000, 4'000, false}}));
  now_ += RegionWriter::kInterval;
  EXPECT_EQ(told(), Rows{}) << "nothing has changed";
  // The thread enters the region, and in it a call.
  const Nanos entered = now_;
  ring.regions.open[0].sum = 0;
  ring.regions.open[0].begin_ns = static_cast<std::uint64_t>(entered);
  ring.regions.depth = 1;
  now_ += RegionWriter::kInterval / 2;
  EXPECT_EQ(told(), Rows{}) << "it is too early";
  ring.under_way.begin.store(static_cast<std::uint64_t>(now_));
  now_ += RegionWriter::kInterval;
  const auto in_it = static_cast<std::uint64_t>(now_ - entered);
  const auto in_call = static_cast<std::uint64_t>(RegionWriter::kInterval);
  EXPECT_EQ(told(), (Rows{{77, thread, 4, 5'000 + in_it, in_it, 4'000 + in_call, false}}));
  // The call has returned, and its time is in the sums: it does not count twice.
  ring.mpi_ticks = in_call;
  ring.mpi_until = static_cast<std::uint64_t>(now_);
  const std::uint64_t before = in_it;
  now_ += RegionWriter::kInterval;
  EXPECT_EQ(
      told(),
      (Rows{{77, thread, 4, 5'000 + before + in_call, before + in_call, 4'000 + in_call, false}}));
  // The process ends: the sums stop at its end, and are told at once.
  WatchedProcess& process = processes_.at(Lane{1});
  process.ended = true;
  process.stopped_at = now_ + 10;
  now_ += 100;
  EXPECT_EQ(told(), (Rows{{77, thread, 4, 5'000 + before + in_call + 10, before + in_call + 10,
                           4'000 + in_call, false}}));
}

TEST_F(WritersTest, VisitsThatNobodyCountedAreTold) {
  RegistrationWriter registrations({.host = "host"}, packets_, processes_);
  RegionWriter writer(registrations, records_, processes_);
  enter_world();
  first_.header().threads.store(1);
  first_.ring_at(0).regions_version = 2;
  first_.ring_at(0).regions.dropped = 5;
  first_.ring_at(0).regions.lost_records = 6;
  auto step = drain();
  EXPECT_TRUE(writer.drain(step));
  ASSERT_EQ(registrations_since(0).size(), 1u);
  EXPECT_EQ(registrations_since(0)[0].processes[0].definitions.region_sums,
            (std::vector<wire::RegionSumRow>{
                {.region = wire::kUncountedVisits, .thread = ThreadIndex{0}, .visits = 5},
                {.region = wire::kLostRegionEvents, .thread = ThreadIndex{0}, .visits = 6}}));
}

// Registrations are never given up, so sums must not fill the journal while nobody acknowledges.
TEST_F(WritersTest, SumsOfRegionsThatALivingProcessIsInDoNotFillTheJournal) {
  RegistrationWriter registrations({.host = "host"}, packets_, processes_);
  RegionWriter writer(registrations, records_, processes_);
  enter_world();
  first_.header().threads.store(1);
  capture::ThreadRing& ring = first_.ring_at(0);
  ring.regions_version = 2;
  ring.regions.count = 1;
  ring.regions.sums[0].region = 77;
  ring.regions.open[0].begin_ns = 1;
  ring.regions.depth = 1;
  std::size_t packets = 0;
  for (int i = 0; i < 100'000; ++i) {
    now_ += RegionWriter::kInterval;
    auto step = drain();
    ASSERT_TRUE(writer.drain(step));
    packets = journal_.keys().size();
    if (!registrations.has_room_for_definitions()) break;
  }
  EXPECT_FALSE(registrations.has_room_for_definitions());
  now_ += RegionWriter::kInterval;
  auto step = drain();
  EXPECT_TRUE(writer.drain(step));
  EXPECT_EQ(journal_.keys().size(), packets);
  processes_.at(Lane{1}).ended = true;  // Its last sums are told.
  now_ += 1;
  auto last = drain();
  EXPECT_TRUE(writer.drain(last));
  EXPECT_EQ(journal_.keys().size(), packets + 1);
}

TEST_F(WritersTest, DefinitionsThatHadNoRoomAreCounted) {
  enter_world();
  first_.header().definitions.dropped.store(5);
  RegistrationWriter writer({.host = "host"}, packets_, processes_);
  EXPECT_TRUE(writer.announce(drain()));
  EXPECT_TRUE(writer.announce(drain()));
  ASSERT_EQ(registrations().size(), 1u);
  EXPECT_EQ(registrations()[0].processes[0].definitions.lost, 5u);
}

TEST_F(WritersTest, ADamagedLogOfDefinitionsIsLeftOutAndCounted) {
  enter_world();
  first_.define(capture::DefinitionKind::kMember, capture::MemberDefinition{7, 0, 0});
  first_.define(capture::DefinitionKind::kMember, std::uint64_t{~std::uint64_t{0}});
  first_.header().definitions.head.fetch_sub(8);  // The second entry is cut off.
  RegistrationWriter writer({.host = "host"}, packets_, processes_);
  EXPECT_TRUE(writer.announce(drain()));
  EXPECT_TRUE(writer.announce(drain()));
  std::uint64_t lost = 0, members = 0;
  for (const wire::Registration& found : registrations()) {
    lost = found.processes[0].definitions.lost;
    members += found.processes[0].definitions.members.size();
  }
  EXPECT_EQ(members, 1u);
  EXPECT_EQ(lost, 1u);
  EXPECT_EQ(first_.header().definitions.tail.load(), first_.header().definitions.head.load());
}

TEST_F(WritersTest, DefinitionsOfALivingProcessDoNotFillTheJournal) {
  enter_world();
  RegistrationWriter writer({.host = "host"}, packets_, processes_);
  const auto define = [&] {
    for (std::uint64_t group = 0; group < 300; ++group)
      first_.define(capture::DefinitionKind::kMember, capture::MemberDefinition{group, 0, 0});
    EXPECT_TRUE(writer.announce(drain()));
    return registrations().size();
  };
  std::size_t announced = 0;
  while (define() != announced) announced = registrations().size();
  EXPECT_GT(announced, 0u);
  EXPECT_LT(journal_.live_bytes(), Journal::kSmallest / 2) << "windows and chunks have room";
  journal_.acknowledge(journal_.keys().front());
  EXPECT_TRUE(writer.announce(drain()));
  EXPECT_EQ(registrations().size(), announced) << "one was acknowledged, one has come";
  processes_.at(Lane{1}).ended = true;
  EXPECT_EQ(define(), announced + 1) << "those of an ended process do not wait";
}

TEST_F(WritersTest, AFunctionTableThatAFullJournalRefusedIsJournalledLater) {
  RegistrationWriter writer({.host = "host"}, packets_, processes_);
  for (const std::size_t bytes : {4000, 1}) {
    Draft filler = draft_of(0, bytes);
    filler.packet.id.stream = wire::kRegistrationStream;  // These are never given up.
    do {
      filler.packet.id.wave = packets_.next_wave(wire::kRegistrationStream);
      filler.packet.id.wave_end = filler.packet.id.wave + 1;
    } while (packets_.write(filler, now_));
  }
  EXPECT_FALSE(writer.announce(drain()));
  for (const PacketKey& key : journal_.keys()) journal_.acknowledge(key);
  EXPECT_TRUE(writer.announce(drain()));
  ASSERT_EQ(registrations().size(), 2u);
  EXPECT_FALSE(registrations()[0].functions.empty());
  EXPECT_TRUE(registrations()[1].functions.empty());
}

TEST_F(WritersTest, AProcessThatCannotBeWatchedIsAnnouncedAndFinished) {
  RegistrationWriter writer({.host = "host"}, packets_, processes_);
  wire::ProcessRow row;
  row.lane = Lane{3};
  row.unwatched = "no shared memory";
  writer.add_unwatched(row);
  EXPECT_FALSE(writer.is_idle());
  EXPECT_TRUE(writer.announce(drain()));
  EXPECT_TRUE(writer.is_idle());
  EXPECT_EQ(processes_.take_finished(), std::vector<Lane>{Lane{3}});
  ASSERT_EQ(registrations().size(), 3u);
  EXPECT_EQ(registrations()[0].processes[0].unwatched, "no shared memory");
}

TEST_F(WritersTest, RecordsWaitUntilTheRankIsKnownOrTheProcessHasEnded) {
  WatchedProcess& process = processes_.at(Lane{1});
  EXPECT_FALSE(records_.is_readable(process, drain())) << "it is not announced";
  process.announced = true;
  EXPECT_FALSE(records_.is_readable(process, drain()));
  process.ended = true;
  EXPECT_TRUE(records_.is_readable(process, drain()));
  process.ended = false;
  process.announced_world = true;
  EXPECT_TRUE(records_.is_readable(process, drain()));
}

TEST_F(WritersTest, NoTimeIsLaterThanTheReadOrBeforeTheRun) {
  clock_ = RunClock();
  clock_.follow(0, -50 * kSecond, 0);
  Drain flush = drain();
  flush.everything = true;
  RunTimes times = records_.times_of(processes_.at(Lane{1}), flush);
  capture::Record record{};
  record.begin = 10 * kSecond;
  record.end = 500 * kSecond;
  EXPECT_EQ(times.of(record), std::pair(Nanos{0}, flush.read_at));
}

TEST_F(WritersTest, OneSilenceThatIsDueMarksAllThatAreSilent) {
  enter_world();
  SilenceWatch watch(processes_, [](std::uint32_t, std::uint64_t) { return false; });
  now_ = Silence::kShortest - 1;  // Since 0, when both were added.
  watch.look(drain());
  EXPECT_FALSE(processes_.at(Lane{1}).tells_silence);
  now_ = Silence::kShortest;
  watch.look(drain());
  SilenceWatch::told(processes_.at(Lane{1}), now_);
  SilenceWatch::told(processes_.at(Lane{2}), now_);
  EXPECT_FALSE(processes_.at(Lane{1}).tells_silence);

  second_.count(0, 1);  // The second calls, the first does not.
  now_ += Silence::kLookEvery;
  watch.look(drain());
  EXPECT_TRUE(processes_.at(Lane{1}).tells_silence);
  EXPECT_FALSE(processes_.at(Lane{2}).tells_silence);
}

TEST_F(WritersTest, AChunkIsDueWhenItsOldestRecordIs) {
  enter_world();
  RegistrationWriter announcer({.host = "host"}, packets_, processes_);
  ChunkWriter writer(packets_, records_, announcer, processes_, kChunkAge);
  first_.write(0, {.function = 1, .begin = 1, .end = 2});
  Drain early = drain();
  EXPECT_TRUE(writer.drain(early));
  EXPECT_TRUE(journal_.keys().empty());
  EXPECT_EQ(writer.next_due(processes_.at(Lane{1})), now_ + kChunkAge);
  now_ += kChunkAge;
  Drain late = drain();
  EXPECT_TRUE(writer.drain(late));
  ASSERT_EQ(journal_.keys().size(), 1u);
  EXPECT_EQ(writer.next_due(processes_.at(Lane{1})), 0);
  EXPECT_EQ(processes_.at(Lane{1}).segment.progress(0).chunk_events, 1u);
  EXPECT_EQ(ChunkWriter::next_id(processes_.at(Lane{1}), kWritingLeaf).wave, 1u);
}

TEST_F(WritersTest, ACallSiteIsAnnouncedOnceAndBeforeItsChunk) {
  enter_world();
  RegistrationWriter announcer({.host = "host"}, packets_, processes_);
  ChunkWriter writer(packets_, records_, announcer, processes_, kChunkAge);
  processes_.at(Lane{1}).call_sites.add({0x1000, 0x2000, 0xb00, {}, "/no/such/program"});
  for (int chunk = 0; chunk < 2; ++chunk) {
    for (const std::uint64_t caller : {0x1100, 0x1200, 0x1100, 0x9999999}) {
      first_.write(0, {.function = 1, .begin = 1, .end = 2, .caller = caller});
    }
    Drain due = drain();
    due.everything = true;
    EXPECT_TRUE(writer.drain(due));
  }

  const auto announced = registrations();
  ASSERT_EQ(announced.size(), 1u);
  const auto& rows = announced[0].processes.at(0).definitions.call_sites;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].object, "/no/such/program");
  EXPECT_EQ(rows[0].offset, 0x5ffu) << "one before the return address, in the file";
  EXPECT_EQ(rows[1].offset, 0x6ffu);
  const auto keys = journal_.keys();
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys[0].stream, wire::kRegistrationStream);
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const auto events = *wire::decode_chunk(journal_.read(keys[i]).payload);
    ASSERT_EQ(events.size(), 4u);
    EXPECT_EQ(events[0].site, rows[0].site);
    EXPECT_EQ(events[1].site, rows[1].site);
    EXPECT_EQ(events[2].site, rows[0].site);
    EXPECT_EQ(events[3].site, CallSiteId{}) << "no file is mapped there";
  }
}

TEST_F(WritersTest, ACallSiteWaitsForRoomAndItsChunkWithIt) {
  enter_world();
  RegistrationWriter announcer({.host = "host"}, packets_, processes_);
  ChunkWriter writer(packets_, records_, announcer, processes_, kChunkAge);
  processes_.at(Lane{1}).call_sites.add({0x1000, 0x2000, 0, {}, "/no/such/program"});
  first_.write(0, {.function = 1, .begin = 1, .end = 2, .caller = 0x1100});
  std::uint64_t wave = 0;
  while (packets_.write(draft_of(++wave, 4096), now_)) continue;
  packets_.resume();
  while (packets_.write(draft_of(++wave, 1), now_)) continue;
  packets_.resume();
  Drain full = drain();
  full.everything = true;
  EXPECT_FALSE(writer.drain(full));
  EXPECT_EQ(processes_.at(Lane{1}).segment.progress(0).chunk_events, 0u);
  for (const PacketKey& key : journal_.keys()) journal_.acknowledge(key);
  packets_.resume();
  Drain again = drain();
  again.everything = true;
  EXPECT_TRUE(writer.drain(again));
  EXPECT_EQ(registrations().size(), 1u);
  EXPECT_EQ(processes_.at(Lane{1}).segment.progress(0).chunk_events, 1u);
}

TEST_F(WritersTest, ARunWithoutChunksGetsNone) {
  enter_world();
  control_.chunks = false;
  RegistrationWriter announcer({.host = "host"}, packets_, processes_);
  ChunkWriter writer(packets_, records_, announcer, processes_, kChunkAge);
  first_.write(0, {.function = 1, .begin = 1, .end = 2});
  processes_.at(Lane{1}).ended = true;
  Drain now = drain();
  EXPECT_TRUE(writer.drain(now));
  EXPECT_TRUE(journal_.keys().empty());
}

}  // namespace
}  // namespace xylem::backend
