#pragma once

// The front end's interface to the store of a run. Tests use a store in memory; other stores can be
// added.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "base/result.h"
#include "storage/account_line.h"
#include "storage/alert/alert_rules.h"
#include "wire/fields.h"
#include "wire/message.h"
#include "wire/packet.h"
#include "wire/registration.h"

namespace xylem::storage {

/// A stream that the run's configuration names.
struct StreamFacts {
  StreamId id{};  ///< At least wire::kFirstStoredStream.
  std::string name, aggregation, synchronisation;
};

/// Merges waves of the run's streams. The caller provides it, because the store does not know
/// filters. The functions are called on the thread that calls the store.
class StreamFold {
 public:
  virtual ~StreamFold() = default;
  /// Returns true if the waves of this stream are merged; false if the waves of each leaf are
  /// stored separately.
  virtual bool merges(StreamId stream) const = 0;
  /// Merges `other` into `state`. The two have no leaf in common. Returns false if `state` and
  /// `other` do not match; then `state` is unusable.
  virtual bool merge(StreamId stream, wire::Fields& state, const wire::Fields& other) const = 0;
  /// Returns the result of a state, for people; nullopt if `state` is not a valid state.
  virtual std::optional<wire::Fields> finish(StreamId stream, const wire::Fields& state) const = 0;
};

/// The facts about a run at its start.
struct RunFacts {
  std::string run_id;
  std::vector<std::string> command;
  std::string directory;
  std::string user;
  std::string host;     ///< The front end's host.
  std::string version;  ///< Version of xylem.
  std::string options;  ///< The configuration, in the form of `--print-config`.
  Nanos started_realtime_ns = 0;
  Nanos window_ns = 0;
  bool chunks = false;  ///< True with `--detail trace`.
  Nanos epoch_ns = 0;  ///< Start of the run's time, on the monotonic clock of the front end's host.
  std::vector<StreamFacts> streams{};
};

/// The state of a node of the overlay. A later row replaces an earlier row of the same node.
struct NodeRow {
  NodeId id{};
  wire::Role role = wire::Role::kBackEnd;  ///< kProgram for a program that sends on streams.
  std::string host;
  NodeId parent{};          ///< kFrontEndNode for the front end itself.
  std::uint32_t level = 0;  ///< Level in the tree; the front end has level 0.
  std::uint32_t pid = 0;
  LeafId leaf = wire::kNoLeaf;
  std::string state;          ///< "starting", "started", "attached", "left", "lost"
  std::string host_key = {};  ///< Distinguishes hosts with the same name.
  /// Addresses on which the node listens. Only a successor of the front end uses them.
  std::vector<wire::Address> addresses = {};
  Nanos at_ns = 0;  ///< Time when this state began, in the run's time.
  /// The reason why a communication process was placed on this host, in one clause. Empty: unknown,
  /// or the node is not a communication process.
  std::string reason = {};
  bool operator==(const NodeRow&) const = default;
};

/// A process that a leaf has reported. `leaf` and `lane` are always known. The other fields are
/// known only if `initialised` is true.
struct PastProcess {
  LeafId leaf{};
  Lane lane{};
  bool initialised = false;
  wire::WorldKey world_key{};
  std::uint32_t world_size = 0;
  Rank rank{};
  bool operator==(const PastProcess&) const = default;
};

/// The state of the run so far, for a successor of the front end.
struct Past {
  /// Number of front ends that have opened the store, including this one.
  std::uint64_t front_ends = 1;
  Nanos epoch_ns = 0;                  ///< As in RunFacts.
  std::vector<NodeRow> nodes;          ///< In the order of ids.
  std::vector<PastProcess> processes;  ///< In the order of leaf and lane.
  IntervalSet ended;                   ///< Leaves whose last packet is stored.
};

/// The offset between the clock of a host and the clock of the front end.
struct ClockRow {
  LeafId leaf{};
  Nanos at_ns = 0;      ///< Since the run's epoch.
  Nanos offset_ns = 0;  ///< Time of the host's clock + offset = time of the front end's clock.
  Nanos error_ns = 0;   ///< Maximum error of the offset.
};

/// The outcome of a packet. It is valid only if the next commit succeeds.
struct PutOutcome {
  enum class Kind {
    kStored,     ///< All sources were new.
    kDuplicate,  ///< All sources were known. The packet is dropped but must be acknowledged.
    /// The packet is dropped. Each leaf in `missing` must resend its contribution, marked `alone`.
    kPartlyKnown,
  };
  Kind kind = Kind::kStored;
  IntervalSet missing;
  /// Set only for a packet of one of the run's streams, and only if its waves have different
  /// outcomes. `settled` has the parts to acknowledge; `again` has the parts to resend, marked
  /// `alone`. If both lists are empty, `kind` applies to the whole packet.
  std::vector<wire::PacketId> settled{}, again{};
};

/// A run's store. Only one thread at a time may call it. Call begin_run() once, then the put
/// functions and commit() any number of times, then end_run() once. At a commit, all data put so
/// far becomes visible together. Committed data outlives this process.
///
/// If a commit fails, everything since the last successful commit is undone, also in the store's
/// memory. The store stays usable, and the same packets may be put again later.
///
/// If a put fails with kInvalidArgument, only its packet is refused. Any other failure of a put
/// immediately undoes everything since the last commit. Then all puts fail in the same way until
/// commit() is called, and commit() returns the failure. The codes are those of commit(). So a
/// caller that acknowledges only after a successful commit never acknowledges undone data.
class Store {
 public:
  virtual ~Store() = default;

