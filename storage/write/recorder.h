#pragma once

// Writes the front end's data to a store in batches, without making the front end wait: a disk that
// stalls for seconds must not stop heartbeats.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/interval_set.h"
#include "base/result.h"
#include "storage/write/store.h"
#include "wire/message.h"
#include "wire/packet.h"

namespace xylem::storage {

/// How a link did at `at_ns` of the run.
struct LinkRow {
  wire::LinkReport report;
  Nanos at_ns = 0;
};

/// See Store::put_host_facts.
struct HostFactsRow {
  wire::HostFacts host;
  Nanos at_ns = 0;
};

/// See Store::put_notice.
struct NoticeRow {
  wire::Notice notice;
  Nanos at_ns = 0;
};

/// See Store::put_host_lost.
struct HostLost {
  LeafId leaf{};
  std::string reason;
};

using Row =
    std::variant<wire::Packet, NodeRow, ClockRow, LinkRow, NoticeRow, HostFactsRow, HostLost>;

struct RunEnd {
  int exit_code = -1;
  Nanos realtime_ns = 0;
};

/// Rows that become visible together, or not at all.
struct Batch {
  std::vector<Row> rows;  ///< In the order in which they are put.
  Nanos at_ns = 0;        ///< The run's time for rows without their own.
  /// It has only rows that must be stored even on a full disk, no data: see Store::prepare_to_end.
  bool gives_up = false;
  std::optional<RunEnd> end;  ///< With the last batch.
};

/// The outcome of a batch.
struct Recorded {
  /// Packets to acknowledge: committed, or known before. Empty if the commit failed.
  std::vector<wire::PacketId> stored;
  /// The parts of merged packets that are new, while others of the same packet were not.
  std::vector<wire::PacketId> missing;
  /// Leaves whose last window is committed.
  IntervalSet ended;
  /// Invalid packets, a sentence each: neither stored nor acknowledged.
  std::vector<std::string> refused;
  /// Why nothing of the batch was stored.
  std::optional<Error> failure;
  /// After a failure: the batch, to be recorded again. Empty for the last one.
  Batch batch;
  /// Of the last batch: from committed data, or, when one that gives up could not be stored, what
  /// it would be then.
  std::vector<AccountLine> account;
  bool account_is_stored = true;
  /// Of the last batch: the run's end could not be written.
  std::optional<Error> end_failure;
};

/// Puts a batch, commits, and, for the last one, ends the run and reads the account. On the calling
/// thread.
Recorded record_now(Store& store, Batch batch);

/// Records one batch after the other. Called from one thread.
class Recorder {
 public:
  virtual ~Recorder() = default;

  /// Returns at once. Call it only when no batch is under way, after take() of the previous one.
  virtual void record(Batch batch) = 0;
  /// The outcome of the batch, once, when it is there.
  virtual std::optional<Recorded> take() = 0;
  /// Readable while take() has something; -1 when it has at once after record().
  virtual int fd() const = 0;
};

/// Works on its own thread. Until the recorder is destroyed, only that thread may call the store.
/// The destructor waits for the batch under way. `store` is borrowed. Fails with kExhausted when
/// the system gives no thread or descriptor.
Result<std::unique_ptr<Recorder>> make_thread_recorder(Store& store);

/// Works within record(): for a simulation, and for tests. `store` is borrowed.
std::unique_ptr<Recorder> make_direct_recorder(Store& store);

}  // namespace xylem::storage
