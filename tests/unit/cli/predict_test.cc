// `xylem predict`: files in, text and JSON out. The example of docs/predict.md is one of the tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <regex>
#include <sstream>
#include <string>

#include "cli/exit_code.h"
#include "cli/predict_command.h"

namespace xylem {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

constexpr const char* kTarget =
    "[network]\nlatency_ns = 2500\noverhead_ns = 1500\ngap_ns = 1000\ngap_per_byte_ns = 6\n"
    "overhead_per_byte_ns = 0\neager_bytes = 65535\n";
constexpr const char* kRing =
    "num_ranks 2\nrank 0 {\nsend 8192b to 1\nrecv 8192b from 1\n}\n"
    "rank 1 {\nsend 8192b to 0\nrecv 8192b from 0\n}\n";

class Predict : public ::testing::Test {
 protected:
  Predict() {
    std::string pattern = (fs::temp_directory_path() / "xylem-predict-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    write("t.toml", kTarget);
  }
  ~Predict() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  /// The same as predict(), for a program that is made. `target`: with one.
  int make(const SynthesisOptions& synthesis, bool target = true, const ProgramFiles& files = {}) {
    PredictOptions options;
    if (target) options.target = (folder_ / "t.toml").string();
    options.synthesis = synthesis;
    options.files = files;
    std::ostringstream out, err;
    const int code = run_predict(options, out, err);
    out_ = plain(out.str());
    err_ = plain(err.str());
    return code;
  }

  /// The answer's code, with `out_` and `err_`; the folder's name is left out of both.
  int predict(const std::string& source, bool json = false) {
    std::ostringstream out, err;
    options_.source = source.empty() ? "" : (folder_ / source).string();
    options_.target = (folder_ / "t.toml").string();
    options_.json = json;
    const int code = run_predict(options_, out, err);
    out_ = plain(out.str());
    err_ = plain(err.str());
    return code;
  }

  std::string plain(const std::string& text) const {
    return std::regex_replace(text, std::regex(folder_.string() + "/"), "");
  }

  fs::path folder_;
  PredictOptions options_;
  std::string out_, err_;
};

constexpr const char* kFabric =
    "switch_ns = 100\nbandwidth_bytes_per_ns = 0.5\nheader_share = 0.01\n";
/// Two switches with two nodes each.
constexpr const char* kGraph = "0 left\n1 left\n2 right\n3 right\nleft right\n";

std::string on_graph(const std::string& more = "") {
  return std::string(kTarget) + kFabric + more +
         "[topology]\nkind = \"graph\"\nfile = \"net/two.graph\"\n";
}

TEST_F(Predict, ARingStep) {
  write("ring.goal", kRing);
  EXPECT_EQ(predict("ring.goal"), kExitSuccess);
  EXPECT_EQ(err_, "");
  EXPECT_EQ(out_,
            "makespan 54.6 us (54,646 ns): 2 ranks, 2 messages, model loggps\n"
            "  rank      end      run  messages and I/O  ready\n"
            "     0  54.6 us  52.1 us           2.50 us   0 ns\n"
            "     1  54.6 us  52.1 us           2.50 us   0 ns\n");
}

TEST_F(Predict, AsJson) {
  write("ring.goal", kRing);
  EXPECT_EQ(predict("ring.goal", true), kExitSuccess);
  auto answer = boost::json::parse(out_).as_object();
  EXPECT_GT(answer.at("events_per_s").as_double(), 0);
  answer.erase("events_per_s");
  EXPECT_EQ(
      boost::json::serialize(answer),
      "{\"version\":1,\"view\":\"predict\",\"model\":\"loggps\",\"makespan_ns\":54646,\"events\":6,"
      "\"messages\":2,\"unreceived\":0,\"ranks\":[{\"rank\":0,\"end_ns\":54646,\"run_ns\":52146,"
      "\"io_ns\":2500,\"ready_ns\":0},{\"rank\":1,\"end_ns\":54646,\"run_ns\":52146,\"io_ns\":2500,"
      "\"ready_ns\":0}],\"channels\":[]}");
}

TEST_F(Predict, ShowsTheRanksThatEndLast) {
  std::string text = "num_ranks 40\n";
  for (int rank = 0; rank < 40; ++rank) {
    text += "rank " + std::to_string(rank) + " { calc " + std::to_string(100 + rank % 20) + " }\n";
  }
  write("many.goal", text);
  EXPECT_EQ(predict("many.goal"), kExitSuccess);
  EXPECT_THAT(out_, HasSubstr("\n    12  112 ns"));
  EXPECT_THAT(
      out_,
      HasSubstr("\n    39  119 ns  119 ns              0 ns   0 ns\n  These ranks end last. --json "
                "has all.\n"));
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 1 + 1 + 16 + 1);
}

TEST_F(Predict, FindsTraceFilesBesideTheirList) {
  write("t.toml", std::string(kTarget) + "[node]\nflops_per_ns = 2\n");
  write("list.txt", "files/0.txt\nfiles/1.txt\n");
  write("files/0.txt", "0 init\n0 compute 1000\n0 send 1 0 1\n0 finalize\n");
  write("files/1.txt", "1 init\n1 recv 0 0 1\n1 finalize\n");
  EXPECT_EQ(predict("list.txt"), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("makespan 6.00 us (6,000 ns): 2 ranks, 1 message,"));
  write("list.txt", "files/0.txt\nfiles/2.txt\n");
  EXPECT_EQ(predict("list.txt"), kExitFailure);
  EXPECT_THAT(err_, HasSubstr("xylem predict: files/2.txt: "));
}

TEST_F(Predict, RefusesWithOneSentence) {
  write("stuck.goal", "num_ranks 1\nrank 0 { recv 8b from 0 }\n");
  EXPECT_EQ(predict("stuck.goal"), kExitFailure);
  EXPECT_THAT(err_,
              HasSubstr("xylem predict: stuck.goal: ranks wait forever: rank 0, operation 1: "));
  write("wrong.goal", "num_ranks 1\nrank 0 { jump }\n");
  EXPECT_EQ(predict("wrong.goal"), kExitFailure);
  EXPECT_THAT(err_, HasSubstr("xylem predict: wrong.goal:2: "));
  write("run.db", std::string("SQLite format 3\0", 16));
  EXPECT_EQ(predict("run.db"), kExitFailure);
  EXPECT_THAT(err_, HasSubstr("xylem predict: run.db: it is not a SQLite database"));
  EXPECT_EQ(predict("nothing.goal"), kExitFailure);
  EXPECT_THAT(err_, HasSubstr("xylem predict: nothing.goal: "));
  write("t.toml", "[network]\nlatency = 5\n");
  EXPECT_EQ(predict("wrong.goal"), kExitUsage);
  EXPECT_THAT(err_,
              HasSubstr("xylem predict: t.toml:2: 'network.latency' is not a key of a target"));
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1);
}

