#pragma once

// Journals the sums of the regions that programs have named (RegionTable in capture/core/ring.h).

#include <cstdint>

#include "backend/agent/drain.h"
#include "backend/agent/record_reader.h"
#include "backend/agent/registration_writer.h"
#include "backend/agent/watched_process.h"
#include "base/clock.h"
#include "wire/definitions.h"

namespace xylem::backend {

/// Announces the sums of a process every second while they change, and when it has ended. A region
/// that a thread is in counts up to now, with the call that it is in. While definitions fill a
/// quarter of the journal, sums of living processes wait. Not thread-safe. Borrows its arguments.
class RegionWriter {
 public:
  /// Time between two announcements of a living process.
  static constexpr Nanos kInterval = 1 * kSecond;

  RegionWriter(RegistrationWriter& registrations, const RecordReader& records,
               WatchedProcesses& processes)
      : registrations_(registrations), records_(records), processes_(processes) {}

  /// Call it in each drain after windows and chunks, and before an ended process is finished.
  /// Returns false when the journal is full.
  bool drain(Drain& drain);

 private:
  bool add_sums(const WatchedProcess& process, std::uint32_t ring, const Drain& drain,
                ToldRegions& into) const;

  RegistrationWriter& registrations_;
  const RecordReader& records_;
  WatchedProcesses& processes_;
};

}  // namespace xylem::backend
