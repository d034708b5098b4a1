// The part of a configuration file about fuzzy placement: what is accepted can be placed by, and
// what is refused says where.

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/config.h"
#include "placement/fuzzy.h"

using namespace xylem;

namespace {

/// Hosts that know everything, some things, and nothing but what is always known.
std::vector<placement::FactValues> some_hosts() {
  std::vector<placement::FactValues> hosts(4);
  for (const placement::Fact fact : placement::kAllFacts) {
    hosts[0].set(fact, 1);
    hosts[1].set(fact, 0);
    hosts[2].set(fact, fact == placement::Fact::kIdle ? 0.5 : 1e300);
  }
  hosts[3].set(placement::Fact::kProcesses, 7);
  return hosts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto entries = parse_config(text, "fuzz");
  if (!entries) return 0;  // Another target's.
  const auto rules = placement::read_fuzzy_rules(*entries, "fuzz");
  if (!rules) {
    CHECK(rules.error().code == Code::kInvalidArgument);
    CHECK(rules.error().message.starts_with("fuzz:"));
    return 0;
  }
  CHECK(placement::check(*rules));
  const auto placed = placement::place_fuzzily(*rules, some_hosts(), 9);
  if (!placed) {
    CHECK(placed.error().code == Code::kInvalidArgument);
    return 0;
  }
  CHECK(std::accumulate(placed->added.begin(), placed->added.end(), std::uint64_t{0}) == 9);
  for (const placement::Evaluation& host : placed->hosts) {
    CHECK(std::isfinite(host.score) && host.score >= 0 && host.score <= 1 + 1e-9);
  }
  std::vector<tree::Host> names(4);
  CHECK(!placement::explain(names, *placed).empty());
  return 0;
}
