// Definitions of communicators, as processes send them with their registrations.

#include <gtest/gtest.h>

#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using wire::CommunicatorKind;

constexpr CommId kGrid{77};
constexpr CommId kPair{78};

class DefinitionTest : public StoredRun {
 protected:
  /// Registers the process of `rank` on leaf 7, with what it has defined.
  void define(std::uint32_t rank, wire::Definitions definitions, std::uint8_t world = 1) {
    wire::ProcessRow row = process_row(rank + 1 + 100 * world, rank, world);
    row.definitions = std::move(definitions);
    put(registration_packet(7, {row}, wave_++));
  }

  static wire::Definitions grid_of(std::uint32_t place) {
    wire::Definitions definitions;
    definitions.communicators = {
        {kGrid, CommId{0}, 0xffffffffffffffff, CommunicatorKind::kCartesian, 4, 0}};
    definitions.members = {{0xffffffffffffffff, place, false}};
    definitions.dimensions = {{kGrid, 0, 2, true}, {kGrid, 1, 2, false}};
    return definitions;
  }

  std::uint64_t wave_ = 0;
};

TEST_F(DefinitionTest, ACommunicatorHasOneRowAndAMemberRowForEachProcess) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) define(rank, grid_of(3 - rank));
  EXPECT_EQ(
      ask("SELECT world, id, kind, parent, size, second_size, dimensions, periodic, is_ambiguous"
          " FROM communicator WHERE id > 1"),
      "0|77|cartesian|0|4|0|[2,2]|[1,0]|0\n");
  EXPECT_EQ(
      ask("SELECT place, rank, is_second FROM communicator_member WHERE id = 77 ORDER BY place"),
      "0|3|0\n1|2|0\n2|1|0\n3|0|0\n");
}

TEST_F(DefinitionTest, ARepeatedDefinitionChangesNothing) {
  define(0, grid_of(0));
  define(0, grid_of(0));
  EXPECT_EQ(ask("SELECT count(*), max(is_ambiguous) FROM communicator WHERE id > 1"), "1|0\n");
  EXPECT_EQ(ask("SELECT count(*) FROM communicator_member WHERE id = 77"), "1\n");
}

TEST_F(DefinitionTest, WorldAndSelfAreThereWithoutADefinition) {
  define(0, {});
  define(2, {});
  EXPECT_EQ(ask("SELECT id, kind, coalesce(parent, 'none'), size, name FROM communicator"),
            "0|world|none|4|MPI_COMM_WORLD\n1|self|none|1|MPI_COMM_SELF\n");
  EXPECT_EQ(ask("SELECT id, place, rank FROM communicator_member ORDER BY id, rank"),
            "0|0|0\n0|2|2\n1|0|0\n1|0|2\n");
}

TEST_F(DefinitionTest, AnIntercommunicatorHasTwoGroups) {
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    wire::Definitions definitions;
    definitions.communicators = {{kPair, std::nullopt, 5, CommunicatorKind::kInter, 1, 2}};
    definitions.members = {{5, rank == 0 ? 0 : rank - 1, rank != 0}};
    define(rank, definitions);
  }
  EXPECT_EQ(ask("SELECT kind, coalesce(parent, 'none'), size, second_size FROM communicator"
                " WHERE id = 78"),
            "inter|none|1|2\n");
  EXPECT_EQ(
      ask("SELECT rank, is_second, place FROM communicator_member WHERE id = 78 ORDER BY rank"),
      "0|0|0\n1|1|0\n2|1|1\n");
}

TEST_F(DefinitionTest, TheLastNameCounts) {
  wire::Definitions named = grid_of(0);
  named.names = {{kGrid, "first"}, {CommId{0}, "everybody"}};
  define(0, named);
  wire::Definitions renamed;
  renamed.names = {{kGrid, "second"}};
  define(0, renamed);
  EXPECT_EQ(ask("SELECT id, name FROM communicator"), "77|second\n0|everybody\n1|MPI_COMM_SELF\n");
}

TEST_F(DefinitionTest, NeighboursBelongToTheirRank) {
  wire::Definitions definitions;
  definitions.neighbours = {{kGrid, true, 0, Rank{3}}, {kGrid, false, 0, std::nullopt}};
  define(2, definitions);
  EXPECT_EQ(ask("SELECT world, id, rank, direction, position, coalesce(neighbor, 'elsewhere')"
                " FROM communicator_neighbor ORDER BY direction"),
            "0|77|2|destination|0|elsewhere\n0|77|2|source|0|3\n");
}

TEST_F(DefinitionTest, TwoCommunicatorsWithOneIdAreMarked) {
  define(0, grid_of(0));
  wire::Definitions other = grid_of(0);
  other.communicators[0].group = 6;
  define(1, other);
  EXPECT_EQ(ask("SELECT is_ambiguous FROM communicator WHERE id = 77"), "1\n");
  EXPECT_EQ(ask("SELECT count(*) FROM communicator_member WHERE id = 77"), "0\n");
}

