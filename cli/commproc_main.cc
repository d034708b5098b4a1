// xylem-commproc is an inner node of the tree. Users never start it. The agent of its host starts
// it and passes the key through a pipe (--key-fd). Or a launcher of the front end starts it, with
// the key in XYLEM_KEY.
//
//   xylem-commproc --run RUN --node N --level N --front-end HOST:PORT[,HOST:PORT] [--key-fd N]
//                  [--tls on|off] [--host NAME --host-key KEY --socket PATH] [--log-level LEVEL]
//                  [--orphan-limit SECONDS]
//
// If it cannot start, it writes the reason to standard error, and its agent reads it. Later
// warnings and errors go up the tree as notices. If XYLEM_LOG_FILE is set, this file gets both.

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "backend/agent/run_folder.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/own_process.h"
#include "base/run_contract.h"
#include "commproc/comm_process.h"
#include "net/address.h"
#include "net/runtime.h"

namespace xylem {
namespace {

struct Arguments {
  std::string run;
  NodeId node{};
  std::uint32_t level = 1;
  std::string front_end;
  int key_fd = -1;
  std::string host;
  std::string host_key;
  std::string socket;
  std::string tls = "on";
  std::string log_level = "warn";
  std::int64_t orphan_limit = 60;
};

int fail(const std::string& sentence) {
  std::fprintf(stderr, "xylem-commproc: %s\n", sentence.c_str());
  return 2;
}

// A TCP socket for other hosts; a Unix socket for neighbours on this host, if `unix_path` is set.
Result<std::vector<UniqueFd>> open_sockets(const std::string& unix_path, const std::string& host) {
  std::vector<UniqueFd> sockets;
  auto tcp = net::listen_tcp(host, 0);
  if (!tcp) return unexpected(std::move(tcp.error()));
  sockets.push_back(*std::move(tcp));
  if (!unix_path.empty()) {
    auto local = net::listen_unix(unix_path);
    if (!local) return unexpected(std::move(local.error()));
    sockets.push_back(*std::move(local));
  }
  return sockets;
}

// An agent passes the key through a pipe, a launcher passes it in the environment.
Result<net::Key> key_of(const Arguments& arguments) {
  return arguments.key_fd >= 0 ? net::read_key(arguments.key_fd) : net::take_key_from_environment();
}

int run(const Arguments& arguments) {
  const char* log_file = std::getenv(kEnvLogFile);
  configure_log("xylem-commproc", parse_level(arguments.log_level),
                log_file == nullptr ? "" : log_file);
  auto key = key_of(arguments);
  if (!key) return fail(key.error().message);
  auto front_end = net::parse_addresses(arguments.front_end);
  if (!front_end) return fail(front_end.error().message);
  const backend::SocketFolder folder(arguments.socket);
  const auto interfaces = net::interface_addresses();
  const std::string host = net::listening_host(*front_end, interfaces);
  auto sockets = open_sockets(arguments.socket, host);
  if (!sockets) return fail(sockets.error().message);

  net::RuntimeOptions network;
  network.run = arguments.run;
  network.key = *key;
  network.tls = arguments.tls == "on";
  network.node = arguments.node;
  network.host_key = arguments.host_key;
  network.listening = *std::move(sockets);
  network.reachable_hosts = net::reachable_addresses(host, interfaces);

  commproc::CommProcessOptions options;
  options.node = arguments.node;
  options.level = arguments.level;
  options.host = arguments.host;
  options.front_end = *std::move(front_end);
  options.orphan_limit = arguments.orphan_limit * kSecond;
  commproc::CommProcess node(std::move(options));
  overlay::NoticeBoard notices(
      {wire::Role::kCommProcess, arguments.host, static_cast<std::uint32_t>(::getpid())});
  set_log_listener([&notices](Level level, std::string_view line) {
    notices.post(level, line, monotonic_now());
  });
  network.notices = &notices;
  const int code = net::run_node(node, std::move(network));
  set_log_listener({});
  return code;
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  xylem::stretch_limits();
  xylem::Arguments arguments;
  CLI::App app{"An inner node of xylem's tree; started by the agent of its host"};
  app.add_option("--run", arguments.run)->required();
  const auto set_node = [&](std::uint32_t node) { arguments.node = xylem::NodeId{node}; };
  app.add_option_function<std::uint32_t>("--node", set_node)->required();
  app.add_option("--level", arguments.level)->required();
  app.add_option("--front-end", arguments.front_end)->required();
  app.add_option("--key-fd", arguments.key_fd);
  app.add_option("--host", arguments.host);
  app.add_option("--host-key", arguments.host_key);
  app.add_option("--socket", arguments.socket);
  app.add_option("--tls", arguments.tls)->check(CLI::IsMember({"on", "off"}));
  app.add_option("--log-level", arguments.log_level);
  app.add_option("--orphan-limit", arguments.orphan_limit)->check(CLI::Range(1, 86400));
  CLI11_PARSE(app, argc, argv);
  return xylem::run(arguments);
}
