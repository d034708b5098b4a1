// `xylem place`: words in, plan out, byte by byte: tests/golden/place_command/, and every example
// of docs/placement.md. Run in the source folder, as files are named from there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/place_command.h"
#include "cli/place_options.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/packets.h"
#include "tree/topology_text.h"

namespace xylem {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const fs::path kSource = XYLEM_SOURCE_DIR;

std::string contents(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream) << path << " cannot be read";
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Answer {
  int code = 0;
  std::string out, err;
};

/// What `xylem place WORDS` answers, with variables as NAME=VALUE among the words.
Answer place(const std::string& words, PlaceFormat format = PlaceFormat::kTopology) {
  fs::current_path(kSource);
  std::vector<std::string> flags;
  std::vector<std::string> environment;
  std::istringstream split(words);
  for (std::string word; split >> word;) {
    const bool is_variable = word.front() >= 'A' && word.front() <= 'Z';
    (is_variable ? environment : flags).push_back(word);
  }
  if (words.find("--front-end") == std::string::npos) {
    flags.insert(flags.end(), {"--front-end", "head"});
  }
  CLI::App app;
  const SettingFlags settings(app, place_settings());
  std::ranges::reverse(flags);
  try {
    app.parse(flags);
  } catch (const CLI::ParseError& error) {
    return {2, "", error.what()};
  }
  const auto values = settings.layered(environment);
  if (!values) return {2, "", values.error().message};
  std::ostringstream out, err;
  const int code = run_place({*values, config_file(settings.config(), environment), format},
                             environment, out, err);
  return {code, out.str(), err.str()};
}

std::string refusal(const std::string& words) {
  const Answer answer = place(words);
  EXPECT_EQ(answer.code, 2) << words << "\n" << answer.out;
  EXPECT_EQ(answer.out, "");
  EXPECT_THAT(answer.err, StartsWith("xylem: ")) << words;
  return answer.err.substr(7);
}

/// The answer of the subcommand itself, which uses the streams of the process.
Answer place_command(std::vector<std::string> words) {
  CLI::App app;
  Answer answer{-1, "", ""};
  add_place_command(app, answer.code);
  std::ranges::reverse(words);
  std::ostringstream out, err;
  std::streambuf* const out_before = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const err_before = std::cerr.rdbuf(err.rdbuf());
  app.parse(words);
  std::cout.rdbuf(out_before);
  std::cerr.rdbuf(err_before);
  answer.out = out.str();
  answer.err = err.str();
  return answer;
}

TEST(PlaceCommand, PrintsThePlan) {
  const Answer answer = place_command({"place", "--front-end", "head", "--hosts", "a,b"});
  EXPECT_EQ(answer.code, 0);
  EXPECT_EQ(answer.out, place("--hosts a,b").out);
  EXPECT_EQ(answer.err, "");
}

TEST(PlaceCommand, RefusesAConfigurationThatCannotBeRead) {
  const Answer answer = place_command({"place", "--hosts", "a", "--config", "/dev/null/none"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_EQ(answer.out, "");
  EXPECT_THAT(answer.err, StartsWith("xylem: /dev/null/none: "));
}

void compare(const std::string& text, const fs::path& expected) {
  if (std::getenv("XYLEM_UPDATE_GOLDEN") != nullptr) std::ofstream(expected) << text;
  EXPECT_EQ(text, contents(expected)) << expected;
}

TEST(GoldenPlaces, ComeOutByteByByte) {
  std::size_t cases = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "tests/golden/place_command")) {
    if (entry.path().extension() != ".words") continue;
    SCOPED_TRACE(entry.path());
    ++cases;
    const std::string words = contents(entry.path());
    const Answer topology = place(words);
    ASSERT_EQ(topology.code, 0) << topology.err;
    compare(topology.out, fs::path(entry.path()).replace_extension(".topo"));
    const auto again = tree::parse_topology(topology.out, "printed");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(print(again->topology), topology.out);
    if (words.find("node[0001-1000]") != std::string::npos) continue;  // Too long to be read.
    compare(place(words, PlaceFormat::kExplain).out,
            fs::path(entry.path()).replace_extension(".explain"));
  }
  EXPECT_GE(cases, 12u);
}

/// The examples of a page: blocks that begin with `$ xylem place`, and what must follow.
std::vector<std::pair<std::string, std::string>> examples_of(const std::string& page) {
  std::vector<std::pair<std::string, std::string>> examples;
  const std::string begin = "```\n$ xylem place ";
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    std::size_t end = page.find('\n', at);
    std::string words = page.substr(at, end - at);
    while (words.ends_with('\\')) {  // Goes on in the next line.
      const std::size_t next = page.find('\n', end + 1);
      words.back() = ' ';
      words += page.substr(end + 1, next - end - 1);
      end = next;
    }
    at = end + 1;
    examples.emplace_back(words, page.substr(at, page.find("```\n", at) - at));
  }
  return examples;
}

