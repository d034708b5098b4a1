#include "cli/view_command.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/printable_text.h"
#include "base/this_host.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/known_runs.h"
#include "net/address.h"
#include "net/http.h"
#include "net/runtime.h"
#include "storage/read/query.h"
#include "viz/api.h"

namespace xylem {
namespace {

/// Memory limit, far above the needs of any view. An SQL query that needs more fails.
constexpr std::int64_t kMaxViewMemory = std::int64_t{256} << 20;

bool is_loopback(const std::string& address) {
  in_addr v4{};
  return address == "::1" ||
         (::inet_pton(AF_INET, address.c_str(), &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

/// The listening socket and the access rules.
struct Entrance {
  UniqueFd socket;
  std::string shown_host;  // In brackets if it is an IPv6 address.
  viz::AccessOptions access;
};

Result<Entrance> open_entrance(const ViewOptions& options) {
  const auto wanted = net::parse_addresses(options.listen);
  if (!wanted || wanted->size() != 1 || wanted->front().host.empty()) {
    return unexpected(Code::kInvalidArgument, "--listen: '" + options.listen +
                                                  "' is not ADDRESS:PORT, as in 127.0.0.1:8080");
  }
  const std::string& host = wanted->front().host;
  Entrance entrance;
  auto socket = net::listen_tcp(host, wanted->front().port);
  if (!socket) return unexpected(socket.error().code, "--listen: " + socket.error().message);
  const auto port = net::bound_port(*socket);
  if (!port) return unexpected(port.error());
  entrance.socket = *std::move(socket);
  entrance.access.port = *port;
  entrance.access.is_loopback = is_loopback(host);
  entrance.access.host_names = {this_host_name()};
  // If the server listens on all addresses, show the first that others can reach.
  const std::string shown = net::reachable_addresses(host, net::interface_addresses()).front();
  entrance.shown_host = shown.find(':') == std::string::npos ? shown : "[" + shown + "]";
  return entrance;
}

Result<void> serve(const std::string& file, const ViewOptions& options, std::ostream& out,
                   std::ostream& err) {
  storage::limit_memory(kMaxViewMemory);
  if (auto run = storage::RunFile::open(file); !run) return unexpected(run.error());
  auto entrance = open_entrance(options);
  if (!entrance) return unexpected(entrance.error());
  if (options.token_file.empty()) {
    entrance->access.token = net::make_key();
  } else {
    const auto token = viz::token_from_file(options.token_file);
    if (!token) return unexpected(token.error());
    entrance->access.token = *token;
  }
  const std::string port = std::to_string(entrance->access.port);
  const std::string address = entrance->shown_host + ":" + port;
  out << "http://" << address << "/?token=" << net::to_hex(entrance->access.token) << '\n';
  if (entrance->access.is_loopback) {
    out << "from another host: ssh -L " << port << ':' << address << ' ' << this_host_name()
        << ", then the same address there\n";
  } else {
    err << "xylem view: whoever is on the network in between can read along; on 127.0.0.1, with"
           " ssh -L, nobody can\n";
  }
  out << "ctrl-C ends it" << std::endl;

  viz::Api api({file}, entrance->access);
  net::HttpOptions how;
  how.ends_on_signals = true;
  const auto server = net::HttpServer::make(api, how, std::move(entrance->socket));
  if (!server) return unexpected(server.error());
  (*server)->run();
  return {};
}

}  // namespace

int run_view(const ViewOptions& options, std::ostream& out, std::ostream& err) {
  const auto file = choose_run("view", options.run, Newest::kLive, err);
  const auto served = file ? serve(*file, options, out, err) : unexpected(file.error());
  if (served) return kExitSuccess;
  err << "xylem view: " << printable(served.error().message) << '\n';
  return kExitFailure;
}

void add_view_command(CLI::App& app, int& code) {
  CLI::App* command =
      app.add_subcommand("view", "Serve a run as a web page and JSON over HTTP, live or finished");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto options = std::make_shared<ViewOptions>();
  add_run_choice(*command, options->run);
  command
      ->add_option("--listen", options->listen,
                   "Address and port to listen on; port 0 takes a free one [127.0.0.1:0]")
      ->type_name("ADDRESS:PORT");
  command
      ->add_option("--token-file", options->token_file,
                   "File with the token, mode 0600; created if it does not exist")
      ->type_name("FILE");
  command->callback([options, &code] { code = run_view(*options, std::cout, std::cerr); });
}

}  // namespace xylem