  /// Writes the run's facts and commits. Fails like commit().
  virtual Result<void> begin_run(const RunFacts& facts) = 0;

  /// Sets the run's time for later data that has no time of its own.
  virtual void set_time(Nanos /*at_ns*/) {}

  /// Stores a packet of the monitor's streams, or of a stream that the run's configuration names.
  /// The monitor's streams have registrations, windows, chunks, series and stream accounts. The
  /// packet may be a tombstone.
  ///
  /// The sources stored so far decide whether the packet is new. Registrations and stream accounts
  /// are always taken. Only the root calls put(), so duplicates are found only here. A payload that
  /// cannot be decoded is stored as a loss with its reason; a stream account that cannot be decoded
  /// is ignored.
  ///
  /// Fails with kInvalidArgument for an unknown stream or an invalid identity. A refused packet
  /// must never be acknowledged, and must not be put again. All other failures are failures of the
  /// store.
  virtual Result<PutOutcome> put(const wire::Packet& packet) = 0;

  /// Stores a node's row. Changes of state, parent and level are also kept as history.
  virtual Result<void> put_node(const NodeRow& node) = 0;
  virtual Result<void> put_clock(const ClockRow& clock) = 0;
  /// Stores a node's newest report. Earlier reports are kept as history, at most 100 per second
  /// over all nodes.
  virtual Result<void> put_link(const wire::LinkReport& report, Nanos at_ns) = 0;

  /// Stores measurements of a host as rows of the table `host_value`. The host's back end made them
  /// at `at_ns` of the run's time.
  virtual Result<void> put_host_facts(const wire::HostFacts& host, Nanos at_ns) = 0;

  /// Stores a warning or an error that a process of the tree logged at `at_ns` of the run's time.
  virtual Result<void> put_notice(const wire::Notice& notice, Nanos at_ns) = 0;

  /// Notes that a leaf is silent and has not sent its last packet. If the leaf is a host's agent,
  /// the accounts of its ranks stay incomplete, and the view `loss` has the reason. If the leaf is
  /// a program, nothing is written: its stream accounts stay incomplete because put_node() has
  /// stored its state. If `reason` is empty, the leaf has reported again, and the loss is undone.
  /// end_run() makes the loss final.
  virtual Result<void> put_host_lost(LeafId leaf, const std::string& reason) = 0;

  /// Returns the number of bytes put since the last commit. The caller uses it to decide when to
  /// commit.
  virtual std::size_t pending_bytes() const = 0;

  /// Makes everything put so far visible. Committed data outlives all processes. But it reaches the
  /// disk only when the log is folded into the file. Before that, a power failure of the host can
  /// lose it.
  ///
  /// Fails with kExhausted if the disk is full, and with kUnavailable if the store cannot be
  /// written now. Fails with kSuperseded if another front end has opened the run; then this front
  /// end cannot store anything any more. Other failures are kCorrupt, kPermissionDenied and
  /// kInternal.
  virtual Result<void> commit() = 0;

  /// From now on, put only tombstones, the state of the tree, and the run's end. For these the
  /// store may use the disk space that it has reserved. end_run() calls this function too.
  virtual void prepare_to_end() {}

  /// Returns the file that is being written. Readers on this host should open it. On a network file
  /// system it is not the requested file (see SqliteOptions::pretend_file_system). Empty for a
  /// store without a file.
  virtual std::string live_path() const { return {}; }

