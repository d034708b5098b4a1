// Peers that have the key and say anything in any order, to every program of the tree: nothing of
// it may stop a process or reach beyond its memory. The first byte says which program, the rest is
// what happens to it.

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/leaf/leaf_node.h"
#include "base/check.h"
#include "base/log.h"
#include "commproc/comm_process.h"
#include "frontend/session.h"
#include "frontend/tree_node.h"
#include "storage/write/recorder.h"
#include "tests/support/agent_host.h"
#include "tests/support/any_message.h"

using namespace xylem;
using testing::ByteSource;

namespace {

constexpr std::size_t kMaxSteps = 200;
const std::vector<wire::Address> kFrontEnd{wire::Address{"10.0.0.1", 4711, "", ""}};

overlay::Peer any_peer(ByteSource& in) {
  overlay::Peer peer;
  peer.accepted = true;
  peer.role = in.one_of(std::array{wire::Role::kBackEnd, wire::Role::kCommProcess,
                                   wire::Role::kTool, wire::Role::kFrontEnd});
  peer.node = in.coin() ? wire::kNoNode : NodeId{in.number<std::uint32_t>()};
  peer.leaf = in.coin() ? wire::kNoLeaf : LeafId{in.number<std::uint32_t>()};
  peer.level = in.coin() ? 0xffff : in.number<std::uint32_t>();
  peer.control_version = in.number<std::uint64_t>();
  peer.host_key = testing::any_name(in);
  return peer;
}

// Everything that neighbours and time can do to a node.
void live(ByteSource& in, testing::FakeNetwork& network, overlay::Node& node, bool takes_children) {
  const auto any_link = [&]() -> overlay::LinkId {
    if (network.links.empty()) return overlay::LinkId{0};
    auto at = network.links.begin();
    std::advance(at, in.below(network.links.size()));
    return at->first;
  };
  for (std::size_t step = 0; step < kMaxSteps && !in.is_empty() && !network.stopped; ++step) {
    switch (in.below(16)) {
      case 0:
        if (takes_children && network.links.size() < 8) network.link_up(node, any_peer(in));
        break;
      case 1:
        if (!network.connects.empty()) network.link_up(node);
        break;
      case 2:
        if (!network.connects.empty()) network.refuse_connect(node);
        break;
      case 3:
        network.link_down(node, any_link());
        break;
      case 4:
        network.advance(node, Nanos{1} * in.below(256) * kMillisecond);
        break;
      case 5:
        network.advance(node, Nanos{1} * in.below(16) * kSecond);
        break;
      case 6:
        for (const int fd : std::set<int>(network.watched)) network.readable(node, fd);
        break;
      default: {
        const overlay::LinkId link = any_link();
        if (auto message = testing::any_message(in)) {
          network.deliver(node, link, std::move(*message));
        }
      }
    }
    for (const testing::FakeNetwork::Sent& sent : network.take_sent()) {
      static_cast<void>(wire::encode(sent.message));  // Stops when it is too large to be sent.
    }
  }
}

void comm_process(ByteSource& in) {
  commproc::CommProcessOptions options;
  options.node = NodeId{3};
  options.level = 1;
  options.front_end = kFrontEnd;
  options.host = "host";
  commproc::CommProcess node(options);
  testing::FakeNetwork network;
  node.on_start(network, network.now);
  live(in, network, node, true);
}

void front_end(ByteSource& in) {
  int ends[2];
  CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd control(ends[1]);
  const auto store = storage::make_memory_store();
  CHECK(store->begin_run({}));
  const auto recorder = storage::make_direct_recorder(*store);
  frontend::SessionOptions options;
  options.plan.shape = *tree::parse_shape("kary:2");
  options.plan.chunks = in.coin();
  options.control_fd = control.get();
  testing::FakeNetwork network;
  network.link_status.clock_known = true;
  frontend::Session node(std::move(options), *recorder);
  node.on_start(network, network.now);
  live(in, network, node, true);
  // The job is over: whatever peers have said, so is the run, and it has an account.
  constexpr std::string_view kFinish = "finish 0\n";
  CHECK(::write(ours.get(), kFinish.data(), kFinish.size()) ==
        static_cast<ssize_t>(kFinish.size()));
  network.readable(node, control.get());
  network.advance(node, 300 * kSecond);
  CHECK(network.stopped);
  CHECK(store->account());
}

void tool_front_end(ByteSource& in) {
  frontend::TreeNodeOptions options;
  options.root.shape = *tree::parse_shape("kary:2");
  frontend::TreeNode node(options);
  testing::FakeNetwork network;
  node.on_start(network, network.now);
  wire::StreamSpec spec = testing::any_stream_spec(in);
  spec.plugin.clear();
  spec.narrowing_plugin.clear();
  const auto stream = node.open(spec);
  live(in, network, node, true);
  if (stream) {
    if (frontend::Inbox* inbox = node.inbox(*stream)) {
      while (inbox->receive()) {
      }
    }
    const wire::Fields fields = testing::any_fields(in);
    const IntervalSet to = in.coin() ? testing::any_leaves(in) : IntervalSet();
    if (const auto whole = node.next_multicast(*stream, fields, to)) node.multicast(*whole);
    network.advance(node, kSecond);  // What it owes is acknowledged.
    node.close(*stream);
  }
  while (node.take_event()) {
  }
  node.finish();
  network.advance(node, 30 * kSecond);
}

struct QuietOwner final : backend::LeafOwner {
  void on_joined(LeafId) override {}
  void on_streams(std::vector<backend::LeafStreamState> now_open) override {
    streams = std::move(now_open);
  }
  bool on_multicast(StreamId, std::uint64_t, wire::Fields) override { return true; }
  void on_room() override {}
  void on_finish() override {}
  void on_closed(const std::string&) override {}

