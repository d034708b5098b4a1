// A small run in each format.

#include "exports/trace_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::exports {
namespace {

using storage::chunk_packet;
using storage::kReceive;
using storage::kSend;
using storage::kWaitall;
using storage::process_row;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

storage::RunFacts traced() {
  storage::RunFacts facts;
  facts.run_id = "00c0ffee00c0ffee";
  facts.chunks = true;
  return facts;
}

wire::Event call(FunctionId function, Nanos begin, Nanos end) {
  wire::Event event;
  event.function = function;
  event.begin_ns = begin;
  event.end_ns = end;
  event.comm = CommId{0};
  return event;
}

wire::Event message(wire::Event event, std::uint8_t flag, std::int32_t peer, std::uint32_t number) {
  event.flags = flag | wire::kEventNumbered;
  event.peer = peer;
  event.number = number;
  event.tag = 7;
  event.bytes = 64;
  return event;
}

class ExportTest : public storage::StoredRun {
 protected:
  ExportTest() : StoredRun(traced()) {}

  void put_ranks(std::uint32_t ranks = 2) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      wire::Registration registration;
      registration.host = "node" + std::to_string(rank);
      registration.functions = {{kSend, "MPI_Send", 1},
                                {kReceive, "MPI_Recv", 1},
                                {kWaitall, "MPI_Waitall", 3},
                                {FunctionId{3}, "MPI_Bcast", 2},
                                {FunctionId{4}, "a \"b\", c", 9}};
      registration.processes = {process_row(1, rank, 1, ranks)};
      put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(rank)},
                       wire::encode(registration)));
    }
  }
  /// Rank 0 sends two messages to rank 1. It receives one in MPI_Recv, one in MPI_Waitall. Then
  /// rank 0 broadcasts.
  void put_messages() {
    put_ranks();
    auto bcast = call(FunctionId{3}, 9000, 9500);
    bcast.peer = 0;
    bcast.bytes = 8;
    put(chunk_packet(0, 1, 0,
                     {message(call(kSend, 1000, 1500), wire::kEventSend, 1, 0),
                      message(call(kSend, 2001, 2501), wire::kEventSend, 1, 1), bcast}));
    auto completion = message(call(kWaitall, 3000, 4000), wire::kEventReceive, 0, 1);
    completion.kind = wire::kKindCompletion;
    completion.calls = 0;
    put(chunk_packet(1, 1, 0,
                     {message(call(kReceive, 500, 1700), wire::kEventReceive, 0, 0),
                      call(kWaitall, 3000, 4000), completion, bcast}));
  }

  storage::RunFile& run() {
    EXPECT_TRUE(store_->commit());
    auto opened = storage::RunFile::open(path_);
    EXPECT_TRUE(opened) << opened.error().message;
    run_ = std::move(*opened);
    return *run_;
  }

  std::unique_ptr<storage::RunFile> run_;
};

/// Rows of SQL on a JSON text, which is ?1.
std::string ask_json(const std::string& json, const std::string& sql) {
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_bind_text(statement, 1, json.data(), static_cast<int>(json.size()), SQLITE_STATIC);
  std::string lines;
  int code = SQLITE_OK;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      lines += (i == 0 ? "" : "|") + std::string(text == nullptr ? "NULL" : text);
    }
    lines += '\n';
  }
  EXPECT_EQ(code, SQLITE_DONE) << sqlite3_errmsg(database);
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return lines;
}

TEST_F(ExportTest, TextHasALineForEachEventAndCompletion) {
  put_messages();
  std::ostringstream out;
  const auto exported = write_text(run(), out);
  ASSERT_TRUE(exported) << exported.error().message;
  const std::string text = out.str();
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "0.000000500 1.200 rank 1 thread 0 MPI_Recv peer=0 bytes=64 tag=7 comm=0 number=0\n"
            "0.000001000 0.500 rank 0 thread 0 MPI_Send peer=1 bytes=64 tag=7 comm=0 number=0\n"
            "0.000002001 0.500 rank 0 thread 0 MPI_Send peer=1 bytes=64 tag=7 comm=0 number=1\n"
            "0.000003000 1.000 rank 1 thread 0 MPI_Waitall comm=0\n"
            "0.000003000 1.000 rank 1 thread 0 completion of MPI_Waitall peer=0 bytes=64"
            " tag=7 comm=0 number=1\n"
            "0.000009000 0.500 rank 0 thread 0 MPI_Bcast peer=0 bytes=8 comm=0\n"
            "0.000009000 0.500 rank 1 thread 0 MPI_Bcast peer=0 bytes=8 comm=0\n");
  EXPECT_EQ(exported->processes, 2u);
  EXPECT_EQ(exported->calls, 6u);
  EXPECT_EQ(exported->completions, 1u);
}

