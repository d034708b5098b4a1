// Only this file uses Beast, so it compiles slowly. Each connection has one coroutine. Requests go
// to worker threads, and the answers come back to the loop. Only the loop changes state.

#include "net/http.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <functional>
#include <list>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "base/log.h"
#include "net/spawn_internal.h"

namespace xylem::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;
using asio::awaitable;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
/// Maximum size of a message that a client sends over a WebSocket. Such messages are received but
/// ignored.
constexpr std::size_t kMaxMessageBytes = 4096;
/// Limits for reading the body of a refused request. It is read so that the client gets to read the
/// refusal.
constexpr std::size_t kMaxDrainedBytes = 64u << 20;
constexpr Nanos kDrainDeadline = 2 * kSecond;

using Parser = http::request_parser<http::empty_body>;
using Response = http::response<http::string_body>;

std::chrono::nanoseconds span(Nanos ns) { return std::chrono::nanoseconds(ns); }

HttpRequest request_of(const Parser& parser) {
  const auto& message = parser.get();
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  const auto take = [&](http::field field, std::string& into) {
    const auto [first, last] = message.equal_range(field);
    if (first == last) return;
    into = std::string(first->value());
    request.is_ambiguous |= std::next(first) != last;
  };
  take(http::field::host, request.host);
  take(http::field::origin, request.origin);
  take(http::field::authorization, request.authorization);
  take(http::field::cookie, request.cookie);
  request.accept = std::string(message[http::field::accept]);
  const auto [first, last] = message.equal_range(http::field::accept_encoding);
  for (auto encoding = first; encoding != last; ++encoding) {
    if (!request.accept_encoding.empty()) request.accept_encoding += ", ";
    request.accept_encoding += std::string(encoding->value());
  }
  request.is_websocket = websocket::is_upgrade(message);
  return request;
}

bool has_body(const Parser& parser) {
  return parser.chunked() || parser.content_length().value_or(0) != 0;
}

struct Refused {
  unsigned status;
  const char* sentence;
};
constexpr Refused kTooLarge = {413, "a request has no body here; send less"};

/// The reason why a head could not be read. Status 0: the peer has closed the connection, so there
/// is no reply.
Refused refused_for(const beast::error_code& failure) {
  if (failure == http::error::end_of_stream) return {0, ""};
  if (failure == http::error::header_limit) {
    return {431, "the request's head is too large; send fewer or shorter headers"};
  }
  if (failure == http::error::body_limit) return kTooLarge;
  if (failure.category() == http::make_error_code(http::error::bad_method).category()) {
    return {400, "this is not HTTP/1.1 as it should be"};
  }
  return {0, ""};
}

Response response_of(HttpReply reply, bool is_head, unsigned version, bool keep_alive) {
  Response response;
  response.result(reply.status);
  response.version(version);
  for (const auto& [name, value] : reply.headers) response.set(name, value);
  response.keep_alive(keep_alive);
  const std::size_t length = reply.body.size();
  if (!is_head) response.body() = std::move(reply.body);
  response.content_length(length);
  return response;
}

/// A WebSocket. It is shared by the coroutine that reads and the coroutine that writes.
struct Subscriber {
  explicit Subscriber(beast::tcp_stream stream)
      : socket(std::move(stream)),
        wake(socket.get_executor(), asio::steady_timer::time_point::max()) {}

  websocket::stream<beast::tcp_stream> socket;
  asio::steady_timer wake;
  std::string newest, sent;
  bool closed = false;
};

/// An HTTP connection. It lives in the coroutine that serves it.
struct Connection {
  std::optional<beast::tcp_stream> stream;  ///< None: it has become a WebSocket.
  bool has_asked = false;
};

/// An answer that a worker is making. It is shared with the worker's task, because the connection
/// may end first.
struct Pending {
  explicit Pending(const asio::any_io_executor& executor)
      : ready(executor, asio::steady_timer::time_point::max()) {}
  asio::steady_timer ready;
  HttpReply reply;
  bool is_answered = false;
  std::atomic<bool> given_up = false;  ///< All else is the loop's.
};

// The worker threads. asio::thread_pool cannot report that the system refuses one of its threads:
// it waits for ever for the threads that it has started.
class Workers {
 public:
  Workers() = default;
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  Result<void> start(unsigned count) {
    try {
      while (threads_.size() < count) threads_.emplace_back([this] { tasks_.run(); });
    } catch (const std::system_error& error) {
      return unexpected(Code::kExhausted, std::string("cannot start a thread: ") + error.what());
    }
    return {};
  }
  template <typename Task>
  void post(Task task) {
    asio::post(tasks_, std::move(task));
  }
  // Drops waiting tasks, and waits for the running ones.
  void stop() {
    tasks_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  asio::io_context tasks_;
  asio::executor_work_guard<asio::io_context::executor_type> waits_for_tasks_{
      tasks_.get_executor()};
  std::vector<std::thread> threads_;
};

}  // namespace