  std::vector<backend::LeafStreamState> streams;
};

void tool_leaf(ByteSource& in) {
  static testing::Memory memory(backend::Journal::kSmallest);
  std::memset(memory.bytes().data(), 0, memory.bytes().size());
  backend::JournalOptions journal_options;
  journal_options.give_back_bytes = backend::Journal::kKeepAll;
  auto journal = backend::Journal::open(memory.bytes(), journal_options);
  CHECK(journal);
  testing::FakeStarter starter;
  QuietOwner owner;
  backend::LeafNodeOptions options;
  options.front_end = kFrontEnd;
  backend::LeafNode node(options, *journal, starter, owner);
  testing::FakeNetwork network;
  node.on_start(network, network.now);
  std::uint64_t next = 0;
  while (!in.is_empty() && !network.stopped) {
    const auto some = in.take(64);
    ByteSource part(some.data(), some.size());
    live(part, network, node, false);
    for (const backend::LeafStreamState& stream : owner.streams) {
      const wire::Fields wave{{1, std::int64_t{7}}};
      static_cast<void>(node.put(stream.spec.id, next++, std::span(&wave, 1), network.now));
    }
  }
  node.leave(network.now + 5 * kSecond, network.now);
  network.advance(node, 10 * kSecond);
}

void agent(ByteSource& in) {
  testing::AgentHost host(256u << 10);
  host.start();
  testing::HandMadeSegment& process = host.add_process(64);
  host.talk();
  while (!in.is_empty() && !host.network.stopped) {
    process.write(0, {.function = 1, .begin = 1000, .end = 2000, .bytes = 8, .peer = 1});
    const auto some = in.take(64);
    ByteSource part(some.data(), some.size());
    live(part, host.network, *host.agent, false);
  }
  host.network.advance(*host.agent, 2 * kSecond);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const bool kQuiet = [] {
    set_log_sink([](Level, std::string_view) {});
    return true;
  }();
  static_cast<void>(kQuiet);
  ByteSource in(bytes, size);
  switch (in.below(5)) {
    case 0:
      comm_process(in);
      break;
    case 1:
      front_end(in);
      break;
    case 2:
      tool_front_end(in);
      break;
    case 3:
      tool_leaf(in);
      break;
    default:
      agent(in);
  }
  return 0;
}
