#pragma once

// Turns packets into rows. The state that decides about packets is in the file: the known sources
// and records, the numbers of worlds, and the sums. It changes in the same transaction as the data.
// So after a rollback no such state in memory can disagree with the file, and after a restart the
// work continues where the file ends.

#include <cstdint>
#include <optional>
#include <string>

#include "storage/alert/alert_intake_internal.h"
#include "storage/sqlite_internal.h"
#include "storage/table_keys_internal.h"
#include "storage/write/definition_intake_internal.h"
#include "storage/write/intake_internal.h"
#include "storage/write/range_ledger_internal.h"
#include "storage/write/series_intake_internal.h"
#include "storage/write/stream_intake_internal.h"
#include "storage/write/summarizer_internal.h"

namespace xylem::storage {

/// Writes packets through one connection, inside a transaction that the caller began. After each
/// call the caller checks the connection's failure. If there is a failure, the outcome is invalid,
/// and the caller must roll back the transaction. Called on the thread that calls the store.
class SqliteIntake {
 public:
  /// Prepares all statements. If this fails, the connection keeps the failure.
  SqliteIntake(Connection& connection, std::shared_ptr<const StreamFold> fold);

  /// Stores a packet. check_identity() must have succeeded for it.
  PutOutcome put(const wire::Packet& packet);

  StreamIntake& streams() { return streams_; }

  /// Notes that these leaves have sent their last packet.
  void note_ended(const IntervalSet& leaves) { series_.note_ended(leaves); }

  /// Writes summaries of committed windows; see Summarizer.
  Summarizer& summaries() { return summaries_; }
  AlertIntake& alerts() { return alerts_; }

 private:
  struct WindowStatements {
    explicit WindowStatements(Connection& connection);
    Statement row, function_sum, matrix_sum, wait_sum, stored, account, under_way, ring_loss, alias,
        any_alias;
  };
  struct ChunkStatements {
    explicit ChunkStatements(Connection& connection);
    RangeLedger seen;
    Statement chunk, stored;
  };
  struct RegistrationStatements {
    explicit RegistrationStatements(Connection& connection);
    Statement host, function_name, function, has_windows, alias, world, grown_world, new_world,
        process, initialised;
  };
  struct LossStatements {
    explicit LossStatements(Connection& connection);
    Statement given_up, chunk_calls, process_calls, returned, host_calls;
  };

  PutOutcome put_by_sources(const wire::Packet& packet);
  PutOutcome put_chunk(const wire::Packet& packet);

  void store_content(const wire::Packet& packet, const Content& content);
  void store_registration(LeafId leaf, const wire::Registration& registration);
  void store_function(LeafId leaf, const wire::FunctionRow& row);
  void add_function(FunctionKey key, const wire::FunctionRow& row);
  void store_process(LeafId leaf, const wire::ProcessRow& row);
  void store_window(std::uint64_t wave, const wire::ProfileWindow& window);
  void store_profile_rows(const wire::ProfileWindow& window);
  void store_earlier_rows(const wire::ProfileWindow& window);
  void store_account(std::uint64_t wave, const wire::AccountRow& row);
  void store_chunk(const wire::Packet& packet, const wire::ChunkSummary& summary);
  void store_loss(const wire::Packet& packet, std::optional<std::uint64_t> calls,
                  const std::string& reason);
  void store_tombstone(const wire::PacketId& id, const wire::Tombstone& tombstone);

  ProcessKey process_of(LeafId leaf, Lane lane);
  FunctionKey function_of(LeafId leaf, FunctionId function);
  bool has_aliases();
  IntervalSet known_sources(const wire::PacketId& id);
  void remember_sources(const wire::PacketId& id, IntervalSet known);

  Connection& connection_;
  Statement find_process_, new_process_, known_sources_, remember_sources_;
  WindowStatements window_;
  ChunkStatements chunk_;
  RegistrationStatements registration_;
  LossStatements loss_;
  DefinitionIntake definitions_;
  SeriesIntake series_;
  Summarizer summaries_;
  AlertIntake alerts_;
  StreamIntake streams_;

  // Cache: the process of the previous row. Rows are sorted, so the next row often has the same
  // process. Reset for each packet.
  LeafId last_leaf_ = wire::kNoLeaf;
  Lane last_lane_{};
  ProcessKey last_process_{};
  bool aliases_ = false;
};

}  // namespace xylem::storage
