#pragma once

// A fixture for tests of Session: a front end's session on a network without sockets, with a store
// that can be made to fail.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "frontend/session.h"
#include "tests/support/fake_network.h"
#include "wire/tombstone.h"

namespace xylem::frontend {

// A store in memory that can be made to fail.
class FragileStore final : public storage::Store {
 public:
  bool broken = false;  ///< Every commit fails.
  bool full = false;    ///< The store accepts tombstones and state, but no data.
  bool superseded = false;
  int commits = 0;

  Result<void> begin_run(const storage::RunFacts& facts) override {
    return inner_->begin_run(facts);
  }
  Result<storage::PutOutcome> put(const wire::Packet& packet) override {
    if ((broken || full) && wire::may_be_given_up(packet)) {
      is_undone_ = true;
      return unexpected(Code::kExhausted, "no room left on its disk");
    }
    return inner_->put(packet);
  }
  Result<void> put_node(const storage::NodeRow& node) override {
    nodes[node.id] = node;
    return inner_->put_node(node);
  }
  Result<void> put_clock(const storage::ClockRow& clock) override {
    clocks.push_back(clock);
    return inner_->put_clock(clock);
  }
  Result<void> put_link(const wire::LinkReport& report, Nanos at) override {
    links.emplace_back(report, at);
    return inner_->put_link(report, at);
  }
  Result<void> put_host_facts(const wire::HostFacts& host, Nanos at) override {
    measured.emplace_back(host, at);
    return inner_->put_host_facts(host, at);
  }
  Result<void> put_notice(const wire::Notice& notice, Nanos at) override {
    notices.emplace_back(notice, at);
    return inner_->put_notice(notice, at);
  }
  Result<void> put_host_lost(LeafId leaf, const std::string& reason) override {
    if (!reason.empty()) lost.push_back(leaf);
    return inner_->put_host_lost(leaf, reason);
  }
  std::size_t pending_bytes() const override { return inner_->pending_bytes(); }
  Result<void> commit() override {
    if (std::exchange(is_undone_, false) || broken) {
      return unexpected(Code::kExhausted, "no room left on its disk");
    }
    if (superseded) return unexpected(Code::kSuperseded, "another front end has taken over");
    ++commits;
    return inner_->commit();
  }
  Result<void> end_run(int exit_code, Nanos ended) override {
    ended_with = exit_code;
    if (broken) return unexpected(Code::kExhausted, "no room left on its disk");
    return inner_->end_run(exit_code, ended);
  }
  void prepare_to_end() override { uses_its_reserve = true; }
  Result<std::vector<storage::AccountLine>> account() override { return inner_->account(); }
  Result<std::vector<storage::AccountLine>> pending_account() override {
    return inner_->pending_account();
  }

  std::map<NodeId, storage::NodeRow> nodes;
  std::vector<std::pair<wire::LinkReport, Nanos>> links;
  std::vector<std::pair<wire::HostFacts, Nanos>> measured;
  std::vector<std::pair<wire::Notice, Nanos>> notices;
  std::vector<LeafId> lost;
  std::vector<storage::ClockRow> clocks;
  std::optional<int> ended_with;
  bool uses_its_reserve = false;

 private:
  bool is_undone_ = false;
  std::unique_ptr<storage::Store> inner_ = storage::make_memory_store();
};

// A recorder whose outcome comes only when the test allows it.
class SlowRecorder final : public storage::Recorder {
 public:
  explicit SlowRecorder(storage::Store& store) : store_(store) {}
  bool stalls = false;
  std::size_t max_rows = 0;

  void record(storage::Batch batch) override {
    max_rows = std::max(max_rows, batch.rows.size());
    batch_ = std::move(batch);
  }
  std::optional<storage::Recorded> take() override {
    if (stalls || !batch_) return std::nullopt;
    return storage::record_now(store_, *std::exchange(batch_, std::nullopt));
  }
  int fd() const override { return kFd; }
  static constexpr int kFd = 4711;  // The fake network does not use this descriptor.

 private:
  storage::Store& store_;
  std::optional<storage::Batch> batch_;
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    set_log_sink([this](Level level, std::string_view line) {
      if (level >= Level::kWarn) said_.emplace_back(line);
    });
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    ours_.reset(ends[0]);
    control_.reset(ends[1]);
    EXPECT_TRUE(store_.begin_run({}));
  }
  ~SessionTest() override { set_log_sink({}); }

  void start(const char* shape = "kary:2", Nanos settle = 2 * kSecond) {
    SessionOptions options;
    options.plan.shape = *tree::parse_shape(shape);
    options.plan.gathering.settle = settle;
    options.control_fd = control_.get();
    options.queue.waiting_bytes = waiting_bytes_;
    options.past = past_;
    options.launcher = launcher_;
    options.plan.choice = choice_;
    options.streams = streams_;
    session_.emplace(std::move(options), recorder_);
    session_->on_start(network_, network_.now);
  }

  // The peer of a back end that connects for the first time.
  static overlay::Peer newcomer() {
    overlay::Peer peer;
    peer.accepted = true;
    peer.role = wire::Role::kBackEnd;
    peer.level = 0xffff;
    return peer;
  }
  static wire::HostReport report_of(int host) {
    wire::HostReport report;
    report.name = "node" + std::to_string(host);
    report.host_key = "key" + std::to_string(host);
    return report;
  }

  // Joins a program that sends on streams, on host number `host`. Returns its link.
  overlay::LinkId join_program(int host, const std::string& key = "leaf:1") {
    overlay::Peer peer = newcomer();
    peer.role = wire::Role::kProgram;
    const overlay::LinkId link = network_.link_up(*session_, peer);
    wire::HostReport report = report_of(host);
    report.host_key = key;
    network_.deliver(*session_, link, report);
    return link;
  }

  // Joins a back end: it connects and reports its host. Returns its link.
  overlay::LinkId join(int host) {
    const overlay::LinkId link = network_.link_up(*session_, newcomer());
    network_.deliver(*session_, link, report_of(host));
    return link;
  }

  wire::Assignment assignment_on(overlay::LinkId link) {
    std::optional<wire::Assignment> last;
    for (auto& sent : network_.take_sent()) {
      if (sent.link != link) continue;
      if (const auto* it = std::get_if<wire::Assignment>(&sent.message)) last = *it;
    }
    EXPECT_TRUE(last);
    return last.value_or(wire::Assignment{});
  }

  void finish(int code) {
    const std::string line = "finish " + std::to_string(code) + "\n";
    EXPECT_EQ(::write(ours_.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
    network_.readable(*session_, control_.get());
  }

  void leave(overlay::LinkId link) {
    network_.deliver(*session_, link, wire::Goodbye{"done"});
    network_.link_down(*session_, link);
  }

  bool was_said(const std::string& words) const {
    for (const std::string& line : said_) {
      if (line.find(words) != std::string::npos) return true;
    }
    return false;
  }

  UniqueFd ours_, control_;
  FragileStore store_;
  SlowRecorder recorder_{store_};
  std::size_t waiting_bytes_ = 64u << 20;
  std::optional<storage::Past> past_;
  launch::CommProcessLauncher* launcher_ = nullptr;
  HostChoice choice_;
  std::vector<wire::StreamSpec> streams_;
  xylem::testing::FakeNetwork network_;
  std::optional<Session> session_;
  std::vector<std::string> said_;
};

}  // namespace xylem::frontend