TEST_F(Predict, SaysThatMessagesAreNotReceived) {
  write("lost.goal", "num_ranks 2\nrank 0 { send 8b to 1 tag 5 }\nrank 1 { }\n");
  EXPECT_EQ(predict("lost.goal"), kExitSuccess);
  EXPECT_EQ(err_,
            "xylem predict: no receive matches 1 message; the first is that of rank 0, operation "
            "1: send of 8 "
            "bytes to rank 1, tag 5\n");
}

TEST_F(Predict, ShowsTheChannelsOfATopology) {
  write("t.toml", on_graph("[mapping]\nkind = \"file\"\nfile = \"ranks.map\"\n"));
  write("net/two.graph", kGraph);
  write("ranks.map", "0 2  # on different sides\n");
  write("ping.goal",
        "num_ranks 2\nrank 0 { send 1000b to 1 }\nrank 1 {\nl1: recv 1000b from 0\n"
        "l2: calc 494\nl2 requires l1\n}\n");
  options_.model = "channels";
  EXPECT_EQ(predict("ping.goal"), kExitSuccess) << err_;
  // 1500 + 2 (100 + 20) + 999 * 6 + 1500 + 494; the channel needs 2000, less than the NIC.
  EXPECT_EQ(out_,
            "makespan 9.73 us (9,728 ns): 2 ranks, 1 message, model channels\n"
            "  rank      end      run  messages and I/O  ready\n"
            "     0  1.50 us  1.50 us              0 ns   0 ns\n"
            "     1  9.73 us  7.99 us           1.74 us   0 ns\n"
            "  channel            busy    load  messages   bytes\n"
            "  node 0 > left   2.00 us  20.6 %         1  1000 B\n"
            "  right > node 2  2.00 us  20.6 %         1  1000 B\n"
            "  left > right    2.00 us  20.6 %         1  1000 B\n");
  EXPECT_EQ(predict("ping.goal", true), kExitSuccess);
  const auto answer = boost::json::parse(out_).as_object();
  EXPECT_EQ(answer.at("model").as_string(), "channels");
  EXPECT_EQ(answer.at("channels").as_array().size(), 3u);
  auto last = answer.at("channels").as_array()[2].as_object();
  EXPECT_NEAR(last.at("load").as_double(), 2000.0 / 9728, 1e-9);
  last.erase("load");
  EXPECT_EQ(boost::json::serialize(last),
            "{\"channel\":8,\"from\":\"left\",\"to\":\"right\",\"messages\":1,\"bytes\":1000,"
            "\"busy_ns\":2000}");
  EXPECT_FALSE(answer.contains("replays"));
}

