#pragma once

// Writes the front end's data to a store in batches. The front end does not wait for the store,
// because a disk that is blocked for seconds must not stop heartbeats.

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

/// State of a link at `at_ns` of the run; see Store::put_link().
struct LinkRow {
  wire::LinkReport report;
  Nanos at_ns = 0;
};

/// Arguments of Store::put_host_facts().
struct HostFactsRow {
  wire::HostFacts host;
  Nanos at_ns = 0;
};

/// Arguments of Store::put_notice().
struct NoticeRow {
  wire::Notice notice;
  Nanos at_ns = 0;
};

/// Arguments of Store::put_host_lost().
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
  Nanos at_ns = 0;        ///< The run's time for rows that have no time of their own.
  /// True if the batch has no data, only rows that must be stored even if the disk is full (see
  /// Store::prepare_to_end()).
  bool gives_up = false;
  std::optional<RunEnd> end;  ///< Set only in the last batch.
};

/// The outcome of a batch.
struct Recorded {
  /// Packets to acknowledge: they are committed now, or were stored before. Empty if the commit
  /// failed.
  std::vector<wire::PacketId> stored;
  /// Contributions that leaves must send again. They were in packets of which a part was already
  /// stored, so the whole packets were dropped.
  std::vector<wire::PacketId> missing;
  /// Leaves whose last packet is committed.
  IntervalSet ended;
  /// One error message for each invalid packet. Invalid packets are neither stored nor
  /// acknowledged.
  std::vector<std::string> refused;
  /// The reason why nothing of the batch was stored; nullopt if the batch was stored.
  std::optional<Error> failure;
  /// After a failure: the batch, so that it can be recorded again. Empty if it was the last batch.
  Batch batch;
  /// Set only for the last batch: the account of committed data. If the last batch has `gives_up`
  /// and its commit failed, the account also includes this batch.
  std::vector<AccountLine> account;
  bool account_is_stored = true;
  /// The reason why the run's end could not be written. Set only for the last batch.
  std::optional<Error> end_failure;
};

/// Puts a batch into `store` and commits it. For the last batch, also ends the run and reads the
/// account. Runs on the calling thread.
Recorded record_now(Store& store, Batch batch);

/// Records one batch after another. Called from one thread. No function fails: Recorded has the
/// failures of the store.
class Recorder {
 public:
  virtual ~Recorder() = default;

  /// Does not wait for the store, except in a direct recorder. Call it only if no batch is in
  /// progress and take() has returned the previous outcome.
  virtual void record(Batch batch) = 0;
  /// Returns the outcome of the batch, once; nullopt while it is not ready.
  virtual std::optional<Recorded> take() = 0;
  /// Returns a descriptor that is readable while take() has an outcome. Returns -1 if the outcome
  /// is always ready when record() returns.
  virtual int fd() const = 0;
};

/// Starts a thread that records. Until the recorder is destroyed, only this thread may call the
/// store. The destructor waits for the batch in progress. `store` is borrowed. Fails with
/// kExhausted if the system has no thread or descriptor left.
Result<std::unique_ptr<Recorder>> make_thread_recorder(Store& store);

/// Makes a recorder for simulations and tests: record() does all the work before it returns.
/// `store` is borrowed.
std::unique_ptr<Recorder> make_direct_recorder(Store& store);

}  // namespace xylem::storage
