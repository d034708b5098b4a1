// What launchers and people say of hosts: host files, Slurm's variables, counts, tables of facts.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "placement/facts.h"
#include "tree/host_list.h"
#include "tree/host_slots.h"
#include "tree/topology.h"

using namespace xylem;

namespace {

void expect_reason(const Error& error, std::string_view begin) {
  CHECK(error.code == Code::kInvalidArgument && error.message.starts_with(begin));
}

void read_slots(std::string_view text) {
  const auto hosts = tree::parse_host_file(text, "fuzz");
  if (!hosts) return expect_reason(hosts.error(), "fuzz:");
  CHECK(!hosts->empty() && hosts->size() <= tree::kMaxListedHosts);
  if (hosts->size() > 10'000) return;  // Correct, but slow to look at.
  std::string again;
  for (const tree::HostSlots& host : *hosts) {
    CHECK(tree::is_host_name(host.name) && host.slots <= tree::kMaxSlots);
    again += host.name + " slots=" + std::to_string(host.slots) + "\n";
  }
  const auto same = tree::parse_host_file(again, "again");
  CHECK(same && *same == *hosts);
}

void read_counts(std::string_view text) {
  const auto counts = tree::parse_counts(text);
  if (!counts) return expect_reason(counts.error(), "'");
  CHECK(counts->size() <= tree::kMaxListedHosts);
  for (const std::uint32_t count : *counts) CHECK(count <= tree::kMaxSlots);
}

void read_facts(std::string_view text) {
  const auto table = placement::parse_fact_table(text, "fuzz");
  if (!table) return expect_reason(table.error(), "fuzz:");
  std::vector<tree::Host> hosts;
  for (const placement::FactTable::Row& row : table->rows) {
    CHECK(row.line >= 1);
    for (const placement::Fact fact : placement::kAllFacts) {
      CHECK(!row.facts[fact] || placement::is_possible(fact, *row.facts[fact]));
    }
    if (hosts.size() < 1000) hosts.push_back({row.host, 1, 0, 0});
  }
  if (hosts.empty()) return;
  auto facts = placement::facts_of(hosts);
  CHECK(placement::add_facts(*table, hosts, facts));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  read_slots(text);
  read_counts(text);
  read_facts(text);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const auto slurm =
      tree::slurm_slots(text.substr(0, line), text.substr(std::min(line + 1, text.size())));
  if (!slurm) expect_reason(slurm.error(), "SLURM_");
  return 0;
}