TEST_F(DefinitionTest, WorldsAreKeptApart) {
  define(0, grid_of(0), 1);
  wire::Definitions other = grid_of(0);
  other.communicators[0].kind = CommunicatorKind::kIntra;
  other.dimensions.clear();
  define(0, other, 2);
  EXPECT_EQ(ask("SELECT world, kind, is_ambiguous FROM communicator WHERE id = 77 ORDER BY world"),
            "0|cartesian|0\n1|intra|0\n");
}

TEST_F(DefinitionTest, AThreadHasOneRowAndSeveralMayUseOneIndex) {
  wire::Definitions definitions;
  definitions.threads = {
      {ThreadIndex{0}, 100, 0}, {ThreadIndex{1}, 101, 5}, {ThreadIndex{1}, 102, 9}};
  define(0, definitions);
  define(0, definitions);
  EXPECT_EQ(ask("SELECT * FROM thread ORDER BY os_thread"),
            "0|0|0|100|NULL\n0|0|1|101|5\n0|0|1|102|9\n");
}

TEST_F(DefinitionTest, ARankHasTheThreadLevelThatMpiHasGranted) {
  wire::ProcessRow row = process_row(1, 0, 1);
  put(registration_packet(7, {row}, wave_++));
  EXPECT_EQ(ask("SELECT thread_level FROM rank"), "NULL\n");
  row.thread_level = 3;
  put(registration_packet(7, {row}, wave_++));
  row.thread_level = 0;  // It is not told again.
  put(registration_packet(7, {row}, wave_++));
  EXPECT_EQ(ask("SELECT thread_level FROM rank"), "serialized\n");
}

TEST_F(DefinitionTest, TheCostOfCaptureIsThatOfTheCallsOfEachShape) {
  wire::Definitions definitions;
  definitions.record_costs = {{wire::RecordShape::kCounted, 3'000},
                              {wire::RecordShape::kCall, 20'500},
                              {wire::RecordShape::kMessage, 40'000},
                              {wire::RecordShape::kStart, 60'000},
                              {wire::RecordShape::kCompletion, 70'000},
                              {wire::RecordShape::kCollective, 30'000},
                              {wire::RecordShape{200}, 1}};
  define(0, definitions);
  EXPECT_EQ(ask("SELECT count(*), sum(cost_ns) FROM record_cost"), "6|223.5\n");
  change_file(path_,
              "INSERT INTO function(id, name, class) VALUES(900, 'MPI_Send', 'point_to_point'),"
              " (901, 'MPI_Irecv', 'point_to_point'), (902, 'MPI_Waitall', 'completion'),"
              " (903, 'MPI_Bcast', 'collective'), (904, 'MPI_Comm_rank', 'communicator'),"
              " (905, 'MPI_Iprobe', 'probe');"
              "INSERT INTO function_sum(process, function, calls, time_ns, bytes, min_ns, max_ns,"
              " estimated) SELECT p.id, f.id, f.id - 899, 1, 0, 1, 1, f.id = 905"
              " FROM process p, function f WHERE f.id >= 900;");
  EXPECT_EQ(ask("SELECT function, shape, calls, time_ns FROM capture_cost ORDER BY calls"),
            "MPI_Send|message|1|40\nMPI_Irecv|start|2|120\nMPI_Waitall|completion|3|210\n"
            "MPI_Bcast|collective|4|120\nMPI_Comm_rank|call|5|102.5\nMPI_Iprobe|counted|6|18\n");
}

TEST_F(DefinitionTest, SumsOfRegionsOnlyGrowAndAreSummedOverThreads) {
  wire::Definitions definitions;
  definitions.regions = {{77, "solve"}, {77, "solve"}};
  definitions.region_sums = {{77, ThreadIndex{0}, 3, 500, 300, 100, false},
                             {77, ThreadIndex{1}, 1, 20, 20, 0, true},
                             {78, ThreadIndex{0}, 1, 7, 7, 0, false}};
  define(0, definitions);
  wire::Definitions earlier;  // Comes late.
  earlier.region_sums = {{77, ThreadIndex{0}, 2, 400, 300, 50, false}};
  define(0, earlier);
  define(1, definitions);
  EXPECT_EQ(ask("SELECT * FROM region_total ORDER BY rank, region"),
            "0|0|region 78|1|7|7|0|0\n0|0|solve|4|520|300|100|1\n"
            "0|1|region 78|1|7|7|0|0\n0|1|solve|4|520|300|100|1\n");
}

TEST_F(DefinitionTest, LostDefinitionsAreALoss) {
  define(0, {});
  EXPECT_EQ(ask("SELECT count(*) FROM loss WHERE part = 'definition'"), "0\n");
  wire::Definitions lost;
  lost.lost = 12;
  define(1, lost);
  EXPECT_EQ(ask("SELECT world, rank, host, reason FROM loss WHERE part = 'definition'"),
            "0|1|node7|12 definitions (communicators, call sites) are lost: the agent could not "
            "keep up, or their"
            " log was damaged\n");
}

}  // namespace
}  // namespace xylem::storage
