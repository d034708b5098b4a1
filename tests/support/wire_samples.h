#pragma once

// One value of each message and payload, with every field set to something of its own. The golden
// frames are their bytes, the fuzzers start from them. A value here never changes: what a later
// version adds gets a sample of its own beside it.

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
  std::string name;  ///< That of its golden file.
  Message message;
};

/// Each alternative of Message but Unknown, in its order.
std::vector<NamedMessage> sample_messages();

Registration sample_registration();
Registration sample_registration_of_services();
SeriesSample sample_series();
Tombstone sample_tombstone();
Tombstone sample_tombstone_of_window();
ProfileWindow sample_window();
std::vector<Event> sample_events();
/// Three waves; the first has a field of every type, the second none.
std::vector<Fields> sample_waves();

}  // namespace xylem::wire::testing