TEST_F(Predict, SaysThatTheNetworkIsSaturated) {
  write("t.toml",
        "[network]\nlatency_ns = 1\noverhead_ns = 1\ngap_ns = 0\ngap_per_byte_ns = 0\n"
        "overhead_per_byte_ns = 0\neager_bytes = 65535\nswitch_ns = 0\n"
        "bandwidth_bytes_per_ns = 1\nheader_share = 0\n"
        "[topology]\nkind = \"crossbar\"\nnodes = 3\n");
  std::string text = "num_ranks 3\n";
  for (int rank = 0; rank < 2; ++rank) {
    text += "rank " + std::to_string(rank) + " {\n";
    for (int i = 0; i < 50; ++i) text += "send 100b to 2\n";
    text += "}\n";
  }
  text += "rank 2 {\n";
  for (int i = 0; i < 100; ++i) text += "recv 100b from " + std::to_string(i % 2) + "\n";
  write("many.goal", text + "}\n");
  options_.model = "analytic";
  EXPECT_EQ(predict("many.goal", true), kExitSuccess);
  EXPECT_THAT(err_, HasSubstr("xylem predict: the network is saturated, and the prediction is too "
                              "short: 3 channels are busy for more than 95.0 % of the run, switch "
                              "0 > node 2 for "));
  const auto answer = boost::json::parse(out_).as_object();
  EXPECT_EQ(answer.at("saturated").as_int64(), 3);
  EXPECT_GE(answer.at("replays").as_int64(), 2);
  EXPECT_TRUE(answer.at("converged").is_bool());
  options_.model = "channels";
  EXPECT_EQ(predict("many.goal"), kExitSuccess);
  EXPECT_EQ(err_, "");
  EXPECT_THAT(out_, HasSubstr("switch 0 > node 2  10.0 us"));
}

TEST_F(Predict, PrintsThePartsOfAMessage) {
  write("t.toml",
        on_graph("[node]\ncores = 2\nmemory_latency_ns = 70.5\nmemory_per_byte_ns = 1\n"));
  write("net/two.graph", kGraph);
  options_.message = "0,4,1000";
  options_.model = "channels";
  EXPECT_EQ(predict(""), kExitSuccess) << err_;
  EXPECT_EQ(out_,
            "message of 1,000 bytes from rank 0 to rank 4, model channels, 2 switches\n"
            "  part                         time\n"
            "  sender's overhead         1.50 us\n"
            "  switches                   200 ns\n"
            "  headers through switches    40 ns\n"
            "  transfer                  5.99 us\n"
            "  receiver's overhead       1.50 us\n"
            "  total                     9.23 us\n");
  EXPECT_EQ(predict("", true), kExitSuccess);
  EXPECT_EQ(out_,
            "{\"version\":1,\"view\":\"message\",\"model\":\"channels\",\"source\":0,"
            "\"destination\":4,\"bytes\":1000,\"switches\":2,\"send_overhead_ns\":1500,"
            "\"switches_ns\":200,\"headers_ns\":40,\"transfer_ns\":5994,"
            "\"receive_overhead_ns\":1500,\"total_ns\":9234}\n");
  options_.message = "2,3,1";
  EXPECT_EQ(predict("", true), kExitSuccess);
  EXPECT_THAT(out_, HasSubstr("\"switches\":0,\"send_overhead_ns\":1500,\"latency_ns\":70.5,"
                              "\"transfer_ns\":0,\"receive_overhead_ns\":1500,"
                              "\"total_ns\":3070.5}"));
  options_.message = "0,8,1";
  EXPECT_EQ(predict(""), kExitUsage);
  EXPECT_EQ(err_,
            "xylem predict: t.toml: has room for 8 ranks (4 nodes, node.cores = 2), but 9 are "
            "needed; raise one of both\n");
}