TEST_F(ExportTest, TextSaysWhatIsPostedAndReceived) {
  auto post = call(FunctionId{4}, 1000, 1500);
  post.room = 400;
  post.flags =
      wire::kEventPosts | wire::kEventHasBuffer | wire::kEventAnySource | wire::kEventAnyTag;
  post.cpu = 3;
  auto all = call(FunctionId{4}, 2000, 2500);
  all.bytes = 8;
  all.room = 32;
  all.operation = 3;
  all.flags = wire::kEventNumbered | wire::kEventCollective | wire::kEventInPlace;
  auto block = call(FunctionId{4}, 2000, 2500);
  block.kind = wire::kKindCompletion;
  block.calls = 0;
  block.peer = 0;
  block.room = 24;
  block.flags = wire::kEventBlock;
  put(chunk_packet(1, 1, 0, {post, all, block}));
  std::ostringstream out;
  ASSERT_TRUE(write_text(run(), out));
  const std::string text = out.str();
  EXPECT_EQ(
      text.substr(text.find('\n') + 1),
      "0.000001000 0.500 process 0 thread 0 function 4 posted=400 comm=0 cpu=3 any_source any_tag\n"
      "0.000002000 0.500 process 0 thread 0 function 4 bytes=8 received=32 operation=sum comm=0"
      " number=0 in_place\n"
      "0.000002000 0.500 process 0 thread 0 block of function 4 peer=0 received=24 comm=0\n");
}

TEST_F(ExportTest, CsvIsTheTableEvent) {
  put_messages();
  auto odd = call(FunctionId{4}, 20000, 19000);  // Ends before it begins.
  odd.comm = wire::kNoComm;
  odd.request = ~std::uint64_t{0};
  odd.bytes = ~std::uint64_t{0};
  odd.result = -3;
  odd.flags = static_cast<std::uint16_t>(~wire::kEventNumbered);
  odd.room = ~std::uint64_t{0};
  odd.operation = 11;
  odd.cpu = 0xfffe;
  put(chunk_packet(1, 1, 4, {odd}));
  put(chunk_packet(9, 5, 0, {call(FunctionId{77}, 30000, 30001)}));  // Never registered.
  std::ostringstream out;
  const auto exported = write_csv(run(), out);
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_EQ(exported->calls, 8u);
  // As a spreadsheet would show the rows of SQL.
  std::string expected =
      "world,rank,thread,begin_ns,end_ns,kind,function,peer,bytes,tag,comm,request,result,calls,"
      "number,stage,success,posted_bytes,received_bytes,any_source,any_tag,operation,in_place,"
      "cpu,callsite\n";
  const auto rows = run_->rows("SELECT * FROM event ORDER BY begin_ns, rank");
  ASSERT_TRUE(rows);
  for (const auto& row : *rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = storage::to_text(row[i]);
      expected += (i == 0 ? "" : ",") + (cell == "a \"b\", c" ? "\"a \"\"b\"\", c\"" : cell);
    }
    expected += '\n';
  }
  EXPECT_EQ(out.str(), expected);
}

