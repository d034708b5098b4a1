#pragma once

// A read-only HTTP server: GET, HEAD, and a WebSocket for news. A handler without access to sockets
// makes the answers.
//
//   auto socket = listen_tcp("127.0.0.1", 0);
//   HttpServer server(pages, {}, *std::move(socket));
//   server.run();

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace xylem::net {

/// A request's head; there is no body. If `host`, `origin`, `authorization` or `cookie` occurs
/// several times, the field has the first one and `is_ambiguous` is true.
struct HttpRequest {
  std::string method;  ///< As sent: "GET", "HEAD", "POST"
  std::string target;  ///< Path and parameters as sent, percent signs and all.
  std::string host, origin, authorization, cookie;
  std::string accept;           ///< The accepted media types; empty: any.
  std::string accept_encoding;  ///< All such headers, joined by commas: "gzip, br".
  bool is_ambiguous = false;
  bool is_websocket = false;  ///< An upgrade to a WebSocket.
};

/// An answer. The server adds its length, `Server`, `Connection` and `Date`.
struct HttpReply {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

/// Makes the answers. The server's thread calls `screen` and `refusal`, which must be quick. Worker
/// threads call `answer`, several at a time, and `news`, one at a time; these may take as long as
/// the client should wait.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;

  /// Checks each request first: returns a refusal or a redirection, or nothing to accept it. A
  /// WebSocket is opened only for accepted requests.
  virtual std::optional<HttpReply> screen(const HttpRequest& request) = 0;
  /// The answer to an accepted request. HEAD is answered as GET; the server leaves out the body.
  /// `given_up` becomes true, at any time, when the client has closed the connection or its side of
  /// it, or the server ends: then any answer will do, but soon.
  virtual HttpReply answer(const HttpRequest& request, const std::atomic<bool>& given_up) = 0;
  /// The reply to a request that the server itself refuses: too large, too slow, not HTTP. The
  /// handler counts it. If the connection is closed at once, the reply is not sent.
  virtual HttpReply refusal(unsigned status, const std::string& sentence) = 0;
  /// Whether an accepted request came from a known user, whose connection is kept when all are in
  /// use. Called by the server's thread.
  virtual bool knows(const HttpRequest& /*request*/) { return true; }
  /// The state to send over WebSockets, as text. Called periodically while there are any. Each
  /// WebSocket gets the newest state, never the same twice in a row.
  virtual std::string news() = 0;
};

/// Limits on the cost of unknown clients. Each wait on a peer has a deadline.
struct HttpOptions {
  /// Maximum number of connections. For one more, the oldest without a request of a known user is
  /// closed; if there is none, the new one. It is closed without an answer and counted as refusal.
  std::size_t most_connections = 64;
  std::size_t most_header_bytes = 16u << 10;
  /// For a request from its first to its last byte, and for the wait before the first request.
  Nanos header_deadline = 10 * kSecond;
  Nanos idle_deadline = 60 * kSecond;  ///< Between requests of one connection.
  Nanos write_deadline = 30 * kSecond;
  Nanos news_every = 250 * kMillisecond;
  unsigned workers = 3;  ///< Threads; further requests wait.
  /// SIGTERM, SIGINT and SIGHUP end run(); a second signal has its default effect. For a program
  /// that is only a server.
  bool ends_on_signals = false;
};

/// Serves on the thread of run() and calls the handler on its own workers. Requests with a body are
/// refused with 413; the handler refuses methods other than GET and HEAD. Memory is bounded: a
/// request's head and one reply per connection.
class HttpServer {
 public:
  /// Takes a listening TCP socket; borrows the handler.
  HttpServer(HttpHandler& handler, HttpOptions options, UniqueFd listening);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Runs until stop() or a signal. Then it closes connections, drops waiting requests, and returns
  /// when the requests in progress are answered or given up.
  void run();
  /// From any thread.
  void stop();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace xylem::net