TEST_F(Predict, RefusesFilesOfATarget) {
  write("ring.goal", kRing);
  write("t.toml", on_graph());
  EXPECT_EQ(predict("ring.goal"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("xylem predict: net/two.graph: "));
  write("net/two.graph", "0 left\n2 left\n");
  EXPECT_EQ(predict("ring.goal"), kExitUsage);
  EXPECT_EQ(err_,
            "xylem predict: net/two.graph:2: node 1 is missing; number the nodes from 0 without "
            "gaps\n");
  write("net/two.graph", kGraph);
  write("t.toml", on_graph("[node]\ncount = 9\n"));
  EXPECT_EQ(predict("ring.goal"), kExitUsage);
  EXPECT_EQ(err_,
            "xylem predict: t.toml: node.count is 9, but the topology has 4 nodes; make it larger, "
            "or use fewer nodes\n");
  write("t.toml", kTarget);
  options_.model = "analytic";
  EXPECT_EQ(predict("ring.goal"), kExitUsage);
  EXPECT_EQ(err_,
            "xylem predict: t.toml: has no topology, which the model analytic needs; add the "
            "section [topology], or use --model loggps\n");
}

TEST_F(Predict, MakesPrograms) {
  SynthesisOptions ring{.pattern = "ring", .ranks = 4};
  ring.bytes = 8192;
  EXPECT_EQ(make(ring), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("makespan 54.6 us (54,646 ns): 4 ranks, 4 messages,"));
  ring.rounds = 2;
  ring.compute_ns = 1000;
  EXPECT_EQ(make(ring), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("(111,292 ns): 4 ranks, 8 messages,"));
  SynthesisOptions halo{.pattern = "halo3d", .ranks = 8};
  EXPECT_EQ(make(halo), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("8 ranks, 48 messages,"));
  halo.grid = "4x2x1";
  EXPECT_EQ(make(halo), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("8 ranks, 32 messages,"));
  EXPECT_EQ(make({.pattern = "binomial", .ranks = 9}), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("9 ranks, 8 messages,"));
  EXPECT_EQ(make({.pattern = "recdbl", .ranks = 8}), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("8 ranks, 24 messages,"));
}

TEST_F(Predict, MakesLinpack) {
  SynthesisOptions hpl{.pattern = "hpl", .ranks = 1};
  hpl.order = 100;
  EXPECT_EQ(make(hpl), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("(681,550 ns): 1 rank, 0 messages,"));
  hpl.seconds_per_flop = 2e-9;
  EXPECT_EQ(make(hpl), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("(1,363,100 ns): 1 rank, 0 messages,"));
  hpl.ranks = 6;
  hpl.block = 8;
  hpl.grid = "3x2";
  hpl.row_swap = "binary-exchange";
  EXPECT_EQ(make(hpl), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr(": 6 ranks, "));
}

TEST_F(Predict, WritesProgramsThatReadBack) {
  SynthesisOptions hpl{.pattern = "hpl", .ranks = 4};
  hpl.order = 50;
  hpl.block = 8;
  const ProgramFiles files{(folder_ / "w.goal").string(), (folder_ / "w").string()};
  EXPECT_EQ(make(hpl, false, files), kExitSuccess) << err_;
  EXPECT_EQ(out_, "");
  EXPECT_EQ(make(hpl), kExitSuccess) << err_;
  const std::string direct = out_;
  EXPECT_EQ(predict("w.goal"), kExitSuccess) << err_;
  EXPECT_EQ(out_, direct);
  EXPECT_EQ(predict("w"), kExitSuccess) << err_;
  EXPECT_EQ(out_, direct);
  EXPECT_TRUE(fs::exists(folder_ / "w.ti"));
  // A trace cannot say everything.
  write("cpu.goal", "num_ranks 1\nrank 0 { calc 5 cpu 1 }\n");
  PredictOptions options;
  options.source = (folder_ / "cpu.goal").string();
  options.files = files;
  std::ostringstream out, err;
  EXPECT_EQ(run_predict(options, out, err), kExitFailure);
  EXPECT_EQ(plain(err.str()),
            "xylem predict: w: rank 0, operation 1: a time-independent trace cannot express its "
            "dependencies, CPU or NIC; write the program as GOAL\n");
}

TEST_F(Predict, WritesNoFileIfItRefusesTheTarget) {
  write("ring.goal", kRing);
  options_.files = {(folder_ / "w.goal").string(), (folder_ / "w").string()};
  const auto expect_none = [&] {
    for (const char* it : {"w.goal", "w", "w.ti"}) EXPECT_FALSE(fs::exists(folder_ / it)) << it;
  };
  options_.model = "channels";
  EXPECT_EQ(predict("ring.goal"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("t.toml: has no topology"));
  expect_none();
  EXPECT_EQ(predict("nothing.goal"), kExitUsage) << "the target is looked at first";
  options_.model = "loggps";
  write("t.toml", std::string(kTarget) + "[node]\ncount = 1\n");
  EXPECT_EQ(predict("ring.goal"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("t.toml: has room for 1 ranks"));
  expect_none();
}

TEST_F(Predict, WritesAllFilesOrNone) {
  write("cpu.goal", "num_ranks 1\nrank 0 { calc 5 cpu 1 }\n");
  options_.files = {(folder_ / "w.goal").string(), (folder_ / "w").string()};
  EXPECT_EQ(predict("cpu.goal"), kExitFailure);
  EXPECT_THAT(err_, HasSubstr("w: rank 0, operation 1: a time-independent trace cannot express"));
  EXPECT_FALSE(fs::exists(folder_ / "w.goal"));
  write("ring.goal", kRing);
  options_.files.ti = (folder_ / "nowhere" / "w").string();
  EXPECT_EQ(predict("ring.goal"), kExitFailure);
  EXPECT_FALSE(fs::exists(folder_ / "w.goal"));
}

TEST_F(Predict, AMessageNeedsNoProgram) {
  options_.message = "0,1,8";
  EXPECT_EQ(predict(""), kExitSuccess) << err_;
  const PredictOptions alone = options_;
  const auto expect = [&](const std::string& other) {
    EXPECT_EQ(predict(""), kExitUsage) << other;
    EXPECT_EQ(err_,
              "xylem predict: --message needs no program; leave out --message or " + other + "\n");
    EXPECT_EQ(out_, "");
    options_ = alone;
  };
  options_.synthesis = {.pattern = "ring", .ranks = 4};
  expect("--synthesise");
  options_.files.goal = (folder_ / "w.goal").string();
  expect("--write-goal");
  options_.files.ti = (folder_ / "w").string();
  expect("--write-ti");
  EXPECT_FALSE(fs::exists(folder_ / "w.goal"));
  EXPECT_EQ(predict("x.goal"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("or SOURCE\n"));
  PredictOptions no_target;
  no_target.message = "0,1,8";
  std::ostringstream out, err;
  EXPECT_EQ(run_predict(no_target, out, err), kExitUsage);
  EXPECT_EQ(err.str(), "xylem predict: there is no machine; give it with --target FILE\n");
}

constexpr const char* kStorage =
    "[storage]\nnodes = 1\nstripe_bytes = \"1M\"\npage_cache_bytes = \"64k\"\nread_ahead = "
    "\"none\"\nwrite = \"back\"\nrequest_ns = 300\ndisk_read_ns = 5000\ndisk_write_ns = 8000\n"
    "disk_bandwidth_bytes_per_ns = 0.5\n";

TEST_F(Predict, ShowsThePartsOfAccessesToFiles) {
  write("t.toml", std::string(kTarget) + kStorage);
  options_.reads = {"0,data,0,8192", "0,data,0,8192"};
  EXPECT_EQ(predict(""), kExitSuccess) << err_;
  // 1500 + 2500 + 1500 + 127 * 6 for a message of 128 bytes, 5500 + 8191 * 6 for the answer.
  EXPECT_EQ(out_,
            "read of 8,192 bytes at 0 of data, rank 0, model loggps\n"
            "  page cache: 0 hits, 0 awaited, 2 missed; 1 request; buffer: 0 hits, 2 missed\n"
            "  part                   time\n"
            "  connection          6.26 us\n"
            "  request             6.26 us\n"
            "  storage node        21.7 us\n"
            "    of it disk array  21.4 us\n"
            "  return              54.6 us\n"
            "  copy                   0 ns\n"
            "  total               88.9 us\n"
            "read of 8,192 bytes at 0 of data, rank 0, model loggps\n"
            "  page cache: 2 hits, 0 awaited, 0 missed; 0 requests; buffer: 0 hits, 0 missed\n"
            "  part                time\n"
            "  connection          0 ns\n"
            "  request             0 ns\n"
            "  storage node        0 ns\n"
            "    of it disk array  0 ns\n"
            "  return              0 ns\n"
            "  copy                0 ns\n"
            "  total               0 ns\n");
}

TEST_F(Predict, ShowsAccessesAsJson) {
  write("t.toml", std::string(kTarget) + kStorage);
  options_.reads = {"0,a,b,4096,4096"};
  options_.writes = {"3,a,b,0,4096"};
  EXPECT_EQ(predict("", true), kExitSuccess) << err_;
  const auto answer = boost::json::parse(out_).as_object();
  EXPECT_EQ(answer.at("view"), "file_accesses");
  const auto& accesses = answer.at("accesses").as_array();
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_EQ(accesses[0].at("write"), true);
  EXPECT_EQ(accesses[0].at("rank"), 3);
  EXPECT_EQ(accesses[0].at("total_ns"), 0);
  EXPECT_EQ(boost::json::serialize(accesses[1]),
            "{\"rank\":0,\"path\":\"a,b\",\"offset\":4096,\"bytes\":4096,\"write\":false,"
            "\"hit_pages\":0,\"awaited_pages\":0,\"missed_pages\":1,\"requests\":1,"
            "\"buffer_hits\":0,\"buffer_misses\":1,\"connection_ns\":6262,\"request_ns\":6262,"
            "\"storage_node_ns\":13492,\"disk_ns\":13192,\"return_ns\":30070,\"copy_ns\":0,"
            "\"total_ns\":56086}");
}

TEST_F(Predict, OnlyRunsHaveWorlds) {
  options_.world = WorldId{1};
  options_.synthesis = {.pattern = "ring", .ranks = 2};
  EXPECT_EQ(predict(""), kExitUsage);
  EXPECT_EQ(
      err_,
      "xylem predict: only the file of a run has worlds; leave out --world or --synthesise\n");
  options_.synthesis = {};
  options_.message = "0,1,8";
  EXPECT_EQ(predict(""), kExitUsage);
  EXPECT_EQ(err_, "xylem predict: --message needs no program; leave out --message or --world\n");
}

TEST_F(Predict, RefusesAccessesThatItCannotRead) {
  for (const char* it : {"", "0", "0,a,1", "0,,1,2", "x,a,1,2", "0,a,-1,2", "0,a,1,", ",a,1,2",
                         "16777216,a,1,2", "0,a,1,2k"}) {
    options_.reads = {it};
    EXPECT_EQ(predict(""), kExitUsage) << it;
    EXPECT_EQ(err_,
              "xylem predict: write a rank, a name, an offset and a number of bytes such as "
              "0,data.bin,0,65536\n")
        << it;
  }
  options_.reads = {"0,a,0,1"};
  EXPECT_EQ(predict(""), kExitUsage);
  EXPECT_EQ(err_, "xylem predict: the target has no storage; add the section [storage] to it\n");
  options_.message = "0,1,8";
  EXPECT_EQ(predict(""), kExitUsage);
  EXPECT_EQ(err_,
            "xylem predict: --message is not an access to a file; leave out --message, or --read "
            "and --write\n");
  options_.message = "";
  EXPECT_EQ(predict("x.goal"), kExitUsage);
  EXPECT_EQ(err_, "xylem predict: --read needs no program; leave out --read or SOURCE\n");
}

TEST_F(Predict, MakesProgramsThatAccessFiles) {
  SynthesisOptions io{.pattern = "io", .ranks = 2, .bytes = 40'000, .rounds = 2};
  EXPECT_EQ(make(io), kExitFailure);
  EXPECT_EQ(err_,
            "xylem predict: io: rank 0, operation 1: read of 40000 bytes of file 0: the target has "
            "no storage; add the section [storage] to it\n");
  write("t.toml", std::string(kTarget) + kStorage);
  EXPECT_EQ(make(io), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("files: 4 reads of 156 KiB, 0 writes of 0 B\n"
                              "  page caches: 20 hits, 0 awaited, 20 missed\n"
                              "  storage nodes: 4 requests, 2 connections; buffers: 0 hits, 20 "
                              "missed; disk arrays: 4 reads, 0 writes\n"));
  // The target decides: with a smaller page cache, nothing is left for the second round.
  write("t.toml", std::regex_replace(std::string(kTarget) + kStorage, std::regex("64k"), "32k"));
  EXPECT_EQ(make(io), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("  page caches: 0 hits, 0 awaited, 40 missed\n"));
  io.shared = io.writes = true;
  io.block = 4096;
  EXPECT_EQ(make(io), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("files: 0 reads of 0 B, 40 writes of 156 KiB\n"));
  EXPECT_EQ(make(io, false, {(folder_ / "w.goal").string(), ""}), kExitFailure);
  EXPECT_EQ(
      err_,
      "xylem predict: w.goal: rank 0, operation 1: write of 4096 bytes of file 0: GOAL cannot "
      "express it; predict the program without writing it\n");
  EXPECT_FALSE(fs::exists(folder_ / "w.goal"));
}

TEST_F(Predict, SaysWhichOptionsDoNotGoTogether) {
  const auto expect = [&](const SynthesisOptions& synthesis, const std::string& message) {
    EXPECT_EQ(make(synthesis), kExitUsage) << message;
    EXPECT_EQ(err_, "xylem predict: " + message + "\n");
  };
  expect({}, "there is no program; give a SOURCE, or --synthesise with a pattern");
  expect({.pattern = "ring"}, "--synthesise ring needs --ranks, a number above 0");
  expect({.pattern = "hpl", .ranks = 4}, "--synthesise hpl needs --order, the order of the matrix");
  expect({.pattern = "ring", .ranks = 4, .grid = "2x2"},
         "--grid belongs to --synthesise hpl and halo3d, not to ring; leave it out");
  expect(
      {.pattern = "hpl", .ranks = 4, .bytes = 5},
      "--bytes belongs to --synthesise ring, halo3d, binomial, recdbl and io, not to hpl; leave it "
      "out");
  expect({.pattern = "io", .ranks = 4}, "--synthesise io needs --bytes, the bytes of a file");
  expect({.pattern = "ring", .ranks = 4, .shared = true},
         "--shared belongs to --synthesise io, not to ring; leave it out");
  expect({.pattern = "ring", .ranks = 4, .order = 5},
         "--order belongs to --synthesise hpl, not to ring; leave it out");
  expect({.pattern = "hpl", .ranks = 4, .grid = "2x3", .order = 5},
         "--grid: '2x3' has 6 processes for 4 ranks; take a grid of as many processes");
  for (const char* grid : {"2", "2x", "2x2x2", "0x4", "2 x 2", "-2x-2"}) {
    expect({.pattern = "hpl", .ranks = 4, .grid = grid, .order = 5},
           std::string("--grid: '") + grid + "' is not a grid of 2 sides; write for example 4x8");
  }
  for (const double it :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    SynthesisOptions hpl{.pattern = "hpl", .ranks = 4, .order = 5};
    hpl.seconds_per_flop = it;
    expect(hpl, "--seconds-per-flop is not a number; write seconds such as 1e-9");
  }
  expect({.pattern = "halo3d", .ranks = 4, .grid = "2x3x1"},
         "the grid has 6 points for 4 ranks; take a grid of as many points");
  EXPECT_EQ(make({.pattern = "ring", .ranks = 4}, false), kExitUsage);
  EXPECT_EQ(err_, "xylem predict: there is no machine; give it with --target FILE\n");
  PredictOptions both;
  both.source = "x.goal";
  both.target = "t.toml";
  both.synthesis = {.pattern = "ring", .ranks = 4};
  std::ostringstream out, err;
  EXPECT_EQ(run_predict(both, out, err), kExitUsage);
  EXPECT_EQ(err.str(), "xylem predict: there is a SOURCE and --synthesise; give one of them\n");
}

TEST_F(Predict, WritesTimelines) {
  write("t.toml",
        "[network]\nlatency_ns = 100.5\noverhead_ns = 10\ngap_ns = 0\ngap_per_byte_ns = 0\n"
        "overhead_per_byte_ns = 0\neager_bytes = 100\n[node]\ncores = 1\nprocesses = 2\n"
        "slice_ns = 50\nmemory_latency_ns = 20\nmemory_per_byte_ns = 0\n");
  write("three.goal",
        "num_ranks 3\nrank 0 {\na: calc 60\nb: send 8b to 2\nb requires a\n}\n"
        "rank 1 { calc 30 }\nrank 2 { recv 8b from 0 }\n");
  options_.timeline = (folder_ / "timeline.csv").string();
  EXPECT_EQ(predict("three.goal", true), kExitSuccess) << err_;
  std::ifstream stream(options_.timeline);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(text,
            "rank,begin_ns,end_ns,state,what,peer,bytes\n"
            "0,0,50,run,compute,,\n"
            "1,0,50,ready,compute,,\n"
            "1,50,80,run,compute,,\n"
            "0,50,80,ready,compute,,\n"
            "0,80,90,run,compute,,\n"
            "0,90,100,run,send,2,8\n"
            "2,0,200.5,io,receive,0,8\n"
            "2,200.5,210.5,run,receive,0,8\n");
  EXPECT_THAT(out_, HasSubstr("{\"rank\":0,\"end_ns\":100,\"run_ns\":70,\"io_ns\":0,"
                              "\"ready_ns\":30}"));
}

TEST_F(Predict, WritesNoTimelineOfAFailedReplay) {
  options_.timeline = (folder_ / "timeline.csv").string();
  write("stuck.goal", "num_ranks 1\nrank 0 {\na: calc 5\nb: recv 8b from 0\nb requires a\n}\n");
  EXPECT_EQ(predict("stuck.goal"), kExitFailure);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "the target and the program";
  options_.timeline = (folder_ / "nowhere" / "timeline.csv").string();
  write("ring.goal", kRing);
  EXPECT_EQ(predict("ring.goal"), kExitFailure);
  EXPECT_THAT(err_, HasSubstr("xylem predict: nowhere/timeline.csv: "));
}

TEST_F(Predict, StopsAtASignalAndLeavesNoFile) {
  options_.timeline = (folder_ / "timeline.csv").string();
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (int i = 0; i < 100'000; ++i) text += "calc 1\n";
  write("long.goal", text + "}\n");
  sigset_t held, before;
  ::sigemptyset(&held);
  ::sigaddset(&held, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &held, &before);
  ::raise(SIGTERM);  // The replay finds it.
  EXPECT_EQ(predict("long.goal"), kExitSignal + SIGTERM);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "the target and the program";
}

TEST_F(Predict, ScalesRecordedComputingByTheRatioOfProcessors) {
  write("work.goal", "num_ranks 1\nrank 0 { calc 1000 }\n");
  write("t.toml", std::string(kTarget) + "[node]\nprocessor_ratio = 2.5\n");
  EXPECT_EQ(predict("work.goal"), kExitSuccess) << err_;
  EXPECT_THAT(out_, HasSubstr("makespan 400 ns (400 ns)"));
}

/// The lines of docs/predict.md between `from` and `to`.
std::string document_between(const std::string& from, const std::string& to) {
  std::ifstream stream(std::string(XYLEM_SOURCE_DIR) + "/docs/predict.md");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::size_t begin = text.find(from) + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

TEST_F(Predict, DoesWhatTheDocumentSays) {
  write("ring.goal", document_between("$ cat ring.goal\n", "$ xylem predict"));
  write("t.toml", document_between("## The target\n\n```\n", "```"));
  EXPECT_EQ(predict("ring.goal"), kExitSuccess) << err_;
  EXPECT_EQ(out_, document_between("--target target.toml\n", "```"));
  write("t.toml", document_between("$ cat two.toml\n", "$ xylem predict"));
  options_.model = "channels";
  EXPECT_EQ(predict("ring.goal"), kExitSuccess) << err_;
  EXPECT_EQ(out_, document_between("--target two.toml --model channels\n", "```"));
  options_.message = "0,1,8192";
  EXPECT_EQ(predict(""), kExitSuccess) << err_;
  EXPECT_EQ(out_, document_between("--message 0,1,8192\n", "```"));
  write("t.toml", document_between("$ cat storage.toml\n", "$ xylem predict"));
  options_ = {};
  options_.reads = {"0,data.bin,0,8192", "0,data.bin,0,8192"};
  EXPECT_EQ(predict(""), kExitSuccess) << err_;
  EXPECT_EQ(out_, document_between("--read 0,data.bin,0,8192 --read 0,data.bin,0,8192\n", "```"));
  SynthesisOptions io{.pattern = "io", .ranks = 2, .bytes = 1'000'000, .rounds = 2};
  io.shared = true;
  EXPECT_EQ(make(io), kExitSuccess) << err_;
  EXPECT_EQ(out_, document_between("--bytes 1000000 --rounds 2 --shared\n", "```"));
}

TEST_F(Predict, NeverTakesAPresetForAFile) {
  write("a.goal", kRing);
  options_.source = (folder_ / "a.goal").string();
  options_.target = "ib-20g";
  std::ostringstream out, err;
  EXPECT_EQ(run_predict(options_, out, err), kExitUsage);
  EXPECT_EQ(out.str(), "");
  EXPECT_THAT(err.str(), HasSubstr("xylem predict --print-target ib-20g > ib-20g.toml"));
}

}  // namespace
}  // namespace xylem
