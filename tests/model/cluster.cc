#include "tests/model/cluster.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "commproc/comm_process.h"

namespace xylem::model {
namespace {

constexpr HostNumber kFrontEndHost{0};
constexpr std::uint16_t kFrontEndPort = 1;

wire::Address front_end_address() { return Simulation::address(kFrontEndHost, kFrontEndPort); }

std::string name_of(HostNumber host) {
  return "host " + std::to_string(static_cast<std::uint32_t>(host));
}

}  // namespace

struct Cluster::FrontEnd {
  std::unique_ptr<storage::Store> store;
  std::unique_ptr<storage::Recorder> recorder;
  UniqueFd control_reader;
  UniqueFd control_writer;
  ProcessId process = kNoProcess;
};

Cluster::Cluster(Simulation& world, const ClusterOptions& options)
    : world_(world), options_(options), run_(options.checks_epoch) {
  world_.on_exit = [this](ProcessId process, int code) { exited(process, code); };
  if (!options.resends) {
    world_.may_send = [this](ProcessId process, const wire::Message& message) {
      const auto* packet = std::get_if<wire::Packet>(&message);
      const bool is_leaf =
          process != front_ends_.back()->process && !comm_processes_.contains(process);
      return packet == nullptr || !packet->alone || !is_leaf;
    };
  }
  start_front_end();
  Random& random = world_.random();
  for (std::uint32_t i = 0; i < options.hosts; ++i) {
    LeafHabits habits;
    habits.journal_bytes = options.journal_bytes;
    habits.chunk_events = options.chunk_events;
    habits.lateness = random.between(0, 100 * kMillisecond);
    hosts_.push_back({std::make_unique<LeafHost>(HostNumber{i + 1}, habits), kNoProcess});
    hosts_.back().leaf->ranks = options.hosts;
    world_.at(world_.now() + random.between(0, 300 * kMillisecond), [this, i] { start_worker(i); });
  }
}

// The world outlives us, and its workers borrow from our hosts.
Cluster::~Cluster() {
  world_.on_exit = {};
  for (const Host& host : hosts_) {
    if (world_.is_alive(host.worker)) world_.kill(host.worker);
  }
}

void Cluster::start_front_end() {
  auto front_end = std::make_unique<FrontEnd>();
  storage::ResumedStore opened = storage::open_memory_store(run_);
  front_end->store = make_noting_store(std::move(opened.store), holdings_, options_.store_break);
  if (opened.past.front_ends == 1) {
    storage::RunFacts facts;
    facts.epoch_ns = opened.past.epoch_ns = world_.now();
    CHECK(front_end->store->begin_run(facts).has_value());
  }
  front_end->recorder = storage::make_direct_recorder(*front_end->store);
  int ends[2];
  CHECK(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  front_end->control_reader.reset(ends[0]);
  front_end->control_writer.reset(ends[1]);
  frontend::SessionOptions session;
  session.plan.shape = options_.shape;
  session.plan.gathering.settle = kSecond;
  session.plan.chunks = options_.chunk_events != 0;
  session.control_fd = ends[0];
  session.past = std::move(opened.past);
  front_ends_.push_back(std::move(front_end));
  FrontEnd& it = *front_ends_.back();
  it.process = world_.start(
      kFrontEndHost, std::make_unique<frontend::Session>(session, *it.recorder), kFrontEndPort);
  if (is_finishing_) tell_finish();
}

void Cluster::start_worker(std::uint32_t index) {
  Host& host = hosts_[index];
  const HostNumber number = host.leaf->host;
  if (world_.is_lost(number) || world_.is_alive(host.worker) || host.leaf->ended) return;
  const auto start = [this, index](const wire::StartCommProcess& order) {
    Host& starter = hosts_[index];
    const StartedCommProcess what{starter.leaf->host, order.node, order.level, starter.worker};
    world_.at(world_.now() + world_.random().between(kMillisecond, 300 * kMillisecond),
              [this, what] { start_comm_process(what); });
  };
  backend::OutboxOptions outbox;
  outbox.max_in_flight = 64u << 10;
  auto leaf =
      std::make_unique<Leaf>(*host.leaf, world_.random(), front_end_address(), outbox, start);
  host.worker = world_.start(number, std::move(leaf), 0);
}

void Cluster::start_comm_process(const StartedCommProcess& what) {
  if (world_.is_lost(what.host)) return;
  commproc::CommProcessOptions options;
  options.node = what.node;
  options.level = what.level;
  options.front_end = {front_end_address()};
  options.windows.merge_overlaps = options_.merges_overlaps;
  const ProcessId process =
      world_.start(what.host, std::make_unique<commproc::CommProcess>(options), next_port_++);
  comm_processes_[process] = what;
}

void Cluster::exited(ProcessId process, int) {
  comm_processes_.erase(process);
  is_over_ |= process == front_ends_.back()->process;
}

std::string Cluster::kill_comm_process() {
  if (comm_processes_.empty()) return {};
  Random& random = world_.random();
  const auto victim = std::next(comm_processes_.begin(), random(comm_processes_.size()));
  const auto [process, what] = *victim;
  comm_processes_.erase(victim);
  if (!world_.is_alive(process)) return {};
  world_.kill(process);
  // Whoever started it collects it; a successor of that worker does not know of it.
  const StartedCommProcess gone = what;
  world_.at(world_.now() + kMillisecond, [this, gone] {
    if (!world_.is_alive(gone.starter)) return;
    world_.inside(gone.starter, [this, gone](Nanos) {
      static_cast<Leaf&>(world_.node(gone.starter)).comm_process_ended(gone.node);
    });
  });
  const bool again = random.one_in(2);
  if (again) {
    world_.at(world_.now() + random.between(10 * kMillisecond, 5 * kSecond),
              [this, gone] { start_comm_process(gone); });
  }
  return "communication process " + std::to_string(raw(what.node)) + " killed on " +
         name_of(what.host) + (again ? ", it will come again" : "");
}

std::string Cluster::kill_worker() {
  Random& random = world_.random();
  const auto index = static_cast<std::uint32_t>(random(hosts_.size()));
  const Host& host = hosts_[index];
  if (!world_.is_alive(host.worker)) return {};
  world_.kill(host.worker);
  world_.at(world_.now() + random.between(kMillisecond, 2 * kSecond),
            [this, index] { start_worker(index); });
  return "worker killed on " + name_of(host.leaf->host);
}

std::string Cluster::kill_front_end() {
  const ProcessId victim = front_ends_.back()->process;
  if (is_over_ || !world_.is_alive(victim)) return {};
  world_.kill(victim);
  world_.at(world_.now() + world_.random().between(10 * kMillisecond, 5 * kSecond),
            [this] { start_front_end(); });
  return "front end killed";
}

std::string Cluster::replace_front_end(Nanos duration) {
  const ProcessId victim = front_ends_.back()->process;
  if (is_over_ || !world_.is_alive(victim) || world_.is_frozen(victim)) return {};
  world_.freeze(victim);
  world_.at(world_.now() + duration, [this, victim] { world_.thaw(victim); });
  world_.at(world_.now() + world_.random().between(0, duration), [this, victim] {
    if (!is_over_ && front_ends_.back()->process == victim) start_front_end();
  });
  return "front end frozen for " + std::to_string(duration / kMillisecond) + " ms and replaced";
}

std::string Cluster::lose_host() {
  std::size_t lost = 0;
  for (const Host& host : hosts_) lost += world_.is_lost(host.leaf->host) ? 1 : 0;
  const Host& victim = hosts_[world_.random()(hosts_.size())];
  if (3 * (lost + 1) > hosts_.size() || world_.is_lost(victim.leaf->host)) return {};
  world_.lose_host(victim.leaf->host);
  return name_of(victim.leaf->host) + " lost";
}

std::string Cluster::freeze_something(Nanos duration) {
  Random& random = world_.random();
  ProcessId victim = hosts_[random(hosts_.size())].worker;
  if (!comm_processes_.empty() && random.one_in(2)) {
    victim = std::next(comm_processes_.begin(), random(comm_processes_.size()))->first;
  }
  if (!world_.is_alive(victim) || world_.is_frozen(victim)) return {};
  world_.freeze(victim);
  world_.at(world_.now() + duration, [this, victim] { world_.thaw(victim); });
  return "a process on " + name_of(world_.host_of(victim)) + " frozen for " +
         std::to_string(duration / kMillisecond) + " ms";
}

void Cluster::finish() {
  is_finishing_ = true;
  tell_finish();
}

void Cluster::tell_finish() {
  FrontEnd& front_end = *front_ends_.back();
  constexpr std::string_view kLine = "finish 0\n";
  CHECK(::write(front_end.control_writer.get(), kLine.data(), kLine.size()) > 0);
  const ProcessId process = front_end.process;
  const int fd = front_end.control_reader.get();
  world_.inside(process,
                [this, process, fd](Nanos now) { world_.node(process).on_readable(fd, now); });
}

bool Cluster::all_are_heard(Nanos since) const {
  return std::all_of(hosts_.begin(), hosts_.end(), [&](const Host& host) {
    return world_.is_lost(host.leaf->host) || host.leaf->acknowledged_at > since;
  });
}

Comparison Cluster::compare_all(bool all_came_back) {
  Comparison comparison;
  for (const Host& host : hosts_) {
    if (host.leaf->leaf == wire::kNoLeaf) continue;
    const bool counts_as_lost = holdings_.lost_hosts.contains(host.leaf->leaf);
    const bool survived = !world_.is_lost(host.leaf->host) && (all_came_back || !counts_as_lost);
    const bool was_right = comparison.first_fault.empty();
    compare(host.leaf->leaf, host.leaf->sent, survived, holdings_, comparison);
    if (!was_right || comparison.first_fault.empty()) continue;
    comparison.first_fault += "; " + name_of(host.leaf->host) +
                              (host.leaf->ended ? " had everything acknowledged"
                                                : " was not done when the front end ended");
  }
  if (is_over_) compare_account(all_came_back, comparison);
  return comparison;
}

// Of a lost host too captured = stored + lost, and of it alone the account is never complete.
void Cluster::compare_account(bool all_came_back, Comparison& comparison) {
  const auto account = storage::open_memory_store(run_).store->account();
  CHECK(account.has_value());
  for (const storage::AccountLine& line : *account) {
    const LeafHost& host = *hosts_.at(raw(line.rank)).leaf;
    const bool counts_as_lost = holdings_.lost_hosts.contains(host.leaf);
    const bool must_be_complete = all_came_back && !world_.is_lost(host.host) && host.given_up == 0;
    const bool is_right = line.captured == line.stored + line.lost &&
                          !(counts_as_lost && line.complete) &&
                          (line.complete || !must_be_complete);
    if (is_right) continue;
    ++comparison.lost;
    if (!comparison.first_fault.empty()) continue;
    comparison.first_fault = "account of " + name_of(host.host) + ": " +
                             std::to_string(line.captured) + " captured, " +
                             std::to_string(line.stored) + " stored, " + std::to_string(line.lost) +
                             " lost" + (line.complete ? ", complete" : "");
  }
}

std::uint64_t Cluster::contributions() const {
  std::uint64_t sum = 0;
  for (const Host& host : hosts_) sum += host.leaf->sent.size();
  return sum;
}

std::uint64_t Cluster::digest() const {
  std::uint64_t digest = 0xcbf29ce484222325;
  const auto note = [&digest](std::uint64_t what) { digest = (digest ^ what) * 0x100000001b3; };
  for (const auto& [where, held] : holdings_.contributions) {
    note(raw(where.leaf));
    note(raw(where.key.stream));
    note(where.key.wave);
    note(held.calls << 8 ^ held.as_tombstone << 4 ^ held.as_data);
  }
  return digest;
}

}  // namespace xylem::model
