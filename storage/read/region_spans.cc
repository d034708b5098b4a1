#include "storage/read/region_spans.h"

#include <utility>

namespace xylem::storage {

void RegionSpans::take(const wire::Event& event) {
  if (event.kind != wire::kKindRegion) return;
  RegionSpan span{event.thread, event.bytes, event.tag, {}, {}, event.site};
  Thread& thread = threads_[event.thread];
  if ((event.flags & wire::kEventPosts) != 0) {
    span.begin_ns = event.begin_ns;
    begin(thread, span);
  } else {
    span.end_ns = event.end_ns;
    end(thread, span);
  }
}

void RegionSpans::begin(Thread& thread, const RegionSpan& span) {
  if (span.depth < 0) {
    if (thread.level) ended_.push_back(*thread.level);
    thread.level = span;
    return;
  }
  // The thread was in fewer regions, so those that are as deep have ended.
  while (!thread.open.empty() && thread.open.back().depth >= span.depth) {
    ended_.push_back(thread.open.back());
    thread.open.pop_back();
  }
  thread.open.push_back(span);
}

void RegionSpans::end(Thread& thread, RegionSpan span) {
  std::optional<RegionSpan> begun;
  if (span.depth < 0) {
    begun = std::exchange(thread.level, std::nullopt);
  } else {
    while (!thread.open.empty() && thread.open.back().depth > span.depth) {
      ended_.push_back(thread.open.back());
      thread.open.pop_back();
    }
    if (!thread.open.empty() && thread.open.back().depth == span.depth) {
      begun = thread.open.back();
      thread.open.pop_back();
    }
  }
  if (begun && begun->region == span.region) {
    span.begin_ns = begun->begin_ns;
    span.site = begun->site;
  } else if (begun) {
    ended_.push_back(*begun);
  }
  ended_.push_back(span);
}

std::vector<RegionSpan> RegionSpans::take_ended() { return std::exchange(ended_, {}); }

std::vector<RegionSpan> RegionSpans::open() const {
  std::vector<RegionSpan> found;
  for (const auto& [number, thread] : threads_) {
    if (thread.level) found.push_back(*thread.level);
    found.insert(found.end(), thread.open.begin(), thread.open.end());
  }
  return found;
}

}  // namespace xylem::storage
