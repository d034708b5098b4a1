#pragma once

// Fills the table `alert` from windows. Notes about the contents of each window are kept until the
// window is committed. Then the rules get the notes, and the changed alerts are written.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/alert/alert_rules.h"
#include "storage/sqlite_internal.h"
#include "storage/table_keys_internal.h"
#include "wire/packet.h"
#include "wire/profile.h"

namespace xylem::storage {

/// If the commit of the windows fails, call discard(). Changed alerts are written in a separate
/// transaction. If this transaction fails, the next one writes them; at most 4096 alerts wait. So
/// the file has all alerts, except the newest ones of a front end that dies. The connection keeps
/// the first failure. Called on the thread that calls the store.
class AlertIntake {
 public:
  explicit AlertIntake(Connection& connection);

  /// Continues with the alerts that are open in the file, and with the ranks that have not ended.
  void begin(const AlertLimits& limits);

  // Before begin(), the next three functions do nothing.

  /// A row of the window from `begin_ns` to `end_ns`. Call it for all rows of a process and a
  /// window one after the other: they become one note.
  void note_row(ProcessKey process, Nanos begin_ns, Nanos end_ns, const wire::ProfileRow& row,
                FunctionKey function);
  /// The account of a process in a window: its lost calls, and whether it is silent or has ended.
  void note_account(ProcessKey process, const wire::AccountRow& row);
  /// A window of these leaves, also if it is empty. So the rules know that nothing before `end_ns`
  /// is missing from these leaves. Ignored if there are more than 65536 leaves.
  void note_window(const IntervalSet& sources, Nanos end_ns);
  /// Notes that windows of `leaf` were given up; nullopt: windows of several hosts. `calls` is the
  /// number of calls in these windows; nullopt: unknown.
  void note_given_up(std::optional<LeafId> leaf, std::optional<std::uint64_t> calls,
                     const std::string& why);
  void note_events_given_up(ProcessKey process, std::uint64_t calls, const std::string& why);
  /// Notes that the host of this leaf is lost. If `why` is empty, the host has reported again.
  void note_host_lost(LeafId leaf, const std::string& why) { hosts_[leaf] = why.empty(); }
  /// Notes how many cores the processes of the host of this leaf may use.
  void note_cores(LeafId leaf, double cores) { cores_[leaf] = cores; }
  /// Discards the notes. Call it if the noted windows were rolled back.
  void discard();

  /// Gives the notes to the rules, after the noted windows were committed. Returns true if there
  /// are alerts to write.
  bool judge();
  /// Gives the notes to the rules and closes all alerts. Call it at the end of the run, when no
  /// more windows will arrive. Returns true if there are alerts to write.
  bool finish();
  /// Writes the changed alerts. Call it inside a transaction.
  void write();
  /// Call it after the transaction of write() is committed. Returns the alerts that were written
  /// for the first time.
  std::vector<Alert> forget_written();

 private:
  struct Note {
    ProcessKey process{};
    LeafId leaf{};
    Nanos begin_ns = 0, end_ns = 0;
    std::uint64_t calls = 0, mpi_ns = 0, collective_ns = 0, max_ns = 0;
    FunctionKey max_function{};
    std::uint64_t collective_calls = 0, collectives = 0;
  };
  struct AccountNote {
    ProcessKey process{};
    LeafId leaf{};
    std::uint64_t captured = 0, lost = 0;
    bool ended = false, stopped = false, outside = false;
    Nanos silent_since_ns = 0;
    std::optional<FunctionId> inside;
  };
  struct GivenUp {
    std::optional<LeafId> leaf;
    std::optional<ProcessKey> process;  ///< Set if events of a process were given up.
    std::optional<std::uint64_t> calls;
    std::string why;
  };
  using Member = std::pair<WorldId, Rank>;

  std::optional<Member> member(ProcessKey process);
  bool is_collective(FunctionKey function);
  std::string function_name(FunctionKey function);
  void tell_rules();
  void tell_window(const Note& note);
  void tell_account(const AccountNote& account);
  void tell_given_up(const GivenUp& given_up);
  void tell_host(LeafId leaf, bool is_found);
  void name_host(LeafId leaf);
  void forget_notes();
  bool keep(std::vector<Alert> changed);

  Statement member_, function_, alias_, host_, host_ranks_, write_;
  Connection& connection_;
  std::optional<AlertRules> rules_;  ///< Empty before begin().
  std::vector<Note> notes_;
  std::vector<AccountNote> accounts_;
  std::map<LeafId, Nanos> leaves_;
  std::vector<GivenUp> given_up_;
  /// Hosts that were lost (false) or have reported again (true) since the last judge().
  std::map<LeafId, bool> hosts_;
  std::map<LeafId, double> cores_;
  std::set<LeafId> named_;
  std::unordered_map<ProcessKey, Member> members_;
  std::unordered_map<FunctionKey, bool> collective_;
  std::map<std::int64_t, Alert> unwritten_;  ///< Keyed by the alert's id.
  std::int64_t last_written_ = 0;            ///< Alerts up to this id were written before.
};

}  // namespace xylem::storage
