// What a link between two processes of one host costs: TCP with TLS, TCP, a Unix socket.
//
//   bench_link [ROUNDS]     round trips to make; the other counts are multiples of it [20000]
//
// Each row stands beside a floor measured in the same run: two processes that read and write a bare
// socket (TCP on loopback, or a Unix socket pair) and block in it. A link does more: it frames,
// copies once, watches a heartbeat, and runs in an event loop. The rows are
//
//   round_trip   a packet of 64 bytes to a node that sends it back, the median
//   small        packets of 64 bytes one way, as many as go; a link puts many into a system call
//   large        packets of 64 KiB one way

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "net/runtime.h"

namespace xylem::net {
namespace {

constexpr std::size_t kSmallBytes = 64;
constexpr std::size_t kLargeBytes = 64u << 10;
constexpr Nanos kPatience = 300 * kSecond;

struct Counts {
  std::size_t round_trips = 20'000;
  std::size_t small = 1'000'000;
  std::size_t large = 16'384;
};

struct Figures {
  double round_trip_us = 0;
  double small_per_second = 0;
  double large_gb_per_second = 0;
};

double seconds_since(Nanos begin) { return static_cast<double>(monotonic_now() - begin) * 1e-9; }

double median(std::vector<Nanos> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return static_cast<double>(times[times.size() / 2]);
}

wire::Packet packet_of(std::size_t bytes) {
  wire::Packet packet;
  packet.id.stream = wire::kChunkStream;
  packet.id.wave_end = 1;
  packet.id.sources = IntervalSet::of(0);
  packet.payload.assign(bytes, std::byte{0x5a});
  return packet;
}

// The other process of a bench: ends with this one's measurement, by itself.
template <typename Work>
pid_t in_another_process(Work work) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  CHECK(child >= 0);
  if (child == 0) {
    work();
    std::_Exit(0);
  }
  return child;
}

// ---- links ----

class BenchNode : public overlay::Node {
 public:
  void on_start(overlay::Network& network, Nanos now) override {
    network_ = &network;
    network.set_timer(now + kPatience);
  }
  void on_link_up(overlay::LinkId, const overlay::Peer&, Nanos) override {}
  void on_connect_failed(NodeId, const Error& why, Nanos) override {
    std::fprintf(stderr, "bench_link: %s\n", why.message.c_str());
    network_->stop(1);
  }
  void on_link_down(overlay::LinkId, const Error&, Nanos) override { network_->stop(0); }
  void on_timer(Nanos) override { network_->stop(1); }
  void on_readable(int, Nanos) override {}

 protected:
  overlay::Network* network_ = nullptr;
};

// Sends packets back until told otherwise by a goodbye; then counts them and answers each batch.
class Responder final : public BenchNode {
 public:
  void on_message(overlay::LinkId link, wire::Message message, Nanos) override {
    if (std::holds_alternative<wire::Goodbye>(message)) {
      batch_ = std::strtoul(std::get<wire::Goodbye>(message).reason.c_str(), nullptr, 10);
      count_ = 0;
    } else if (batch_ == 0) {
      network_->send(link, std::move(message));
    } else if (++count_ % batch_ == 0) {
      network_->send(link, wire::Goodbye{});
    }
  }

 private:
  std::size_t batch_ = 0;  // 0: send back.
  std::size_t count_ = 0;
};

// Makes the three measurements one after the other. At most four batches are on their way.
class Requester final : public BenchNode {
 public:
  Requester(wire::Address address, const Counts& counts)
      : address_(std::move(address)), counts_(counts), packet_(packet_of(kSmallBytes)) {}

  const Figures& figures() const { return figures_; }