class HttpServer::Loop {
 public:
  Loop(HttpHandler& handler, HttpOptions options)
      : handler_(handler), options_(options), acceptor_(io_), signals_(io_), news_timer_(io_) {}

  Result<void> start(UniqueFd listening) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      return unexpected(Code::kInvalidArgument,
                        std::string("cannot listen for HTTP: ") + std::strerror(errno));
    }
    beast::error_code failure;
    acceptor_.assign(address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), listening.release(),
                     failure);
    if (failure) {
      return unexpected(Code::kInvalidArgument, "cannot listen for HTTP: " + failure.message());
    }
    return workers_.start(std::max(options_.workers, 1u));
  }

  void run() {
    if (options_.ends_on_signals) {
      for (const int signal : {SIGTERM, SIGINT, SIGHUP}) signals_.add(signal);
      signals_.async_wait([this](const beast::error_code& failure, int) {
        if (failure) return;
        beast::error_code ignored;
        signals_.clear(ignored);  // The second signal must end the program.
        io_.stop();
      });
    }
    spawn(io_.get_executor(), accept());
    spawn(io_.get_executor(), tell_news());
    io_.run();
    for (const auto& pending : asked_) pending->given_up = true;
    workers_.stop();
  }

  void stop() { io_.stop(); }

 private:
  awaitable<void> accept();
  awaitable<void> serve(tcp::socket socket);
  awaitable<bool> exchange(Connection& connection, beast::flat_buffer& buffer);
  bool make_room();
  awaitable<void> refuse(beast::tcp_stream& stream, Refused why);
  awaitable<HttpReply> ask(beast::tcp_stream& stream, HttpRequest request);
  void watch(tcp::socket& socket, const std::shared_ptr<Pending>& pending);
  awaitable<bool> write(beast::tcp_stream& stream, HttpReply reply, const Parser* parser);
  awaitable<void> subscribe(beast::tcp_stream stream, const Parser& parser);
  awaitable<void> write_news(std::shared_ptr<Subscriber> subscriber);
  awaitable<void> tell_news();

  HttpHandler& handler_;
  HttpOptions options_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer news_timer_;
  std::size_t connections_ = 0;
  std::list<Connection*> strangers_;  ///< Not known yet; oldest first.
  // Both are shared with the coroutines and tasks that use them, see Subscriber and Pending.
  std::set<std::shared_ptr<Subscriber>> subscribers_;
  std::set<std::shared_ptr<Pending>> asked_;  ///< Questions without an answer.
  Workers workers_;                           // The last member: tasks use all other members.
};

awaitable<void> HttpServer::Loop::accept() {
  for (;;) {
    tcp::socket socket(io_);
    const auto [failure] = co_await acceptor_.async_accept(socket, kAwait);
    if (failure == asio::error::operation_aborted) co_return;
    if (failure) {  // Out of descriptors, most likely: others must end first.
      asio::steady_timer pause(io_, std::chrono::milliseconds(100));
      co_await pause.async_wait(kAwait);
      continue;
    }
    if (connections_ >= options_.max_connections && !make_room()) continue;
    spawn(io_.get_executor(), serve(std::move(socket)));
  }
}

// Anybody on the host can connect. Connections without the token must not keep out connections with
// the token.
bool HttpServer::Loop::make_room() {
  handler_.refusal(503, "too many connections");
  if (strangers_.empty()) return false;
  strangers_.front()->stream->close();  // Its coroutine ends with what it waits for.
  strangers_.pop_front();
  return true;
}

awaitable<void> HttpServer::Loop::serve(tcp::socket socket) {
  ++connections_;
  Connection connection{beast::tcp_stream(std::move(socket))};
  strangers_.push_back(&connection);
  beast::flat_buffer buffer(options_.max_header_bytes + 4096);
  bool goes_on = true;
  while (goes_on) goes_on = co_await exchange(connection, buffer);
  strangers_.remove(&connection);
  beast::error_code ignored;
  if (connection.stream) {
    connection.stream->socket().shutdown(tcp::socket::shutdown_both, ignored);
  }
  --connections_;
}