TEST(PlacementPage, ShowsWhatTheCommandAnswers) {
  const auto examples = examples_of(contents(kSource / "docs/placement.md"));
  EXPECT_GE(examples.size(), 6u);
  for (auto [words, expected] : examples) {
    SCOPED_TRACE(words);
    PlaceFormat format = PlaceFormat::kTopology;
    for (const auto& [flag, chosen] :
         {std::pair{"--explain", PlaceFormat::kExplain}, {"--json", PlaceFormat::kJson}}) {
      const std::size_t at = words.find(flag);
      if (at == std::string::npos) continue;
      words.erase(at, std::string(flag).size());
      format = chosen;
    }
    const Answer answer = place(words, format);
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(answer.out, expected);
  }
}

TEST(Place, AnswersProgramsInJson) {
  const Answer answer =
      place("--hosts a,b,c,d --back-ends 8,2,2,0 --comm-processes 4 --max-per-host 3",
            PlaceFormat::kJson);
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto json = boost::json::parse(answer.out).as_object();
  EXPECT_EQ(boost::json::serialize(json.at("comm_processes")), R"({"a":0,"b":1,"c":1,"d":2})");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("view"), "place");
  EXPECT_EQ(json.at("placement"), "even");
  EXPECT_EQ(json.at("fanout"), 3);
  EXPECT_EQ(json.at("hosts").at(3).at("room"), 3);
  EXPECT_TRUE(json.at("hosts").at(3).at("score").is_null());
  EXPECT_EQ(json.at("nodes").as_array().size(), 5u);
  std::int64_t back_ends = 0;
  for (const auto& node : json.at("nodes").as_array()) back_ends += node.at("back_ends").as_int64();
  EXPECT_EQ(back_ends, 12);
  EXPECT_EQ(std::string(json.at("topology").as_string()),
            place("--hosts a,b,c,d --back-ends 8,2,2,0 --comm-processes 4").out);
}

TEST(Place, LeavesOutHostsWithoutSlots) {
  const auto file = fs::temp_directory_path() / ("xylem-slots-" + std::to_string(::getpid()));
  std::ofstream(file) << "a slots=2\nlogin slots=0\nb slots=2\nlogin2:0\n";
  const std::string words = "--host-file " + file.string() + " --comm-processes 4";
  const Answer answer = place(words);
  const Answer json = place(words, PlaceFormat::kJson);
  const Answer extra = place(words + " --extra-hosts login --comm-on extra");
  fs::remove(file);
  EXPECT_EQ(answer.out, "head:0 => a:0 b:0 a:1 b:1 ;\n") << answer.err;
  EXPECT_THAT(json.out, Not(HasSubstr("login")));
  EXPECT_EQ(extra.out, "head:0 => login:0 login:1 login:2 login:3 ;\n") << extra.err;
}

TEST(Place, DrawsProcessesAndBackEnds) {
  const Answer answer = place("--hosts a,b --back-ends 3,1 --comm-processes 2", PlaceFormat::kDot);
  EXPECT_EQ(answer.out, R"(digraph xylem {
  n0 [label="head:0"];
  n1 [label="b:0"];
  n0 -> n1;
  n2 [label="b:1"];
  n0 -> n2;
  n1h0 [label="a\n1 back end", shape=box];
  n1 -> n1h0;
  n1h1 [label="b\n1 back end", shape=box];
  n1 -> n1h1;
  n2h0 [label="a\n2 back ends", shape=box];
  n2 -> n2h0;
}
)");
}

