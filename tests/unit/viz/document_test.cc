// docs/http-api.md against what is answered: each example that has a request is asked, of one run.

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "tests/unit/changed_file.h"
#include "tests/unit/storage/packets.h"
#include "viz/api.h"

namespace xylem::viz {
namespace {

using storage::Folder;

/// The run of the examples: two ranks of one host, four windows, a chunk.
void write_run(const std::string& path) {
  auto made = storage::make_sqlite_store({path});
  ASSERT_TRUE(made) << made.error().message;
  storage::Store& store = **made;
  storage::RunFacts facts;
  facts.window_ns = 250 * kMillisecond;
  ASSERT_TRUE(store.begin_run(facts));
  const auto put = [&](const wire::Packet& packet) { EXPECT_TRUE(store.put(packet)); };
  put(storage::registration_packet(
      0, {storage::process_row(1, 0, 1, 2), storage::process_row(2, 1, 1, 2)}));
  const auto window = [&](std::uint64_t wave, std::uint32_t lane, std::uint64_t calls,
                          std::uint64_t so_far) {
    wire::ProfileWindow rows;
    rows.rows = {storage::profile_row(0, lane, calls)};
    if (wave == 0) rows.matrix = {{LeafId{0}, Lane{1}, Rank{1}, 64, 2}};
    rows.accounts = {storage::account_row(0, lane, so_far, true)};
    put(storage::window_packet(wave, IntervalSet::of(0), rows));
  };
  window(0, 1, 3, 3);
  window(2, 1, 1, 4);
  window(3, 2, 5, 5);
  put(storage::chunk_packet(0, 1, 0, 2));
  storage::NodeRow node;
  node.role = wire::Role::kFrontEnd;
  node.host = "head";
  node.leaf = wire::kNoLeaf;
  node.state = "attached";
  ASSERT_TRUE(store.put_node(node));
  wire::Notice notice;
  notice.host = "node0";
  notice.text = "the disk is full";
  ASSERT_TRUE(store.put_notice(notice, 5));
  ASSERT_TRUE(store.end_run(0, kSecond));
  made->reset();
  storage::change_file(
      path,
      "INSERT INTO service(id, leaf, lane, name, captured, stored, ended)"
      " VALUES(1, 0, 1, 'process', 2, 2, 1);"
      "INSERT INTO series_metric VALUES(1, 'threads', 0, '', 1, 0, 'process');"
      "INSERT INTO series_row(service, lane, at_ns, span_ns, slice, layout, numbers)"
      " VALUES(1, 1, 250000000, 0, 1, 1, '[2]'), (1, 2, 250000000, 0, 1, 1, '[4]'),"
      " (1, 2, 500000000, 250000000, 2, 1, '[8]');"
      "INSERT INTO host_metric VALUES(0, 1, 'idle', 0.25), (0, 2, 'idle', 0.5);"
      "INSERT INTO alert VALUES(1, 500000000, NULL, 'late', 0, 1,"
      " 'rank 1 comes last to collectives', 0.5, 0.25, 'world', NULL, 0);"
      "UPDATE notice SET role = 'back_end', level = 'warn';"
      "UPDATE process SET events = stored_events, event_calls = stored_event_calls,"
      " since_ns = 0, until_ns = 1000000000, threads = 1;"
      "INSERT INTO call_under_way SELECT p.id, 0, f.id, 900000000, 0, 0, 1000000000, 3"
      " FROM process p, function f WHERE p.rank = 1 AND f.name = 'MPI_Recv'");
}

/// The answer with "scope":{...} as the document writes it.
std::string with_short_scope(std::string json) {
  const std::string start = "\"scope\":{";
  const std::size_t at = json.find(start);
  if (at == std::string::npos) return json;
  const std::size_t from = at + start.size();
  return json.replace(from, json.find('}', from) - from, "...");
}

TEST(HttpApiDocument, ShowsWhatIsAnswered) {
  const Folder folder;
  const std::string path = folder.file("run.db");
  write_run(path);
  Api api({path}, {});
  std::ifstream document(XYLEM_SOURCE_DIR "/docs/http-api.md");
  std::string line, target, scope;
  int examples = 0;
  while (std::getline(document, line)) {
    const std::string request = "    GET ";
    if (line.starts_with("    \"scope\"")) scope = line.substr(4);
    if (!target.empty() && line.starts_with("    {")) {
      net::HttpRequest asked;
      asked.method = "GET";
      asked.target = target;
      const std::atomic<bool> given_up = false;
      const std::string answer = api.answer(asked, given_up).body;
      EXPECT_EQ(with_short_scope(answer), line.substr(4)) << target;
      if (target == "/api/v1/matrix") {
        EXPECT_NE(answer.find(scope), std::string::npos) << answer;
      }
      ++examples;
    }
    target = line.starts_with(request) ? line.substr(request.size()) : "";
  }
  EXPECT_EQ(examples, 18);
}

}  // namespace
}  // namespace xylem::viz
