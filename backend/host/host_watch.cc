#include "backend/host/host_watch.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace xylem::backend {

using placement::Fact;

HostWatch::HostWatch(HostWatchOptions options)
    : options_(std::move(options)), meter_(options_.root) {}

void HostWatch::meet_front_end(Nanos now) {
  front_end_is_new_ = true;
  if (interval_ > 0 && at_once_) report_at(now + options_.first_interval, true);
}

void HostWatch::configure(const wire::Control& control, Nanos now) {
  const bool begins = interval_ == 0 && control.facts_ns > 0;
  interval_ = control.facts_ns;
  at_once_ = control.facts_at_once;
  if (interval_ == 0) {
    is_measuring_ = false;
    return;
  }
  const bool hurries = at_once_ && std::exchange(front_end_is_new_, false);
  if (hurries) {
    report_at(now + options_.first_interval, true);
  } else if (begins) {
    report_at(now + std::min(options_.unhurried, interval_), false);
  }
}

// The present interval continues: a longer interval gives a better value.
void HostWatch::report_at(Nanos when, bool is_awaited) {
  is_awaited_ = is_awaited;
  has_looked_ = false;
  next_report_ = when;
  next_look_ = when - options_.first_interval;
}

void HostWatch::note_round_trip(Nanos round_trip) {
  if (round_trip > 0) round_trip_ = round_trip;
}

bool HostWatch::on_readable(int fd) {
  if (fd < 0 || fd != core_count_.fd()) return false;
  network_->unwatch(fd);
  if (const auto cores = core_count_.collect()) meter_.set_cores(*cores);
  return true;
}

void HostWatch::begin(Nanos now) {
  is_measuring_ = true;
  meter_.begin(now);
  if (std::exchange(has_counted_, true)) return;
  if (auto started = core_count_.start(); !started) {
    log(Level::kWarn, started.error().message);
    return;
  }
  network_->watch(core_count_.fd());
}

std::optional<wire::HostFacts> HostWatch::on_timer(LeafId leaf, Nanos now) {
  if (interval_ == 0 || now < next_look_) return std::nullopt;
  if (!is_measuring_) begin(now);
  meter_.look();
  has_looked_ = true;
  next_look_ = now + options_.look_interval;
  if (now < next_report_) return std::nullopt;
  const bool is_counting = core_count_.fd() >= 0 && now < next_report_ + options_.count_patience;
  if (leaf == wire::kNoLeaf || is_counting) return std::nullopt;
  report_at(now + interval_, false);
  return facts(leaf, now);
}

Nanos HostWatch::next_due() const {
  if (interval_ == 0) return 0;
  return is_awaited_ || !has_looked_ ? next_look_ : std::max(next_look_, next_report_);
}

wire::HostFacts HostWatch::facts(LeafId leaf, Nanos now) {
  placement::FactValues known = meter_.read(now);
  meter_.begin(now);
  if (const auto rate = options_.network_rate()) known.set(Fact::kNetwork, *rate);
  if (round_trip_ > 0) known.set(Fact::kRoundTrip, static_cast<double>(round_trip_) / 1e3);
  wire::HostFacts told;
  told.leaf = leaf;
  for (const Fact fact : placement::kAllFacts) {
    if (const auto value = known[fact]) {
      told.facts.push_back({std::string(placement::to_text(fact)), *value});
    }
  }
  return told;
}

}  // namespace xylem::backend