  /// Writes the end of the run and commits. `exit_code` is the exit code of `xylem run`; -1 if
  /// unknown.
  ///
  /// Also closes the accounts of lost hosts and lost programs. A lost host may have reported calls,
  /// events, samples and waves that are not stored. A lost program may have reported such waves.
  /// This data now counts as lost. So captured = stored + lost is true for them too.
  ///
  /// If earlier data cannot be committed, the end is still written, and the failure is returned.
  /// Nothing may be put after end_run().
  virtual Result<void> end_run(int exit_code, Nanos ended_realtime_ns) = 0;

  /// Returns the account of committed data, with one line for each world and rank. `stored` is
  /// counted, never computed from `captured` and `lost`. Fails with the codes of commit().
  virtual Result<std::vector<AccountLine>> account() = 0;
  /// Like account(), but includes the data put since the last commit. Fails like account().
  virtual Result<std::vector<AccountLine>> pending_account() = 0;
};

/// Makes a store in memory for tests. It makes the same decisions as the real store.
std::unique_ptr<Store> make_memory_store();

/// The data that memory stores have committed. Like a file, it outlives the stores. Not
/// thread-safe.
class MemoryRun {
 public:
  /// If `checks_epoch` is false, a superseded store can still commit. This is a deliberate error: a
  /// test uses it to prove that the tree's model detects the error.
  explicit MemoryRun(bool checks_epoch = true);
  ~MemoryRun();
  MemoryRun(const MemoryRun&) = delete;
  MemoryRun& operator=(const MemoryRun&) = delete;

 private:
  friend class MemoryStore;
  struct State;
  std::unique_ptr<State> committed_;
  std::uint64_t front_ends_ = 0;
  bool checks_epoch_;
};

/// A store, and the state of the run before the store was opened.
struct ResumedStore {
  std::unique_ptr<Store> store;
  Past past;
};

/// Opens the run. From now on all commits of earlier stores of `run` fail with kSuperseded. `run`
/// is borrowed.
ResumedStore open_memory_store(MemoryRun& run);

/// Called for each new alert, once, after the alert is committed. Called on the thread that calls
/// the store, inside commit() or end_run(). It must return soon, and must not call the store.
using AlertListener = std::function<void(const Alert&)>;

/// Options for a new run's file.
struct SqliteOptions {
  std::string path;
  /// True to replace an existing run. If false, an existing file is refused.
  bool overwrite = false;
  /// For tests: a file system type to use instead of the result of statfs(); 0: use statfs().
  /// SQLite's write-ahead log cannot work on a network file system. There the live file is kept in
  /// $TMPDIR or /tmp, and is copied to `path` each minute and at the end.
  long pretend_file_system = 0;
  AlertLimits alerts = {};  ///< Thresholds of alerts.
  AlertListener on_alert{};
  /// Merges waves of the run's streams. If null, the waves of each leaf are kept separately. The
  /// pointer is shared because options are copied.
  std::shared_ptr<const StreamFold> fold{};
  /// Size limit of the write-ahead log. A larger log is folded into the file as soon as no reader
  /// uses an old state of the file. While a reader prevents this, the log grows, and one warning is
  /// logged.
  std::uint64_t log_bytes = 64u << 20;
};

/// Makes the file, with mode 0600 and a write-ahead log, and its tables (docs/storage-schema.md).
/// Fails with kAlreadyExists, kPermissionDenied, kNotFound, kExhausted, kUnavailable,
/// kInvalidArgument or kInternal. The message names the path.
Result<std::unique_ptr<Store>> make_sqlite_store(const SqliteOptions& options);

/// The file that a successor of the front end continues.
struct ResumeOptions {
  std::string path;  ///< As in SqliteOptions.
  /// live_path() of the former store. If this file no longer exists but `path` does, the former
  /// store was complete. Then the successor continues with `path`.
  std::string live_path;
  std::string run_id;                        ///< As in RunFacts.
  AlertLimits alerts = {};                   ///< As in SqliteOptions.
  std::shared_ptr<const StreamFold> fold{};  ///< As in SqliteOptions.
  AlertListener on_alert{};                  ///< As in SqliteOptions.
};

/// Continues the run of a front end that is dead or counts as dead. From now on each commit of the
/// former store fails with kSuperseded. Do not call begin_run() again. Commits and counts continue
/// as if there were only one store, even after end_run() of the former store.
///
/// Fails with kNotFound, kPermissionDenied, kExhausted or kInternal. Fails with kUnavailable if the
/// file cannot be used now, for example while the former front end hangs in a commit; try again
/// later. Fails with kInvalidArgument if the file belongs to another run, is not a run of xylem, or
/// was written by a newer xylem. Fails with kCorrupt if its contents are invalid.
Result<ResumedStore> resume_sqlite_store(const ResumeOptions& options);

}  // namespace xylem::storage
