#pragma once

// The HTTP server's answers to the requests that docs/http-api.md describes, and the page at "/".

#include <atomic>
#include <optional>
#include <string>

#include "base/clock.h"
#include "net/http.h"
#include "storage/read/run_view.h"
#include "viz/access.h"
#include "viz/stored_waits.h"

namespace xylem::viz {

struct ApiOptions {
  /// Path of the run's file. Each request for data opens the file again. So the server also works
  /// after the run has ended.
  std::string file;
  /// Time limit of a view. After this time the request fails with status 504. For large stores, a
  /// view needs seconds.
  Nanos view_deadline = 10 * kSecond;
  /// Time limit of an SQL query.
  Nanos query_deadline = 5 * kSecond;
  /// Time for which an answer of /healthz is reused. This limits the load, because each check opens
  /// the file, and clients need no token for /healthz.
  Nanos health_lasts = 1 * kSecond;
  /// Maximum of the parameter `rows` of an SQL query. A larger value fails with status 400. A
  /// result with more than `rows` rows is cut, and marked as cut.
  std::uint64_t max_rows = 100'000;
  /// Maximum size of an SQL result in bytes. A larger result is cut, and marked as cut. If its
  /// first row alone is larger, the request fails with status 413.
  std::size_t max_query_bytes = 8u << 20;
};

/// Answers requests from a run's file. It never writes the file. net::HttpHandler says when and on
/// which thread each function is called.
class Api final : public net::HttpHandler {
 public:
  Api(ApiOptions options, AccessOptions access)
      : options_(std::move(options)), access_(std::move(access)), waits_(options_.file) {}

  std::optional<net::HttpReply> screen(const net::HttpRequest& request) override;
  /// Interrupts running SQL statements when `given_up` becomes true. Compresses long answers with
  /// gzip if the client accepts gzip. If the client is known and the status is 200, the header
  /// Server-Timing has the times `cpu` and `total` of the answer in ms.
  net::HttpReply answer(const net::HttpRequest& request,
                        const std::atomic<bool>& given_up) override;
  /// Returns true if the client is known. It is unknown for /healthz, because this request needs no
  /// token.
  bool knows(const net::HttpRequest& request) override;
  net::HttpReply refusal(unsigned status, const std::string& sentence) override;
  /// Returns {"version":1,"event":"commit","number":4,"run_end_ns":...,"has_ended":false}. `number`
  /// increases when an earlier answer may be out of date. This happens when
  /// - the file has changed, or can be read again,
  /// - wait states have become known after an answer was given without them,
  /// - a file without an end has not changed for kStoredWaitsQuiet, so that its run counts as
  /// ended.
  ///
  /// While the file cannot be read, the event is "unreadable". The object then has the field
  /// `error`, but not `number`, `run_end_ns` and `has_ended`.
  std::string news() override;

 private:
  using GivenUp = std::atomic<bool>;
  net::HttpReply answer_plainly(const net::HttpRequest& request, const GivenUp& given_up);
  net::HttpReply answer_view(Target& target, const GivenUp& given_up);
  net::HttpReply query(Target& target, const GivenUp& given_up);
  net::HttpReply metrics(Target& target, const std::string& accept, const GivenUp& given_up);
  net::HttpReply health();
  std::string server_state() const;

  ApiOptions options_;
  Access access_;
  StoredWaits waits_;

  // State of health(), which several threads may call concurrently.
  std::atomic<bool> is_well_ = false;
  std::atomic<Nanos> health_until_ns_ = 0;  ///< `is_well_` is the answer until this time.

  // Used only by news().
  std::string seen_, news_;
  std::uint64_t changes_ = 0;
};

}  // namespace xylem::viz
