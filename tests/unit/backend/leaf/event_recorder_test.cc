// The events of a simulator, stored in a run's file. The tables and views have all events that were
// recorded.

#include "backend/leaf/event_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/read/query.h"
#include "storage/read/report.h"
#include "storage/write/store.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/packets.h"

namespace xylem::backend {
namespace {

using ::testing::HasSubstr;

constexpr Nanos kWindow = 100 * kMillisecond;
constexpr LeafId kRecordingLeaf{7};
constexpr FunctionId kSend{0}, kReceive{1}, kReduce{2};

EventSourceOptions options_of(std::uint32_t ranks) {
  EventSourceOptions options;
  options.leaf.name = "simulated-host";
  options.program = "ring";
  options.world_size = ranks;
  options.ranks = ranks;
  options.functions = {{"MPI_Send", SourceFunction::Class::kPointToPoint},
                       {"MPI_Recv", SourceFunction::Class::kPointToPoint},
                       {"MPI_Allreduce", SourceFunction::Class::kCollective}};
  return options;
}

SourceCall call(std::uint32_t rank, Nanos begin, Nanos end, FunctionId function = kReduce) {
  return {.rank = Rank{rank}, .begin_ns = begin, .end_ns = end, .function = function};
}

class EventRecorderTest : public ::testing::Test {
 protected:
  void begin(EventSourceOptions options, bool chunks = true) {
    auto store = storage::make_sqlite_store({path_});
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
    storage::RunFacts facts;
    facts.chunks = chunks;
    ASSERT_TRUE(store_->begin_run(facts));
    recorder_.emplace(options, kRecordingLeaf, kWindow, chunks);
  }

  void add(const SourceCall& one) {
    const auto added = recorder_->add(one);
    ASSERT_TRUE(added) << added.error().message;
    put_ready();
  }

  void put_ready() {
    for (const Draft& draft : recorder_->take()) {
      packets_.push_back(draft.packet.id);
      const auto put = store_->put(draft.packet);
      ASSERT_TRUE(put) << put.error().message;
      EXPECT_EQ(put->kind, storage::PutOutcome::Kind::kStored);
      lasts_ += draft.packet.last ? 1 : 0;
      draft_calls_ += draft.packet.id.stream == wire::kWindowStream ? draft.calls : 0;
    }
  }

  void finish() {
    recorder_->finish();
    put_ready();
    ASSERT_TRUE(store_->end_run(0, 1));
    auto file = storage::RunFile::open(path_);
    ASSERT_TRUE(file) << file.error().message;
    file_ = *std::move(file);
  }

  std::string ask(const std::string& sql) {
    const auto rows = file_->rows(sql);
    if (!rows) return rows.error().message;
    std::string text;
    for (const auto& row : *rows) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        text += (i == 0 ? "" : "|") + storage::to_text(row[i]);
      }
      text += ";";
    }
    return text;
  }

  storage::Folder folder_;
  std::string path_ = folder_.file("simulated.db");
  std::unique_ptr<storage::Store> store_;
  std::optional<EventRecorder> recorder_;
  std::unique_ptr<storage::RunFile> file_;
  std::vector<wire::PacketId> packets_;
  int lasts_ = 0;
  std::uint64_t draft_calls_ = 0;
};

TEST_F(EventRecorderTest, StoresWhatASimulationToldInTheTablesOfMpi) {
  begin(options_of(3));
  add({.rank = Rank{0},
       .begin_ns = 10,
       .end_ns = 30,
       .function = kSend,
       .direction = SourceCall::Direction::kSend,
       .peer = Rank{1},
       .tag = 5,
       .bytes = 100});
  add({.rank = Rank{1},
       .begin_ns = 0,
       .end_ns = 40,
       .function = kReceive,
       .direction = SourceCall::Direction::kReceive,
       .peer = Rank{0},
       .tag = 5,
       .bytes = 100});
  add(call(2, 0, 50));
  add(call(2, kWindow, kWindow + 7));  // In the next window.
  finish();
  EXPECT_EQ(lasts_, 1);
  EXPECT_EQ(ask("SELECT * FROM account"), "0|0|1|1|0|1;0|1|1|1|0|1;0|2|2|2|0|1;");
  EXPECT_EQ(ask("SELECT rank, events, stored_events, complete FROM account_event"),
            "0|1|1|1;1|1|1|1;2|2|2|1;");
  EXPECT_EQ(ask("SELECT rank, function, calls, time_ns, bytes, class FROM function_total"),
            "0|MPI_Send|1|20|100|point_to_point;1|MPI_Recv|1|40|100|point_to_point;"
            "2|MPI_Allreduce|2|57|0|collective;");
  EXPECT_EQ(ask("SELECT * FROM comm_matrix"), "0|0|1|100|1|1;");
  EXPECT_EQ(ask("SELECT * FROM wait_matrix"), "0|1|0|40|1;");
  EXPECT_EQ(ask("SELECT rank, begin_ns, end_ns, kind, function, peer, bytes, tag, calls FROM event"
                " ORDER BY end_ns"),
            "0|10|30|mpi|MPI_Send|1|100|5|1;1|0|40|mpi|MPI_Recv|0|100|5|1;"
            "2|0|50|mpi|MPI_Allreduce||0||1;2|100000000|100000007|mpi|MPI_Allreduce||0||1;");
  EXPECT_EQ(ask("SELECT begin_ns, end_ns, calls FROM profile_window WHERE rank = 2"),
            "0|100000000|1;100000000|200000000|1;");
  EXPECT_EQ(ask("SELECT rank, host, program, clock, ended FROM rank WHERE rank = 1"),
            "1|simulated-host|ring|simulated|1;");
  const auto report = storage::make_report(*file_);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->worlds.size(), 1u);
  EXPECT_EQ(report->worlds[0].clock, "simulated");
}

