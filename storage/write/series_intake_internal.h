#pragma once

// Series of auxiliary services as rows; the part of SqliteIntake that knows them.

#include <cstdint>
#include <string>
#include <vector>

#include "storage/sqlite_internal.h"
#include "storage/write/intake_internal.h"
#include "storage/write/range_ledger_internal.h"
#include "wire/series.h"

namespace xylem::storage {

/// As SqliteIntake: inside a transaction of the caller, who looks at the connection's failure.
class SeriesIntake {
 public:
  explicit SeriesIntake(Connection& connection);

  /// What a registration says of services: state, told again it changes nothing.
  void put_names(LeafId leaf, const wire::Registration& registration);

  /// A sample of a service, or a tombstone for some. A sample that cannot be read counts as lost.
  PutOutcome put(const wire::Packet& packet);

  /// The leaves have sent their last: nothing of their services is on its way.
  void note_ended(const IntervalSet& leaves);

 private:
  std::int64_t service_of(LeafId leaf, Lane lane);
  void put_layout(const wire::SeriesLayout& layout);
  void put_sample(std::int64_t service, const wire::SeriesSample& sample);

  RangeLedger seen_;
  Statement find_, new_, name_, has_layout_, metric_, row_, stored_, lost_, given_up_, ended_;
};

}  // namespace xylem::storage
