#include "backend/agent/agent.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"

namespace xylem::backend {
namespace {

// Delay of work that is due at once, but not in the same turn of the loop.
constexpr Nanos kSoon = 1 * kMillisecond;
// Work that is due within this time is done in the same wake.
constexpr Nanos kTogether = 2 * kMillisecond;
// A report may wait this long for the next look at the rings, also in an agent that sleeps.
constexpr Nanos kReportSlack = 1250 * kMillisecond;
// Maximum time between looks at the rings after the end was announced, since someone waits for it.
constexpr Nanos kEndingInterval = 125 * kMillisecond;

}  // namespace

Agent::Agent(AgentOptions options, Journal& journal, ProcessSource& source, ProcessStarter& starter)
    : options_(std::move(options)),
      journal_(journal),
      source_(source),
      comm_processes_(starter),
      host_watch_(options_.host_watch),
      collector_(options_.collector, journal),
      delivery_({.front_end = options_.front_end,
                 .host_key = options_.host.host_key,
                 .report = [this] { return host_report(); },
                 .outbox = options_.outbox,
                 .report_slack = kReportSlack},
                journal),
      services_(options_.services, journal) {}

void Agent::on_start(overlay::Network& network, Nanos now) {
  network_ = &network;
  quiet_since_ = now;
  interval_ = options_.busy_interval;
  delivery_.start(network, now);
  host_watch_.start(network);
  services_.start(network);
  if (options_.call_watch != nullptr && options_.call_watch->fd() >= 0)
    network_->watch(options_.call_watch->fd());
  if (options_.terminate_fd >= 0) network_->watch(options_.terminate_fd);
  take_from_source(now);
  schedule(now);
}

// ---- processes ----

void Agent::take_from_source(Nanos now) {
  for (;;) {
    SourceEvent event = source_.take();
    if (event.kind == SourceEvent::Kind::kNothing) break;
    if (event.kind == SourceEvent::Kind::kProcess) {
      add_process(std::move(event.process), now);
    } else if (event.kind == SourceEvent::Kind::kReady && phase_ == Phase::kRecovering) {
      phase_ = Phase::kWatching;
      delivery_.connect(now);
    } else if (event.kind == SourceEvent::Kind::kClosed) {
      on_source_closed(now);
    } else if (event.kind == SourceEvent::Kind::kOpen) {
      on_source_open(now);
    }
  }
  if (source_.fd() == source_fd_) return;
  if (source_fd_ >= 0) network_->unwatch(source_fd_);
  source_fd_ = source_.fd();
  if (source_fd_ >= 0) network_->watch(source_fd_);
}

void Agent::add_process(NewProcess process, Nanos now) {
  stay_awake(now);
  ++processes_seen_;
  quiet_since_ = now;
  next_drain_ = now;
  if (!process.row.unwatched.empty()) return collector_.add_unwatched(process.row);
  auto segment = Segment::map(process.segment);
  if (!segment) {
    log(Level::kError, "a process cannot be watched",
        {{"pid", process.pid}, {"why", segment.error().message}});
    process.row.unwatched = segment.error().message;
    return collector_.add_unwatched(process.row);
  }
  collector_.add(process.lane, *std::move(segment), !process.pidfd, now);
  if (process.pidfd) {
    services_.add(process.lane, process.pid);
    const int fd = process.pidfd.get();
    pidfds_.emplace(fd, std::pair(process.lane, std::move(process.pidfd)));
    network_->watch(fd);
  }
  forget_finished();
}

void Agent::process_gone(int pidfd, Nanos now) {
  const auto it = pidfds_.find(pidfd);
  if (it == pidfds_.end()) return;
  stay_awake(now);
  quiet_since_ = now;
  collector_.process_ended(it->second.first);
  services_.remove(it->second.first);
  network_->unwatch(pidfd);
  pidfds_.erase(it);
}

void Agent::forget_finished() {
  for (const Lane lane : collector_.take_finished()) {
    for (auto it = pidfds_.begin(); it != pidfds_.end();) {
      const bool is_it = it->second.first == lane;
      if (is_it) network_->unwatch(it->first);
      it = is_it ? pidfds_.erase(it) : std::next(it);
    }
    source_.forget(lane);
  }
}

// ---- the tree ----

wire::HostReport Agent::host_report() const {
  wire::HostReport report = options_.host;
  report.pid = static_cast<std::uint32_t>(::getpid());
  report.load = options_.load();
  report.processes = static_cast<std::uint32_t>(collector_.processes());
  return report;
}

void Agent::on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) {
  delivery_.on_link_up(link, peer, now);
  if (peer.node == kFrontEndNode) {
    front_end_link_ = link;
    host_watch_.meet_front_end(now);
  }
  schedule(now);
}

