// The store in a SQLite file: one transaction from the first put after a commit to the next commit.
//
// With WAL and synchronous=NORMAL, the file is consistent after any crash. Committed data is lost
// only if the machine itself stops: then the last commits are missing, and the leaves have already
// dropped this data. `cache_spill` is off: nothing is written to the disk before the commit, so a
// full disk is noticed only there, where it can be undone.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/quoted.h"
#include "storage/schema_internal.h"
#include "storage/sqlite_internal.h"
#include "storage/write/mirror_internal.h"
#include "storage/write/sqlite_intake_internal.h"
#include "storage/write/store.h"
#include "storage/write/store_file_internal.h"
#include "storage/write/succession_internal.h"
#include "storage/write/tree_intake_internal.h"
#include "storage/write/write_ahead_log_internal.h"

namespace xylem::storage {
namespace {

/// Enough for the last windows, tombstones and the end of a run of thousands of ranks.
constexpr std::size_t kReserveBytes = 2u << 20;
constexpr Nanos kSumUpPause = 30 * kSecond;
/// Maximum time for summaries at the end of a run, which a front end of an older version may have
/// left.
constexpr Nanos kSumUpPatience = 5 * kSecond;
constexpr Nanos kMirrorEvery = 60 * kSecond;
constexpr Nanos kMirrorSlice = 50 * kMillisecond;
constexpr Nanos kMirrorAtOnce = 3600 * kSecond;
static_assert(kApplicationId == 0x78796c6d && kBusyPatienceMs == 2000, "kSettings names them");

/// Pages are larger than the default, so a chunk of 24 KB takes two pages instead of six. The
/// application id is written to the file before there is a log, so claim_file recognises the file
/// after any crash.
constexpr const char* kSettings =
    "PRAGMA page_size = 16384; PRAGMA application_id = 0x78796c6d;"
    "PRAGMA busy_timeout = 2000; PRAGMA cache_spill = OFF; PRAGMA cache_size = -16384;"
    "PRAGMA journal_size_limit = 67108864;"
    "PRAGMA foreign_keys = OFF; PRAGMA trusted_schema = OFF";

/// Makes tombstones without a wave for reported data of lost hosts and programs that is not stored.
/// A host may have stored more events than it had reported, because a report comes after its
/// chunks. If a successor runs this again, the tombstones are computed again.
constexpr const char* kCloseLostHosts = R"sql(
DELETE FROM given_up WHERE wave IS NULL;
UPDATE process SET closed_calls = 0, closed_events = 0, closed_event_calls = 0;
UPDATE service SET closed = 0;
UPDATE service SET closed = max(0, captured - stored - lost)
  WHERE leaf IN (SELECT leaf FROM host WHERE lost_reason IS NOT NULL);
UPDATE process SET events = max(events, stored_events + given_up_events),
  event_calls = max(event_calls, stored_event_calls + given_up_event_calls)
  WHERE leaf IN (SELECT leaf FROM host WHERE lost_reason IS NOT NULL);
UPDATE process SET closed_calls = max(0, captured - stored_calls - given_up_calls - ring_lost),
  closed_events = events - stored_events - given_up_events,
  closed_event_calls = event_calls - stored_event_calls - given_up_event_calls
  WHERE leaf IN (SELECT leaf FROM host WHERE lost_reason IS NOT NULL);
INSERT INTO given_up(stream, sources, leaf, process, calls, reason)
  SELECT 2, h.leaf, h.leaf, NULL, sum(p.closed_calls) - h.given_up_calls, h.lost_reason
  FROM process p JOIN host h ON h.leaf = p.leaf GROUP BY h.leaf
  HAVING sum(p.closed_calls) > h.given_up_calls
  UNION ALL
  SELECT 3, p.leaf, p.leaf, p.id, p.closed_event_calls, h.lost_reason
  FROM process p JOIN host h ON h.leaf = p.leaf WHERE p.closed_events > 0;
UPDATE stream_leaf SET closed = 0;
UPDATE stream_leaf SET closed = max(0, sent - stored - lost)
  WHERE leaf IN (SELECT leaf FROM host WHERE lost_reason IS NOT NULL
                 UNION SELECT leaf FROM node WHERE role = 'program' AND state = 'lost');
INSERT INTO given_up(stream, sources, leaf, service, calls, reason)
  SELECT 4, v.leaf, v.leaf, v.id, v.closed, h.lost_reason
  FROM service v JOIN host h ON h.leaf = v.leaf WHERE v.closed > 0;
)sql";

class SqliteStore final : public Store {
 public:
  /// The file and SQLite's connection to it. The connection is closed before the file's lock goes.
  struct Parts {
    StorePlace place;
    Connection connection;
    std::shared_ptr<const StreamFold> fold;  // Shared, see SqliteOptions::fold.
    std::uint64_t log_bytes = SqliteOptions{}.log_bytes;
  };

