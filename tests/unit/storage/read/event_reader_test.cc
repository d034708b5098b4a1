// The stream of events in the order of time.

#include "storage/read/event_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EventReaderTest : public StoredRun {
 protected:
  /// A leaf with one process for each of the ranks [0, ranks).
  void put_ranks(std::uint32_t ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      put(registration_packet(rank, {process_row(1, rank, 1, ranks)}));
    }
  }
  static wire::Event event_at(Nanos begin, Nanos end, std::uint64_t bytes = 0) {
    wire::Event event;
    event.begin_ns = begin;
    event.end_ns = end;
    event.bytes = bytes;
    event.function = kSend;
    return event;
  }
  /// Opens the file anew, so that it has all commits.
  std::unique_ptr<EventReader> open(const EventQuery& query = {}) {
    EXPECT_TRUE(store_->commit());
    auto run = RunFile::open(path_);
    EXPECT_TRUE(run) << run.error().message;
    run_ = std::move(*run);
    auto reader = run_->events(query);
    EXPECT_TRUE(reader) << reader.error().message;
    return std::move(*reader);
  }
  /// "rank:begin" of each event.
  static std::vector<std::string> all_of(EventReader& reader) {
    std::vector<std::string> lines;
    EventReader::Item item;
    while (reader.next(item)) {
      const auto rank = reader.processes()[raw(item.process)].rank;
      lines.push_back((rank ? std::to_string(raw(*rank)) : "-") + ":" +
                      std::to_string(item.event->begin_ns));
    }
    return lines;
  }

  std::unique_ptr<RunFile> run_;
};

TEST_F(EventReaderTest, ReturnsTheEventsOfAllRanksByTheirBegins) {
  put_ranks(3);
  put(chunk_packet(0, 1, 0, {event_at(10, 90), event_at(95, 96)}));
  put(chunk_packet(1, 1, 0, {event_at(5, 6), event_at(20, 30)}));
  put(chunk_packet(2, 1, 0, {event_at(20, 21), event_at(1000, 1001)}));
  put(chunk_packet(0, 1, 2, {event_at(100, 101)}));
  const auto reader = open();
  EXPECT_THAT(all_of(*reader),
              ElementsAre("1:5", "0:10", "1:20", "2:20", "0:95", "0:100", "2:1000"));
  EXPECT_TRUE(reader->take());
  EventReader::Item item;
  EXPECT_FALSE(reader->next(item)) << "the end stays the end";
}

TEST_F(EventReaderTest, KeepsTheOrderOfRecordsThatBeginTogether) {
  put_ranks(1);
  put(chunk_packet(0, 1, 0, {event_at(7, 9, 1), event_at(7, 9, 2), event_at(7, 9, 3)}));
  for (std::uint64_t i = 0; i < 5; ++i) {  // The next chunk begins with the end of the one before.
    const auto at = static_cast<Nanos>(7 + 10 * i);
    put(chunk_packet(0, 1, 3 + 2 * i,
                     {event_at(at, at + 2, 4 + 2 * i), event_at(at + 10, at + 12, 5 + 2 * i)}));
  }
  const auto reader = open();
  std::vector<std::uint64_t> bytes;
  EventReader::Item item;
  while (reader->next(item)) bytes.push_back(item.event->bytes);
  EXPECT_THAT(bytes, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13));
}

TEST_F(EventReaderTest, SelectsRanksTimesAndEvents) {
  put_ranks(2);
  put(chunk_packet(0, 1, 0, 100));
  put(chunk_packet(1, 1, 0, 100));
  put(registration_packet(2, {process_row(1, 1, 2, 2)}));  // Rank 1 of world 1.
  put(chunk_packet(2, 1, 0, 10));
  EXPECT_EQ(all_of(*open({.rank = Rank{1}})).size(), 110u);
  EXPECT_EQ(all_of(*open({.world = WorldId{0}})).size(), 200u);
  EXPECT_EQ(all_of(*open({.world = WorldId{0}, .rank = Rank{1}})).size(), 100u);
  EXPECT_THAT(all_of(*open({.world = WorldId{1}, .begin_ns = 2000, .end_ns = 4000})),
              ElementsAre("1:2000", "1:3000"));
  EventQuery receives{.world = WorldId{1}};
  receives.takes = [](const wire::Event&, CallRole role) {
    return role == CallRole::kBlockingReceive;
  };
  EXPECT_THAT(all_of(*open(receives)),
              ElementsAre("1:1000", "1:3000", "1:5000", "1:7000", "1:9000"));
}

TEST_F(EventReaderTest, NamesProcessesAndFunctions) {
  wire::Registration other;  // The same number stands for another function.
  other.host = "node1";
  other.functions = {{kSend, "MPI_Barrier", 2}};
  other.processes = {process_row(1, 1, 1, 2)};
  put(registration_packet(0, {process_row(1, 0, 1, 2)}));
  put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(1)},
                   wire::encode(other)));
  put(chunk_packet(0, 1, 0, {event_at(1, 2)}));
  put(chunk_packet(1, 1, 0, {event_at(3, 4)}));
  auto unnamed = event_at(5, 6);
  unnamed.function = FunctionId{77};
  put(chunk_packet(1, 1, 1, {unnamed}));
  const auto reader = open();
  ASSERT_EQ(reader->processes().size(), 2u);
  EXPECT_EQ(reader->processes()[1].host, "node1");
  EXPECT_EQ(reader->processes()[1].pid, 1001);
  std::vector<std::string> names;
  EventReader::Item item;
  while (reader->next(item)) {
    names.push_back(reader->function_name(item) + "/" +
                    reader->functions()[raw(item.function)].name);
  }
  EXPECT_THAT(names, ElementsAre("MPI_Send/MPI_Send", "MPI_Barrier/MPI_Barrier", "function 77/"));
}

