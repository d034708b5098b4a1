// A stranger's program: front end and leaf in one process, with headers of its own that have the
// names of ours.

#include <xylem/backend/leaf.h>
#include <xylem/frontend/tree.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "wire/fields.h"

static_assert(ours_was_not_meant);

int main() {
  using xylem::kSecond;
  xylem::frontend::TreeOptions options;
  std::printf("%s\n", options.comm_process.c_str());
  options.listen = "127.0.0.1";
  options.expected = 1;
  auto tree = xylem::frontend::Tree::start(options);
  if (!tree) return 1;
  xylem::backend::LeafOptions own;
  for (const std::string& variable : (*tree)->environment()) {
    const auto value = variable.substr(variable.find('=') + 1);
    if (variable.starts_with("XYLEM_ADDRESS=")) own.address = value;
    if (variable.starts_with("XYLEM_RUN=")) own.run = value;
    if (variable.starts_with("XYLEM_KEY=")) own.key = value;
  }
  auto leaf = xylem::backend::Leaf::join(own);
  if (!leaf) return 2;
  auto stream = (*tree)->open({.name = "one", .aggregation = "sum"});
  if (!stream) return 3;
  auto end = (*leaf)->stream("one", 10 * kSecond);
  if (!end || !end->send({{1, std::int64_t{42}}})) return 4;
  const auto wave = stream->receive(10 * kSecond);
  if (!wave) return 5;
  std::printf("%lld\n", static_cast<long long>(*wave->fields.get<std::int64_t>(1)));
  return (*tree)->close(10 * kSecond) ? 0 : 6;
}
