#include "overlay/refusals.h"

#include "base/log.h"

namespace xylem::overlay {

void Refusals::add(const std::string& from, const std::string& why, Nanos now) {
  ++count_;
  if (!since_ || now >= *since_ + kInterval) {
    if (untold_ > 0) {
      tell(now);
    } else {
      reasons_.clear();
      since_ = now;
    }
  }
  if (reasons_.size() < kReasons && reasons_.insert(why).second) {
    log(Level::kWarn, "connection refused", {{"from", from}, {"why", why}});
  } else {
    ++untold_;
  }
}

std::optional<Nanos> Refusals::due() const {
  if (untold_ == 0) return std::nullopt;
  return *since_ + kInterval;
}

void Refusals::tell(Nanos now) {
  if (untold_ == 0) return;
  const Nanos within = (now - *since_ + kSecond - 1) / kSecond;
  log(Level::kWarn, "more connections refused", {{"count", untold_}, {"within_s", within}});
  untold_ = 0;
  since_ = now;
}

}  // namespace xylem::overlay
