#pragma once

// The events of a run's chunks, of all ranks together, in the order of the ends of their calls.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "storage/read/wait_states.h"
#include "storage/sqlite_internal.h"
#include "storage/table_keys_internal.h"
#include "wire/chunk.h"

namespace xylem::storage {

/// Keeps one decoded chunk of each process that has events at the current time: about 0.6 MB for a
/// process with full chunks. If several chunks of a process overlap, because it has several
/// threads, it keeps all of them. Failures are failures of the connection; a damaged chunk is one.
/// Not thread-safe. Borrows the connection.
class EventStream {
 public:
  struct Process {
    ProcessKey key{};
    LeafId leaf{};
    WorldId world{};
    Rank rank{};
    bool has_one_thread = false;  ///< Its threads never called MPI at the same time.
  };
  struct Item {
    ProcessIndex process{};
    FunctionIndex function{};  ///< Index into functions().
    const wire::Event* event = nullptr;
  };

  /// Reads the lists of processes and functions. Processes without rank or chunks are left out.
  explicit EventStream(Connection& connection);

  const std::vector<Process>& processes() const { return processes_; }
  /// The first one stands for all functions that the file does not name.
  const std::vector<WaitFunction>& functions() const { return functions_; }

  /// Decodes all chunks of a process, in the order of their begins.
  void survey(ProcessIndex process,
              const std::function<void(std::span<const wire::Event>)>& each_chunk);

  /// The next event that is a message, a collective, posts a receive, or may wait. Others are left
  /// out. Returns false at the end and on a failure. The event is valid until the next call.
  bool next(Item& item);

  /// No later event of the process begins before this time; the largest time if there is none.
  Nanos horizon(ProcessIndex process) const;

 private:
  struct Source {
    Statement chunks;  // Stands at the first chunk that is not opened yet.
    bool has_more = false;
    Nanos next_begin = 0;
    std::vector<std::uint32_t> open;  // Cursors.
    const std::vector<FunctionIndex>* functions = nullptr;
  };
  struct Cursor {
    ProcessIndex process{};
    std::vector<wire::Event> events;  // In the order of their ends.
    std::vector<Nanos> earliest;      // The earliest begin of this and later events.
    std::size_t at = 0;
  };
  // A chunk that is open, or the next one of a process, by the next time at which it may have an
  // event.
  struct Turn {
    Nanos at = 0;
    bool is_open = false;
    std::uint32_t number = 0;  // Of the cursor, or of the process.
    bool operator>(const Turn& other) const {
      return std::tie(at, is_open, number) > std::tie(other.at, other.is_open, other.number);
    }
  };

  void read_functions();
  void read_processes();
  const std::vector<FunctionIndex>* functions_of(LeafId leaf);
  Statement chunks_of(ProcessIndex process);
  void look_ahead(ProcessIndex process);
  std::span<const wire::Event> decode(const Statement& chunks, ProcessIndex process);
  void open_chunk(ProcessIndex process);
  void fill(Cursor& cursor, std::span<const wire::Event> events);
  void close(std::uint32_t cursor);
  FunctionIndex function_of(ProcessIndex process, const wire::Event& event) const;

  Connection& connection_;
  std::vector<Process> processes_;
  std::vector<Source> sources_;  // By process.
  std::vector<WaitFunction> functions_;
  std::map<FunctionKey, FunctionIndex> by_key_;
  std::map<LeafId, std::map<std::int64_t, FunctionKey>> aliases_;  // By leaf and id.
  // By FunctionId. Leaves without functions of their own share one table; its key is nullopt.
  std::map<std::optional<LeafId>, std::vector<FunctionIndex>> tables_;
  wire::ChunkDecoder decoder_;
  std::vector<Cursor> cursors_;
  std::vector<std::uint32_t> free_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  std::uint32_t current_ = 0;
  bool has_current_ = false, has_begun_ = false;
};

}  // namespace xylem::storage
