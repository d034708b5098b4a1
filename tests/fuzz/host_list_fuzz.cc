// Host lists as users type them: what can be read folds to a list that names the same hosts.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "tree/host_list.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  auto hosts = tree::parse_host_list(text);
  if (!hosts) {
    CHECK(hosts.error().code == Code::kInvalidArgument);
    CHECK(hosts.error().message.starts_with("host list: "));
    return 0;
  }
  CHECK(hosts->size() <= tree::kMaxListedHosts);
  if (hosts->size() > 10'000) return 0;  // Correct, but slow to look at.
  auto again = tree::parse_host_list(tree::fold_hosts(*hosts));
  CHECK(again);
  std::sort(hosts->begin(), hosts->end());
  hosts->erase(std::unique(hosts->begin(), hosts->end()), hosts->end());
  std::sort(again->begin(), again->end());
  CHECK(*again == *hosts);
  return 0;
}
