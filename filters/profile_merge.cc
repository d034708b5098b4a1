#include "filters/profile_merge.h"

#include <algorithm>
#include <iterator>

#include "wire/message.h"

namespace xylem::filters {
namespace {

template <typename Row>
void append(std::vector<Row>& to, std::vector<Row>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Rows of one process keep the order in which their leaf wrote them.
template <typename Row>
void sort_by_process(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.leaf != b.leaf ? a.leaf < b.leaf : a.lane < b.lane;
  });
}

}  // namespace

wire::ProfileWindow merge_profile_windows(std::vector<wire::ProfileWindow> windows) {
  if (windows.empty()) return {};
  wire::ProfileWindow merged;
  merged.begin_ns = windows.front().begin_ns;
  merged.end_ns = windows.front().end_ns;
  for (wire::ProfileWindow& window : windows) {
    merged.begin_ns = std::min(merged.begin_ns, window.begin_ns);
    merged.end_ns = std::max(merged.end_ns, window.end_ns);
    append(merged.rows, window.rows);
    append(merged.matrix, window.matrix);
    append(merged.accounts, window.accounts);
    append(merged.waits, window.waits);
    append(merged.under_way, window.under_way);
    append(merged.earlier, window.earlier);
  }
  sort_by_process(merged.rows);
  sort_by_process(merged.matrix);
  sort_by_process(merged.accounts);
  sort_by_process(merged.waits);
  sort_by_process(merged.under_way);
  sort_by_process(merged.earlier);
  return merged;
}

bool merge_window_packets(const std::vector<wire::Packet>& packets, wire::Bytes& merged) {
  std::size_t bytes = 0;
  std::vector<wire::ProfileWindow> windows;
  for (const wire::Packet& packet : packets) {
    bytes += packet.payload.size();
    auto window = wire::decode_profile_window(packet.payload);
    if (!window) return false;
    windows.push_back(*std::move(window));
  }
  if (bytes > wire::kMaxFrameBytes / 2) return false;
  merged = wire::encode(merge_profile_windows(std::move(windows)));
  return true;
}

}  // namespace xylem::filters
