#pragma once

// Waves of the run's streams as rows; the part of SqliteIntake that knows them.

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

/// Fields as JSON that SQLite opens: an object, `{"1":42,"2":[0.5,null]}`. Bytes are hexadecimal
/// text, numbers that JSON has not are null (NaN) or beyond all numbers (infinity), and text that
/// is no UTF-8 is read as Latin-1.
std::string to_json(const wire::Fields& fields);

/// As SqliteIntake: inside a transaction of the caller, who looks at the connection's failure.
///
/// Whether a wave is new is decided for each of its leaves by a ledger of wave numbers, the same
/// for what is stored and what was given up. What is stored of one wave is one row, into which
/// later parts are merged; a part that does not fit it, and every part of a stream that merges
/// nothing, has a row of its own.
class StreamIntake {
 public:
  /// Without a fold every part is kept as it is.
  StreamIntake(Connection& connection, std::shared_ptr<const StreamFold> fold);

  /// The run's streams, once.
  void begin(const std::vector<StreamFacts>& streams);
  /// The run's time of what is put from now on.
  void set_time(Nanos at_ns) { now_ns_ = at_ns; }

  /// Waves, or a tombstone for some. What cannot be read counts as lost.
  PutOutcome put(const wire::Packet& packet);
  /// How many waves a leaf has sent, by stream. State: told again it changes nothing.
  void put_account(const wire::Packet& packet);

 private:
  struct Contributor {
    std::int64_t id = 0;
    std::uint64_t leaf = 0;
    IntervalSet known;  ///< Of the packet's waves, with what touches them.
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
  std::shared_ptr<const StreamFold> fold_;
  Nanos now_ns_ = 0;
  RangeLedger seen_;
  Statement stream_, find_, new_, stored_, lost_, sent_, first_part_, new_part_, merged_;
};

}  // namespace xylem::storage
