#pragma once

// Journals the sums of the regions that programs have named (RegionTable in capture/core/ring.h).

#include <vector>

#include "backend/agent/drain.h"
#include "backend/agent/record_reader.h"
#include "backend/agent/registration_writer.h"
#include "backend/agent/watched_process.h"
#include "base/clock.h"
#include "wire/definitions.h"

namespace xylem::backend {

/// Announces the sums of a process every second while they change, and when it has ended. A region
/// that a thread is in counts up to now, with the call that it is in. Not thread-safe. Borrows its
/// arguments.
class RegionWriter {
 public:
  /// Time between two announcements of a living process.
  static constexpr Nanos kInterval = 1 * kSecond;

  RegionWriter(RegistrationWriter& registrations, const RecordReader& records,
               WatchedProcesses& processes)
      : registrations_(registrations), records_(records), processes_(processes) {}

  /// Call it in each drain after RegistrationWriter::announce(), and before an ended process is
  /// finished. Returns false when the journal is full.
  bool drain(Drain& drain);

 private:
  std::vector<wire::RegionSumRow> sums_of(const WatchedProcess& process, std::uint32_t ring,
                                          const Drain& drain) const;

  RegistrationWriter& registrations_;
  const RecordReader& records_;
  WatchedProcesses& processes_;
};

}  // namespace xylem::backend