// One request and its reply. False: the connection is at its end, or became a WebSocket.
awaitable<bool> HttpServer::Loop::exchange(Connection& connection, beast::flat_buffer& buffer) {
  beast::tcp_stream& stream = *connection.stream;
  if (buffer.size() == 0) {  // Between requests a peer may rest.
    stream.expires_after(
        span(connection.has_asked ? options_.idle_deadline : options_.header_deadline));
    const auto space = buffer.prepare(1024);
    const auto [failure, bytes] = co_await stream.async_read_some(space, kAwait);
    if (failure) co_return false;
    buffer.commit(bytes);
  }
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(options_.max_header_bytes));
  parser.body_limit(0);
  stream.expires_after(span(options_.header_deadline));
  const auto [failure, bytes] = co_await http::async_read_header(stream, buffer, parser, kAwait);
  if (failure || has_body(parser)) {
    // After a timeout the connection is already closed, so the refusal is only counted.
    if (failure == beast::error::timeout) handler_.refusal(408, "the request came too slowly");
    const Refused why = failure ? refused_for(failure) : kTooLarge;
    if (why.status != 0) co_await refuse(stream, why);
    co_return false;
  }
  const HttpRequest request = request_of(parser);
  connection.has_asked = true;
  std::optional<HttpReply> refused = handler_.screen(request);
  if (!refused && (request.is_websocket || handler_.knows(request))) {
    strangers_.remove(&connection);
  }
  if (!refused && request.is_websocket) {
    stream.expires_never();  // A WebSocket has deadlines of its own.
    beast::tcp_stream taken = *std::move(connection.stream);
    connection.stream.reset();
    co_await subscribe(std::move(taken), parser);
    co_return false;
  }
  HttpReply reply;
  if (refused) {
    reply = *std::move(refused);
  } else {
    stream.expires_never();
    reply = co_await ask(stream, request);
  }
  co_return co_await write(stream, std::move(reply), &parser);
}

// The peer may still be sending. If the connection were closed at once, the peer would lose the
// reply.
awaitable<void> HttpServer::Loop::refuse(beast::tcp_stream& stream, Refused why) {
  HttpReply reply = handler_.refusal(why.status, why.sentence);
  const bool written = co_await write(stream, std::move(reply), nullptr);
  beast::error_code ignored;
  stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
  static_cast<void>(written);
  std::vector<char> sink(64u << 10);
  stream.expires_after(span(kDrainDeadline));
  for (std::size_t drained = 0; drained < kMaxDrainedBytes;) {
    const auto space = asio::buffer(sink);
    const auto [failure, bytes] = co_await stream.async_read_some(space, kAwait);
    if (failure) co_return;
    drained += bytes;
  }
}

