#pragma once

// The event loop that drives a Node over real links.

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/this_host.h"
#include "base/unique_fd.h"
#include "net/key.h"
#include "overlay/node.h"
#include "overlay/notice_board.h"
#include "wire/message.h"

namespace xylem::net {

/// Limits for peers that have not yet proved that they know the key. There are at most kMaxUnproved
/// connections with these peers. Each connection needs memory for at most one frame of
/// wire::kMaxHelloBytes, a small buffer and OpenSSL's state. Such a connection is closed after
/// kProofDeadline.
constexpr std::size_t kMaxUnproved = 512;
constexpr Nanos kProofDeadline = 5 * kSecond;

/// Limit for the queue of the upward link. While more bytes wait, children get no credit
/// (overlay/credits.h).
constexpr std::size_t kUpwardHighWater = 1u << 20;
/// Limit for the queue of the link to a child. While more bytes wait for any child, the parent gets
/// no credit.
constexpr std::size_t kDownwardHighWater = 1u << 20;

/// Limit for the queue of any link; one frame may exceed it. Further data is dropped. Leaves still
/// have dropped packets in their journals.
constexpr std::size_t kMaxQueueBytes = 64u << 20;

struct RuntimeOptions {
  std::string run;  ///< Run id; a hello must contain it.
  Key key{};
  /// True if TCP connections use TLS. Sides with different settings refuse each other with an error
  /// message. Unix sockets never use TLS: both ends belong to the same user on one host, and each
  /// end checks this.
  bool tls = true;
  /// A Unix path is tried if its host key equals this key or is empty (wire::Address).
  std::string host_key;
  NodeId node = wire::kNoNode;            ///< Sent in Welcome.
  Nanos proof_deadline = kProofDeadline;  ///< Tests use a shorter deadline.
  bool is_root = false;                   ///< True for the front end. Its clock is the run's clock.
  std::uint64_t clock = clock_identity();  ///< Identity of this process's clock.
  /// The board with the notices of this process; borrowed. When there is an upward link, the loop
  /// sends the notices of this process and of the children up. The Node does not see these notices.
  /// If `notices` is nullptr, the Node gets notices as messages. The front end uses this.
  overlay::NoticeBoard* notices = nullptr;
  /// Listening TCP or Unix sockets. Network::addresses() returns the addresses of these sockets.
  std::vector<UniqueFd> listening;
  /// Numeric addresses of this host. Peers use them for sockets that are bound to all addresses.
  std::vector<std::string> reachable_hosts;
};

/// The event loop as an object, for programs that also do other work. The Node is called on the
/// thread that calls run() or run_until(). Only one thread may call these two functions at a time.
class EventLoop {
 public:
  /// Borrows the node, which must outlive the loop. Takes over the sockets in `options`. Throws a
  /// std::exception if the system refuses descriptors or memory; make_with_loop() turns this into
  /// an error.
  EventLoop(overlay::Node& node, RuntimeOptions options);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Runs until the Node calls Network::stop.
  void run();
  /// Runs until `done` returns true, the deadline (monotonic) passes, or the Node calls
  /// Network::stop. Calls `done` after each event. Some ready events are handled even if `done`
  /// returns true at first. So a program that only sends also receives messages.
  void run_until(const std::function<bool()>& done, Nanos deadline);

  bool is_stopped() const;
  int exit_code() const;  ///< The exit code that the Node passed to Network::stop.

  /// Runs `work` on the loop, in the order of the calls. Any thread may call it while the loop
  /// exists. Work that is posted after Network::stop may never run.
  void post(std::function<void()> work);
  /// Runs `work` on the loop at time `when` (monotonic). Any thread may call it.
  void post_at(Nanos when, std::function<void()> work);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

/// Returns `make()`, which constructs an object with an EventLoop. Fails with kExhausted if the
/// system refuses descriptors or memory: then the constructor of EventLoop throws.
template <typename Make>
auto make_with_loop(const Make& make) -> Result<decltype(make())> {
  try {
    return make();
  } catch (const std::exception& error) {
    return unexpected(Code::kExhausted, std::string("cannot make an event loop: ") + error.what());
  }
}

/// Runs until the Node calls Network::stop, and returns the exit code. Uses only the calling
/// thread. If the system refuses descriptors or memory for the loop, a std::exception escapes. An
/// exception that escapes a Node is a bug: it ends the program with a message.
int run_node(overlay::Node& node, RuntimeOptions options);

/// Makes a TCP socket that listens on `host` and `port`. `host` is numeric; "0.0.0.0" means all
/// IPv4 addresses, "::" all IPv4 and IPv6 addresses. Port 0 means any free port. Fails with
/// kAlreadyExists if the port is in use. Fails with kInvalidArgument if `host` is not numeric or
/// not an address of this host. Otherwise fails with kPermissionDenied or kInternal. The message
/// contains the host.
Result<UniqueFd> listen_tcp(const std::string& host, std::uint16_t port);

/// Makes a Unix socket that listens on `path`. First removes an existing file. The new file has
/// mode 0600. Closing the socket does not remove the file; the caller must remove it. Fails with
/// kInvalidArgument if the path is empty or longer than 107 characters, the limit of Unix sockets.
/// Fails with kAlreadyExists if the existing file cannot be removed. Otherwise fails with
/// kPermissionDenied or kInternal.
Result<UniqueFd> listen_unix(const std::string& path);

/// Returns the port to which a TCP socket is bound. Fails with kInvalidArgument if `socket` is not
/// a TCP socket.
Result<std::uint16_t> bound_port(const UniqueFd& socket);

/// An interface of this host and its numeric address.
struct InterfaceAddress {
  std::string interface;
  std::string address;
  bool loopback = false;
};

/// Returns the addresses of all interfaces that are up. IPv4 comes before IPv6, loopback comes
/// last, and link-local IPv6 addresses are left out. Empty if the system does not list them.
std::vector<InterfaceAddress> interface_addresses();

/// Returns the numeric addresses at which others can reach a socket that listens on `host`. This is
/// usually `host` itself. For "0.0.0.0" it is all IPv4 addresses of `all`; for "::" it is all
/// addresses of `all`. Loopback addresses are returned only if there is no other address. Never
/// empty.
std::vector<std::string> reachable_addresses(const std::string& host,
                                             const std::vector<InterfaceAddress>& all);

/// Returns the address for a socket that should be reachable at all addresses of `all`. This is
/// "::" if an address other than loopback is IPv6, else "0.0.0.0".
std::string any_address(const std::vector<InterfaceAddress>& all);

/// Returns the numeric address of this host that the kernel would use for a connection to `host`
/// (numeric). Sends nothing. Fails with kUnavailable if there is no route, and with
/// kInvalidArgument if `host` is not numeric.
Result<std::string> address_towards(const std::string& host);

/// Returns the address at which a node of the tree listens for other hosts. If the front end has
/// one host address, this is our address towards the front end (address_towards); without a route
/// it is loopback. If the front end listens on several addresses, it is any_address(all). If the
/// front end has only a Unix socket, it is loopback.
std::string listening_host(const std::vector<wire::Address>& front_end,
                           const std::vector<InterfaceAddress>& all);

}  // namespace xylem::net