void Agent::on_connect_failed(NodeId, const Error& why, Nanos now) {
  const bool was_let_in = delivery_.leaf() != wire::kNoLeaf;
  if (why.code == Code::kPermissionDenied && !was_let_in && phase_ != Phase::kDone) {
    return give_up("the front end refuses this agent: " + why.message);
  }
  delivery_.on_connect_failed(why, now);
  schedule(now);
}

void Agent::on_link_down(overlay::LinkId link, const Error& why, Nanos now) {
  delivery_.on_link_down(link, why, now);
  if (front_end_link_ == link) front_end_link_.reset();
  schedule(now);
}

void Agent::on_message(overlay::LinkId, wire::Message message, Nanos now) {
  switch (delivery_.on_message(message, now)) {
    case Delivery::News::kAcknowledged:
      collector_.resume();
      break;
    case Delivery::News::kControl:
      if (delivery_.control()->finish && finish_at_ == 0) finish_at_ = now;
      host_watch_.configure(*delivery_.control(), now);
      stay_awake(now);
      if (encoding_) configure();
      break;
    case Delivery::News::kNotOurs:
      if (const auto* order = std::get_if<wire::StartCommProcess>(&message)) {
        if (auto report = comm_processes_.start(*order, *network_)) {
          delivery_.send_up(*std::move(report));
        }
      }
      break;
    default:
      break;
  }
  start_encoding(now);
  advance_life(now);
  schedule(now);
}

void Agent::report_host(Nanos now) {
  if (front_end_link_)
    host_watch_.note_round_trip(network_->status(*front_end_link_).round_trip_ns);
  if (auto facts = host_watch_.on_timer(delivery_.leaf(), now))
    delivery_.send_up(*std::move(facts));
}

// ---- work ----

void Agent::start_encoding(Nanos now) {
  if (encoding_ || phase_ == Phase::kRecovering) return;
  if (delivery_.leaf() == wire::kNoLeaf || !delivery_.control()) return;
  if (encode_at_ == 0) encode_at_ = now + options_.clock_patience;
  if (!delivery_.clock_known() && now < encode_at_ && finish_at_ == 0) return;
  if (!delivery_.clock_known()) {
    log(Level::kWarn, "the front end's clock is unknown; this host's clock is used");
  }
  encoding_ = true;
  configure();
  next_drain_ = now;
}

void Agent::configure() {
  collector_.set_offset(delivery_.offset_ns());
  collector_.configure(delivery_.leaf(), *delivery_.control());
  services_.set_offset(delivery_.offset_ns());
  services_.configure(delivery_.leaf(), *delivery_.control());
}

void Agent::run_services(Nanos now) {
  if (!encoding_ || phase_ != Phase::kWatching) return;
  services_.set_offset(delivery_.offset_ns());
  services_.run(now);
  take_appended();
}

void Agent::take_appended() {
  for (const PacketKey& key : collector_.take_appended()) delivery_.add(key);
  for (const PacketKey& key : services_.take_appended()) delivery_.add(key);
}