  void on_start(overlay::Network& network, Nanos now) override {
    BenchNode::on_start(network, now);
    wire::Hello hello;
    hello.level = 1;
    network.connect({kFrontEndNode, {address_}}, hello);
  }
  void on_link_up(overlay::LinkId link, const overlay::Peer&, Nanos) override {
    begin_ = monotonic_now();
    network_->send(link, packet_);
  }
  void on_message(overlay::LinkId link, wire::Message, Nanos) override {
    if (batch_ == 0) return came_back(link);
    acknowledged_ += batch_;
    if (acknowledged_ < wanted_) return send_batches(link);
    if (wanted_ == counts_.small) {
      figures_.small_per_second = static_cast<double>(wanted_) / seconds_since(begin_);
      return flood(link, kLargeBytes, counts_.large, 16);
    }
    figures_.large_gb_per_second =
        static_cast<double>(wanted_ * kLargeBytes) * 1e-9 / seconds_since(begin_);
    network_->stop(0);
  }

 private:
  void came_back(overlay::LinkId link) {
    const Nanos now = monotonic_now();
    times_.push_back(now - begin_);
    begin_ = now;
    if (times_.size() < counts_.round_trips) return network_->send(link, packet_);
    figures_.round_trip_us = median(times_) * 1e-3;
    flood(link, kSmallBytes, counts_.small, 512);
  }
  void flood(overlay::LinkId link, std::size_t bytes, std::size_t count, std::size_t batch) {
    packet_ = packet_of(bytes);
    batch_ = batch;
    wanted_ = count / batch * batch;
    (bytes == kSmallBytes ? counts_.small : counts_.large) = wanted_;
    sent_ = acknowledged_ = 0;
    network_->send(link, wire::Goodbye{std::to_string(batch)});
    begin_ = monotonic_now();
    send_batches(link);
  }
  void send_batches(overlay::LinkId link) {
    for (; sent_ < std::min(wanted_, acknowledged_ + 4 * batch_); ++sent_) {
      network_->send(link, packet_);
    }
  }

  wire::Address address_;
  Counts counts_;
  wire::Packet packet_;
  Figures figures_;
  Nanos begin_ = 0;
  std::vector<Nanos> times_;
  std::size_t batch_ = 0, wanted_ = 0, sent_ = 0, acknowledged_ = 0;
};

Figures measure_link(wire::Transport transport, const Counts& counts) {
  RuntimeOptions options;
  options.run = "bench";
  options.key = make_key();
  options.tls = transport == wire::Transport::kTls;
  options.node = kFrontEndNode;
  std::string folder = (std::filesystem::temp_directory_path() / "xylem-link-XXXXXX").string();
  CHECK(::mkdtemp(folder.data()) != nullptr);
  wire::Address address;
  auto listener = [&] {
    if (transport != wire::Transport::kUnix) return listen_tcp("127.0.0.1", 0);
    address.unix_path = folder + "/socket";
    return listen_unix(address.unix_path);
  }();
  CHECK(listener);
  if (transport != wire::Transport::kUnix) {
    address.host = "127.0.0.1";
    address.port = *bound_port(*listener);
  }
  RuntimeOptions client;
  client.run = options.run;
  client.key = options.key;
  client.tls = options.tls;
  const pid_t child = in_another_process([&] {
    options.is_root = true;
    options.listening.push_back(*std::move(listener));
    Responder responder;
    run_node(responder, std::move(options));
  });
  listener->reset();
  Requester requester(address, counts);
  run_node(requester, std::move(client));
  ::waitpid(child, nullptr, 0);
  std::filesystem::remove_all(folder);
  return requester.figures();
}

// ---- floors ----

void read_exactly(int fd, std::vector<char>& piece, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes;) {
    const ssize_t size = ::read(fd, piece.data(), std::min(piece.size(), bytes - at));
    if (size <= 0) return;
    at += static_cast<std::size_t>(size);
  }
}

void write_exactly(int fd, const std::vector<char>& piece) {
  for (std::size_t at = 0; at < piece.size();) {
    const ssize_t size = ::write(fd, piece.data() + at, piece.size() - at);
    if (size <= 0) return;
    at += static_cast<std::size_t>(size);
  }
}

