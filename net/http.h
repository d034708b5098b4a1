#pragma once

// An HTTP server for pages that are read and never written: GET, HEAD, and a WebSocket that tells
// of news. What is answered is somebody else's, who never sees a socket.
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

/// A request's head; there is no body. Of a header that comes several times, `host`, `origin`,
/// `authorization` and `cookie` are the first, and `is_ambiguous` says that there were more.
struct HttpRequest {
  std::string method;  ///< As sent: "GET", "HEAD", "POST"
  std::string target;  ///< Path and parameters as sent, percent signs and all.
  std::string host, origin, authorization, cookie;
  std::string accept;           ///< Which forms of an answer are wanted; empty: any.
  std::string accept_encoding;  ///< All of them, with commas between: "gzip, br".
  bool is_ambiguous = false;
  bool is_websocket = false;  ///< Asks to become a WebSocket.
};

/// An answer; its length, `Server`, `Connection` and `Date` are the server's to say.
struct HttpReply {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

/// What answers. `screen` and `refusal` are called by the server's thread and must be quick;
/// `answer` and `news` by any of its workers, several at a time, and may take as long as the asker
/// is to wait.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;

  /// Looks at each request first: a refusal, a redirection, or nothing when it may go on. A
  /// WebSocket is opened for those that it lets pass.
  virtual std::optional<HttpReply> screen(const HttpRequest& request) = 0;
  /// The answer to a request that may go on. HEAD is answered as GET; the server leaves out the
  /// body. Once `given_up` is true, which any thread may see change, the asker has closed the
  /// connection, or its own side of it, or the server ends: whatever is returned soon will do.
  virtual HttpReply answer(const HttpRequest& request, const std::atomic<bool>& given_up) = 0;
  /// What the server itself refuses: too large, too slow, no HTTP. Counts it; of a connection that
  /// is closed at once the reply goes nowhere.
  virtual HttpReply refusal(unsigned status, const std::string& sentence) = 0;
  /// Whether a request that may go on came from somebody who is known, of whom a connection is kept
  /// when all are taken. Called by the server's thread.
  virtual bool knows(const HttpRequest& /*request*/) { return true; }
  /// The state that WebSockets tell of, as text. Asked again and again while there are any; each is
  /// sent the newest one that it was not sent yet, never the same twice in a row.
  virtual std::string news() = 0;
};

/// Bounds on what strangers cost. Each wait on a peer has a deadline.
struct HttpOptions {
  /// At most so many at once. For one more, the oldest that has not sent a request of somebody
  /// known is closed; where there is none, the new one. Either is closed unheard and counted as
  /// refusal.
  std::size_t most_connections = 64;
  std::size_t most_header_bytes = 16u << 10;
  /// From the first to the last byte of a request, and before the first request begins.
  Nanos header_deadline = 10 * kSecond;
  Nanos idle_deadline = 60 * kSecond;  ///< Between requests of one connection.
  Nanos write_deadline = 30 * kSecond;
  Nanos news_every = 250 * kMillisecond;
  unsigned workers = 3;  ///< Threads: so many questions at a time, the others wait.
  /// SIGTERM, SIGINT and SIGHUP end run(); a second one does what it does by default. For a program
  /// that is nothing but a server.
  bool ends_on_signals = false;
};

/// Serves from one thread, that of run(), and asks the handler on a few of its own. Bodies of
/// requests are refused with 413, other methods than GET and HEAD are the handler's to refuse.
/// Memory is bounded by the connections: a request's head and one reply each.
class HttpServer {
 public:
  /// Takes a listening TCP socket; borrows the handler.
  HttpServer(HttpHandler& handler, HttpOptions options, UniqueFd listening);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Until stop() or a signal. Then connections are closed, questions that wait are dropped, and it
  /// returns when those that are being answered are, or are given up.
  void run();
  /// From any thread.
  void stop();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace xylem::net