  /// `front_ends` is 0 before there is a run in the file.
  explicit SqliteStore(std::unique_ptr<Parts> parts, std::uint64_t front_ends = 0)
      : parts_(std::move(parts)),
        connection_(parts_->connection),
        intake_(connection_, parts_->fold),
        log_(connection_, place().live.path, place().target, parts_->log_bytes),
        front_ends_(front_ends) {
    if (place().is_elsewhere()) mirror_.emplace(connection_, place().target);
    reserve_.take(place().live.path, kReserveBytes);
  }
  ~SqliteStore() override;

  /// The failure, if a statement could not be prepared.
  Result<void> ready() { return connection_.take(); }
  /// Call it before the file is removed: then the destructor makes no copy.
  void abandon() { mirror_.reset(); }
  /// Starts the alerts with these limits. Call it before the first put.
  void watch(const AlertLimits& limits, AlertListener listener) {
    intake_.alerts().begin(limits);
    listener_ = std::move(listener);
  }

  Result<void> begin_run(const RunFacts& facts) override;
  void set_time(Nanos at_ns) override { intake_.streams().set_time(at_ns); }
  Result<PutOutcome> put(const wire::Packet& packet) override;
  Result<void> put_node(const NodeRow& node) override;
  Result<void> put_clock(const ClockRow& clock) override;
  Result<void> put_link(const wire::LinkReport& report, Nanos at_ns) override;
  Result<void> put_host_facts(const wire::HostFacts& host, Nanos at_ns) override;
  Result<void> put_notice(const wire::Notice& notice, Nanos at_ns) override;
  Result<void> put_host_lost(LeafId leaf, const std::string& reason) override;
  std::size_t pending_bytes() const override { return pending_bytes_; }
  Result<void> commit() override;
  void prepare_to_end() override;
  std::string live_path() const override { return place().live.path; }
  Result<void> end_run(int exit_code, Nanos ended_realtime_ns) override;
  Result<std::vector<AccountLine>> account() override;
  Result<std::vector<AccountLine>> pending_account() override { return account_by(connection_); }

 private:
  StorePlace& place() const { return parts_->place; }
  static Result<std::vector<AccountLine>> account_by(Connection& reader);
  Result<void> begin_transaction();
  /// Call it after the statements of a put. Undoes everything if one of them has failed.
  Result<void> settle_put(std::size_t bytes);
  void roll_back();
  /// Begins a transaction that is not for puts. If another front end has taken over, undoes it and
  /// returns false.
  bool begin_as_newest();
  /// Writes summaries in a separate transaction, so a failure loses no data.
  void sum_up(bool is_last);
  /// Writes alerts in a separate transaction. After a failure they are written with the next
  /// alerts.
  void write_alerts();
  void advance_mirror();
  Result<void> finish_mirror();