TEST_F(ExportTest, ChromeHasACompleteEventForEachCall) {
  put_messages();
  put(chunk_packet(1, 1, 4, {call(FunctionId{4}, 20000, 20001)}));
  std::ostringstream out;
  const auto exported = write_chrome(run(), out);
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_EQ(exported->messages, 2u);
  const std::string json = out.str();
  constexpr const char* kEvents =
      " FROM (SELECT value AS v FROM json_each(?1, '$.traceEvents')) WHERE v ->> 'ph' = ";
  EXPECT_EQ(
      ask_json(json, std::string("SELECT v ->> 'pid', v ->> 'tid', v ->> 'ts', v ->> 'dur',"
                                 " v ->> 'cat', v ->> 'name', v -> 'args'") +
                         kEvents + "'X'"),
      "2|1|0.5|1.2|mpi|MPI_Recv|{\"bytes\":64,\"peer\":0,\"tag\":7,\"comm\":0,\"result\":0}\n"
      "1|1|1.0|0.5|mpi|MPI_Send|{\"bytes\":64,\"peer\":1,\"tag\":7,\"comm\":0,\"result\":0}\n"
      "1|1|2.001|0.5|mpi|MPI_Send|{\"bytes\":64,\"peer\":1,\"tag\":7,\"comm\":0,\"result\":0}\n"
      "2|1|3.0|1.0|mpi|MPI_Waitall|{\"bytes\":0,\"comm\":0,\"result\":0}\n"
      "1|1|9.0|0.5|mpi|MPI_Bcast|{\"bytes\":8,\"peer\":0,\"comm\":0,\"result\":0}\n"
      "2|1|9.0|0.5|mpi|MPI_Bcast|{\"bytes\":8,\"peer\":0,\"comm\":0,\"result\":0}\n"
      "2|1|20.0|0.001|mpi|a \"b\", c|{\"bytes\":0,\"comm\":0,\"result\":0}\n");
  EXPECT_EQ(ask_json(json, std::string("SELECT v ->> 'pid', v -> 'args' ->> 'name'") + kEvents +
                               "'M' AND v ->> 'name' = 'process_name'"),
            "1|rank 0 (node0)\n2|rank 1 (node1)\n");
  EXPECT_EQ(ask_json(json, std::string("SELECT count(*)") + kEvents +
                               "'M' AND v ->> 'name' = 'thread_name'"),
            "2\n");
}

TEST_F(ExportTest, ChromeHasASliceForEachRegionAndOtherFormatsHaveOnlyCalls) {
  const auto region = [](std::uint64_t id, std::int32_t depth, Nanos at, std::uint16_t flags) {
    wire::Event event;
    event.kind = wire::kKindRegion;
    event.bytes = id;
    event.tag = depth;
    event.begin_ns = event.end_ns = at;
    event.calls = 0;
    event.flags = flags;
    return event;
  };
  put(chunk_packet(
      0, 1, 0,
      {region(5, 0, 1000, wire::kEventPosts), call(FunctionId{1}, 2000, 3000),
       region(5, 0, 4000, wire::kEventCompletes), region(6, 0, 5000, wire::kEventPosts)}));
  std::ostringstream out, text;
  const auto exported = write_chrome(run(), out);
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_EQ(exported->calls, 1u);
  EXPECT_EQ(ask_json(out.str(),
                     "SELECT v ->> 'ph', v ->> 'ts', v ->> 'dur', v ->> 'name' FROM (SELECT value"
                     " AS v FROM json_each(?1, '$.traceEvents')) WHERE v ->> 'cat' = 'region'"),
            "X|1.0|3.0|region\nB|5.0|NULL|region\n");
  ASSERT_TRUE(write_csv(run(), text));
  EXPECT_EQ(text.str().find("region"), std::string::npos);
  EXPECT_EQ(run().rows("SELECT count(*) FROM event")->at(0).at(0), storage::Value{std::int64_t{1}});
  EXPECT_EQ(run().rows("SELECT count(*) FROM completion")->at(0).at(0),
            storage::Value{std::int64_t{0}});
}

TEST_F(ExportTest, AnArrowBeginsInItsSendAndEndsInTheCallThatReceives) {
  put_messages();
  auto lost = message(call(kSend, 7000, 7001), wire::kEventSend, 1, 2);  // Never received.
  put(chunk_packet(0, 1, 3, {lost}));
  std::ostringstream out;
  ASSERT_TRUE(write_chrome(run(), out));
  EXPECT_EQ(
      ask_json(out.str(),
               "SELECT s.v ->> 'pid', s.v ->> 'ts', f.v ->> 'pid', f.v ->> 'ts', f.v ->> 'bp',"
               " s.v -> 'args' FROM (SELECT value AS v FROM json_each(?1, '$.traceEvents')) s"
               " JOIN (SELECT value AS v FROM json_each(?1, '$.traceEvents')) f"
               " ON s.v ->> 'id' = f.v ->> 'id' AND s.v ->> 'ph' = 's' AND f.v ->> 'ph' = 'f'"
               " ORDER BY 2"),
      "1|1.0|2|1.699|e|{\"bytes\":64,\"tag\":7,\"comm\":0}\n"
      "1|2.001|2|3.999|e|{\"bytes\":64,\"tag\":7,\"comm\":0}\n");
}

