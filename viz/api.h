#pragma once

// The HTTP server's answers to the requests that docs/http-api.md describes, and the page at "/".

#include <atomic>
#include <optional>
#include <string>

#include "base/clock.h"
#include "net/http.h"
#include "storage/read/run_view.h"
#include "viz/access.h"

namespace xylem::viz {

struct ApiOptions {
  std::string file;  ///< The run's file. Each request opens it again. So the server keeps working
                     ///< after the run has ended.
  /// Time limit of a view; after it the request fails with 504. Views of large stores need seconds.
  Nanos view_deadline = 10 * kSecond;
  /// Time limit of an SQL query.
  Nanos query_deadline = 5 * kSecond;
  /// Time for which an answer of /healthz is reused. Each check opens the file, and clients need no
  /// token for /healthz.
  Nanos health_lasts = 1 * kSecond;
  /// Maximum rows of an SQL result. A longer result is cut, and marked as cut.
  std::uint64_t max_rows = 100'000;
  /// Maximum size of an SQL result. A larger result is cut, and marked as cut.
  std::size_t max_query_bytes = 8u << 20;
};

/// Answers requests from a run's file, which it only reads. net::HttpHandler says when and on which
/// thread each function is called.
class Api final : public net::HttpHandler {
 public:
  Api(ApiOptions options, AccessOptions access)
      : options_(std::move(options)), access_(std::move(access)) {}

  std::optional<net::HttpReply> screen(const net::HttpRequest& request) override;
  /// Interrupts running statements once `given_up` is true. Compresses long answers with gzip if
  /// the client accepts it. The header Server-Timing gives the times `cpu` and `total` of the
  /// answer in ms.
  net::HttpReply answer(const net::HttpRequest& request,
                        const std::atomic<bool>& given_up) override;
  /// Returns false for /healthz. This request needs no token, so the client is unknown.
  bool knows(const net::HttpRequest& request) override;
  net::HttpReply refusal(unsigned status, const std::string& sentence) override;
  /// Returns {"version":1,"event":"commit","number":4,"run_end_ns":...,"has_ended":false}. `number`
  /// grows with each change of the file. While the file cannot be read, the event is "unreadable",
  /// and the object has a field `error` in place of `number`, `run_end_ns` and `has_ended`.
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

  // State of health(), which several threads may call concurrently.
  std::atomic<bool> is_well_ = false;
  std::atomic<Nanos> health_until_ns_ = 0;  ///< `is_well_` is the answer until this time.

  // Used only by news().
  std::string seen_, news_;
  std::uint64_t changes_ = 0;
};

}  // namespace xylem::viz
