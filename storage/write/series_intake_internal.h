#pragma once

// The part of SqliteIntake that writes series of auxiliary services as rows.

#include <cstdint>
#include <string>
#include <vector>

#include "storage/sqlite_internal.h"
#include "storage/write/intake_internal.h"
#include "storage/write/range_ledger_internal.h"
#include "wire/series.h"

namespace xylem::storage {

/// Call the functions inside a transaction. The caller checks the connection's failure, as for
/// SqliteIntake. Called on the thread that calls the store.
class SeriesIntake {
 public:
  explicit SeriesIntake(Connection& connection);

  /// Stores the services of a registration. Storing the same services again changes nothing.
  void put_names(LeafId leaf, const wire::Registration& registration);

  /// Stores a sample of a service, or a tombstone for samples. A sample that cannot be read counts
  /// as lost.
  PutOutcome put(const wire::Packet& packet);

  /// Notes that these leaves have sent their last packet. So no sample of these leaves' services
  /// can arrive any more.
  void note_ended(const IntervalSet& leaves);

 private:
  std::int64_t service_of(LeafId leaf, Lane lane);
  void put_layout(const wire::SeriesLayout& layout);
  void put_sample(std::int64_t service, const wire::SeriesSample& sample);

  RangeLedger seen_;
  Statement find_, new_, name_, has_layout_, metric_, row_, stored_, lost_, given_up_, ended_;
};

}  // namespace xylem::storage