void Agent::drain(Nanos now) {
  next_drain_ = now + longest_interval();
  // The last window is sealed. There is nothing to read any more.
  if (phase_ == Phase::kClosing || phase_ == Phase::kDelivering) return;
  if (delivery_.follow_clock()) collector_.set_offset(delivery_.offset_ns());
  start_encoding(now);
  const bool reads_out = phase_ == Phase::kFinishing;
  const DrainOutcome outcome = reads_out ? collector_.flush(now) : collector_.drain(now);
  take_appended();
  forget_finished();

  rest(outcome.is_quiet, now);
  interval_ = interval_for(outcome.fill, now);
  last_drain_ = now;
  next_drain_ = next_look(now);
  if (outcome.next_due != 0) next_drain_ = std::min(next_drain_, outcome.next_due);
  next_drain_ = std::max(next_drain_, outcome.unfinished ? now : now + kSoon);
}

Nanos Agent::longest_interval() const {
  if (finish_at_ != 0) return std::min(options_.idle_interval, kEndingInterval);
  return rest_ == Rest::kAsleep ? options_.sleep_interval : options_.idle_interval;
}

// The interval becomes shorter at once, but at most doubles each time: bursts come in groups.
Nanos Agent::interval_for(double fill, Nanos now) const {
  if (collector_.is_anybody_starting(now)) return options_.busy_interval;
  if (rest_ == Rest::kAsleep) return longest_interval();
  const Nanos longest = std::clamp(2 * interval_, options_.busy_interval, longest_interval());
  const double wanted =
      static_cast<double>(now - last_drain_) * options_.wanted_fill / std::max(fill, 1e-9);
  if (wanted >= static_cast<double>(longest)) return longest;
  return std::max(options_.busy_interval, static_cast<Nanos>(wanted));
}

// A call that begins while its switch is changed may not see the change. So the next look still
// comes soon and finds this call.
void Agent::rest(bool is_quiet, Nanos now) {
  if (!is_quiet || phase_ != Phase::kWatching || finish_at_ != 0) return stay_awake(now);
  if (rest_ != Rest::kAwake) {
    rest_ = Rest::kAsleep;
  } else if (options_.call_watch != nullptr && now >= active_at_ + options_.sleep_after &&
             options_.sleep_interval > options_.idle_interval) {
    const bool is_watched = options_.call_watch->begin(collector_.let_calls_wake());
    rest_ = Rest::kDozing;
    if (!is_watched) stay_awake(now);
  }
}

void Agent::stay_awake(Nanos now) {
  active_at_ = now;
  if (std::exchange(rest_, Rest::kAwake) == Rest::kAwake) return;
  options_.call_watch->end();
  collector_.let_calls_be();
}

// This call may begin a burst, so the next looks come as soon as after a full ring.
void Agent::on_call(Nanos now) {
  stay_awake(now);
  interval_ = options_.busy_interval / 2;
  last_drain_ = now;
}

Nanos Agent::next_look(Nanos now) const {
  const Nanos step = interval_;
  if (step < longest_interval() || !delivery_.control()) return now + step;
  const Nanos shift = delivery_.offset_ns() % step - delivery_.control()->epoch_ns % step;
  const Nanos past = ((now + kTogether) % step + shift + 2 * step) % step;
  return now + kTogether + step - past;
}

void Agent::on_timer(Nanos now) {
  if (phase_ == Phase::kRecovering || phase_ == Phase::kDone) return schedule(now);
  if (now >= next_drain_) drain(now);
  run_services(now);
  delivery_.on_timer(now);
  report_host(now);
  advance_life(now);
  schedule(now);
}

void Agent::on_readable(int fd, Nanos now) {
  if (fd == source_fd_) {
    take_from_source(now);
  } else if (fd == options_.terminate_fd) {
    network_->unwatch(fd);
    if (finish_at_ == 0) finish_at_ = now;
  } else if (options_.call_watch != nullptr && fd == options_.call_watch->fd()) {
    on_call(now);
  } else if (services_.on_readable(fd, now)) {
    return schedule(now);  // Its packets are sent with the next look at the rings.
  } else if (!host_watch_.on_readable(fd)) {
    process_gone(fd, now);
    if (auto report = comm_processes_.collect(fd, *network_)) {
      delivery_.send_up(*std::move(report));
    }
  }
  if (phase_ == Phase::kWatching || phase_ == Phase::kFinishing) next_drain_ = now;
  schedule(now);
}

