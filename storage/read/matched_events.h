#pragma once

// Reads a run's events and pairs its messages on the way.

#include <cstdint>

#include "storage/read/event_reader.h"
#include "storage/read/message_matcher.h"

namespace xylem::storage {

/// After this number of events, an analysis lets all processes promise their horizon.
constexpr std::uint64_t kEventsOfPromise = 1u << 16;

/// The events of ranks that are messages or collectives, start or complete an operation, or may
/// wait.
EventQuery events_of_interest();

/// A stream that also goes through a MessageMatcher. A message is paired when its second half has
/// been read, or later. The memory is that of the reader, and of the messages in flight. Borrows
/// both. Not thread-safe.
class MatchedEvents {
 public:
  /// Decodes the chunks of ranks that may have several threads, to learn whether they have. If the
  /// reader leaves out events, it must keep those that are messages or post a receive.
  MatchedEvents(EventReader& reader, MessageSink& sink);

  /// As EventReader::next(). The sink is called within. At the end it gets all halves that are
  /// left. The indexes of the halves are those of the reader's processes.
  bool next(EventReader::Item& item);

 private:
  EventReader& reader_;
  MessageMatcher matcher_;
  std::uint64_t events_ = 0;
  bool is_over_ = false;
};

}  // namespace xylem::storage
