#pragma once

// A read-only HTTP server with GET, HEAD, and WebSockets for updates. A handler makes the answers
// and has no access to sockets.
//
//   auto socket = listen_tcp("127.0.0.1", 0);
//   auto server = HttpServer::make(pages, {}, *std::move(socket));
//   (*server)->run();

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::net {

/// The head of a request; requests have no body. If the header Host, Origin, Authorization or
/// Cookie occurs several times, the field has its first value, and `is_ambiguous` is true.
struct HttpRequest {
  std::string method;  ///< As sent: "GET", "HEAD", "POST"
  std::string target;  ///< Path and parameters as sent, not decoded.
  std::string host, origin, authorization, cookie;
  std::string accept;           ///< Accepted media types; empty means any.
  std::string accept_encoding;  ///< All Accept-Encoding headers, joined by commas: "gzip, br".
  bool is_ambiguous = false;
  bool is_websocket = false;  ///< True if the request asks for a WebSocket.
};

/// An answer. The server adds Content-Length and, if needed, Connection.
struct HttpReply {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

/// Makes the answers. The server's thread calls screen() and knows(). Any of the server's threads
/// may call refusal(), also several at the same time. These functions must be quick. Worker threads
/// call answer() and news(), which may take as long as the client can wait. Several threads may
/// call answer() at the same time, but only one thread at a time calls news().
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;

  /// Called first for each request. Returns a refusal or a redirection; nullopt accepts the
  /// request. A WebSocket is opened only for accepted requests.
  virtual std::optional<HttpReply> screen(const HttpRequest& request) = 0;
  /// Returns the answer to an accepted request. A HEAD request is answered like GET; the server
  /// leaves out the body. `given_up` becomes true when the server ends, or when it notices that the
  /// client has closed the connection (or its sending side). After that the answer does not matter,
  /// but answer() must return soon.
  virtual HttpReply answer(const HttpRequest& request, const std::atomic<bool>& given_up) = 0;
  /// Returns the reply to a request that the server itself refuses, for example because it is too
  /// large or not HTTP, or because answer() has thrown an exception (500). Also called for a
  /// request that is too slow and when there are too many connections; then the reply is not sent.
  /// The handler counts these calls.
  virtual HttpReply refusal(unsigned status, const std::string& sentence) = 0;
  /// Returns true if an accepted request came from a known user. When all connections are in use,
  /// the server keeps the connections of known users.
  virtual bool knows(const HttpRequest& /*request*/) { return true; }
  /// Returns the state to send over WebSockets, as text. Called periodically while a WebSocket is
  /// open. Each WebSocket gets the newest state, but only if the state has changed. If news()
  /// throws an exception, the server closes all WebSockets. It logs the first of several failures
  /// in a row.
  virtual std::string news() = 0;
};

/// Limits for what unknown clients can use. Each wait on a peer has a deadline.
struct HttpOptions {
  /// Maximum number of connections. If one more client connects, the server closes the oldest
  /// connection on which no known user has sent a request. If all connections belong to known
  /// users, the server closes the new connection. In both cases it sends no answer and calls
  /// HttpHandler::refusal().
  std::size_t max_connections = 64;
  std::size_t max_header_bytes = 16u << 10;
  /// Timeout for a request, from its first to its last byte. Also the timeout from the start of a
  /// connection to the first byte of its first request.
  Nanos header_deadline = 10 * kSecond;
  Nanos idle_deadline = 60 * kSecond;  ///< Timeout between requests of one connection.
  Nanos write_deadline = 30 * kSecond;
  Nanos news_every = 250 * kMillisecond;
  unsigned workers = 3;  ///< Number of worker threads. Requests wait while all of these are busy.
  /// If true, SIGTERM, SIGINT and SIGHUP end run(). A second signal has its default effect. Use it
  /// in a program that is only a server.
  bool ends_on_signals = false;
};

/// Runs on the thread that calls run(), and has worker threads for the handler. The server refuses
/// requests with a body (413). The handler refuses methods other than GET and HEAD. A connection
/// needs memory for at most one request head and one reply.
class HttpServer {
 public:
  /// Borrows the handler. `listening` is a listening TCP socket. Starts the worker threads. Fails
  /// with kExhausted if the system refuses a thread or a descriptor, and with kInvalidArgument if
  /// `listening` is not a socket.
  static Result<std::unique_ptr<HttpServer>> make(HttpHandler& handler, HttpOptions options,
                                                  UniqueFd listening);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Runs until stop() or a signal. Then drops waiting requests, and returns after the handler has
  /// finished the requests in progress. The destructor closes the connections.
  void run();
  /// Any thread may call it.
  void stop();

 private:
  class Loop;
  explicit HttpServer(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace xylem::net
