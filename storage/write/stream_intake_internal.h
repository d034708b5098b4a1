#pragma once

// The part of SqliteIntake that writes waves of the run's streams as rows.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/sqlite_internal.h"
#include "storage/write/intake_internal.h"
#include "storage/write/range_ledger_internal.h"
#include "storage/write/store.h"
#include "wire/fields.h"

namespace xylem::storage {

/// Returns fields as a JSON object that SQLite can read, for example `{"1":42,"2":[0.5,null]}`.
/// Bytes become hexadecimal text. JSON has no NaN and no infinity. So NaN becomes null, and
/// infinity becomes a number outside the range of double. Text that is not UTF-8 is treated as
/// Latin-1.
std::string to_json(const wire::Fields& fields);

/// Call the functions inside a transaction. The caller checks the connection's failure, as for
/// SqliteIntake.
///
/// For each leaf of a stream, a ledger of wave numbers decides whether a wave is new. The ledger
/// contains both stored waves and waves that were given up. One row has the stored parts of a wave;
/// later parts are merged into this row. A part that cannot be merged gets a row of its own. If the
/// waves of a stream are not merged, every part gets a row of its own. Called on the thread that
/// calls the store.
class StreamIntake {
 public:
  /// If `fold` is null, every part is stored separately.
  StreamIntake(Connection& connection, std::shared_ptr<const StreamFold> fold);

  /// Writes the rows of the run's streams. Call it once in a run.
  void begin(const std::vector<StreamFacts>& streams);
  /// Sets the run's time for the data that is put from now on.
  void set_time(Nanos at_ns) { now_ns_ = at_ns; }

  /// Stores waves, or a tombstone for waves. Waves that cannot be read count as lost.
  PutOutcome put(const wire::Packet& packet);
  /// Stores the number of waves that a leaf has sent on each stream. Storing the same numbers again
  /// changes nothing.
  void put_account(const wire::Packet& packet);

 private:
  struct Contributor {
    std::int64_t id = 0;
    std::uint64_t leaf = 0;
    IntervalSet known;  ///< Known waves that overlap or are adjacent to the packet's waves.
  };

  std::int64_t contributor_of(StreamId stream, std::uint64_t leaf);
  std::vector<Contributor> contributors_of(const wire::PacketId& id);
  PutOutcome put_each(const wire::PacketId& id, const std::vector<wire::Fields>& waves,
                      std::vector<Contributor>& contributors);
  PutOutcome put_lost(const wire::PacketId& id, const std::string& reason,
                      std::vector<Contributor>& contributors);
  void note(Contributor& contributor, std::uint64_t first, std::uint64_t end);
  void store_wave(StreamId stream, std::uint64_t wave, const IntervalSet& sources,
                  const wire::Fields& state);
  bool merge_into_first(StreamId stream, std::uint64_t wave, const IntervalSet& sources,
                        const wire::Fields& state);

  Connection& connection_;
  std::shared_ptr<const StreamFold> fold_;  // Shared, see SqliteOptions::fold.
  Nanos now_ns_ = 0;
  RangeLedger seen_;
  Statement stream_, find_, new_, stored_, lost_, sent_, first_part_, new_part_, merged_;
};

}  // namespace xylem::storage
