// The services of a host: which agent has them, when they measure, and that each missing sample is
// counted, whatever dies.

#include "backend/agent/services.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "storage/read/query.h"
#include "storage/write/store.h"
#include "tests/support/fake_network.h"
#include "tests/support/hand_made_segment.h"

namespace xylem::backend {
namespace {

using ::testing::ElementsAre;

struct Death {};

class ServicesTest : public ::testing::Test {
 protected:
  /// A back end of the host: the memory that its guard holds, and the worker's services.
  struct BackEnd {
    explicit BackEnd(LeafId number, std::size_t journal_bytes = 1u << 20)
        : leaf(number), memory(journal_bytes) {}
    LeafId leaf;
    testing::Memory memory;
    testing::FakeNetwork network;
    std::unique_ptr<Journal> journal;
    std::unique_ptr<Services> services;
    int die_after = -1;  // Number of stores into the journal before the worker dies.
  };

  ServicesTest() {
    std::string name = "/tmp/xylem-services-test-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    set_log_sink([](Level, std::string_view) {});
    std::filesystem::create_directories(folder_ + "/proc");
    std::ofstream(folder_ + "/proc/loadavg") << "0.50 0.50 0.50 1/100 1\n";
    control_.version = 1;
    control_.window_ns = 250 * kMillisecond;
    control_.epoch_ns = 50 * kSecond;
    control_.services = {{"host", "", 1 * kSecond, kSecond}};
  }
  ~ServicesTest() override {
    set_log_sink({});
    std::filesystem::remove_all(folder_);
  }

  /// Starts a worker with the memory of its predecessor.
  void start(BackEnd& on) {
    on.services.reset();
    on.journal.reset();
    JournalOptions options;
    options.on_store = [&on] {
      if (on.die_after > 0 && --on.die_after == 0) throw Death{};
    };
    on.journal = std::make_unique<Journal>(*Journal::open(on.memory.bytes(), options));
    ServicesOptions services;
    services.host = "node";
    services.folder = folder_;
    services.root = folder_;
    services.max_layouts = max_layouts_;
    if (late_ != 0) services.clock = [this, &on] { return on.network.now + late_; };
    on.services = std::make_unique<Services>(services, *on.journal);
    on.services->start(on.network);
    on.services->set_offset(10 * kSecond);
    on.services->configure(on.leaf, control_);
  }
  static void run_until(BackEnd& on, Nanos until) {
    for (Nanos due = on.services->next_due(); due != 0 && due <= until;
         due = on.services->next_due()) {
      on.network.now = std::max(on.network.now, due);
      on.services->run(on.network.now);
    }
    on.network.now = std::max(on.network.now, until);
  }
  /// Stores the packets that wait in the journal, and acknowledges them.
  void deliver(BackEnd& on) {
    for (const PacketKey& key : on.journal->keys()) {
      ASSERT_TRUE(store_->put(on.journal->read(key)));
      on.journal->acknowledge(key);
    }
  }
  std::vector<Nanos> times_of_samples(const BackEnd& on) {
    std::vector<Nanos> times;
    for (const PacketKey& key : on.journal->keys()) {
      if (key.stream != wire::kSeriesStream) continue;
      const auto sample = wire::decode_series(on.journal->read(key).payload);
      if (sample) times.push_back(sample->at_ns);
    }
    return times;
  }
  /// captured, stored, lost of all leaves that took samples.
  std::vector<std::int64_t> account() {
    EXPECT_TRUE(store_->commit());
    auto file = storage::RunFile::open(folder_ + "/run.db");
    const auto rows = (*file)->rows("SELECT captured, stored, lost FROM service_account");
    std::vector<std::int64_t> numbers;
    for (const auto& row : *rows) {
      for (const auto& cell : row) numbers.push_back(std::get<std::int64_t>(cell));
    }
    return numbers;
  }
  void open_store() {
    store_ = *storage::make_sqlite_store({folder_ + "/run.db"});
    ASSERT_TRUE(store_->begin_run({}));
  }

