#pragma once

// Writes the trace of a run in the formats of other programs.
//
//   auto run = storage::RunFile::open("run.db");
//   const auto missing = exports::missing_in_trace(**run);   // Refuses a run without a trace.
//   const auto written = exports::write_chrome(**run, out);
//
// All formats have each row of the table `event` once. Memory does not grow with the length of the
// trace: it is that of storage::EventReader, plus the messages in flight for Chrome. A run in
// progress is exported as of one commit; the writer's log grows meanwhile.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/read/query.h"

namespace xylem::exports {

/// What was written.
struct Exported {
  std::uint64_t processes = 0;  ///< With events.
  std::uint64_t calls = 0;      ///< Rows of the table `event`.
  /// Rows of the table `completion` that are no rows of `event`. Not every format has them.
  std::uint64_t completions = 0;
  std::uint64_t messages = 0;     ///< Chrome: arrows. OTF2: sends and receives, counted singly.
  std::uint64_t collectives = 0;  ///< OTF2: collective calls with a record of their own.
  /// Sentences about what the format does not have of this trace.
  std::vector<std::string> remarks{};
};

/// Returns what is missing in a trace: one sentence for each kind and reason of a loss, with the
/// ranks, and one if the run is in progress. Fails with kInvalidArgument if the run has no single
/// calls; the sentence says how to record them.
Result<std::vector<std::string>> missing_in_trace(storage::RunFile& run);

// These functions fail if the run cannot be read, as RunFile::query() does, and with kCorrupt if a
// chunk is damaged; part of the output is then written. They stop early, without an error, when
// `out` has failed: check it.

/// One line for each event and each completion, in the order of the begins of the calls over all
/// ranks. Lines that begin with `#` explain the columns. Names are printable.
Result<Exported> write_text(storage::RunFile& run, std::ostream& out);

/// The table `event` as `xylem query --csv` prints it (RFC 4180, with a line of names), in the
/// order of the begins of the calls.
Result<Exported> write_csv(storage::RunFile& run, std::ostream& out);

/// JSON in Chrome's trace event format, for Perfetto and chrome://tracing. A process is a rank, a
/// thread is a thread, a call is a complete event ("X") with peer, bytes, tag, communicator and
/// result. A completion whose call has no record, because calls of its function were sampled, is a
/// slice of the category "completion". A pair of flow events ("s", "f") is a message whose send and
/// receive are both known. A visit of a region is a slice of the category "region", around its
/// calls; if its end is not known, it has only a begin ("B"). Times are microseconds since the
/// run's start, with three decimals.
Result<Exported> write_chrome(storage::RunFile& run, std::ostream& out);

/// False if xylem was built without the OTF2 library. write_otf2() then fails.
bool has_otf2();

/// Writes an OTF2 archive into a folder, which is created if needed: `traces.otf2`, `traces.def`
/// and `traces/`. Fails with kInvalidArgument if one of them exists; with `overwrite`, removes them
/// first. Fails with kUnavailable without the library, and with kInternal if the library cannot
/// write; an incomplete archive is removed.
///
/// A location is a thread of a rank, a region is a function. Each call has Enter and Leave. A call
/// that sends has MpiSend at its begin, one that receives or completes receives has MpiRecv at its
/// end; if that call has no record, because it was sampled, MpiRecv is between calls. Blocking
/// collectives on MPI_COMM_WORLD have MpiCollectiveBegin and MpiCollectiveEnd; their
/// bytes are in sizeSent. In the archive, communicators other than MPI_COMM_WORLD have the ranks of
/// the whole world as members. Nested calls are nested regions; if calls of a thread overlap
/// otherwise, the later one is cut.
Result<Exported> write_otf2(storage::RunFile& run, const std::string& folder, bool overwrite);

}  // namespace xylem::exports
