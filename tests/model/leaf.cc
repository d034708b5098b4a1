#include "tests/model/leaf.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "wire/chunk.h"
#include "wire/profile.h"
#include "wire/registration.h"

namespace xylem::model {
namespace {

constexpr Lane kProcess{1};
constexpr FunctionId kFunction{1};
constexpr Nanos kTryAgain = 200 * kMillisecond;

wire::Bytes make_chunk_of(std::uint32_t events) {
  std::mt19937_64 random(events);
  std::vector<wire::Event> list(events);
  Nanos at = 0;
  for (wire::Event& event : list) {
    event.begin_ns = at += static_cast<Nanos>(random() % 1'000'000);
    event.end_ns = event.begin_ns + static_cast<Nanos>(random() % 100'000);
    event.bytes = random() % 1'000'000;
    event.function = kFunction;
  }
  return wire::ChunkEncoder().encode(list);
}

backend::DeliveryOptions delivery_options(const LeafHost& host, wire::Address front_end,
                                          backend::OutboxOptions outbox) {
  backend::DeliveryOptions options;
  options.front_end = {std::move(front_end)};
  options.host_key = host.host_key;
  options.report = [&host] {
    wire::HostReport report;
    report.name = "h" + std::to_string(static_cast<std::uint32_t>(host.host));
    report.host_key = host.host_key;
    report.processes = 1;
    return report;
  };
  options.outbox = outbox;
  return options;
}

backend::Journal open_journal(const LeafHost& host) {
  backend::JournalOptions options;
  options.give_back_bytes = backend::Journal::kKeepAll;
  auto journal = backend::Journal::open(host.region.bytes(), options);
  CHECK(journal.has_value());
  return *std::move(journal);
}

}  // namespace

Region::Region(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  bytes_ = {static_cast<std::byte*>(memory), bytes};
}
Region::~Region() { ::munmap(bytes_.data(), bytes_.size()); }

LeafHost::LeafHost(HostNumber number, LeafHabits drawn)
    : host(number),
      habits(drawn),
      region(drawn.journal_bytes),
      host_key("host:" + std::to_string(static_cast<std::uint32_t>(number))) {}

Leaf::Leaf(LeafHost& host, Random& random, wire::Address front_end, backend::OutboxOptions outbox,
           StartCommProcess start)
    : host_(host),
      random_(random),
      journal_(open_journal(host)),
      delivery_(delivery_options(host, std::move(front_end), outbox), journal_),
      start_(std::move(start)) {}

Leaf::~Leaf() { host_.given_up += journal_.given_up_packets(); }

void Leaf::on_start(overlay::Network& network, Nanos now) {
  network_ = &network;
  delivery_.start(network, now);
  delivery_.connect(now);
  schedule(now);
}

void Leaf::on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) {
  delivery_.on_link_up(link, peer, now);
  schedule(now);
}

void Leaf::on_connect_failed(NodeId, const Error& why, Nanos now) {
  delivery_.on_connect_failed(why, now);
  schedule(now);
}

void Leaf::on_link_down(overlay::LinkId link, const Error& why, Nanos now) {
  delivery_.on_link_down(link, why, now);
  schedule(now);
}

void Leaf::on_message(overlay::LinkId, wire::Message message, Nanos now) {
  const backend::Delivery::News news = delivery_.on_message(message, now);
  if (news == backend::Delivery::News::kAcknowledged) {
    host_.acknowledged_at = now;
  } else if (news == backend::Delivery::News::kNotOurs) {
    if (const auto* order = std::get_if<wire::StartCommProcess>(&message)) start_(*order);
  }
  work(now);
}

void Leaf::on_timer(Nanos now) {
  delivery_.on_timer(now);
  work(now);
}

void Leaf::comm_process_ended(NodeId node) {
  wire::CommProcessReport report;
  report.node = node;
  report.failure = "killed";
  delivery_.send_up(std::move(report));
}

bool Leaf::is_encoding() const {
  return delivery_.leaf() != wire::kNoLeaf && delivery_.control().has_value();
}

void Leaf::work(Nanos now) {
  if (done_) return;
  if (is_encoding()) {
    host_.leaf = delivery_.leaf();
    const bool finishing = delivery_.control()->finish && !host_.last_is_journalled;
    if (now >= next_window_ || finishing) produce(now);
    delivery_.send_due(now);
    if (host_.last_is_journalled && delivery_.is_done()) {
      done_ = true;
      host_.ended = true;
      delivery_.end("all is stored");
      return network_->stop(0);
    }
  }
  schedule(now);
}

void Leaf::produce(Nanos now) {
  const Nanos window = delivery_.control()->window_ns;
  const Nanos since = now - delivery_.control()->epoch_ns;
  next_window_ = delivery_.control()->epoch_ns + (since / window + 1) * window +
                 random_.between(0, host_.habits.lateness);
  if (host_.last_is_journalled) return;
  if (random_.one_in(8)) next_window_ = now + window / 3;  // A part of the slice.
  host_.calls += random_(50);
  const bool last = delivery_.control()->finish;
  const bool done = (host_.registered || announce()) && make_chunk() && seal_window(now, last);
  if (!done) next_window_ = now + kTryAgain;
}

bool Leaf::append(backend::Draft draft) {
  draft.packet.id.sources = IntervalSet::of(raw(host_.leaf));
  if (!journal_.append(draft)) return false;
  const backend::PacketKey key = backend::key_of(draft.packet.id);
  if (key.stream != wire::kRegistrationStream) host_.sent[key] = {draft.calls};
  delivery_.add(key);
  return true;
}

bool Leaf::announce() {
  wire::Registration registration;
  registration.host = host_.host_key;
  registration.functions.push_back({kFunction, "MPI_Send", 0});
  wire::ProcessRow row;
  row.lane = kProcess;
  row.initialised = true;
  row.rank = Rank{static_cast<std::uint32_t>(host_.host) - 1};
  row.world_size = host_.ranks;
  registration.processes.push_back(row);
  backend::Draft draft;
  draft.packet.id.stream = wire::kRegistrationStream;
  draft.packet.id.wave = journal_.next_wave(wire::kRegistrationStream);
  draft.packet.id.wave_end = draft.packet.id.wave + 1;
  draft.packet.payload = wire::encode(registration);
  host_.registered = append(std::move(draft));
  return host_.registered;
}

bool Leaf::make_chunk() {
  if (host_.habits.chunk_events == 0 || random_.one_in(4)) return true;
  const std::uint32_t events = random_.one_in(2) ? 1 : host_.habits.chunk_events;
  backend::Draft draft;
  draft.packet.id.stream = wire::kChunkStream;
  draft.packet.id.lane = kProcess;
  draft.packet.id.wave = host_.records;
  draft.packet.id.wave_end = host_.records + events;
  draft.calls = events;
  wire::Bytes& chunk = host_.chunks[events];
  if (chunk.empty()) chunk = make_chunk_of(events);
  draft.packet.payload = chunk;
  if (!append(std::move(draft))) return false;
  host_.records += events;
  return true;
}

bool Leaf::seal_window(Nanos now, bool last) {
  const Nanos since = now - delivery_.control()->epoch_ns;
  const auto slice = static_cast<std::uint64_t>(since / delivery_.control()->window_ns);
  wire::ProfileWindow window;
  window.begin_ns = static_cast<Nanos>(slice) * delivery_.control()->window_ns;
  window.end_ns = since;
  wire::ProfileRow row;
  row.leaf = host_.leaf;
  row.lane = kProcess;
  row.function = kFunction;
  row.calls = host_.calls;
  window.rows.push_back(row);
  wire::AccountRow account;
  account.leaf = host_.leaf;
  account.lane = kProcess;
  account.captured = account.windowed = host_.captured + host_.calls;
  account.events = account.event_calls = host_.records;
  account.ended = last;
  window.accounts.push_back(account);
  backend::Draft draft;
  draft.packet.id.stream = wire::kWindowStream;
  draft.packet.id.wave =
      std::max(journal_.next_wave(wire::kWindowStream), wire::window_wave(slice, 0));
  draft.packet.id.wave_end = draft.packet.id.wave + 1;
  draft.packet.last = last;
  draft.packet.payload = wire::encode(window);
  draft.calls = host_.calls;
  if (!append(std::move(draft))) return false;
  host_.captured += std::exchange(host_.calls, 0);
  host_.last_is_journalled = last;
  return true;
}

void Leaf::schedule(Nanos now) {
  if (done_) return;
  Nanos next = is_encoding() ? std::max(next_window_, now) : now + kSecond;
  if (const Nanos due = delivery_.next_due(); due != 0) next = std::min(next, due);
  network_->set_timer(std::max(next, now));
}

}  // namespace xylem::model