TEST_F(ExportTest, ACompletionWithoutItsCallHasASlice) {
  put_ranks();
  put(chunk_packet(0, 1, 0, {message(call(kSend, 1000, 1500), wire::kEventSend, 1, 0)}));
  auto completion = message(call(kWaitall, 3000, 3000), wire::kEventReceive, 0, 0);
  completion.kind = wire::kKindCompletion;
  put(chunk_packet(1, 1, 0, {call(kWaitall, 2000, 2500), completion}));
  std::ostringstream out;
  const auto exported = write_chrome(run(), out);
  ASSERT_TRUE(exported);
  EXPECT_EQ(exported->calls, 2u);
  EXPECT_EQ(ask_json(out.str(),
                     "SELECT value ->> 'ph', value ->> 'ts', value ->> 'dur', value ->> 'cat'"
                     " FROM json_each(?1, '$.traceEvents') WHERE value ->> 'ts' >= 3"),
            "f|3.0|NULL|message\nX|3.0|0.001|completion\n");
  if (!has_otf2()) return;
  const auto archive = write_otf2(*run_, folder_.file("otf2"), false);
  ASSERT_TRUE(archive) << archive.error().message;
  EXPECT_EQ(archive->messages, 2u);
}

TEST_F(ExportTest, WritesATraceThatNeedsSeveralPieces) {
  put_ranks();
  put(chunk_packet(0, 1, 0, 8000));
  put(chunk_packet(1, 1, 0, 8000));
  for (const auto write : {write_text, write_csv, write_chrome}) {
    std::ostringstream out;
    const auto exported = write(run(), out);
    ASSERT_TRUE(exported) << exported.error().message;
    EXPECT_EQ(exported->calls, 16000u);
    const std::string text = out.str();
    EXPECT_GE(std::ranges::count(text, '\n'), 16000);
  }
}

TEST_F(ExportTest, StopsWhenTheOutputHasFailed) {
  put_ranks();
  put(chunk_packet(0, 1, 0, 8000));
  put(chunk_packet(1, 1, 0, 8000));
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  const auto exported = write_text(run(), out);
  ASSERT_TRUE(exported);
  EXPECT_LT(exported->calls, 10u);
}

TEST_F(ExportTest, ARunWithoutATraceIsRefusedWithWhatToDo) {
  put_ranks();
  const auto empty = missing_in_trace(run());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, Code::kInvalidArgument);
  EXPECT_THAT(empty.error().message, HasSubstr("no call of this run is stored"));
  ASSERT_TRUE(store_->commit());
  storage::change_file(path_, "UPDATE run SET detail = 'profile'");
  const auto profile = missing_in_trace(run());
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().message, HasSubstr("`xylem run --detail trace -- COMMAND`"));
}

TEST_F(ExportTest, LossesAreNamed) {
  put_ranks(12);
  put(chunk_packet(0, 1, 0, 4));
  EXPECT_THAT(*missing_in_trace(run()), ElementsAre(HasSubstr("the end of the run is not stored")));
  for (std::uint32_t leaf = 1; leaf < 12; ++leaf) {
    put(storage::tombstone_of(chunk_packet(leaf, 1, 0, 4), 1000));
  }
  wire::AccountRow account = storage::account_row(0, 1, 4, false, 2);
  account.loss_by_function = {{kSend, 2}};
  put(storage::window_packet(0, 0, 2, account));
  EXPECT_THAT(*missing_in_trace(run()),
              ElementsAre("rank 1, rank 2, rank 3, rank 4, rank 5, rank 6, rank 7, rank 8 and 3"
                          " more: 11,000 calls lost: the journal was full",
                          "rank 0: 2 calls lost: the ring was full: the agent could not keep up",
                          HasSubstr("the end of the run is not stored")));
}

