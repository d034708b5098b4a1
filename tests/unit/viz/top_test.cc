#include "viz/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

namespace xylem::viz {
namespace {

using namespace storage;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kRanks = 24;

Overview an_overview() {
  Overview overview;
  overview.scope.run_end_ns = overview.scope.end_ns = 83 * kSecond;
  Report& report = overview.report;
  report.run.command = "mpirun -n 24 ./ocean --steps 4000 --grid 2048x2048 --out /scratch/\x1b[2J";
  report.run.hosts = 3;
  report.worlds = {{WorldId{0}, "ocean", kRanks, kRanks}};
  report.worlds_in_all = 1;
  report.account = {kRanks, 0, 17'200'735, 17'190'000, 0, 0, {}, 0};
  overview.calls_per_s = 207'237.8;
  Report::WorldShare share;
  share.ranks = kRanks;
  share.lowest = {Rank{3}, 1 * kSecond, 83 * kSecond, false};
  share.highest = {Rank{17}, 73 * kSecond, 83 * kSecond, false};
  share.mean = 0.382;
  share.estimated = true;
  report.shares = {share};
  report.waits = {{WorldId{0}, Rank{3}, Rank{0}, 41 * kSecond, 9000},
                  {WorldId{0}, Rank{11}, Rank{3}, 2 * kSecond, 4000}};
  Report::Loss loss;
  loss.part = "ring";
  loss.host = "node2";
  loss.reason = "the ring was full";
  loss.count = 1;
  loss.calls = 20;
  report.losses = {loss};
  report.notices_in_all = 1;
  return overview;
}

FunctionTable::Function function(const char* name, std::uint64_t calls, std::uint64_t time_ns,
                                 std::uint64_t bytes, bool estimated = false) {
  FunctionTable::Function function;
  function.name = name;
  function.calls = calls;
  function.time_ns = time_ns;
  function.bytes = bytes;
  function.max_ns = 2 * time_ns / (calls + 1);
  function.estimated = estimated;
  return function;
}

RankGrid a_grid(std::uint64_t scale) {
  RankGrid grid;
  grid.scope.end_ns = grid.scope.run_end_ns = 83 * kSecond;
  grid.world_size = kRanks;
  grid.columns = 1;
  for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
    grid.rows.push_back({rank, 1, "node" + std::to_string(rank / 8), (rank * 7 % 24 + 1) * scale,
                         static_cast<std::uint64_t>(83 * kSecond)});
  }
  return grid;
}

TreeReport::Node node(std::uint32_t id, const char* role, std::string host, const char* state) {
  TreeReport::Node made;
  made.id = NodeId{id};
  made.role = role;
  made.host = std::move(host);
  made.state = state;
  return made;
}

TreeSnapshot a_tree() {
  TreeSnapshot tree;
  tree.report.nodes = {node(0, "front_end", "login1", "attached")};
  for (std::uint32_t id = 1; id < 5; ++id) {
    TreeReport::Node below = node(id, id == 1 ? "comm_process" : "back_end",
                                  "node" + std::to_string(id - 1), id == 4 ? "lost" : "attached");
    below.parent = NodeId{id == 1 ? 0u : 1u};
    below.ranks = id == 1 ? 0 : 8;
    below.link = TreeReport::Link{};
    below.link->queue_bytes = 100 * id;
    below.link->bytes_per_s = 5000.0 * id;
    below.link->round_trip_ns = 40'000;
    tree.report.nodes.push_back(below);
  }
  tree.report.nodes[2].silent_ns = 6 * kSecond;
  return tree;
}

TopAnswers all_answers() {
  TopAnswers answers;
  answers.overview = an_overview();
  answers.functions = FunctionTable{};
  answers.functions->scope = answers.overview->scope;
  answers.functions->scope.estimated = true;
  answers.functions->mpi_ns = 700 * kSecond;
  answers.functions->functions = {
      function("MPI_Testany", 16'995'898, 500 * kSecond, 0, true),
      function("MPI_Send", 90'887, 120 * kSecond, 250'000'000),
      function("MPI_Allreduce", 24'000, 70 * kSecond, 1'920'000),
      function("MPI_Neighbor_alltoallw_init", 24, 10 * kSecond, 1u << 31),
  };
  answers.ranks = TopAnswers::Ranks{a_grid(3 * kSecond), a_grid(2 * kSecond), a_grid(30'000),
                                    a_grid(9'000'000)};
  answers.tree = a_tree();
  answers.notices = Notices{};
  answers.notices->notices = {
      {61 * kSecond, "node2", "back_end", "warn", "ring of rank 17 is full", 0}};
  return answers;
}

std::string text_of(const TopScreen& screen) {
  std::string text;
  for (const Line& line : screen.lines) text += plain_line(line) + '\n';
  return text;
}

std::string screen_of(TopPane pane, std::size_t width, std::size_t height, bool utf8 = true) {
  TopChoice choice;
  choice.pane = pane;
  return text_of(draw_top(all_answers(), choice, {width, height, utf8, true}));
}

/// XYLEM_WRITE_GOLDEN=1 writes them anew; look at them then.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = XYLEM_GOLDEN_DIR "/top/" + name + ".txt";
  if (std::getenv("XYLEM_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

TEST(TopScreen, IsAsItWasDrawnBefore) {
  for (std::size_t i = 0; i < kTopPanes; ++i) {
    const auto pane = static_cast<TopPane>(i);
    const std::string of(name(pane));
    expect_golden(of + "_80x24", screen_of(pane, 80, 24));
    expect_golden(of + "_40x12", screen_of(pane, 40, 12, false));
    expect_golden(of + "_200x60", screen_of(pane, 200, 60));
  }
}

TEST(TopScreen, FillsTheScreenAndNoMoreWhateverItsSize) {
  std::mt19937 random(20261122);
  const TopAnswers full = all_answers(), empty;
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t width = 1 + random() % 220, height = 1 + random() % 70;
    TopChoice choice;
    choice.pane = static_cast<TopPane>(random() % kTopPanes);
    choice.shows_help = random() % 8 == 0;
    choice.is_typing = random() % 8 == 0;
    choice.filter = random() % 4 == 0 ? "e" : "";
    choice.scroll = random() % 40;
    SCOPED_TRACE(::testing::Message() << width << " x " << height << ", " << name(choice.pane));
    const bool utf8 = random() % 2 == 0;
    const TopScreen screen =
        draw_top(random() % 9 == 0 ? empty : full, choice, {width, height, utf8, true});
    ASSERT_EQ(screen.lines.size(), height);
    for (const Line& line : screen.lines) {
      ASSERT_LE(cells(plain_line(line)), width) << plain_line(line);
      for (const unsigned char c : plain_line(line)) {
        ASSERT_TRUE(c >= ' ' && c != 0x7f && (utf8 || c < 0x80)) << plain_line(line);
      }
    }
  }
}

TEST(TopScreen, LeavesOutWhatHasNoRoomButNeverPartOfANumber) {
  const std::string narrow = screen_of(TopPane::kFunctions, 40, 12);
  EXPECT_THAT(narrow, HasSubstr("17,200,735 calls, 0 lost"));
  EXPECT_EQ(narrow.find("16,995"), std::string::npos);
  EXPECT_THAT(screen_of(TopPane::kFunctions, 80, 24), HasSubstr("16,995,898"));
  EXPECT_THAT(screen_of(TopPane::kFunctions, 80, 24), HasSubstr("+ 10,735 on the way"));
}

TEST(TopScreen, SortsAndFiltersAsChosen) {
  TopChoice choice;
  choice.pane = TopPane::kFunctions;
  const auto first = [&] {
    const TopScreen screen = draw_top(all_answers(), choice, {80, 24, true, true});
    const std::string line = plain_line(screen.lines[6]);
    return line.substr(0, line.find(' '));
  };
  EXPECT_EQ(first(), "MPI_Testany");
  choice.function_order = TopOrder::kBytes;
  EXPECT_EQ(first(), "MPI_Neighbor_alltoallw_init");
  choice.function_order = TopOrder::kName;
  EXPECT_EQ(first(), "MPI_Allreduce");
  choice.is_reversed = true;
  EXPECT_EQ(first(), "MPI_Testany");
  choice.filter = "SEND";
  EXPECT_EQ(first(), "MPI_Send");
  choice.filter = "nowhere";
  EXPECT_THAT(text_of(draw_top(all_answers(), choice, {80, 24, true, true})),
              HasSubstr("nothing has 'nowhere' in it"));

  choice.pane = TopPane::kRanks;
  choice.rank_order = TopOrder::kRank;
  choice.is_reversed = false;
  choice.filter = "7-9";
  EXPECT_EQ(draw_top(all_answers(), choice, {80, 24, true, true}).extent.max_scroll, 0u);
  const std::string ranks = text_of(draw_top(all_answers(), choice, {80, 10, true, true}));
  EXPECT_THAT(ranks, HasSubstr("        7 node0"));
  EXPECT_EQ(ranks.find("       10 node1"), std::string::npos);
}

TEST(TopScreen, BeginsWithTheFindingsOfItsWorldAndOfHostsAsFarAsThereIsRoom) {
  TopAnswers answers = all_answers();
  auto& findings = answers.overview->report.findings.findings;
  const auto add = [&](const char* text, std::optional<WorldId> world) {
    Finding finding;
    finding.text = text;
    finding.world = world;
    findings.push_back(finding);
  };
  add("parallel efficiency 55 %", WorldId{0});
  add("parallel efficiency 99 %", WorldId{1});
  add("host node2 has 8 ranks on 4 cores: ranks share cores", {});
  for (int i = 0; i < 9; ++i)
    add("rank 3 computes longest, and this sentence is rather long", WorldId{0});
  const TopChoice choice;
  const TopScreen screen = draw_top(answers, choice, {60, 24, true, true});
  EXPECT_THAT(plain_line(screen.lines[3]), HasSubstr("parallel efficiency 55 %"));
  EXPECT_THAT(plain_line(screen.lines[4]), HasSubstr("host node2 has 8 ranks"));
  EXPECT_THAT(text_of(screen), Not(HasSubstr("99 %")));
  EXPECT_THAT(text_of(screen), HasSubstr("Functions, whole run"));
  EXPECT_THAT(text_of(draw_top(answers, choice, {60, 12, true, true})), Not(HasSubstr("55 %")));
  const std::string all = text_of(draw_top(answers, choice, {30, 0, true, false}));
  EXPECT_THAT(all, HasSubstr("\n  this sentence is rather long"));  // Words are never cut.
}

TEST(TopScreen, KeepsTheLastAnswersAndSaysWhyThereAreNoNewerOnes) {
  TopAnswers answers = all_answers();
  answers.fault = "run.db: no such file\x1b[0m";
  const TopScreen screen = draw_top(answers, {}, {80, 24, true, true});
  EXPECT_EQ(plain_line(screen.lines.back()), "run.db: no such file?[0m");
  EXPECT_THAT(text_of(screen), HasSubstr("MPI_Testany"));
}

TEST(TopScreen, SaysWhichAlertsStillAreSo) {
  TopAnswers answers = all_answers();
  answers.alerts = Alerts{};
  answers.alerts->open = 1;
  Alert alert;
  alert.text = "rank 3 is in MPI_Recv for 12 s";
  answers.alerts->alerts = {alert, alert};
  answers.alerts->alerts[1].until_ns = kSecond;
  TopChoice choice;
  EXPECT_THAT(text_of(draw_top(answers, choice, {80, 24, true, true})),
              HasSubstr("\n1 open alert, 1 kind of loss, 1 notice\n"));
  choice.pane = TopPane::kNotices;
  const std::string text = text_of(draw_top(answers, choice, {80, 24, true, true}));
  EXPECT_THAT(text, HasSubstr("0 ns alert"));
  EXPECT_THAT(text, HasSubstr("0 ns was so"));
  EXPECT_THAT(text, HasSubstr("rank 3 is in MPI_Recv for 12 s"));
}

TEST(TopScreen, WaitsAreThoseOfTheTraceWhereTheyAreKnown) {
  TopAnswers answers = all_answers();
  TopChoice choice;
  choice.pane = TopPane::kWaits;
  EXPECT_THAT(text_of(draw_top(answers, choice, {100, 24, true, true})), HasSubstr("an estimate"));
  storage::WaitSummary& waits = answers.overview->report.wait_states;
  storage::WaitCoverage world;
  world.analysed = {4, 9 * kSecond};
  waits.worlds = {world};
  storage::WaitState late;
  late.rank = Rank{11};
  late.cause_rank = late.root_rank = Rank{5};
  late.kind = storage::WaitKind::kLateSender;
  late.function = "MPI_Waitall";
  late.time_ns = 7 * kSecond;
  late.calls = 4;
  storage::WaitState rest = late;
  rest.cause_rank = rest.root_rank = std::nullopt;
  rest.rank = Rank{2};
  waits.rows = {late, rest};
  const std::string text = text_of(draw_top(answers, choice, {100, 24, true, true}));
  EXPECT_THAT(text, HasSubstr("from the trace"));
  EXPECT_THAT(text, ContainsRegex("11 +5 +7.00 s .* 4 +late sender +MPI_Waitall"));
  EXPECT_THAT(text, ContainsRegex("2 +many +7.00 s"));
  choice.filter = "5";
  const std::string of_rank_5 = text_of(draw_top(answers, choice, {100, 24, true, true}));
  EXPECT_THAT(of_rank_5, HasSubstr("MPI_Waitall"));
  EXPECT_THAT(of_rank_5, Not(HasSubstr("many")));
}

TEST(TopScreen, SharesAreOfTheTimeInWhichARankWasWatched) {
  TopAnswers answers = all_answers();
  RankGrid::Row& row = answers.ranks->mpi.rows[5];
  row.total = static_cast<std::uint64_t>(6 * kSecond);
  row.watched_ns = static_cast<std::uint64_t>(8 * kSecond);  // It ended early.
  TopChoice choice;
  choice.pane = TopPane::kRanks;
  choice.filter = "5";
  EXPECT_THAT(text_of(draw_top(answers, choice, {80, 24, true, true})), HasSubstr("75.0 %"));
}

TEST(TopScreen, ARankInACallIsShownWithItsLengthItsFunctionAndTheOtherRank) {
  TopAnswers answers = all_answers();
  CallUnderWay call;
  call.rank = Rank{5};
  call.function = "MPI_Recv";
  call.begin_ns = 70 * kSecond;
  call.at_ns = 82 * kSecond + 500 * kMillisecond;
  call.peer = Rank{0};
  CallUnderWay shorter = call;
  shorter.thread = ThreadIndex{1};
  shorter.function = "MPI_Wait";
  shorter.begin_ns = 80 * kSecond;
  answers.ranks->under_way.calls = {call, shorter};
  TopChoice choice;
  choice.pane = TopPane::kRanks;
  choice.filter = "5";
  const std::string text = text_of(draw_top(answers, choice, {80, 24, true, true}));
  EXPECT_THAT(text, HasSubstr("in call for"));
  EXPECT_THAT(text, HasSubstr("12.5 s MPI_Recv 0"));
  EXPECT_THAT(text, Not(HasSubstr("MPI_Wait")));
  answers.ranks->under_way.calls.clear();
  EXPECT_THAT(text_of(draw_top(answers, choice, {80, 24, true, true})),
              Not(HasSubstr("in call for")));
}

TEST(TopScreen, ARankInACallThatDoesNotLastSaysWhy) {
  TopAnswers answers = all_answers();
  CallUnderWay call;
  call.rank = Rank{5};
  call.function = "MPI_Recv";
  call.at_ns = kSecond;
  TopChoice choice;
  choice.pane = TopPane::kRanks;
  choice.filter = "5";
  call.has_ended = true;
  answers.ranks->under_way.calls = {call};
  EXPECT_THAT(text_of(draw_top(answers, choice, {200, 24, true, true})),
              HasSubstr("1.00 s MPI_Recv, ended"));
  call.has_ended = false;
  call.is_host_lost = true;
  answers.ranks->under_way.calls = {call};
  EXPECT_THAT(text_of(draw_top(answers, choice, {200, 24, true, true})),
              HasSubstr("1.00 s MPI_Recv, host lost"));
}

// Rows of two ranks each; the longest call comes first.
TEST(TopScreen, ARowOfSeveralRanksHasTheirLongestCall) {
  TopAnswers answers = all_answers();
  for (RankGrid* grid :
       {&answers.ranks->mpi, &answers.ranks->wait, &answers.ranks->calls, &answers.ranks->bytes}) {
    grid->rows = {{0, 2, "node0", 1, 1}, {2, 2, "node0", 1, 1}, {4, 2, "node0", 1, 1}};
  }
  for (const std::uint32_t rank : {5, 0, 4, 1, 23}) {
    CallUnderWay call;
    call.rank = Rank{rank};
    call.function = "MPI_Recv";
    call.at_ns = (100 - static_cast<Nanos>(answers.ranks->under_way.calls.size())) * kSecond;
    answers.ranks->under_way.calls.push_back(call);
  }
  TopChoice choice;
  choice.pane = TopPane::kRanks;
  const std::string text = text_of(draw_top(answers, choice, {200, 24, true, true}));
  EXPECT_THAT(text, HasSubstr("MPI_Recv, rank 5"));
  EXPECT_THAT(text, HasSubstr("MPI_Recv, rank 0"));
  EXPECT_THAT(text, Not(HasSubstr("rank 4")));
  EXPECT_THAT(text, Not(HasSubstr("rank 1 ")));
  EXPECT_THAT(text, Not(HasSubstr("rank 23")));
}

TEST(TopScreen, AMeanWithTimeOfCallsUnderWayIsNotShown) {
  TopAnswers answers = all_answers();
  FunctionTable::Function function;
  function.name = "MPI_Recv";
  function.calls = 2;
  function.time_ns = static_cast<std::uint64_t>(77 * kSecond);
  function.max_ns = static_cast<std::uint64_t>(3 * kSecond);
  TopChoice choice;
  choice.pane = TopPane::kFunctions;
  const auto text = [&] {
    answers.functions->functions = {function};
    return text_of(draw_top(answers, choice, {200, 24, true, true}));
  };
  EXPECT_THAT(text(), Not(HasSubstr("38.5 s")));
  function.estimated = true;
  EXPECT_THAT(text(), HasSubstr("~38.5 s")) << "the longest is of those that were timed";
  function.estimated = false;
  function.max_ns = static_cast<std::uint64_t>(40 * kSecond);
  EXPECT_THAT(text(), HasSubstr("38.5 s"));
}

TEST(TopScreen, AsJsonHasTheCallsUnderWay) {
  TopAnswers answers = all_answers();
  CallUnderWay call;
  call.rank = Rank{5};
  call.thread = ThreadIndex{1};
  call.function = "MPI_Recv";
  call.function_class = "point_to_point";
  call.begin_ns = 4;
  call.at_ns = 7;
  call.peer = Rank{0};
  answers.ranks->under_way.calls = {call};
  answers.ranks->under_way.calls_in_all = 1;
  for (RankGrid* grid :
       {&answers.ranks->mpi, &answers.ranks->wait, &answers.ranks->calls, &answers.ranks->bytes}) {
    grid->cells.resize(kRanks);
  }
  const std::string json = top_json(answers);
  EXPECT_THAT(json, HasSubstr("\"under_way\":{\"version\":1,\"view\":\"under_way\","));
  EXPECT_THAT(json, HasSubstr("\"calls_in_all\":1,\"calls\":[{\"world\":0,\"rank\":5,\"thread\":1,"
                              "\"function\":\"MPI_Recv\",\"class\":\"point_to_point\","
                              "\"begin_ns\":4,\"at_ns\":7,\"duration_ns\":3,\"peer\":0,"
                              "\"comm\":null,\"has_ended\":false,\"host_lost\":false}]"));
}

TEST(TopScreen, WithoutAHeightHasAllThatThereIs) {
  TopChoice choice;
  choice.pane = TopPane::kRanks;
  const TopScreen screen = draw_top(all_answers(), choice, {80, 0, true, false});
  EXPECT_EQ(screen.lines.size(), 3 + 2 + kRanks);
}

TEST(TopKeys, AreFoundHoweverTheyComeInPieces) {
  KeyReader reader;
  EXPECT_THAT(reader.read("q\t\r"), ElementsAre(key('q'), TerminalKey::kTab, TerminalKey::kEnter));
  EXPECT_THAT(reader.read("\x1b[A\x1bOB\x1b[5~"),
              ElementsAre(TerminalKey::kUp, TerminalKey::kDown, TerminalKey::kPageUp));
  EXPECT_THAT(reader.read("\x1b"), ElementsAre());
  EXPECT_TRUE(reader.is_waiting());
  EXPECT_THAT(reader.read("["), ElementsAre());
  EXPECT_THAT(reader.read("6"), ElementsAre());
  EXPECT_THAT(reader.read("~x"), ElementsAre(TerminalKey::kPageDown, key('x')));
  EXPECT_THAT(reader.read("\x1b"), ElementsAre());
  EXPECT_THAT(reader.rest(), ElementsAre(TerminalKey::kEscape));
  EXPECT_THAT(reader.read("\x1b[38;5;200zq"), ElementsAre(key('q'))) << "unknown: skipped whole";
  EXPECT_THAT(reader.read("\xc3\xbc"
                          "a"),
              ElementsAre(key('a')));
  EXPECT_THAT(reader.read("\x1b[" + std::string(100, '1')), ElementsAre());
  EXPECT_THAT(reader.read("b"), ElementsAre(key('b'))) << "an endless sequence is given up";
}

TEST(TopKeys, ChangeWhatIsChosen) {
  const TopExtent extent{2, 10, 15};
  TopChoice choice;
  const auto press = [&](TerminalKey pressed_key) {
    choice = pressed(choice, pressed_key, extent);
  };
  press(key('3'));
  EXPECT_EQ(choice.pane, TopPane::kRanks);
  press(TerminalKey::kPageDown);
  press(TerminalKey::kPageDown);
  EXPECT_EQ(choice.scroll, 15u) << "as far as there are lines";
  press(TerminalKey::kTab);
  EXPECT_EQ(choice.pane, TopPane::kWaits);
  EXPECT_EQ(choice.scroll, 0u);
  press(TerminalKey::kBackTab);
  press(key('s'));
  EXPECT_EQ(choice.rank_order, TopOrder::kWait);
  for (int i = 0; i < 4; ++i) press(key('s'));
  EXPECT_EQ(choice.rank_order, TopOrder::kShare) << "all round";
  press(key('w'));
  EXPECT_EQ(choice.world, WorldId{1});
  press(key('w'));
  EXPECT_EQ(choice.world, WorldId{0});
  press(key('/'));
  for (const char c : std::string("q7")) press(key(c));
  EXPECT_EQ(choice.filter, "q7");
  EXPECT_FALSE(choice.has_ended) << "letters of a filter are no commands";
  press(TerminalKey::kBackspace);
  press(TerminalKey::kEnter);
  EXPECT_EQ(choice.filter, "q");
  EXPECT_FALSE(choice.is_typing);
  press(TerminalKey::kEscape);
  EXPECT_EQ(choice.filter, "");
  press(key('p'));
  EXPECT_TRUE(choice.is_paused);
  press(key('?'));
  press(key('p'));
  EXPECT_TRUE(choice.is_paused) << "the key that closes help does nothing else";
  EXPECT_FALSE(choice.shows_help);
  press(key('q'));
  EXPECT_TRUE(choice.has_ended);
}

TEST(TopQuestions, AreForWhatIsShownAndPausedForAll) {
  TopChoice choice;
  choice.pane = TopPane::kTree;
  TopQuestion question = question_of(choice, kSecond);
  EXPECT_TRUE(question.tree);
  EXPECT_FALSE(question.ranks || question.functions || question.notices || question.recent_ns);
  choice.is_paused = choice.is_recent = true;
  question = question_of(choice, kSecond);
  EXPECT_TRUE(question.tree && question.ranks && question.functions && question.notices);
  EXPECT_EQ(question.recent_ns, kSecond);
}

}  // namespace
}  // namespace xylem::viz
