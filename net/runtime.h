#pragma once

// The event loop that drives a Node over real links.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/key.h"
#include "overlay/node.h"
#include "overlay/notice_board.h"

namespace xylem::net {

/// Limits for peers that have not proved the key. Together with wire::kMaxHelloBytes they limit the
/// cost of unknown peers: at most this many connections, each with one small frame and OpenSSL's
/// state.
constexpr std::size_t kMaxUnproved = 512;
constexpr Nanos kProofDeadline = 5 * kSecond;

/// While more bytes than this wait on the upward link, children get no credit (overlay/credits.h).
constexpr std::size_t kUpwardHighWater = 1u << 20;
/// While more bytes than this wait on the link to any child, the parent gets no credit.
constexpr std::size_t kDownwardHighWater = 1u << 20;

/// Maximum size of the data that waits on a link, not counting one more frame. Further data is
/// dropped; leaves still have it in their journals.
constexpr std::size_t kMaxQueueBytes = 64u << 20;

struct RuntimeOptions {
  std::string run;  ///< Run id; a hello must contain it.
  Key key{};
  /// Use TLS over TCP. If the two sides differ, they refuse each other with an error message. Unix
  /// sockets never use TLS, because both ends are processes of one user on one host; each end
  /// checks this first.
  bool tls = true;
  /// A Unix path is tried if its host key equals this key or is empty (wire::Address).
  std::string host_key;
  NodeId node = wire::kNoNode;            ///< Sent in Welcome.
  Nanos proof_deadline = kProofDeadline;  ///< Shorter in tests.
  bool is_root = false;                   ///< This is the front end; its clock is the run's clock.
  /// Board for the notices of this process. The loop sends these notices, and the notices of
  /// children, up when there is an upward link; the Node does not see them. nullptr: the Node gets
  /// notices as messages, as in the front end. Borrowed.
  overlay::NoticeBoard* notices = nullptr;
  /// Listening sockets, TCP or Unix, already bound. Network::addresses() returns their addresses.
  std::vector<UniqueFd> listening;
  /// Numeric addresses at which peers reach sockets that are bound to all addresses.
  std::vector<std::string> reachable_hosts;
};

/// The event loop as an object, for programs that also do other work. The Node is called on the
/// thread that is in run() or run_until(). Only one thread may be in them at a time.
class EventLoop {
 public:
  EventLoop(overlay::Node& node, RuntimeOptions options);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Runs until the Node calls Network::stop.
  void run();
  /// Runs until `done` returns true, the deadline (monotonic) passes, or the Node stops. Calls
  /// `done` after each event. Even if `done` is true from the start, it handles some events that
  /// are ready, so that a program that only sends still receives.
  void run_until(const std::function<bool()>& done, Nanos deadline);

  bool is_stopped() const;
  int exit_code() const;  ///< The exit code that the Node passed to Network::stop.

  /// Runs `work` on the loop, in the order of the calls. Any thread may call it while the loop
  /// exists. Work posted after the Node's stop may never run.
  void post(std::function<void()> work);
  /// Like post(), but at time `when` (monotonic).
  void post_at(Nanos when, std::function<void()> work);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

/// Runs until the Node calls Network::stop, and returns the exit code. Uses only the calling
/// thread. An exception that escapes a Node is a bug: it ends the program with a message.
int run_node(overlay::Node& node, RuntimeOptions options);

/// Makes a TCP socket that listens on `host` and `port`. `host` is numeric; "0.0.0.0" means all
/// IPv4 addresses, "::" all IPv4 and IPv6 addresses. Port 0 means any free port. Fails with
/// kAlreadyExists if the port is in use, and with kInvalidArgument if the address is not an address
/// of this host. The message names both.
Result<UniqueFd> listen_tcp(const std::string& host, std::uint16_t port);

/// Makes a Unix socket that listens on `path`. First removes an existing file; the new file has
/// mode 0600. The file stays when the socket is closed; the caller removes it. Fails with
/// kInvalidArgument if the path is too long for a socket (over 107 characters), and like
/// listen_tcp().
Result<UniqueFd> listen_unix(const std::string& path);

/// Returns the port to which a TCP socket is bound.
Result<std::uint16_t> bound_port(const UniqueFd& socket);

/// An interface of this host and its numeric address.
struct InterfaceAddress {
  std::string interface;
  std::string address;
  bool loopback = false;
};

/// Returns the addresses of the interfaces that are up: IPv4 before IPv6, loopback last, without
/// link-local addresses.
std::vector<InterfaceAddress> interface_addresses();

/// Returns the numeric addresses at which others reach a socket that listens on `host`. This is
/// `host` itself; for "0.0.0.0" and "::" it is the addresses of `all` that they include. Loopback
/// is included only if there are no others. Never empty.
std::vector<std::string> reachable_addresses(const std::string& host,
                                             const std::vector<InterfaceAddress>& all);

/// Returns the address to listen on to be reachable at all addresses of `all`: "::" if an address
/// other than loopback is IPv6, else "0.0.0.0".
std::string any_address(const std::vector<InterfaceAddress>& all);

/// Returns the numeric address of this host from which the kernel's routes reach `host` (numeric).
/// Sends nothing. Fails with kUnavailable if there is no route, and with kInvalidArgument if `host`
/// is not numeric.
Result<std::string> address_towards(const std::string& host);

}  // namespace xylem::net