TEST_F(ExportTest, ADamagedChunkIsNamed) {
  put_messages();
  ASSERT_TRUE(store_->commit());
  storage::change_file(path_, "UPDATE event_chunk SET chunk = x'00' WHERE id = 2");
  for (const auto write : {write_text, write_csv, write_chrome}) {
    std::ostringstream out;
    const auto exported = write(run(), out);
    ASSERT_FALSE(exported);
    EXPECT_EQ(exported.error().code, Code::kCorrupt);
    EXPECT_THAT(exported.error().message, HasSubstr("chunk 2 of world 0, rank 1"));
  }
}

TEST_F(ExportTest, Otf2HasWhatTheTraceKnows) {
  if (!has_otf2()) {
    const auto refused = write_otf2(run(), folder_.file("otf2"), false);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("libopen-trace-format2-dev"));
    return;
  }
  put_messages();
  auto elsewhere = call(FunctionId{3}, 9900, 9950);
  elsewhere.comm = CommId{12345};
  elsewhere.peer = 0;
  auto sampled = call(kSend, 9960, 9970);
  sampled.calls = 64;
  put(chunk_packet(0, 1, 3, {elsewhere, sampled, call(kSend, 9965, 9980)}));
  const std::string folder = folder_.file("otf2");
  const auto exported = write_otf2(run(), folder, false);
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_EQ(exported->processes, 2u);
  EXPECT_EQ(exported->calls, 9u);
  EXPECT_EQ(exported->completions, 1u);
  EXPECT_EQ(exported->messages, 4u);
  EXPECT_EQ(exported->collectives, 2u);
  EXPECT_THAT(exported->remarks,
              ElementsAre(HasSubstr("1 collective calls have only Enter and Leave"),
                          HasSubstr("1 calls stand for several calls"),
                          HasSubstr("1 calls overlap another call")));
  EXPECT_TRUE(std::filesystem::exists(folder + "/traces.otf2"));
}

TEST_F(ExportTest, Otf2HasCollectivesOnCommunicatorsWhoseMembersAreAllKnown) {
  if (!has_otf2()) return;
  put_ranks(3);
  constexpr CommId kPair{77}, kPart{78}, kInter{79};
  for (const std::uint32_t rank : {0u, 1u}) {
    wire::ProcessRow row = process_row(1, rank, 1, 3);
    auto& definitions = row.definitions;
    definitions.communicators = {{kPair, CommId{0}, 1, wire::CommunicatorKind::kIntra, 2, 0},
                                 {kPart, CommId{0}, 2, wire::CommunicatorKind::kIntra, 3, 0},
                                 {kInter, std::nullopt, 3, wire::CommunicatorKind::kInter, 1, 1}};
    // The pair has the ranks in the opposite order. Of the third member of the other one nothing is
    // known.
    definitions.members = {{1, 1 - rank, false}, {2, rank, false}, {3, 0, rank == 1}};
    definitions.names = {{kPair, "pair"}};
    put(storage::registration_packet(rank, {row}, 1));
  }
  const auto bcast_on = [](CommId comm, Nanos begin) {
    wire::Event event = call(FunctionId{3}, begin, begin + 100);
    event.comm = comm;
    event.peer = 1;
    return event;
  };
  auto crossing = message(call(kSend, 9000, 9100), wire::kEventSend, 1, 0);
  crossing.comm = kInter;
  auto inside = message(call(kSend, 9200, 9300), wire::kEventSend, 0, 0);
  inside.comm = kInter;
  put(chunk_packet(0, 1, 0,
                   {bcast_on(kPair, 1000), bcast_on(kPart, 2000), bcast_on(kInter, 3000),
                    bcast_on(CommId{1}, 4000), bcast_on(CommId{0}, 5000), crossing, inside}));
  const auto exported = write_otf2(run(), folder_.file("otf2"), false);
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_EQ(exported->collectives, 3u) << "on the pair, on MPI_COMM_SELF, and on MPI_COMM_WORLD";
  EXPECT_EQ(exported->messages, 1u) << "a rank of the same group is no peer";
  EXPECT_THAT(exported->remarks,
              ElementsAre(HasSubstr("1 collective calls have only Enter and Leave: the members"),
                          HasSubstr("1 collective calls have only Enter and Leave: they are on"),
                          HasSubstr("1 sends or receives have no record")));
}

