#pragma once

// Values of each message and payload. The golden frames are the encoded values, and the fuzzers
// start from them. A value here never changes. A later version adds further samples for the fields
// that it adds.

#include <string>
#include <vector>

#include "wire/chunk.h"
#include "wire/fields.h"
#include "wire/message.h"
#include "wire/profile.h"
#include "wire/registration.h"
#include "wire/tombstone.h"

namespace xylem::wire::testing {

struct NamedMessage {
  std::string name;  ///< Name of the golden file.
  Message message;
};

/// Returns at least one value for each alternative of Message except Unknown.
std::vector<NamedMessage> sample_messages();

Registration sample_registration();
Registration sample_registration_of_definitions();
Registration sample_registration_of_processors();
Registration sample_registration_of_threads();
Registration sample_registration_of_services();
SeriesSample sample_series();
Tombstone sample_tombstone();
Tombstone sample_tombstone_of_window();
ProfileWindow sample_window();
ProfileWindow sample_window_of_calls_under_way();
std::vector<Event> sample_events();
/// Returns three waves. The first has a field of every type, the second has no fields.
std::vector<Fields> sample_waves();

}  // namespace xylem::wire::testing