  std::string folder_;
  wire::Control control_;
  std::size_t max_layouts_ = ServicesOptions().max_layouts;
  Nanos late_ = 0;  // The delay between run() and the start of a sample.
  std::unique_ptr<storage::Store> store_;
};

TEST_F(ServicesTest, SamplesAreTakenAtMultiplesOfTheIntervalInTheRunsTimeAndAtBeginAndEnd) {
  BackEnd host(LeafId{1});
  start(host);
  host.network.now = 100 * kSecond + 300 * kMillisecond;  // 60.3 s of the run.
  run_until(host, 102 * kSecond + 100 * kMillisecond);
  EXPECT_TRUE(host.services->finish(host.network.now));
  EXPECT_THAT(times_of_samples(host), ElementsAre(60'300 * kMillisecond, 61 * kSecond, 62 * kSecond,
                                                  62'100 * kMillisecond));
  EXPECT_EQ(host.services->next_due(), 0);
}

TEST_F(ServicesTest, ASampleIsOfTheTimeAtWhichItWasBegun) {
  BackEnd host(LeafId{1});
  late_ = 40 * kMillisecond;
  start(host);
  host.network.now = 100 * kSecond;
  run_until(host, 101 * kSecond);
  EXPECT_THAT(times_of_samples(host), ElementsAre(60'040 * kMillisecond, 61'040 * kMillisecond));
}

TEST_F(ServicesTest, AServiceHasOneBackEndAndAnotherTakesOverWhenThatIsGone) {
  BackEnd first(LeafId{1}), second(LeafId{2});
  start(first);
  start(second);
  for (BackEnd* each : {&first, &second}) each->network.now = 100 * kSecond;
  run_until(first, 105 * kSecond);
  run_until(second, 105 * kSecond);
  EXPECT_EQ(times_of_samples(first).size(), 6u);
  EXPECT_EQ(times_of_samples(second).size(), 0u);
  first.services.reset();  // The kernel does this with a killed process.
  run_until(second, 107 * kSecond);
  EXPECT_GE(times_of_samples(second).size(), 2u);
  start(first);  // Its guard starts another worker, which finds the service taken.
  run_until(first, 107 * kSecond);
  EXPECT_EQ(times_of_samples(first).size(), 6u);
}

TEST_F(ServicesTest, ALockThatIsNotInTheFolderAnyMoreCountsForNothing) {
  ServiceLock held(folder_, "host");
  ASSERT_TRUE(held.try_hold());
  EXPECT_FALSE(ServiceLock(folder_, "host").try_hold());
  EXPECT_TRUE(ServiceLock(folder_, "process").try_hold());
  std::filesystem::remove(folder_ + "/service-host");
  EXPECT_TRUE(ServiceLock(folder_, "host").try_hold());
}

TEST_F(ServicesTest, WhoeverHasEndedGivesItsServicesToOthers) {
  BackEnd first(LeafId{1}), second(LeafId{2});
  start(first);
  start(second);
  for (BackEnd* each : {&first, &second}) each->network.now = 100 * kSecond;
  run_until(first, 101 * kSecond);
  EXPECT_TRUE(first.services->finish(first.network.now));
  run_until(second, 103 * kSecond);
  EXPECT_GE(times_of_samples(second).size(), 3u);
}

TEST_F(ServicesTest, WhereverTheWorkerDiesEverySampleIsStoredOrCountedAsLost) {
  open_store();
  std::uint32_t leaf = 0;
  for (int die_after = 1; die_after < 60; ++die_after) {
    SCOPED_TRACE(die_after);
    BackEnd host(LeafId{++leaf});
    start(host);
    host.network.now = 100 * kSecond;
    host.die_after = die_after;
    bool died = false;
    try {
      run_until(host, 102 * kSecond);
    } catch (const Death&) {
      died = true;
    }
    host.die_after = -1;
    if (died) start(host);
    run_until(host, 104 * kSecond);
    ASSERT_TRUE(host.services->finish(host.network.now));
    deliver(host);
    const auto numbers = account();
    ASSERT_EQ(numbers.size(), 3 * leaf);
    const auto captured = numbers[3 * leaf - 3];
    EXPECT_EQ(captured, host.journal->samples_taken(Lane{1}));
    EXPECT_EQ(captured, numbers[3 * leaf - 2] + numbers[3 * leaf - 1]);
    EXPECT_LE(numbers[3 * leaf - 1], died ? 1 : 0);
    EXPECT_GE(captured, 5);
  }
}

TEST_F(ServicesTest, SamplesThatFindNoRoomAreCountedAsLostOnceThereIsRoom) {
  open_store();
  BackEnd host(LeafId{1}, Journal::kSmallest);
  start(host);
  host.network.now = 100 * kSecond;
  // Registrations are never given up, so they leave no room.
  Draft filler;
  filler.packet.id.stream = wire::kRegistrationStream;
  filler.packet.id.sources = IntervalSet::of(1);
  filler.packet.payload.resize(1000);
  do {
    filler.packet.id.wave = host.journal->next_wave(wire::kRegistrationStream);
    filler.packet.id.wave_end = filler.packet.id.wave + 1;
  } while (host.journal->append(filler));
  filler.packet.payload.clear();
  do {
    filler.packet.id.wave = host.journal->next_wave(wire::kRegistrationStream);
    filler.packet.id.wave_end = filler.packet.id.wave + 1;
  } while (host.journal->append(filler));
  run_until(host, 104 * kSecond);
  EXPECT_EQ(host.journal->samples_taken(Lane{1}), 5u);
  EXPECT_EQ(host.journal->next_sample(Lane{1}), 0u);
  for (const PacketKey& key : host.journal->keys()) host.journal->acknowledge(key);
  run_until(host, 106 * kSecond);
  deliver(host);
  EXPECT_THAT(account(), ElementsAre(7, 2, 5));
}

TEST_F(ServicesTest, AServiceThatNeverGaveASampleStandsInTheAccountOfWhoHadIt) {
  control_.services = {{"probe", "/nothing/of/this/name", kSecond, kSecond}};
  open_store();
  BackEnd first(LeafId{1}), second(LeafId{2});
  for (BackEnd* each : {&first, &second}) {
    start(*each);
    each->network.now = 100 * kSecond;
    run_until(*each, 100 * kSecond);
  }
  for (BackEnd* each : {&first, &second}) deliver(*each);
  EXPECT_THAT(account(), ElementsAre(0, 0, 0)) << "of one back end";
  auto file = storage::RunFile::open(folder_ + "/run.db");
  const auto rows = (*file)->rows("SELECT leaf, service FROM service_account");
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(rows->at(0).at(0)), 1);
  EXPECT_EQ(std::get<std::string>(rows->at(0).at(1)), "probe");
  first.services->finish(first.network.now);
}

TEST_F(ServicesTest, NamesThatComeAndGoAreNotToldForEver) {
  std::vector<std::string> said;
  set_log_sink([&said](Level, std::string_view line) { said.emplace_back(line); });
  max_layouts_ = 3;
  open_store();
  BackEnd host(LeafId{1});
  start(host);
  host.network.now = 100 * kSecond;
  std::filesystem::create_directories(folder_ + "/proc/net");
  for (int i = 0; i < 6; ++i) {
    std::ofstream(folder_ + "/proc/loadavg") << i << " 0.50 0.50 1/100 1\n";
    std::ofstream(folder_ + "/proc/diskstats")
        << " 8 0 sd" << i << " 10 1 100 20 5 2 40 30 " << i << " 25 60\n";
    run_until(host, host.network.now);
    host.network.now += kSecond;
  }
  deliver(host);
  EXPECT_THAT(account(), ElementsAre(6, 6, 0));
  auto file = storage::RunFile::open(folder_ + "/run.db");
  const auto number = [&file](const std::string& sql) {
    return std::get<std::int64_t>((*file)->rows(sql)->at(0).at(0));
  };
  EXPECT_EQ(number("SELECT count(DISTINCT layout) FROM series_metric"), 3);
  EXPECT_EQ(number("SELECT count(*) FROM host_metric WHERE name LIKE 'disk.%.in_flight'"), 3)
      << "of sd0, sd1 and sd2 when they were there";
  EXPECT_EQ(number("SELECT CAST(sum(value) AS INTEGER) FROM host_metric WHERE name = 'load.1m'"),
            15)
      << "what was there before goes on";
  const auto is_of_it = [](const std::string& line) {
    return line.find("change too often") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(said, is_of_it), 1);
}

TEST_F(ServicesTest, SamplesOfAProcessBelongToTheRankOfItsLane) {
  control_.services = {{"process", "", kSecond, kSecond}};
  open_store();
  BackEnd host(LeafId{1});
  std::filesystem::create_directories(folder_ + "/proc/77");
  std::ofstream(folder_ + "/proc/77/stat") << "77 (a b) c) R 1 1 1 0 -1 0 5 0 1 0 7 9 0 0 20 0 3 0 "
                                              "5 8192 2 0 0 0 0 0 0 0 0 0 0 0 0 0 17 "
                                              "1 0 0 0 0 0\n";
  start(host);
  wire::ProcessRow row;
  row.lane = Lane{1};
  row.pid = 77;
  row.initialised = true;
  row.world_key = {1};
  row.rank = Rank{2};
  row.world_size = 4;
  row.program = "app";
  wire::Registration registration;
  registration.host = "node";
  registration.processes = {row};
  Draft draft;
  draft.packet.id = {
      wire::kRegistrationStream, kLeafLane, host.journal->next_wave(wire::kRegistrationStream),
      host.journal->next_wave(wire::kRegistrationStream) + 1, IntervalSet::of(raw(host.leaf))};
  draft.packet.payload = wire::encode(registration);
  ASSERT_TRUE(host.journal->append(draft));
  host.services->add(row.lane, row.pid);
  host.network.now = 100 * kSecond;
  run_until(host, 101 * kSecond);
  deliver(host);
  ASSERT_TRUE(store_->commit());
  auto file = storage::RunFile::open(folder_ + "/run.db");
  const auto rows =
      (*file)->rows("SELECT rank, pid, value FROM process_metric WHERE name = 'threads' LIMIT 1");
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(rows->at(0).at(0)), 2);
  EXPECT_EQ(std::get<std::int64_t>(rows->at(0).at(1)), 77);
  host.services->remove(row.lane);
}

}  // namespace
}  // namespace xylem::backend