TEST_F(ExportTest, MembersThatContradictEachOtherAreNotKnown) {
  if (!has_otf2()) return;
  constexpr std::uint64_t kTwoAtOnePlace = 1, kOneAtTwoPlaces = 2, kNoRankOfTheWorld = 3;
  put_ranks(3);
  wire::ProcessRow row = process_row(1, 0, 1, 3);
  auto& definitions = row.definitions;
  for (const std::uint64_t group : {kTwoAtOnePlace, kOneAtTwoPlaces, kNoRankOfTheWorld}) {
    definitions.communicators.push_back({CommId{static_cast<std::uint32_t>(70 + group)}, CommId{0},
                                         group, wire::CommunicatorKind::kIntra, 2, 0});
  }
  definitions.members = {{kTwoAtOnePlace, 0, false},
                         {kTwoAtOnePlace, 1, false},
                         {kOneAtTwoPlaces, 0, false},
                         {kOneAtTwoPlaces, 1, false},
                         {kNoRankOfTheWorld, 0, false}};
  put(storage::registration_packet(0, {row}, 1));
  row = process_row(1, 1, 1, 3);
  row.definitions.members = {{kTwoAtOnePlace, 1, false}, {kNoRankOfTheWorld, 1, false}};
  put(storage::registration_packet(1, {row}, 1));
  std::vector<wire::Event> events;
  for (const std::uint32_t comm : {71u, 72u, 73u}) {
    events.push_back(call(FunctionId{3}, 1000 * comm, 1000 * comm + 1));
    events.back().comm = CommId{comm};
    events.back().peer = 0;
  }
  put(chunk_packet(0, 1, 0, events));
  ASSERT_TRUE(store_->commit());
  storage::change_file(path_,
                       "UPDATE comm_member SET rank = 3 WHERE members = 3 AND rank = 1;"
                       "UPDATE comm SET size = 1 << 40 WHERE id = 71");
  const auto exported = write_otf2(run(), folder_.file("otf2"), false);
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_EQ(exported->collectives, 0u);
  EXPECT_THAT(exported->remarks, ElementsAre(HasSubstr("3 collective calls have only Enter")));
}

TEST_F(ExportTest, Otf2OfAFileWithoutCommunicatorsHasThoseOfMpi) {
  if (!has_otf2()) return;
  put_messages();
  ASSERT_TRUE(store_->commit());
  store_.reset();
  storage::change_file(path_, storage::back_to(18));
  run_ = std::move(*storage::RunFile::open(path_));
  const auto exported = write_otf2(*run_, folder_.file("otf2"), false);
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_EQ(exported->collectives, 2u);
  EXPECT_EQ(exported->messages, 4u);
}

TEST_F(ExportTest, AnArchiveIsReplacedOnlyWhenThisIsWanted) {
  if (!has_otf2()) return;
  put_messages();
  const std::string folder = folder_.file("otf2");
  ASSERT_TRUE(write_otf2(run(), folder, false));
  std::ofstream(folder + "/mine.txt") << "mine";
  const auto refused = write_otf2(run(), folder, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("--overwrite"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/traces.otf2"));
  ASSERT_TRUE(write_otf2(run(), folder, true));
  EXPECT_TRUE(std::filesystem::exists(folder + "/mine.txt")) << "other files stay";
}

TEST_F(ExportTest, AnIncompleteArchiveIsRemoved) {
  if (!has_otf2()) return;
  put_messages();
  ASSERT_TRUE(store_->commit());
  storage::change_file(path_, "UPDATE event_chunk SET chunk = x'00' WHERE id = 2");
  const std::string folder = folder_.file("otf2");
  const auto exported = write_otf2(run(), folder, false);
  ASSERT_FALSE(exported);
  EXPECT_EQ(exported.error().code, Code::kCorrupt);
  EXPECT_FALSE(std::filesystem::exists(folder + "/traces.otf2"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/traces"));
  const auto nowhere = write_otf2(run(), "/proc/nowhere", false);
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace xylem::exports
