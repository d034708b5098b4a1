#include "launch/comm_process_launch.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <utility>

#include "launch/launch.h"
#include "net/address.h"

namespace xylem::launch {
namespace {

// Returns the addresses that other hosts can use.
std::string tcp_addresses(const std::vector<wire::Address>& addresses) {
  std::string text;
  for (const wire::Address& address : addresses) {
    if (!address.unix_path.empty()) continue;
    text += (text.empty() ? "" : ",") + net::address_text(address.host, address.port);
  }
  return text;
}

}  // namespace

RemoteCommProcessLauncher::RemoteCommProcessLauncher(CommProcessLaunchOptions options)
    : options_(std::move(options)) {}

Result<std::vector<int>> RemoteCommProcessLauncher::start(
    NodeId node, std::uint32_t level, const std::string& host,
    const std::vector<wire::Address>& addresses) {
  const std::vector<std::string> command = {options_.program,
                                            "--run",
                                            options_.run,
                                            "--node",
                                            std::to_string(raw(node)),
                                            "--level",
                                            std::to_string(level),
                                            "--front-end",
                                            tcp_addresses(addresses),
                                            "--host",
                                            host,
                                            "--tls",
                                            options_.tls ? "on" : "off",
                                            "--log-level",
                                            options_.log_level};
  auto launched =
      launch_on(host, options_.launcher, command, {"XYLEM_KEY=" + net::to_hex(options_.key)});
  if (!launched) return unexpected(std::move(launched.error()));
  const pid_t pid = launched->pid();
  Child child{host, *std::move(launched),
              UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
  std::vector<int> fds;
  for (const int fd : {child.pidfd.get(), child.launched.said()}) {
    if (fd >= 0) fds.push_back(fd);
  }
  children_.insert_or_assign(node, std::move(child));
  return fds;
}

std::optional<CommProcessLauncher::Heard> RemoteCommProcessLauncher::hear(int fd) {
  for (auto& [node, child] : children_) {
    if (child.launched.said() == fd) return Heard{!child.launched.hear(), std::nullopt, ""};
    if (child.pidfd.get() == fd) return collect(node, child);
  }
  return std::nullopt;
}

CommProcessLauncher::Heard RemoteCommProcessLauncher::collect(NodeId node, Child& child) {
  int status = 0;
  const pid_t pid = ::waitpid(child.launched.pid(), &status, WNOHANG);
  if (pid == 0) return {};
  Heard heard{true, node, ""};
  if (pid < 0 || status == 0) return heard;
  child.launched.hear();  // The end of the child may be noticed before its last output.
  const std::string& said = child.launched.last_line();
  const std::string how = WIFEXITED(status)
                              ? "ended with code " + std::to_string(WEXITSTATUS(status))
                              : std::string("was killed: ") + ::strsignal(WTERMSIG(status));
  heard.why =
      child.launched.by() + " " + child.host + " " + how + (said.empty() ? "" : ": " + said);
  return heard;
}

Result<std::unique_ptr<CommProcessLauncher>> make_comm_process_launcher(
    const StartOptions& start, const std::string& run, const net::Key& key,
    const std::string& log_level) {
  if (start.launcher.empty()) return std::unique_ptr<CommProcessLauncher>();
  auto installation = find_installation();
  if (!installation) return unexpected(std::move(installation.error()));
  CommProcessLaunchOptions options;
  options.launcher = start.launcher;
  options.program = installation->comm_process;
  options.run = run;
  options.key = key;
  options.tls = start.tls;
  options.log_level = log_level;
  std::unique_ptr<CommProcessLauncher> launcher =
      std::make_unique<RemoteCommProcessLauncher>(std::move(options));
  return launcher;
}

}  // namespace xylem::launch