  std::unique_ptr<Parts> parts_;
  Connection& connection_;
  SqliteIntake intake_;
  Succession succession_{connection_};
  TreeIntake tree_{connection_};
  Statement begin_{connection_, "BEGIN IMMEDIATE"};
  Statement commit_{connection_, "COMMIT"};
  WriteAheadLog log_;
  std::uint64_t front_ends_;  ///< Front ends of the run, including this one.
  std::optional<Mirror> mirror_;
  Reserve reserve_;
  AlertListener listener_;
  Nanos mirrored_at_ns_ = 0;
  Nanos sums_up_at_ns_ = 0;  ///< Earliest time of the next summaries.
  std::size_t pending_bytes_ = 0;
  bool in_transaction_ = false;
  bool is_ending_ = false;  ///< The remaining disk space is only for the end.
  bool ended_ = false;
  bool superseded_ = false;
  std::optional<Error> undone_because_;  ///< Failure of a put; the next commit returns it.
};

SqliteStore::~SqliteStore() {
  roll_back();
  // If another front end has taken over, it writes the live file and copies it.
  if (mirror_ && !ended_ && !superseded_) {
    if (auto finished = finish_mirror(); !finished) {
      log(Level::kError, "store not copied; it stays where it was written",
          {{"live", place().live.path}, {"why", finished.error().message}});
    }
  }
}

Result<void> SqliteStore::begin_run(const RunFacts& facts) {
  if (auto begun = begin_transaction(); !begun) return begun;
  Statement(connection_,
            "INSERT INTO run(run_id, command, directory, user, host, version, options, detail,"
            " window_ns, started_ns) VALUES(?,?,?,?,?,?,?,?,?,?)")
      .run(facts.run_id, shell_line(facts.command), facts.directory, facts.user, facts.host,
           facts.version, facts.options, facts.chunks ? "trace" : "profile", facts.window_ns,
           facts.started_realtime_ns);
  succession_.begin(facts.epoch_ns);
  intake_.streams().begin(facts.streams);
  if (auto put = settle_put(facts.options.size()); !put) return put;
  front_ends_ = 1;
  return commit();
}

Result<PutOutcome> SqliteStore::put(const wire::Packet& packet) {
  if (auto possible = check_identity(packet.id); !possible) return unexpected(possible.error());
  if (auto begun = begin_transaction(); !begun) return unexpected(begun.error());
  PutOutcome outcome = intake_.put(packet);
  if (wire::is_end(packet) && outcome.kind == PutOutcome::Kind::kStored) {
    succession_.note_ended(packet.id.sources);
    intake_.note_ended(packet.id.sources);
  }
  if (auto put = settle_put(packet.payload.size()); !put) return unexpected(put.error());
  return outcome;
}

Result<void> SqliteStore::put_node(const NodeRow& node) {
  if (auto begun = begin_transaction(); !begun) return begun;
  tree_.put_node(node);
  succession_.note_addresses(node);
  return settle_put(sizeof(NodeRow));
}

Result<void> SqliteStore::put_clock(const ClockRow& clock) {
  if (auto begun = begin_transaction(); !begun) return begun;
  tree_.put_clock(clock);
  return settle_put(sizeof(ClockRow));
}

Result<void> SqliteStore::put_link(const wire::LinkReport& report, Nanos at_ns) {
  if (auto begun = begin_transaction(); !begun) return begun;
  tree_.put_link(report, at_ns);
  return settle_put(sizeof(wire::LinkReport));
}

Result<void> SqliteStore::put_host_facts(const wire::HostFacts& host, Nanos at_ns) {
  if (auto begun = begin_transaction(); !begun) return begun;
  tree_.put_host_facts(host, at_ns);
  for (const wire::HostFact& fact : host.facts) {
    if (fact.name == "cores") intake_.alerts().note_cores(host.leaf, fact.value);
  }
  return settle_put(sizeof(wire::HostFacts) + host.facts.size() * sizeof(wire::HostFact));
}

Result<void> SqliteStore::put_notice(const wire::Notice& notice, Nanos at_ns) {
  if (auto begun = begin_transaction(); !begun) return begun;
  tree_.put_notice(notice, at_ns);
  return settle_put(sizeof(wire::Notice) + notice.text.size());
}

Result<void> SqliteStore::put_host_lost(LeafId leaf, const std::string& reason) {
  if (auto begun = begin_transaction(); !begun) return begun;
  if (tree_.put_host_lost(leaf, reason)) intake_.alerts().note_host_lost(leaf, reason);
  return settle_put(reason.size());
}

Result<void> SqliteStore::begin_transaction() {
  if (undone_because_) return unexpected(*undone_because_);
  if (in_transaction_) return {};
  begin_.run();
  // From here until the commit no other process can write, so no other front end can take over.
  const bool newest = front_ends_ == 0 || succession_.is_newest(front_ends_);
  auto begun = connection_.take();
  if (begun && newest) {
    in_transaction_ = true;
    return begun;
  }
  if (begun) {
    superseded_ = true;
    begun = unexpected(Code::kSuperseded,
                       place().target + ": another front end has taken over this run");
  }
  undone_because_ = begun.error();
  roll_back();
  return begun;
}

Result<void> SqliteStore::settle_put(std::size_t bytes) {
  pending_bytes_ += bytes;
  auto done = connection_.take();
  if (done) return done;
  undone_because_ = done.error();
  roll_back();
  return done;
}

void SqliteStore::roll_back() {
  pending_bytes_ = 0;
  intake_.alerts().discard();
  in_transaction_ = false;
  // SQLite has often rolled back by itself already; then there is nothing to do.
  if (sqlite3_get_autocommit(connection_.handle()) == 0) {
    connection_.execute("ROLLBACK");
    static_cast<void>(connection_.take());
  }
}

Result<void> SqliteStore::commit() {
  if (undone_because_) {
    Error error = *std::exchange(undone_because_, std::nullopt);
    return unexpected(std::move(error));
  }
  if (in_transaction_) {
    commit_.run();
    auto committed = connection_.take();
    if (!committed) {
      roll_back();
      if (committed.error().code == Code::kExhausted) log_.fold_if_it_fits();
      return committed;
    }
    in_transaction_ = false;
    pending_bytes_ = 0;
    const bool has_alerts = intake_.alerts().judge();
    if (is_ending_) return {};  // They are written after the end.
    if (has_alerts) write_alerts();
    sum_up(false);
    log_.watch();
  }
  advance_mirror();
  return {};
}

void SqliteStore::prepare_to_end() {
  if (std::exchange(is_ending_, true)) return;
  reserve_.release();
  log_.stop_folding();
}

bool SqliteStore::begin_as_newest() {
  begin_.run();
  if (!connection_.ok() || front_ends_ == 0 || succession_.is_newest(front_ends_)) return true;
  roll_back();
  return false;
}

void SqliteStore::write_alerts() {
  if (!begin_as_newest()) return;
  intake_.alerts().write();
  commit_.run();
  if (auto done = connection_.take(); !done) return roll_back();
  for (const Alert& alert : intake_.alerts().forget_written()) {
    if (listener_) listener_(alert);
  }
}

void SqliteStore::sum_up(bool is_last) {
  Summarizer& summaries = intake_.summaries();
  if (monotonic_now() < sums_up_at_ns_) return;
  const Nanos until = monotonic_now() + kSumUpPatience;
  while (summaries.is_due() || is_last) {
    if (!begin_as_newest()) return;
    summaries.advance(is_last);
    commit_.run();
    if (auto done = connection_.take(); !done) {
      roll_back();
      log(Level::kWarn,
          "sums of windows cannot be written; views of long times are slow until a retry succeeds",
          {{"path", place().target}, {"why", done.error().message}});
      sums_up_at_ns_ = monotonic_now() + kSumUpPause;
      return;
    }
    if (!is_last || !summaries.is_due() || monotonic_now() >= until) return;
  }
}

void SqliteStore::advance_mirror() {
  if (!mirror_ || ended_) return;
  const Nanos now = monotonic_now();
  const bool due = mirrored_at_ns_ == 0 || now - mirrored_at_ns_ >= kMirrorEvery;
  if (!due && !mirror_->is_copying()) return;
  const auto whole = mirror_->step(kMirrorSlice);
  if (whole && !*whole) return;
  mirrored_at_ns_ = now;
  if (!whole) {
    log(Level::kWarn, "store not copied; tried again in a minute",
        {{"path", mirror_->path()}, {"why", whole.error().message}});
  }
}

Result<void> SqliteStore::finish_mirror() {
  // An unfinished copy also gets later commits, because SQLite adds them.
  if (auto whole = mirror_->step(kMirrorAtOnce); !whole) {
    return unexpected(whole.error().code,
                      whole.error().message + "; the whole run stands in " + place().live.path);
  }
  mirror_.reset();
  place().remove_live();  // The open connection does not need the name.
  place().live.path = place().target;
  place().live_folder.clear();
  return {};
}

Result<void> SqliteStore::end_run(int exit_code, Nanos ended_realtime_ns) {
  prepare_to_end();
  auto before = commit();
  if (auto begun = begin_transaction(); !begun) return begun;
  std::optional<int> code;
  if (exit_code >= 0) code = exit_code;
  Statement(connection_, "UPDATE run SET ended_ns = ?, exit_code = ?").run(ended_realtime_ns, code);
  connection_.execute(kCloseLostHosts);
  if (auto put = settle_put(0); !put) return put;
  if (auto written = commit(); !written) return before ? written : before;
  ended_ = true;
  is_ending_ = false;
  if (intake_.alerts().finish()) write_alerts();
  sum_up(true);
  log_.become_plain_file();
  if (mirror_) {
    if (auto finished = finish_mirror(); !finished) return before ? finished : before;
  }
  return before;
}

Result<std::vector<AccountLine>> SqliteStore::account() {
  // Uses a separate connection, so that uncommitted data is not visible.
  Connection reader;
  if (auto opened = reader.open(place().live.path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                                place().target);
      !opened) {
    return unexpected(opened.error());
  }
  reader.execute("PRAGMA busy_timeout = 2000; PRAGMA query_only = ON");
  return account_by(reader);
}

Result<std::vector<AccountLine>> SqliteStore::account_by(Connection& reader) {
  std::vector<AccountLine> lines;
  {
    Statement rows(reader,
                   "SELECT world, rank, captured, stored, lost, complete FROM account"
                   " ORDER BY world, rank");
    for (bool more = rows.first(); more; more = rows.next()) {
      lines.push_back({WorldId{static_cast<std::uint32_t>(rows.integer(0))},
                       Rank{static_cast<std::uint32_t>(rows.integer(1))}, rows.count(2),
                       rows.count(3), rows.count(4), rows.integer(5) != 0});
    }
  }
  if (auto read = reader.take(); !read) return unexpected(read.error());
  return lines;
}

Result<void> open_store(SqliteStore::Parts& parts) {
  return parts.connection.open(parts.place.live.path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                               parts.place.target);
}

}  // namespace

