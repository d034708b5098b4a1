#pragma once

// Answers of the HTTP server: paths and parameters of docs/http-api.md, and the page at "/".

#include <atomic>
#include <optional>
#include <string>

#include "base/clock.h"
#include "net/http.h"
#include "storage/read/run_view.h"
#include "viz/access.h"

namespace xylem::viz {

struct ApiOptions {
  std::string file;  ///< The run's file; opened for each request, so the run may end.
  /// Time limit of a view, after which it fails with 504. Large stores need seconds.
  Nanos view_deadline = 10 * kSecond;
  /// The same for SQL, whose cost is unlimited.
  Nanos query_deadline = 5 * kSecond;
  /// How long an answer of /healthz is reused: anyone may ask, and a check is not free.
  Nanos health_lasts = 1 * kSecond;
  std::uint64_t most_rows = 100'000;        ///< Limit for SQL; a longer result is cut and marked.
  std::size_t most_query_bytes = 8u << 20;  ///< The same for an answer's size.
};

/// Answers requests from a file, which it only reads. Called as described for net::HttpHandler.
class Api final : public net::HttpHandler {
 public:
  Api(ApiOptions options, AccessOptions access)
      : options_(std::move(options)), access_(std::move(access)) {}

  std::optional<net::HttpReply> screen(const net::HttpRequest& request) override;
  /// Running statements are interrupted once `given_up` is true. Long answers use gzip if the
  /// client accepts it. Server-Timing has the cost of the answer: `cpu`, `total`, in ms.
  net::HttpReply answer(const net::HttpRequest& request,
                        const std::atomic<bool>& given_up) override;
  /// False for /healthz, which needs no token.
  bool knows(const net::HttpRequest& request) override;
  net::HttpReply refusal(unsigned status, const std::string& sentence) override;
  /// {"version":1,"event":"commit","number":4,"run_end_ns":...,"has_ended":false}, with a higher
  /// number each time the file has changed. While it cannot be read, the event is "unreadable", and
  /// "error" says why, as that of an answer does.
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

  // State of health(), which several threads may call at once.
  std::atomic<bool> is_well_ = false;
  std::atomic<Nanos> health_until_ns_ = 0;  ///< `is_well_` is the answer until then.

  // Of news() alone.
  std::string seen_, news_;
  std::uint64_t changes_ = 0;
};

}  // namespace xylem::viz
