// The section [storage] of a target, and where its storage nodes are.

#include <gtest/gtest.h>

#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "predict/target/target.h"
#include "tests/unit/predict/storage_words.h"

namespace xylem::predict {
namespace {

constexpr const char* kPlainNetwork =
    "[network]\nlatency_ns = 2500\noverhead_ns = 1500\ngap_ns = 1000\ngap_per_byte_ns = 6\n"
    "overhead_per_byte_ns = 0\neager_bytes = 65535\n";
constexpr const char* kPlainFabric =
    "switch_ns = 100\nbandwidth_bytes_per_ns = 0.5\nheader_share = 0.01\n";
/// Lines 8 to 13 after kPlainNetwork.
constexpr const char* kPlainStorage =
    "[storage]\nnodes = 2\nstripe_bytes = \"1M\"\ndisk_read_ns = 5000000\ndisk_write_ns = 6000000\n"
    "disk_bandwidth_bytes_per_ns = 0.25\n";

Result<Target> storage_target_of(const std::string& text) {
  const auto entries = parse_config(text, "t.toml");
  if (!entries) return unexpected(entries.error());
  return read_target(*entries, "t.toml");
}

std::string crossbar(int nodes) {
  return "[topology]\nkind = \"crossbar\"\nnodes = " + std::to_string(nodes) + "\n";
}

TEST(StorageTarget, IsReadWithAllItsKeys) {
  const auto read = storage_target_of(
      std::string(kPlainNetwork) + kPlainFabric + crossbar(8) + kPlainStorage +
      "attached = [0, 5]\npage_bytes = 8192\npage_cache_bytes = \"64k\"\nread_ahead = "
      "\"sequential\"\nread_ahead_bytes = 16384\nwrite = \"back\"\ncopy_per_byte_ns = 0.1\n"
      "connection = \"per_request\"\nrequest_ns = 700\nbuffer_bytes = \"1M\"\n"
      "buffer_read_ahead_bytes = 32768\n");
  ASSERT_TRUE(read) << read.error().message;
  StorageOptions expected;
  expected.nodes = 2;
  expected.attached = {0, 5};
  expected.stripe_bytes = 1 << 20;
  expected.page_bytes = 8192;
  expected.page_cache_bytes = 65536;
  expected.read_ahead = ReadAheadPolicy::kSequential;
  expected.read_ahead_bytes = 16384;
  expected.write = WritePolicy::kBack;
  expected.connection = ConnectionPolicy::kPerRequest;
  expected.copy_per_byte = Femtoseconds{100'000};
  expected.buffer_bytes = 1 << 20;
  expected.buffer_read_ahead_bytes = 32768;
  expected.request = testing::nanoseconds(700);
  expected.disk_read = testing::nanoseconds(5'000'000);
  expected.disk_write = testing::nanoseconds(6'000'000);
  expected.disk_per_byte = testing::nanoseconds(4);
  EXPECT_EQ(read->storage, expected);
}

TEST(StorageTarget, TheExampleHasAllKeysToBeUncommented) {
  const std::string example(example_target());
  EXPECT_EQ(storage_target_of(example)->storage, StorageOptions{});
  const std::size_t begin = example.find("# [storage]");
  ASSERT_NE(begin, std::string::npos);
  const std::string text = example.substr(0, begin) +
                           std::regex_replace(example.substr(begin), std::regex("# (.*\n)"), "$1");
  const auto read = storage_target_of(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->storage.nodes, 2u);
  EXPECT_EQ(read->storage.buffer_read_ahead_bytes, 1u << 20);
  const std::string keys = storage_target_of(text + "x = 1\n").error().message;
  std::istringstream names(keys.substr(keys.find("[storage] are ") + 14));
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    EXPECT_NE(text.find("\n" + name + " = "), std::string::npos) << name;
  }
}

TEST(StorageTarget, NeedsFewKeys) {
  const auto read = storage_target_of(std::string(kPlainNetwork) + kPlainStorage);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->storage.page_cache_bytes, 0u);
  EXPECT_EQ(read->storage.connection, ConnectionPolicy::kKept);
  EXPECT_EQ(storage_target_of(kPlainNetwork)->storage, StorageOptions{});
}

TEST(StorageTarget, RefusesBrokenSectionsWithLineAndRemedy) {
  const std::string head = std::string(kPlainNetwork) + kPlainStorage;
  const auto without = [&](const std::string& line) {
    std::string text = head;
    const std::size_t at = text.find(line);
    return text.erase(at, text.find('\n', at) - at + 1);
  };
  const auto with = [&](const std::string& line, const std::string& other) {
    std::string text = head;
    const std::size_t at = text.find(line);
    return text.replace(at, text.find('\n', at) - at, other);
  };
  for (const auto& [text, message] : {
           std::pair<std::string, std::string>{
               std::string(kPlainNetwork) + "[storage]\n",
               "t.toml:8: storage.nodes is missing; add it to the section [storage]"},
           {without("disk_read_ns"),
            "t.toml:9: storage.disk_read_ns is missing; add it to the section [storage]"},
           {with("nodes", "nodes = 0"),
            "t.toml:9: storage.nodes: '0' is not possible; write a whole number above 0 such as 4"},
           {with("stripe_bytes", "stripe_bytes = 0"),
            "t.toml:10: storage.stripe_bytes is 0, which is not possible; write for example "
            "1048576"},
           {with("stripe_bytes", "stripe_bytes = \"1MiB\""),
            "t.toml:10: storage.stripe_bytes: '1MiB' is not possible; write a number of bytes such "
            "as 65536 or \"64k\""},
           {with("disk_bandwidth", "disk_bandwidth_bytes_per_ns = 0"),
            "t.toml:13: storage.disk_bandwidth_bytes_per_ns: '0' is not possible; write a decimal "
            "number from 0.000001 to 1000000 such as 2.5, with at most six digits after the point"},
           {head + "attached = \"last\"\n",
            "t.toml:14: storage.attached has no effect without a topology; add the section "
            "[topology], or remove it"},
           {head + "page_bytes = 4096\n",
            "t.toml:14: storage.page_bytes has no effect without page cache and buffer; give "
            "storage.page_cache_bytes or storage.buffer_bytes, or remove it"},
           {head + "page_bytes = 5000\n",
            "t.toml:14: storage.page_bytes: '5000' is not possible; write a power of two from 512 "
            "to 1073741824 such as 4096"},
           {head + "write = \"back\"\n",
            "t.toml:14: storage.write has no effect without a page cache; give "
            "storage.page_cache_bytes, or remove it"},
           {head + "page_cache_bytes = 65536\n",
            "t.toml:9: storage.read_ahead is missing, and there is a page cache; add it to the "
            "section [storage]"},
           {head + "page_cache_bytes = 65536\nread_ahead = \"linux\"\n",
            "t.toml:15: storage.read_ahead: 'linux' is not possible; write \"sequential\" or "
            "\"none\""},
           {head + "page_cache_bytes = 65536\nread_ahead = \"none\"\nread_ahead_bytes = 4096\n",
            "t.toml:16: storage.read_ahead_bytes has no effect unless storage.read_ahead is "
            "\"sequential\"; change storage.read_ahead, or remove it"},
           {head + "page_cache_bytes = 65537\nread_ahead = \"none\"\nwrite = \"back\"\n",
            "t.toml:14: storage.page_cache_bytes is 65537, not a multiple of storage.page_bytes, "
            "4096; change one of them"},
           {head + "page_cache_bytes = 65536\nread_ahead = \"sequential\"\nwrite = \"back\"\n"
                   "read_ahead_bytes = 36864\n",
            "t.toml:17: storage.read_ahead_bytes is above half of storage.page_cache_bytes; lower "
            "it, or raise the page cache"},
           {head + "buffer_read_ahead_bytes = 4096\n",
            "t.toml:14: storage.buffer_read_ahead_bytes has no effect without a buffer; give "
            "storage.buffer_bytes, or remove it"},
           {head + "buffer_bytes = 8192\nbuffer_read_ahead_bytes = 8192\n",
            "t.toml:15: storage.buffer_read_ahead_bytes is above half of storage.buffer_bytes; "
            "lower it, or raise the buffer"},
           {head + "connection = \"always\"\n",
            "t.toml:14: storage.connection: 'always' is not possible; write \"kept\" or "
            "\"per_request\""},
           {head + "stripe_byte = 5\n",
            "t.toml:14: 'storage.stripe_byte' is not a key of a target (did you mean "
            "stripe_bytes?); the keys of [storage] are nodes, attached, stripe_bytes, page_bytes, "
            "page_cache_bytes, read_ahead, read_ahead_bytes, write, copy_per_byte_ns, connection, "
            "request_ns, buffer_bytes, buffer_read_ahead_bytes, disk_read_ns, disk_write_ns, "
            "disk_bandwidth_bytes_per_ns"},
       }) {
    const auto read = storage_target_of(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message, message);
  }
}

TEST(StorageTarget, RefusesStorageNodesThatAreNotThere) {
  const std::string head = std::string(kPlainNetwork) + kPlainFabric;
  for (const auto& [text, message] : {
           std::pair<std::string, std::string>{
               head + crossbar(2) + kPlainStorage,
               "t.toml:15: storage.nodes is 2, but the topology has 2 nodes, and ranks need one; "
               "make it larger, or use fewer storage nodes"},
           {head + crossbar(8) + kPlainStorage + "attached = [7]\n",
            "t.toml:20: storage.attached has 1 node for 2 storage nodes; name a node for each"},
           {head + crossbar(8) + kPlainStorage + "attached = [7, 7]\n",
            "t.toml:20: storage.attached names node 7 twice; name another node"},
           {head + crossbar(8) + kPlainStorage + "attached = [7, 8]\n",
            "t.toml:20: storage.attached names node 8, but the topology has 8 nodes, numbered from "
            "0; use one of these"},
           {head + crossbar(8) + kPlainStorage + "attached = \"first\"\n",
            "t.toml:20: storage.attached: 'first' is not possible; write \"last\", or a list of "
            "nodes such as [14, 15]"},
           {head + crossbar(8) + kPlainStorage + "[node]\ncount = 7\n",
            "t.toml:21: node.count is 7, but the topology has 8 nodes, of which 2 are storage "
            "nodes; make it larger, or use fewer nodes"},
       }) {
    const auto read = storage_target_of(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message, message);
  }
}

LoadedTarget on_crossbar(std::vector<std::uint32_t> attached) {
  LoadedTarget target;
  target.path = "t.toml";
  target.topology = std::move(*make_crossbar(8));
  target.target.topology.kind = TopologyKind::kCrossbar;
  target.target.storage.nodes = 2;
  target.target.storage.attached = std::move(attached);
  return target;
}

TEST(StorageTarget, PlacesRanksBesideStorageNodes) {
  const LoadedTarget last = on_crossbar({});
  EXPECT_EQ(storage_nodes(last), (std::vector{Node{6}, Node{7}}));
  EXPECT_EQ(*place_ranks(last, 3), (std::vector{Node{0}, Node{1}, Node{2}}));
  LoadedTarget listed = on_crossbar({4, 1});
  EXPECT_EQ(storage_nodes(listed), (std::vector{Node{4}, Node{1}}));
  EXPECT_EQ(*place_ranks(listed, 6),
            (std::vector{Node{0}, Node{2}, Node{3}, Node{5}, Node{6}, Node{7}}));
  const auto many = place_ranks(listed, 7);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message,
            "t.toml: has room for 6 ranks (6 nodes, node.cores = 1), but 7 are needed; raise one "
            "of both");
  listed.target.mapping = MappingKind::kCyclic;
  listed.target.cores = 2;
  listed.target.nodes = 3;
  EXPECT_EQ(*place_ranks(listed, 5), (std::vector{Node{0}, Node{2}, Node{3}, Node{0}, Node{2}}));
  listed.target.mapping = MappingKind::kFile;
  listed.target.nodes = 0;
  listed.mapping = *parse_mapping("7\n4\n", "ranks.map");
  const auto placed = place_ranks(listed, 2);
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().message,
            "ranks.map:2: rank 1 is on node 4, which is a storage node; use another node");
}

}  // namespace
}  // namespace xylem::predict