TEST_F(EventRecorderTest, FilesOfVersionsThatKnewNoClocksAreReported) {
  begin(options_of(2));
  add(call(0, 0, 50));
  finish();
  file_.reset();
  store_.reset();
  storage::change_file(path_,
                       "DROP VIEW rank; ALTER TABLE process DROP COLUMN clock;"
                       "PRAGMA user_version = 6");
  const auto file = storage::RunFile::open(path_);
  ASSERT_TRUE(file) << file.error().message;
  const auto report = storage::make_report(**file);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->worlds.at(0).registered, 2u);
  EXPECT_EQ(report->worlds.at(0).clock, "");
}

TEST_F(EventRecorderTest, CountsAllOfALongRandomRun) {
  constexpr std::uint32_t kSeed = 20240919;  // Fixed, so that a failure can be repeated.
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  constexpr std::uint32_t kRanks = 40;
  begin(options_of(kRanks));
  std::map<std::pair<std::uint32_t, FunctionId>, std::pair<std::uint64_t, std::uint64_t>> model;
  Nanos now = 0;
  constexpr std::uint64_t kEvents = 200'000;
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    now += static_cast<Nanos>(random() % (random() % 1000 == 0 ? 300'000'000 : 20'000));
    const auto rank = static_cast<std::uint32_t>(random() % kRanks);
    const FunctionId function{static_cast<std::uint16_t>(random() % 3)};
    const Nanos length = std::min(now, static_cast<Nanos>(random() % 50'000));
    add(call(rank, now - length, now, function));
    auto& [calls, time] = model[{rank, function}];
    ++calls;
    time += static_cast<std::uint64_t>(length);
  }
  finish();
  std::string expected;
  for (const auto& [of, sums] : model) {
    expected += std::to_string(of.first) + "|" + std::to_string(raw(of.second)) + "|" +
                std::to_string(sums.first) + "|" + std::to_string(sums.second) + ";";
  }
  EXPECT_EQ(ask("SELECT rank, f.id, calls, time_ns FROM function_total t JOIN function f"
                " ON f.name = t.function ORDER BY 1, 2"),
            expected);
  EXPECT_EQ(
      ask("SELECT count(*), sum(captured), sum(stored), sum(lost), min(complete) FROM account"),
      "40|200000|200000|0|1;");
  EXPECT_EQ(
      ask("SELECT count(*), sum(end_ns - begin_ns) = (SELECT sum(time_ns) FROM function_total)"
          " FROM event"),
      "200000|1;");
  EXPECT_EQ(ask("SELECT sum(calls) FROM profile_window"), "200000;");
  EXPECT_EQ(draft_calls_, kEvents);
  // Waves of the window stream only grow.
  std::uint64_t last = 0;
  for (const wire::PacketId& id : packets_) {
    if (id.stream != wire::kWindowStream) continue;
    EXPECT_GE(id.wave, last);
    last = id.wave_end;
  }
}

TEST_F(EventRecorderTest, KeepsNoSingleEventsWhereTheRunDoesNotWantThem) {
  begin(options_of(1), false);
  for (Nanos i = 0; i < 100; ++i) add(call(0, i, i + 1));
  EXPECT_FALSE(recorder_->has_pending());
  finish();
  EXPECT_EQ(ask("SELECT stored, complete FROM account"), "100|1;");
  EXPECT_EQ(ask("SELECT count(*) FROM event"), "0;");
}

TEST_F(EventRecorderTest, FollowsTheRunsControlFromTheNextEventOn) {
  begin(options_of(1), false);
  add(call(0, 0, 1));
  recorder_->configure(kWindow, true);
  add(call(0, 1, 2));
  recorder_->configure(kWindow, false);
  put_ready();
  add(call(0, 2, 3));
  finish();
  EXPECT_EQ(ask("SELECT stored, complete FROM account"), "3|1;");
  EXPECT_EQ(ask("SELECT begin_ns FROM event"), "1;");
}

TEST_F(EventRecorderTest, RefusesWhatItCannotPlaceAndGoesOn) {
  auto options = options_of(8);
  options.first_rank = Rank{4};
  options.ranks = 2;
  begin(options);
  const auto why = [&](const SourceCall& one) {
    const auto added = recorder_->add(one);
    EXPECT_FALSE(added);
    return added ? "" : added.error().message;
  };
  add(call(4, 5, 10));
  EXPECT_THAT(why(call(3, 10, 20)), HasSubstr("rank 3 is not its own"));
  EXPECT_THAT(why(call(6, 10, 20)), HasSubstr("rank 6 is not its own"));
  EXPECT_THAT(why(call(4, 10, 20, FunctionId{3})), HasSubstr("function 3 was not named"));
  SourceCall far = call(4, 10, 20);
  far.peer = Rank{8};
  EXPECT_THAT(why(far), HasSubstr("the peer 8 is not one of the world's 8 ranks"));
  EXPECT_THAT(why(call(4, 20, 19)), HasSubstr("from 20 to 19 ns"));
  EXPECT_THAT(why(call(4, -1, 19)), HasSubstr("from -1"));
  EXPECT_THAT(why(call(5, 0, 9)), HasSubstr("in the order in which they end"));
  add(call(5, 0, 10));
  finish();
  EXPECT_EQ(ask("SELECT rank, stored, complete FROM account"), "4|1|1;5|1|1;");
}

TEST_F(EventRecorderTest, HasAnAccountOfRanksThatDidNothing) {
  begin(options_of(5000));  // More than fit into one registration.
  finish();
  EXPECT_EQ(ask("SELECT count(*), sum(captured), min(complete) FROM account"), "5000|0|1;");
}

// A packet that is too large for a frame would stop the program.
TEST_F(EventRecorderTest, SplitsTheAccountsOfAVeryLargeWorld) {
  EventSourceOptions options = options_of(1u << 18);
  options.program = std::string(256, 'p');
  EventRecorder recorder(options, kRecordingLeaf, kWindow, false);
  for (std::uint32_t rank = 0; rank < options.ranks; ++rank) {
    ASSERT_TRUE(recorder.add(call(rank, 0, 1)));
  }
  recorder.finish();
  std::uint64_t calls = 0;
  int lasts = 0;
  for (const Draft& draft : recorder.take()) {
    EXPECT_LE(draft.packet.payload.size(), EventRecorder::kMinJournal / 4);
    EXPECT_EQ(lasts, 0) << "something follows the last one";
    lasts += draft.packet.last ? 1 : 0;
    calls += draft.calls;
  }
  EXPECT_EQ(lasts, 1);
  EXPECT_EQ(calls, options.ranks);
}

TEST(EventSourceOptions, AreCheckedBeforeAnybodyIsCalled) {
  const auto why = [](auto change) {
    EventSourceOptions options = options_of(4);
    change(options);
    const auto good = EventRecorder::check(options);
    return good ? "good" : good.error().message;
  };
  EXPECT_EQ(why([](auto&) {}), "good");
  EXPECT_THAT(why([](auto& o) { o.ranks = 0; }), HasSubstr("no ranks"));
  EXPECT_THAT(why([](auto& o) { o.ranks = 5; }), HasSubstr("not in a world of 4"));
  EXPECT_THAT(why([](auto& o) { o.first_rank = Rank{1}; }), HasSubstr("not in a world of 4"));
  EXPECT_THAT(why([](auto& o) { o.first_rank = Rank{0xffffffff}; }),
              HasSubstr("not in a world of 4"));
  EXPECT_THAT(why([](auto& o) { o.world_size = 0xffffffff; }), HasSubstr("are the most"));
  EXPECT_THAT(why([](auto& o) { o.functions.clear(); }), HasSubstr("0 functions"));
  EXPECT_THAT(why([](auto& o) { o.functions[1].name = ""; }), HasSubstr("has no name"));
  EXPECT_THAT(why([](auto& o) { o.functions[1].name = std::string(257, 'f'); }),
              HasSubstr("a function's name has 257 bytes"));
  EXPECT_THAT(why([](auto& o) { o.program = std::string(257, 'p'); }),
              HasSubstr("program has 257"));
  EXPECT_THAT(why([](auto& o) { o.clock = std::string(257, 'c'); }), HasSubstr("clock has 257"));
  EXPECT_THAT(why([](auto& o) { o.leaf.journal_bytes = 1 << 20; }), HasSubstr("journal_bytes of"));
}

}  // namespace
}  // namespace xylem::backend
