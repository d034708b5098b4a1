#include "storage/read/matched_events.h"

namespace xylem::storage {
namespace {

bool is_of_interest(const wire::Event& event, CallRole role) {
  constexpr std::uint16_t kFlags = wire::kEventSend | wire::kEventReceive | wire::kEventNumbered |
                                   wire::kEventPosts | wire::kEventCompletes |
                                   wire::kEventCollective;
  return (event.flags & kFlags) != 0 || may_wait(role) || role == CallRole::kPost ||
         role == CallRole::kFree;
}

}  // namespace

EventQuery events_of_interest() {
  EventQuery query;
  query.only_ranks = true;
  query.takes = is_of_interest;
  return query;
}

MatchedEvents::MatchedEvents(EventReader& reader, MessageSink& sink)
    : reader_(reader), matcher_(sink) {
  for (const EventReader::Process& process : reader.processes()) {
    // A process without a rank has a place in the matcher, but its events never get there.
    const ProcessIndex index = matcher_.add_process(process.world.value_or(WorldId{0xffffffff}),
                                                    process.rank.value_or(Rank{0xffffffff}));
    if (process.has_one_thread || reader.survey(index).has_one_thread) continue;
    matcher_.expect_threads(index);
  }
}

bool MatchedEvents::next(EventReader::Item& item) {
  if (!reader_.next(item)) {
    if (!is_over_) matcher_.finish();
    is_over_ = true;
    return false;
  }
  if (reader_.processes()[raw(item.process)].rank) {
    const CallRole role = reader_.functions()[raw(item.function)].role;
    matcher_.add(item.process, *item.event, role == CallRole::kPost);
  }
  if (++events_ % kEventsOfPromise == 0) {
    for (std::uint32_t i = 0; i < reader_.processes().size(); ++i) {
      matcher_.promise(ProcessIndex{i}, reader_.horizon(ProcessIndex{i}));
    }
  }
  return true;
}

}  // namespace xylem::storage
