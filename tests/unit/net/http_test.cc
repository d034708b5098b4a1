#include "net/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "net/runtime.h"
#include "tests/support/no_threads.h"

namespace xylem::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Nanos kPatience = 20 * kSecond;

/// Answers with the target, and holds those that ask for /slow until released.
class Echo final : public HttpHandler {
 public:
  std::optional<HttpReply> screen(const HttpRequest& request) override {
    if (request.target != "/refused") return std::nullopt;
    return HttpReply{403, {}, "screened"};
  }
  HttpReply answer(const HttpRequest& request, const std::atomic<bool>& given_up) override {
    ++answers;
    if (request.target == "/throws") throw std::bad_alloc();
    while (request.target == "/slow" && !released && !given_up) std::this_thread::yield();
    gave_up += given_up ? 1 : 0;
    return {200, {{"X-Host", request.host}}, request.method + " " + request.target};
  }
  HttpReply refusal(unsigned status, const std::string& sentence) override {
    ++refusals;
    return {status, {}, sentence};
  }
  bool knows(const HttpRequest& request) override { return request.target != "/healthz"; }
  std::string news() override {
    if (news_throws) throw std::bad_alloc();
    return "news";
  }

  std::atomic<bool> released = false, news_throws = false;
  std::atomic<int> refusals = 0, answers = 0, gave_up = 0;
};

/// A client's socket; what comes is read until `end` of it is there or the connection is closed.
class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  void send(const std::string& text) {
    std::size_t at = 0;
    while (at < text.size()) {
      const ssize_t sent = ::send(fd_.get(), text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return;
      at += static_cast<std::size_t>(sent);
    }
  }
  std::string receive(const std::string& end = "") {
    const Nanos deadline = monotonic_now() + kPatience;
    std::string text;
    std::array<char, 4096> piece{};
    while (monotonic_now() < deadline && (end.empty() || text.find(end) == std::string::npos)) {
      pollfd waiting{fd_.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 100) <= 0) continue;
      const ssize_t got = ::recv(fd_.get(), piece.data(), piece.size(), 0);
      if (got <= 0) return text;
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
    EXPECT_LT(monotonic_now(), deadline) << "nothing came any more";
    return text;
  }

 private:
  UniqueFd fd_;
};

class HttpTest : public ::testing::Test {
 protected:
  void start(HttpOptions options = {}) {
    auto socket = listen_tcp("127.0.0.1", 0);
    ASSERT_TRUE(socket) << socket.error().message;
    port_ = *bound_port(*socket);
    auto server = HttpServer::make(echo_, options, *std::move(socket));
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    thread_ = std::thread([this] { server_->run(); });
  }
  ~HttpTest() override {
    echo_.released = true;
    if (server_) server_->stop();
    if (thread_.joinable()) thread_.join();
  }
  /// Soon: a connection may be closed a moment before it is counted.
  void expect_refusals(int count) {
    const Nanos deadline = monotonic_now() + kPatience;
    while (echo_.refusals != count && monotonic_now() < deadline) std::this_thread::yield();
    EXPECT_EQ(echo_.refusals, count);
  }
  static std::string get(const std::string& target, const std::string& more = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: here\r\n" + more + "\r\n";
  }

  Echo echo_;
  std::uint16_t port_ = 0;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST_F(HttpTest, SaysThatTheSystemRefusesItsThreads) {
  auto socket = listen_tcp("127.0.0.1", 0);
  ASSERT_TRUE(socket) << socket.error().message;
  const xylem::testing::NoThreads no_threads;
  const auto server = HttpServer::make(echo_, {}, *std::move(socket));
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Code::kExhausted);
}

TEST_F(HttpTest, SaysThatItHasNoSocket) {
  const auto server = HttpServer::make(echo_, {}, UniqueFd(::open("/dev/null", O_RDONLY)));
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Code::kInvalidArgument);
}