TEST(Place, SaysWhatItDoesNotKnow) {
  const Answer answer = place("--hosts a,b --placement fuzzy --comm-processes 2");
  EXPECT_EQ(answer.code, 0);
  EXPECT_EQ(answer.out, "head:0 => a:0 b:0 ;\n");
  EXPECT_EQ(answer.err,
            "xylem: unknown for all hosts, so left out: idle, run_queue, memory, network, "
            "round_trip; --facts can set them\n");
}

TEST(Place, RefusesInOneSentenceWithItsSource) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no hosts are named; give --hosts, --host-file or --recorded"},
      {"--hosts a[1-", "--hosts: host list: 'a[1-' has a bracket that is not closed"},
      {"--hosts a,b,a", "host a is named twice; name each once"},
      {"--hosts a --extra-hosts a", "--extra-hosts: host a is named twice; name it once"},
      {"--hosts a --extra-hosts a.b.org",
       "--extra-hosts: host a.b.org is named twice, before as a; name it once"},
      {"--hosts a --extra-hosts g.b.org,g",
       "--extra-hosts: host g is named twice, before as g.b.org"},
      {"--hosts a --host-file x",
       "--host-file: hosts are named by --hosts too; leave out one of the two"},
      {"--hosts a XYLEM_HOST_FILE=x",
       "XYLEM_HOST_FILE: hosts are named by --hosts too; leave out one of the two"},
      {"--host-file none", "none: no such host file; check the path"},
      {"--recorded none", "none"},
      {"--slurm", "there is no SLURM_JOB_NODELIST in the environment"},
      {"SLURM_JOB_NODELIST=n[1-2] SLURM_TASKS_PER_NODE=2(x3)", "SLURM_JOB_NODELIST names 2 hosts"},
      {"SLURM_JOB_NODELIST=n[1-2] SLURM_TASKS_PER_NODE=0(x2)",
       "SLURM_TASKS_PER_NODE: no host has a slot, so a launcher starts nothing"},
      {"--hosts a,b,c --back-ends 1,2", "--back-ends: 2 numbers for 3 hosts; give each one"},
      {"--hosts a --back-ends x", "--back-ends: 'x' is not a count"},
      {"--hosts a --back-ends 1 --ranks 1", "--ranks: processes are told by --back-ends too"},
      {"--hosts a --placement best",
       "--placement: placement policy 'best' is not known; write even "
       "or fuzzy"},
      {"--hosts a --comm-on all", "--comm-on: 'all' is not one of compute, extra, mixed"},
      {"--hosts a --exclude b", "--exclude: host b is to be excluded and is none of the hosts"},
      {"--hosts a --comm-processes many", "--comm-processes: 'many' is not a number from 0 to"},
      {"--hosts a --comm-processes 2 --topology flat", "--topology: says how many communication"},
      {"--hosts a --topology kary:x", "--topology: "},
      {"--hosts a,b --comm-processes 9 --max-per-host 4",
       "9 communication processes do not fit: the 2 hosts have room for 8; ask for fewer"},
      {"--hosts a,b --comm-processes 9 --cores 4 --placement fuzzy",
       "9 communication processes do not fit: the 2 hosts have room for 8; ask for fewer"},
      {"--hosts localhost --topology topology_files/one_host.topo --max-per-host 1",
       "topology_files/one_host.topo:3: no room for localhost:2: localhost has room for 1 "
       "communication processes; change"},
      {"--hosts a --max-per-host -1", "--max-per-host: '-1' is not a number from 0 to"},
      {"--hosts a --reserve-cores 1", "--reserve-cores: cores are to be reserved, and those of"},
      {"--hosts a,b --cores 4,0", "--cores: a host cannot have 0 cores; to keep communication"},
      {"--hosts a --reserve-cores some",
       "--reserve-cores: 'some' is neither a number of cores nor"},
      {"--hosts a --facts topology_files/four_hosts.facts",
       "topology_files/four_hosts.facts: names none of the hosts; use its hosts: a"},
      {"--hosts a --facts topology_files/racks.topo", "topology_files/racks.topo:"},
      {"--hosts a --config none.toml", "none.toml: no such configuration file; check the path"},
      {"--hosts a --config docs", "docs: is a folder; name a configuration file in it"},
      {"--hosts a --slurm=maybe", "--slurm: 'maybe' is neither true nor false"},
      {"--hosts a --comm-on extra --comm-processes 1",
       "1 communication processes do not fit: the 1 hosts have room for 0"},
  };
  for (const auto& [words, sentence] : cases) {
    const std::string said = place(words).err;
    EXPECT_THAT(said.starts_with("xylem: ") ? said.substr(7) : said, StartsWith(sentence)) << words;
    EXPECT_EQ(place(words).code, 2) << words;
  }
}