// Detects a peer that closes the connection by the end of its data. A peer that has already sent
// its next request is not watched.
void HttpServer::Loop::watch(tcp::socket& socket, const std::shared_ptr<Pending>& pending) {
  socket.async_wait(
      tcp::socket::wait_read, [this, &socket, pending](const beast::error_code& failure) {
        if (pending->is_answered) return;  // The socket may be gone by now.
        char next = 0;
        const ssize_t got =
            failure ? -1 : ::recv(socket.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
        if (got > 0) return;
        if (!failure && got < 0 && errno == EAGAIN) return watch(socket, pending);
        pending->given_up = true;
      });
}

awaitable<HttpReply> HttpServer::Loop::ask(beast::tcp_stream& stream, HttpRequest request) {
  auto pending = std::make_shared<Pending>(io_.get_executor());  // Shared, see Pending.
  asked_.insert(pending);
  watch(stream.socket(), pending);
  auto task = [this, pending, request = std::move(request)] {
    HttpReply reply;
    try {
      reply = handler_.answer(request, pending->given_up);
    } catch (const std::exception& e) {  // Memory: the bounds of answers are above what there is.
      reply = handler_.refusal(500, std::string("the answer could not be made: ") + e.what());
    }
    asio::post(io_, [pending, reply = std::move(reply)]() mutable {
      pending->reply = std::move(reply);
      pending->ready.cancel();
    });
  };
  workers_.post(std::move(task));
  // The loop runs on this thread, so the answer cannot come before the wait has begun.
  co_await pending->ready.async_wait(kAwait);
  pending->is_answered = true;
  asked_.erase(pending);
  beast::error_code ignored;
  stream.socket().cancel(ignored);
  co_return std::move(pending->reply);
}

awaitable<bool> HttpServer::Loop::write(beast::tcp_stream& stream, HttpReply reply,
                                        const Parser* parser) {
  const bool is_head = parser != nullptr && parser->get().method() == http::verb::head;
  const bool keep_alive = parser != nullptr && parser->get().keep_alive();
  const unsigned version = parser != nullptr ? parser->get().version() : 11;
  Response response = response_of(std::move(reply), is_head, version, keep_alive);
  stream.expires_after(span(options_.write_deadline));
  if (is_head) {
    http::response_serializer<http::string_body> head(response);
    const auto [failure, bytes] = co_await http::async_write_header(stream, head, kAwait);
    co_return !failure && keep_alive;
  }
  const auto [failure, bytes] = co_await http::async_write(stream, response, kAwait);
  co_return !failure && keep_alive;
}

awaitable<void> HttpServer::Loop::subscribe(beast::tcp_stream stream, const Parser& parser) {
  auto subscriber = std::make_shared<Subscriber>(std::move(stream));  // Shared, see Subscriber.
  auto& socket = subscriber->socket;
  socket.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
  socket.read_message_max(kMaxMessageBytes);
  const auto [refused] = co_await socket.async_accept(parser.get(), kAwait);
  if (refused) co_return;
  socket.text(true);
  subscribers_.insert(subscriber);
  spawn(io_.get_executor(), write_news(subscriber));
  beast::flat_buffer ignored;
  for (;;) {
    const auto [failure, bytes] = co_await socket.async_read(ignored, kAwait);
    if (failure) break;
    ignored.clear();
  }
  subscriber->closed = true;
  subscriber->wake.cancel();
  subscribers_.erase(subscriber);
}

awaitable<void> HttpServer::Loop::write_news(std::shared_ptr<Subscriber> subscriber) {
  while (!subscriber->closed) {
    if (subscriber->newest == subscriber->sent) {
      co_await subscriber->wake.async_wait(kAwait);
      continue;
    }
    subscriber->sent = subscriber->newest;
    const auto text = asio::buffer(subscriber->sent);
    const auto [failure, bytes] = co_await subscriber->socket.async_write(text, kAwait);
    if (!failure) continue;
    beast::get_lowest_layer(subscriber->socket).close();
    co_return;
  }
}

awaitable<void> HttpServer::Loop::tell_news() {
  auto pending = std::make_shared<Pending>(io_.get_executor());  // Shared, see Pending.
  bool has_failed = false;                                       // Since the last news.
  for (;;) {
    news_timer_.expires_after(span(options_.news_every));
    const auto [stopped] = co_await news_timer_.async_wait(kAwait);
    if (stopped) co_return;
    if (subscribers_.empty()) continue;
    auto task = [this, pending] {
      HttpReply reply;
      try {
        reply.body = handler_.news();
      } catch (const std::exception& e) {
        reply.status = 500;
        reply.body = e.what();
      }
      asio::post(io_, [pending, reply = std::move(reply)]() mutable {
        pending->reply = std::move(reply);
        pending->ready.cancel();
      });
    };
    workers_.post(std::move(task));
    co_await pending->ready.async_wait(kAwait);
    const bool had_failed = std::exchange(has_failed, pending->reply.status != 200);
    if (has_failed) {
      if (!had_failed) {
        log(Level::kWarn, "WebSockets closed: the news could not be made",
            {{"why", pending->reply.body}});
      }
      // The clients notice, and may connect again. subscribe() ends with its connection.
      for (const auto& subscriber : subscribers_) {
        beast::get_lowest_layer(subscriber->socket).close();
      }
      continue;
    }
    for (const auto& subscriber : subscribers_) {
      if (subscriber->newest == pending->reply.body) continue;
      subscriber->newest = pending->reply.body;
      subscriber->wake.cancel();
    }
  }
}

Result<std::unique_ptr<HttpServer>> HttpServer::make(HttpHandler& handler, HttpOptions options,
                                                     UniqueFd listening) {
  std::unique_ptr<Loop> loop;
  try {
    loop = std::make_unique<Loop>(handler, options);
  } catch (const std::exception& error) {  // No descriptors for epoll or for the signals' pipe.
    return unexpected(Code::kExhausted, std::string("cannot serve HTTP: ") + error.what());
  }
  if (auto started = loop->start(std::move(listening)); !started) {
    return unexpected(std::move(started.error()));
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(loop)));  // A private constructor.
}

HttpServer::HttpServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
HttpServer::~HttpServer() = default;
void HttpServer::run() { loop_->run(); }
void HttpServer::stop() { loop_->stop(); }

}  // namespace xylem::net