// Two connected sockets: a pair of Unix sockets, or TCP on loopback without delay.
std::pair<UniqueFd, UniqueFd> connected(bool tcp) {
  if (!tcp) {
    int ends[2];
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
  const auto listener = listen_tcp("127.0.0.1", 0);
  CHECK(listener);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  CHECK(::getsockname(listener->get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  UniqueFd here(::socket(AF_INET, SOCK_STREAM, 0));
  CHECK(::connect(here.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  UniqueFd there(::accept(listener->get(), nullptr, nullptr));
  const int on = 1;
  for (const UniqueFd* end : {&here, &there}) {
    ::setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return {std::move(here), std::move(there)};
}

Figures measure_floor(bool tcp, const Counts& counts) {
  auto [here, there] = connected(tcp);
  std::vector<char> small(kSmallBytes), large(kLargeBytes);
  const pid_t child = in_another_process([&, far = there.get()] {
    for (std::size_t i = 0; i < counts.round_trips; ++i) {
      read_exactly(far, small, kSmallBytes);
      write_exactly(far, small);
    }
    read_exactly(far, large, counts.small * kSmallBytes);
    write_exactly(far, small);
    read_exactly(far, large, counts.large * kLargeBytes);
    write_exactly(far, small);
  });
  there.reset();
  Figures figures;
  std::vector<Nanos> times;
  for (std::size_t i = 0; i < counts.round_trips; ++i) {
    const Nanos begin = monotonic_now();
    write_exactly(here.get(), small);
    read_exactly(here.get(), small, kSmallBytes);
    times.push_back(monotonic_now() - begin);
  }
  figures.round_trip_us = median(std::move(times)) * 1e-3;
  Nanos begin = monotonic_now();
  for (std::size_t i = 0; i < counts.small; ++i) write_exactly(here.get(), small);
  read_exactly(here.get(), small, kSmallBytes);
  figures.small_per_second = static_cast<double>(counts.small) / seconds_since(begin);
  begin = monotonic_now();
  for (std::size_t i = 0; i < counts.large; ++i) write_exactly(here.get(), large);
  read_exactly(here.get(), small, kSmallBytes);
  figures.large_gb_per_second =
      static_cast<double>(counts.large * kLargeBytes) * 1e-9 / seconds_since(begin);
  ::waitpid(child, nullptr, 0);
  return figures;
}

// ---- rows ----

void print(const char* name, const Figures& floor, const Figures& link) {
  std::printf("link_%s_round_trip: floor=%.1fus figure=%.1fus ratio=%.2f bar=none remark\n", name,
              floor.round_trip_us, link.round_trip_us, link.round_trip_us / floor.round_trip_us);
  std::printf("link_%s_small: floor=%.0f/s figure=%.0f/s ratio=%.2f bar=none remark\n", name,
              floor.small_per_second, link.small_per_second,
              link.small_per_second / floor.small_per_second);
  std::printf("link_%s_large: floor=%.2fGB/s figure=%.2fGB/s ratio=%.2f bar=none remark\n", name,
              floor.large_gb_per_second, link.large_gb_per_second,
              link.large_gb_per_second / floor.large_gb_per_second);
}

int bench(const Counts& counts) {
  const Figures tcp = measure_floor(true, counts);
  const Figures local = measure_floor(false, counts);
  print("tls", tcp, measure_link(wire::Transport::kTls, counts));
  print("tcp", tcp, measure_link(wire::Transport::kTcp, counts));
  print("unix", local, measure_link(wire::Transport::kUnix, counts));
  double load[3] = {};
  if (::getloadavg(load, 3) == 3) {
    std::printf("# load average %.2f %.2f %.2f\n", load[0], load[1], load[2]);
  }
  return 0;
}

}  // namespace
}  // namespace xylem::net

int main(int argc, char** argv) {
  xylem::net::Counts counts;
  if (argc > 1) {
    const auto rounds = static_cast<std::size_t>(std::strtoul(argv[1], nullptr, 10));
    if (argc > 2 || rounds == 0) {
      std::fputs("bench_link [ROUNDS]: a number above 0\n", stderr);
      return 2;
    }
    counts = {rounds, std::max<std::size_t>(50 * rounds, 512), std::max<std::size_t>(rounds, 16)};
  }
  return xylem::net::bench(counts);
}
