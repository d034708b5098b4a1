#include "launch/back_end_launch.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <sstream>
#include <string_view>

#include "base/argv.h"
#include "base/pipe.h"
#include "base/quoted.h"
#include "base/this_host.h"
#include "launch/spawn_error_internal.h"
#include "tree/host_list.h"
#include "tree/host_name.h"

namespace xylem::launch {
namespace {

/// ssh must never ask for a password, because nobody would answer.
constexpr const char* kSsh = "ssh -o BatchMode=yes";
constexpr std::size_t kMaxSaid = 500;

std::string script_of(const std::vector<std::string>& command,
                      const std::vector<std::string>& environment) {
  std::string script;
  for (const std::string& variable : environment) {
    const auto equals = variable.find('=');
    script += variable.substr(0, equals) + "=" + shell_quoted(variable.substr(equals + 1)) +
              "; export " + variable.substr(0, equals) + "\n";
  }
  script += "exec";
  for (const std::string& word : command) script += " " + shell_quoted(word);
  return script + " </dev/null\n";
}

std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
  std::vector<std::string> all;
  for (char** it = environ; *it != nullptr; ++it) {
    const std::string_view variable(*it);
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    bool replaced = false;
    for (const std::string& one : added) replaced = replaced || one.starts_with(name);
    if (!replaced) all.emplace_back(variable);
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

std::string what_to_do(Code code) {
  if (code == Code::kPermissionDenied) return "; may this user execute it?";
  if (code == Code::kExhausted) {
    return "; this host or this user has no process, memory or descriptor left (ulimit -a)";
  }
  return "; is it installed, and in PATH?";
}

Result<pid_t> spawn(std::vector<std::string> words, std::vector<std::string> environment,
                    int standard_input, int standard_error, LaunchHow how) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (standard_input >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, standard_input, STDIN_FILENO);
  } else {
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  if (how.standard_output >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, how.standard_output, STDOUT_FILENO);
  }
  if (standard_error >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, standard_error, STDERR_FILENO);
  }
  sigset_t none;
  ::sigemptyset(&none);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  const int session = how.own_session ? POSIX_SPAWN_SETSID : 0;
  ::posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | session));
  ::posix_spawnattr_setsigmask(&attributes, &none);
  const std::vector<char*> argv = argv_of(words);
  const std::vector<char*> envp = argv_of(environment);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), envp.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  const Code code = code_of_spawn_error(error);
  return unexpected(
      code, "cannot start " + words.front() + ": " + std::strerror(error) + what_to_do(code));
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

bool is_this_host(const std::string& host) {
  if (host.empty() || host == "localhost" || host == "127.0.0.1" || host == "::1") return true;
  const std::string name = this_host_name();
  return host == name || host == tree::short_name(name);
}

bool Launched::hear() {
  std::array<char, 4096> piece;
  while (said_.get() >= 0) {
    const ssize_t size = ::read(said_.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return true;
    if (size <= 0) return false;
    const std::string_view text(piece.data(), static_cast<std::size_t>(size));
    // If nobody reads our standard error, the output is lost.
    [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, text.data(), text.size());
    for (const char c : text) {
      if (c == '\n' || c == '\r') {
        is_whole_ = true;
        continue;
      }
      if (std::exchange(is_whole_, false)) last_line_.clear();
      const bool is_shown = static_cast<unsigned char>(c) >= 0x20 && last_line_.size() < kMaxSaid;
      if (is_shown) last_line_ += c;
    }
  }
  return false;
}

Result<Launched> launch_on(const std::string& host, const std::string& launcher,
                           const std::vector<std::string>& command,
                           const std::vector<std::string>& environment, LaunchHow how) {
  if (launcher.empty() && is_this_host(host)) {
    auto pid = spawn(command, merged_environment(environment), -1, how.standard_error, how);
    if (!pid) return unexpected(std::move(pid.error()));
    return Launched(*pid, "", UniqueFd());
  }
  const std::string by = launcher.empty() ? kSsh : launcher;
  std::vector<std::string> words = words_of(by);
  if (words.empty()) return unexpected(Code::kInvalidArgument, "the launcher has no name");
  words.push_back(host.empty() ? "localhost" : host);
  words.emplace_back("sh");
  auto script_pipe = make_pipe();
  if (!script_pipe) return unexpected(std::move(script_pipe.error()));
  auto said = make_pipe();
  if (!said) return unexpected(std::move(said.error()));
  const std::string script = script_of(command, environment);
  // A pipe takes 64 KiB without a reader. A longer script would have to be written while the
  // launcher runs.
  if (script.size() > 60'000) {
    return unexpected(Code::kInvalidArgument, "the back end's command line is too long");
  }
  if (::write(script_pipe->write.get(), script.data(), script.size()) !=
      static_cast<ssize_t>(script.size())) {
    return unexpected(Code::kInternal, "cannot hand the script to " + words.front());
  }
  ::fcntl(said->read.get(), F_SETFL, O_NONBLOCK);
  auto pid = spawn(std::move(words), merged_environment({}), script_pipe->read.get(),
                   said->write.get(), how);
  if (!pid) return unexpected(std::move(pid.error()));
  return Launched(*pid, by, std::move(said->read));
}

std::string gather_failures(std::span<const BackEndFailure> failures) {
  struct Kind {
    const BackEndFailure* first;
    std::vector<std::string> hosts;
  };
  std::vector<Kind> kinds;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const BackEndFailure& failure : failures) {
    const std::string host = failure.host.empty() ? "this host" : failure.host;
    std::string how = failure.how;
    for (std::size_t at = 0; (at = how.find(host, at)) != std::string::npos;) {
      how.replace(at, host.size(), "\n");  // No line holds it.
    }
    const auto [place, is_new] = known.try_emplace({failure.by, how}, kinds.size());
    if (is_new) kinds.push_back({&failure, {}});
    kinds[place->second].hosts.push_back(host);
  }
  std::string text;
  for (const Kind& kind : kinds) {
    const std::string& by = kind.first->by;
    text += (text.empty() ? "a back end on " : "; one on ") + tree::fold_hosts(kind.hosts) +
            (by.empty() ? "" : ", started by " + by + ",") + " " + kind.first->how;
    if (!by.empty()) text += " (try it: " + by + " " + kind.hosts.front() + " true)";
  }
  return text;
}

}  // namespace xylem::launch
