#include "overlay/known_notices.h"

namespace xylem::overlay {

bool KnownNotices::add(const wire::Notice& notice) {
  if (notice.number == 0) return true;
  const auto [name, fresh] = names_.emplace(notice.host, notice.pid, notice.number);
  if (!fresh) return false;
  in_order_.push_back(name);
  if (in_order_.size() > kKnown) {
    names_.erase(in_order_.front());
    in_order_.pop_front();
  }
  return true;
}

}  // namespace xylem::overlay