// ---- end ----

Nanos Agent::patience_for_ends() const {
  return collector_.are_all_ending() ? options_.exit_patience : options_.finish_patience;
}

bool Agent::wants_to_end(Nanos now) const {
  const std::size_t living = collector_.living();
  if (finish_at_ != 0) return living == 0 || now >= finish_at_ + patience_for_ends();
  if (living != 0) return false;
  return now >= quiet_since_ + (processes_seen_ == 0 ? options_.first_linger : options_.linger);
}

void Agent::advance_life(Nanos now) {
  if (phase_ == Phase::kRecovering || phase_ == Phase::kDone) return;
  // A front end that has announced the end of the run does not come back.
  const Nanos patience = finish_at_ != 0 ? options_.finish_orphan_limit : options_.orphan_limit;
  const overlay::Uplink& uplink = delivery_.uplink();
  if (!uplink.link() && uplink.orphan_for(now) >= patience) return give_up("there is no front end");
  if (phase_ == Phase::kWatching && encoding_ && wants_to_end(now)) {
    // Processes that still run are counted now, so their counters must not change any more.
    if (finish_at_ != 0) collector_.stop_capture();
    phase_ = Phase::kFinishing;
    next_drain_ = now;
  } else if (phase_ == Phase::kFinishing && collector_.is_idle() && services_.finish(now)) {
    take_appended();
    phase_ = Phase::kClosing;
    source_.close();
    take_from_source(now);
  } else if (phase_ == Phase::kClosing && source_is_closed_) {
    deliver_last(now);
  } else if (phase_ == Phase::kDelivering && delivery_.is_done()) {
    end(0, "all is stored");
  }
}

// The folder is not needed any more. A job that starts while the last packets are delivered gets a
// new agent.
void Agent::on_source_closed(Nanos now) {
  if (phase_ != Phase::kClosing) return;
  source_is_closed_ = true;
  source_.remove_folder();
  deliver_last(now);
}

// If the journal is full, this is tried again after acknowledgements and from time to time.
void Agent::deliver_last(Nanos now) {
  if (!collector_.seal_last(now)) return;
  take_appended();
  phase_ = Phase::kDelivering;
  delivery_.send_due(now);
}

void Agent::on_source_open(Nanos now) {
  phase_ = Phase::kWatching;
  services_.resume();
  quiet_since_ = now;
  if (finish_at_ != 0) finish_at_ = now;  // A process that just registered also gets time to end.
  next_drain_ = now;
}

void Agent::give_up(const std::string& why) {
  std::uint64_t calls = 0;
  for (const PacketKey& key : journal_.keys()) {
    if (key.stream == wire::kWindowStream) calls += journal_.calls_in(key);
  }
  log(Level::kError, "the data that is left here is lost",
      {{"why", why},
       {"packets", journal_.keys().size()},
       {"calls", calls},
       {"processes", collector_.processes()}});
  end(kGaveUp, why);
}

void Agent::end(int code, const std::string& why) {
  phase_ = Phase::kDone;
  delivery_.end(why);
  source_.remove_folder();
  network_->stop(code);
}

void Agent::schedule(Nanos now) {
  if (phase_ == Phase::kRecovering || phase_ == Phase::kDone) return;
  const bool measures = encoding_ && phase_ == Phase::kWatching;
  const bool waits_for_ends = measures && finish_at_ != 0;
  const std::array dues = {next_drain_ == 0 ? now : next_drain_, delivery_.next_due(),
                           host_watch_.next_due(), measures ? services_.next_due() : 0,
                           waits_for_ends ? finish_at_ + patience_for_ends() : 0};
  Nanos first = dues[0];
  for (const Nanos due : dues) {
    if (due != 0) first = std::min(first, due);
  }
  Nanos next = std::max(first, now);
  if (first > now + kSoon) {
    for (const Nanos due : dues) {
      if (due <= first + kTogether) next = std::max(next, due);
    }
  }
  network_->set_timer(next);
}

}  // namespace xylem::backend