Result<std::unique_ptr<Store>> make_sqlite_store(const SqliteOptions& options) {
  auto place = claim_place(options.path, options.overwrite, options.pretend_file_system);
  if (!place) return unexpected(place.error());
  auto parts = std::make_unique<SqliteStore::Parts>();
  parts->place = std::move(*place);
  parts->fold = options.fold;
  parts->log_bytes = options.log_bytes;
  Connection& connection = parts->connection;
  const StorePlace& claimed = parts->place;  // Also valid after the store owns the parts.
  const auto give_up = [&claimed](const Error& error) {
    remove_database(claimed.target);
    claimed.remove_live();
    return unexpected(error);
  };
  if (auto opened = open_store(*parts); !opened) return give_up(opened.error());
  connection.execute(kWaitForNoDisk);
  connection.execute(kSettings);
  connection.execute(kWriteAhead);
  if (auto set = connection.take(); !set) return give_up(set.error());
  if (auto migrated = migrate(connection); !migrated) return give_up(migrated.error());
  connection.execute(kWaitForDisk);
  auto store = std::make_unique<SqliteStore>(std::move(parts));
  store->watch(options.alerts, options.on_alert);
  if (auto ready = store->ready(); !ready) {
    store->abandon();
    return give_up(ready.error());
  }
  return Result<std::unique_ptr<Store>>(std::move(store));
}

Result<ResumedStore> resume_sqlite_store(const ResumeOptions& options) {
  auto place = reclaim_place(options.path, options.live_path);
  if (!place) return unexpected(std::move(place.error()));
  const bool is_copied = place->live.path != options.live_path;
  auto parts = std::make_unique<SqliteStore::Parts>();
  parts->place = std::move(*place);
  parts->fold = options.fold;
  Connection& connection = parts->connection;
  if (auto opened = open_store(*parts); !opened) return unexpected(std::move(opened.error()));
  connection.execute(kWaitForDisk);
  connection.execute(kSettings);
  if (!is_copied) connection.execute(kWriteAhead);
  if (auto set = connection.take(); !set) return unexpected(std::move(set.error()));
  if (auto migrated = migrate(connection); !migrated)
    return unexpected(std::move(migrated.error()));
  auto past = take_over(connection, options.run_id);
  if (!past) return unexpected(std::move(past.error()));
  auto store = std::make_unique<SqliteStore>(std::move(parts), past->front_ends);
  store->watch(options.alerts, options.on_alert);
  if (auto ready = store->ready(); !ready) return unexpected(std::move(ready.error()));
  return ResumedStore{std::move(store), *std::move(past)};
}

}  // namespace xylem::storage