TEST_F(HttpTest, AnswersOneRequestAfterAnotherOnAConnection) {
  start();
  Client client(port_);
  client.send(get("/a") + get("/b"));  // The second may already be on its way.
  const std::string both = client.receive("GET /b");
  EXPECT_THAT(both, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(both, HasSubstr("X-Host: here"));
  EXPECT_THAT(both, HasSubstr("GET /a"));
  client.send("HEAD /c HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
  const std::string head = client.receive();
  EXPECT_THAT(head, HasSubstr("Content-Length: 7"));
  EXPECT_EQ(head.find("HEAD /c"), std::string::npos);
}

TEST_F(HttpTest, WhatIsScreenedIsNeverAnswered) {
  start();
  Client client(port_);
  client.send(get("/refused"));
  EXPECT_THAT(client.receive("screened"), StartsWith("HTTP/1.1 403"));
}

TEST_F(HttpTest, ASlowAnswerHoldsUpNobodyElse) {
  start();
  Client slow(port_);
  slow.send(get("/slow"));
  Client quick(port_);
  quick.send(get("/quick"));
  EXPECT_THAT(quick.receive("GET /quick"), StartsWith("HTTP/1.1 200"));
  echo_.released = true;
  EXPECT_THAT(slow.receive("GET /slow"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpTest, RefusesABodyAndReadsItSoThatTheRefusalArrives) {
  start();
  Client client(port_);
  const std::string body(10u << 20, 'x');
  client.send("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body);
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 413"));
  Client chunked(port_);
  chunked.send("POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_THAT(chunked.receive("send less"), StartsWith("HTTP/1.1 413"));
  expect_refusals(2);
}

TEST_F(HttpTest, RefusesAHeadThatIsTooLargeOrNoHttp) {
  start();
  Client large(port_);
  large.send(get("/", "X: " + std::string(100'000, 'x') + "\r\n"));
  EXPECT_THAT(large.receive(), StartsWith("HTTP/1.1 431"));
  Client odd(port_);
  odd.send("\x16\x03\x01 hello\r\n\r\n");
  EXPECT_THAT(odd.receive(), StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpTest, ClosesAConnectionThatIsTooSlow) {
  HttpOptions options;
  options.header_deadline = 50 * kMillisecond;
  options.idle_deadline = 50 * kMillisecond;
  start(options);
  Client slow(port_);
  slow.send("GET / HT");
  EXPECT_EQ(slow.receive(), "");
  expect_refusals(1);
  Client idle(port_);
  EXPECT_EQ(idle.receive(), "");
}

TEST_F(HttpTest, ClosesConnectionsBeyondItsBoundUnheardAndCountsThem) {
  HttpOptions options;
  options.max_connections = 1;
  start(options);
  Client first(port_);
  first.send(get("/first"));
  ASSERT_THAT(first.receive("GET /first"), StartsWith("HTTP/1.1 200"));
  Client second(port_);
  EXPECT_EQ(second.receive(), "");
  expect_refusals(1);
  first.send(get("/again"));
  EXPECT_THAT(first.receive("GET /again"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpTest, AnAnswerThatCannotBeMadeIsARefusal) {
  start();
  Client client(port_);
  client.send(get("/throws"));
  EXPECT_THAT(client.receive("could not be made"), StartsWith("HTTP/1.1 500"));
}

TEST_F(HttpTest, AWebSocketIsToldTheNews) {
  HttpOptions options;
  options.news_every = kMillisecond;
  start(options);
  Client client(port_);
  client.send(get("/live",
                  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"));
  const std::string told = client.receive("news");
  EXPECT_THAT(told, StartsWith("HTTP/1.1 101"));
  EXPECT_THAT(told, HasSubstr("\x81\x04news"));  // A text of four bytes.
}

TEST_F(HttpTest, NewsThatCannotBeMadeCloseTheWebSocketsAndAreLoggedOnce) {
  std::mutex mutex;
  std::string said;
  set_log_sink([&](Level, std::string_view line) {
    const std::lock_guard lock(mutex);
    said += std::string(line) + '\n';
  });
  HttpOptions options;
  options.news_every = kMillisecond;
  start(options);
  const std::string live =
      get("/live",
          "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
          "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n");
  Client first(port_);
  first.send(live);
  ASSERT_THAT(first.receive("news"), StartsWith("HTTP/1.1 101"));
  echo_.news_throws = true;
  EXPECT_EQ(first.receive(), "");  // It is closed.
  Client second(port_);
  second.send(live);
  EXPECT_THAT(second.receive(), Not(HasSubstr("news")));
  {
    const std::lock_guard lock(mutex);
    EXPECT_THAT(said, HasSubstr("WebSockets closed"));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  }
  echo_.news_throws = false;
  Client third(port_);
  third.send(live);
  EXPECT_THAT(third.receive("news"), HasSubstr("\x81\x04news"));
  set_log_sink({});
}

TEST_F(HttpTest, StopsWithConnectionsAndQuestionsOpen) {
  HttpOptions options;
  options.news_every = kMillisecond;
  start(options);
  Client idle(port_), live(port_), slow(port_);
  live.send(get("/live",
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"));
  ASSERT_THAT(live.receive("news"), StartsWith("HTTP/1.1 101"));
  slow.send(get("/slow"));
  server_->stop();
  echo_.released = true;
  thread_.join();
  server_.reset();
  EXPECT_EQ(idle.receive(), "");
}

TEST_F(HttpTest, AtItsEndAnswersAreGivenUpAndWhoWaitsIsDropped) {
  HttpOptions options;
  options.workers = 1;
  start(options);
  Client first(port_), second(port_), third(port_);
  first.send(get("/slow"));
  const Nanos deadline = monotonic_now() + kPatience;
  while (echo_.answers == 0 && monotonic_now() < deadline) std::this_thread::yield();
  second.send(get("/second"));
  // Its refusal comes after the server has read what was sent before.
  third.send(get("/refused"));
  EXPECT_THAT(third.receive("screened"), StartsWith("HTTP/1.1 403"));
  server_->stop();
  thread_.join();  // Nobody has released the first.
  EXPECT_EQ(echo_.gave_up, 1);
  EXPECT_EQ(echo_.answers, 1);
}

TEST_F(HttpTest, AQuestionWhoseAskerHasGoneIsGivenUp) {
  HttpOptions options;
  options.workers = 1;
  start(options);
  {
    Client gone(port_);
    gone.send(get("/slow"));
    const Nanos deadline = monotonic_now() + kPatience;
    while (echo_.answers == 0 && monotonic_now() < deadline) std::this_thread::yield();
  }
  Client next(port_);  // The only worker is free again, and nobody has released it.
  next.send(get("/next"));
  EXPECT_THAT(next.receive("GET /next"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(echo_.gave_up, 1);
}

// mallinfo2() counts nothing under a sanitizer, so the test cannot fail there.
TEST_F(HttpTest, AConnectionNeedsNoMoreMemoryForMoreRequests) {
  constexpr int kRequests = 1000;
  start();
  Client client(port_);
  const auto ask = [&](int times) {
    for (int i = 0; i < times; ++i) {
      client.send(get("/a"));
      ASSERT_THAT(client.receive("GET /a"), StartsWith("HTTP/1.1 200"));
    }
  };
  ask(100);  // Buffers have their size by now.
  const std::size_t before = ::mallinfo2().uordblks;
  ask(kRequests);
  EXPECT_LT(::mallinfo2().uordblks, before + kRequests * std::size_t{64});
}

TEST_F(HttpTest, WhoHasSentTheNextRequestAlreadyIsAnswered) {
  start();
  Client client(port_);
  client.send(get("/slow"));
  const Nanos deadline = monotonic_now() + kPatience;
  while (echo_.answers == 0 && monotonic_now() < deadline) std::this_thread::yield();
  client.send(get("/next"));
  echo_.released = true;
  EXPECT_THAT(client.receive("GET /next"), HasSubstr("GET /slow"));
  EXPECT_EQ(echo_.gave_up, 0);
}

TEST_F(HttpTest, ASecondSignalDoesNotWait) {
  const auto served = [this] {
    HttpOptions options;
    options.ends_on_signals = true;
    start(options);
    Client client(port_);
    client.send(get("/first"));
    client.receive("GET /first");
    ::raise(SIGTERM);
    thread_.join();
    ::raise(SIGTERM);
  };
  EXPECT_EXIT(served(), ::testing::KilledBySignal(SIGTERM), "");
}

TEST_F(HttpTest, StrangersMakeRoomForNewcomersButThoseKnownStay) {
  HttpOptions options;
  options.max_connections = 3;
  start(options);
  Client known(port_);
  known.send(get("/known"));
  ASSERT_THAT(known.receive("GET /known"), StartsWith("HTTP/1.1 200"));
  Client stranger(port_), silent(port_);
  stranger.send(get("/healthz"));
  ASSERT_THAT(stranger.receive("GET /healthz"), StartsWith("HTTP/1.1 200"));
  Client newcomer(port_);
  EXPECT_EQ(stranger.receive(), "");
  expect_refusals(1);
  newcomer.send(get("/newcomer"));
  EXPECT_THAT(newcomer.receive("GET /newcomer"), StartsWith("HTTP/1.1 200"));
  known.send(get("/again"));
  EXPECT_THAT(known.receive("GET /again"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpTest, WhoNeverAsksIsClosedBeforeWhoRests) {
  HttpOptions options;
  options.header_deadline = 50 * kMillisecond;
  start(options);
  Client rests(port_);
  rests.send(get("/first"));
  ASSERT_THAT(rests.receive("GET /first"), StartsWith("HTTP/1.1 200"));
  Client silent(port_);
  EXPECT_EQ(silent.receive(), "");
  rests.send(get("/again"));
  EXPECT_THAT(rests.receive("GET /again"), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace xylem::net