TEST_F(EventReaderTest, HasTheEventsOfAProcessThatNeverRegistered) {
  put(chunk_packet(0, 5, 0, 2));
  EXPECT_THAT(all_of(*open()), ElementsAre("-:0", "-:1000"));
  EXPECT_THAT(all_of(*open({.only_ranks = true})), ElementsAre());
}

TEST_F(EventReaderTest, ALostEventLeavesAGapWithoutAMark) {
  put_ranks(1);
  put(chunk_packet(0, 1, 0, 2));
  put(tombstone_of(chunk_packet(0, 1, 2, 4), 2));
  put(chunk_packet(0, 1, 4, 6));
  EXPECT_THAT(all_of(*open()), ElementsAre("0:0", "0:1000", "0:4000", "0:5000"));
  EXPECT_EQ(ask("SELECT lost_events FROM account_event"), "2\n");
}

TEST_F(EventReaderTest, TheHorizonIsTheNextBeginOfAProcess) {
  put_ranks(2);
  put(chunk_packet(0, 1, 0, {event_at(10, 90), event_at(50, 60)}));
  put(chunk_packet(1, 1, 0, {event_at(20, 21)}));
  const auto reader = open();
  EventReader::Item item;
  ASSERT_TRUE(reader->next(item));
  EXPECT_EQ(reader->horizon(ProcessIndex{0}), 50);
  EXPECT_EQ(reader->horizon(ProcessIndex{1}), 20);
  ASSERT_TRUE(reader->next(item));
  EXPECT_EQ(reader->horizon(ProcessIndex{1}), std::numeric_limits<Nanos>::max());
  ASSERT_TRUE(reader->next(item));
  EXPECT_EQ(reader->horizon(ProcessIndex{0}), std::numeric_limits<Nanos>::max());
}

TEST_F(EventReaderTest, ADamagedChunkEndsTheStreamAndIsNamed) {
  put_ranks(2);
  put(chunk_packet(0, 1, 0, 10));
  put(chunk_packet(1, 1, 20, 30));
  ASSERT_TRUE(store_->commit());
  change_file(path_, "UPDATE event_chunk SET chunk = substr(chunk, 1, 20) WHERE id = 2");
  const auto reader = open();
  EXPECT_EQ(all_of(*reader).size(), 10u) << "the events before it are returned";
  const auto read = reader->take();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kCorrupt);
  EXPECT_THAT(read.error().message, HasSubstr("chunk 2 of world 0, rank 1 is damaged"));
  EventReader::Item item;
  EXPECT_FALSE(reader->next(item)) << "the stream is over";
  EXPECT_TRUE(run_->rows("SELECT 1")) << "the file can still be asked";
}

// Random programs, cut into chunks as an agent does it, against a plain sort.
TEST_F(EventReaderTest, AgreesWithASort) {
  std::mt19937 random(7);
  constexpr std::uint32_t kRanks = 7;
  put_ranks(kRanks);
  struct Expected {
    Nanos begin_ns;
    std::uint32_t rank;
    std::uint64_t number;
  };
  std::vector<Expected> expected;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const std::uint32_t threads = 1 + rank % 3;
    std::vector<Nanos> at(threads);
    std::uint64_t written = 0;
    for (std::uint32_t chunk = 0; chunk < 5; ++chunk) {
      std::vector<wire::Event> events;
      for (std::uint32_t thread = 0; thread < threads; ++thread) {
        for (std::uint32_t i = 0; i < 200 + random() % 100; ++i) {
          at[thread] += static_cast<Nanos>(random() % 40);
          const Nanos begin = at[thread];
          at[thread] += static_cast<Nanos>(random() % 40);
          events.push_back(event_at(begin, at[thread], written + events.size()));
          events.back().thread = ThreadIndex{thread};
          expected.push_back({begin, rank, written + events.size() - 1});
        }
      }
      put(chunk_packet(rank, 1, written, events));
      written += events.size();
    }
  }
  std::ranges::sort(expected, {},
                    [](const Expected& e) { return std::tuple(e.begin_ns, e.rank, e.number); });
  const auto reader = open();
  EventReader::Item item;
  for (const Expected& next : expected) {
    ASSERT_TRUE(reader->next(item));
    const auto rank = raw(*reader->processes()[raw(item.process)].rank);
    ASSERT_EQ(std::tuple(item.event->begin_ns, rank, item.event->bytes),
              std::tuple(next.begin_ns, next.rank, next.number));
  }
  EXPECT_FALSE(reader->next(item));
  EXPECT_TRUE(reader->survey(ProcessIndex{0}).has_one_thread);
  EXPECT_FALSE(reader->survey(ProcessIndex{1}).has_one_thread);
}

}  // namespace
}  // namespace xylem::storage