TEST(Place, NamesTheLineOfAConfigurationThatIsWrong) {
  storage::Folder folder;
  const std::string path = folder.file("x.toml");
  const auto with = [&](const char* text) {
    std::ofstream(path) << text;
    return place("--hosts a --config " + path).err;
  };
  EXPECT_EQ(with("placement = \"even\"\nwindow = \"1s\"\n"), "")
      << "options of run are passed over";
  EXPECT_THAT(with("topology = \"flat\"\n\nhost = \"a\"\n"),
              StartsWith(path + ":3: 'host' is not an option"));
  EXPECT_THAT(with("[fuzzy.weights]\nidle = 0.5\n"),
              StartsWith(path + ":2: the weights sum to 0.5"));
  EXPECT_THAT(with("placement = \"best\"\n"),
              StartsWith("xylem: " + path + ":1: placement: placement policy"));
}

TEST(Place, TakesTheHostsOfARecordedRun) {
  storage::Folder folder;
  const std::string path = folder.file("run.db");
  auto store = storage::make_sqlite_store({path});
  ASSERT_TRUE(store) << store.error().message;
  storage::RunFacts facts;
  facts.run_id = "00c0ffee00c0ffee";
  facts.host = "login1";
  facts.version = "0.1.0";
  ASSERT_TRUE((*store)->begin_run(facts));
  ASSERT_TRUE((*store)->commit());
  EXPECT_THAT(refusal("--recorded " + path), HasSubstr("names no host"));
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
    std::vector<wire::ProcessRow> rows = {storage::process_row(1, leaf)};
    if (leaf == 1) rows.push_back(storage::process_row(2, 2));
    ASSERT_TRUE((*store)->put(storage::registration_packet(leaf, rows)));
    ASSERT_TRUE(
        (*store)->put_node({NodeId{leaf + 1}, wire::Role::kBackEnd, "node" + std::to_string(leaf),
                            NodeId{0}, 1, 1, LeafId{leaf}, "left"}));
  }
  ASSERT_TRUE((*store)->commit());
  store->reset();
  storage::change_file(
      path,
      "INSERT INTO host_metric(leaf, at_ns, name, value) VALUES (0, 1, 'idle', 1), "
      "(0, 9, 'idle', 0.1), (1, 5, 'idle', 0.9), (1, 5, 'cores', 2), (1, 5, 'heat', 300), "
      "(1, 5, 'memory', -1), (7, 5, 'idle', 1)");
  const Answer answer =
      place("--recorded " + path + " --placement fuzzy --comm-processes 4", PlaceFormat::kJson);
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("left out: run_queue, memory, network, round_trip;"));
  const auto json = boost::json::parse(answer.out).as_object();
  EXPECT_EQ(json.at("hosts").at(0).at("processes"), 1);
  EXPECT_EQ(json.at("hosts").at(1).at("processes"), 2);
  EXPECT_EQ(json.at("hosts").at(1).at("back_ends"), 1);
  EXPECT_EQ(json.at("hosts").at(1).at("room"), 2) << "its cores";
  EXPECT_EQ(boost::json::serialize(json.at("comm_processes")), R"({"node0":2,"node1":2})");
  // idle 0.1: poor, 0.05. processes 1: 3/4 excellent, 1/4 good: 0.9. Weights 2 and 1, emphasised.
  const double idle = 2 / std::pow(0.05, 1.5);
  const double processes = 1 / std::pow(0.9, 1.5);
  EXPECT_NEAR(json.at("hosts").at(0).at("score").as_double(),
              (idle * 0.05 + processes * 0.9) / (idle + processes), 1e-12);
  EXPECT_THAT(place("--recorded " + path + " --comm-processes 1 --front-end fe").out,
              StartsWith("fe:0 => node0:0 ;"));
}

}  // namespace
}  // namespace xylem
