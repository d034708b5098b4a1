// Text seeds that a parser must accept. A fuzz target does not fail if its parser refuses a seed,
// but then all its inputs test little besides the refusal.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/find/launch_ids.h"
#include "backend/find/selection_text.h"
#include "backend/host/metric_text.h"
#include "base/config.h"
#include "launch/elf_symbols.h"
#include "launch/setup.h"
#include "launch/slurm.h"
#include "net/address.h"
#include "net/key.h"
#include "placement/facts.h"
#include "placement/fuzzy_rules.h"
#include "placement/place.h"
#include "predict/network/topology.h"
#include "predict/target/target.h"
#include "predict/trace/goal_text.h"
#include "predict/trace/ti_trace.h"
#include "tests/support/golden_bytes.h"
#include "tree/host_list.h"
#include "tree/host_slots.h"
#include "tree/shape.h"
#include "tree/topology_text.h"
#include "viz/parameters.h"

namespace xylem {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(XYLEM_SOURCE_DIR) / "tests/golden";

/// "" if the parser accepts the text, else why it does not.
using Fault = std::function<std::string(const std::string& text)>;

template <typename Value>
std::string fault_of(const Result<Value>& parsed) {
  return parsed ? "" : "refused: " + parsed.error().message;
}

template <typename Parse>
Fault parses(Parse parse) {
  return [parse](const std::string& text) { return fault_of(parse(text)); };
}

template <typename Parse>
Fault parses_file(Parse parse) {
  return [parse](const std::string& text) { return fault_of(parse(text, "seed")); };
}

template <typename Parse>
Fault finds(Parse parse) {
  return [parse](const std::string& text) { return parse(text) ? "" : "nothing found"; };
}

std::string fault_of_rules(const std::string& text) {
  const auto entries = parse_config(text, "seed");
  return entries ? fault_of(placement::read_fuzzy_rules(*entries, "seed")) : fault_of(entries);
}

std::string fault_of_target(const std::string& text) {
  const auto entries = parse_config(text, "seed");
  return entries ? fault_of(predict::read_target(*entries, "seed")) : fault_of(entries);
}

std::string fault_of_slurm(const std::string& text) {
  const std::size_t line = text.find('\n');
  return fault_of(tree::slurm_slots(text.substr(0, line), text.substr(line + 1)));
}

std::string fault_of_metrics(const std::string& text) {
  const auto metrics = backend::parse_metrics(text);
  return metrics.lines.empty() ? "no metric" : metrics.first_bad;
}

std::string fault_of_trace(const std::string& text) {
  const std::vector<predict::TiFile> files{{"seed", text}};
  return fault_of(predict::parse_ti(files));
}

std::string fault_of_program(const std::string& text) {
  const auto symbols =
      launch::find_symbols(std::as_bytes(std::span(text.data(), text.size())), {"MPIR_proctable"});
  return symbols && symbols->address.empty() ? "no symbol" : fault_of(symbols);
}

/// Folders of text seeds, and for each seed what its parser says of it.
const std::set<std::string> kFolders = {"attach", "text", "tree"};
const std::map<std::string, Fault> kFaults = {
    {"attach/environment", finds(backend::launch_ids)},
    {"attach/program", fault_of_program},
    {"attach/proxy",
     finds([](const std::string& text) { return !backend::control_port(text).empty(); })},
    {"attach/squeue", parses([](const std::string& text) { return launch::step_in("12", text); })},
    {"attach/wish",
     parses([](const std::string& text) { return backend::parse_selection({text}); })},
    {"text/addresses", parses(net::parse_addresses)},
    {"text/config", parses_file(parse_config)},
    {"text/counts", parses(tree::parse_counts)},
    {"text/duration", parses(parse_duration)},
    {"text/facts", parses_file(placement::parse_fact_table)},
    {"text/fuzzy_comparisons", fault_of_rules},
    {"text/fuzzy_own_grades", fault_of_rules},
    {"text/fuzzy_rules", fault_of_rules},
    {"text/goal", parses_file(predict::parse_goal)},
    {"text/graph", parses_file(predict::parse_graph)},
    {"text/host_file", parses_file(tree::parse_host_file)},
    {"text/http_query", parses(viz::Target::parse)},
    {"text/http_target", parses(viz::Target::parse)},
    {"text/key", parses(net::parse_key)},
    {"text/metrics", fault_of_metrics},
    {"text/policy", parses(placement::parse_policy)},
    {"text/policy_fuzzy", parses(placement::parse_policy)},
    {"text/setup", parses(launch::parse_setup)},
    {"text/shape_balanced", parses(tree::parse_shape)},
    {"text/shape_binomial", parses(tree::parse_shape)},
    {"text/shape_file", parses(tree::parse_shape)},
    {"text/shape_kary", parses(tree::parse_shape)},
    {"text/size", parses(parse_size)},
    {"text/slurm", fault_of_slurm},
    {"text/target", fault_of_target},
    {"text/target_example", fault_of_target},
    {"text/target_collectives", fault_of_target},
    {"text/target_storage", fault_of_target},
    {"text/ti_collectives", fault_of_trace},
    {"text/ti_list", parses_file(predict::parse_ti_list)},
    {"text/ti_trace", fault_of_trace},
    {"tree/front_end_alone", parses_file(tree::parse_topology)},
    {"tree/host_list", parses(tree::parse_host_list)},
    {"tree/topology", parses_file(tree::parse_topology)},
};
/// Meant to be refused, wholly or in part.
const std::set<std::string> kWrong = {"text/config_letter", "text/goal_cycle", "text/sampling",
                                      "tree/cycle"};

TEST(TextSeeds, AreAcceptedByTheirParsers) {
  for (const auto& [seed, fault] : kFaults) {
    const auto bytes = testing::read_hex(kGolden / (seed + ".hex"));
    ASSERT_FALSE(bytes.empty()) << seed << ": no such file, or no hex";
    EXPECT_EQ(fault({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), "")
        << seed << ".hex is stale: renew it";
  }
}

TEST(TextSeeds, AllHaveAParserOrAreMeantToBeWrong) {
  for (const std::string& folder : kFolders) {
    for (const auto& entry : fs::directory_iterator(kGolden / folder)) {
      const std::string seed = folder + "/" + entry.path().stem().string();
      if (entry.path().extension() != ".hex") continue;
      EXPECT_TRUE(kFaults.contains(seed) != kWrong.contains(seed)) << seed;
    }
  }
}

}  // namespace
}  // namespace xylem
