#include "frontend/back_end_launch.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/argv.h"
#include "base/unique_fd.h"

namespace xylem::frontend {
namespace {

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string script_of(const std::vector<std::string>& command,
                      const std::vector<std::string>& environment) {
  std::string script;
  for (const std::string& variable : environment) {
    const auto equals = variable.find('=');
    script += variable.substr(0, equals) + "=" + quoted(variable.substr(equals + 1)) + "; export " +
              variable.substr(0, equals) + "\n";
  }
  script += "exec";
  for (const std::string& word : command) script += " " + quoted(word);
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

Result<pid_t> spawn(std::vector<std::string> words, std::vector<std::string> environment,
                    int standard_input) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (standard_input >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, standard_input, STDIN_FILENO);
  } else {
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  sigset_t none;
  ::sigemptyset(&none);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  const std::vector<char*> argv = argv_of(words);
  const std::vector<char*> envp = argv_of(environment);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), envp.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  return unexpected(Code::kNotFound, "cannot start " + words.front() + ": " + std::strerror(error));
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
  std::array<char, 256> own{};
  ::gethostname(own.data(), own.size() - 1);
  const std::string name = own.data();
  return host == name || host == name.substr(0, name.find('.'));
}

Result<pid_t> launch_on(const std::string& host, const std::string& launcher,
                        const std::vector<std::string>& command,
                        const std::vector<std::string>& environment) {
  if (launcher.empty() && is_this_host(host)) {
    return spawn(command, merged_environment(environment), -1);
  }
  std::vector<std::string> words = words_of(launcher.empty() ? "ssh -o BatchMode=yes" : launcher);
  words.push_back(host.empty() ? "localhost" : host);
  words.push_back("sh");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return unexpected(Code::kExhausted, std::string("no pipe: ") + std::strerror(errno));
  }
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  const std::string script = script_of(command, environment);
  // A pipe takes 64 KiB at once; a longer command would have to be fed while the launcher runs.
  if (script.size() > 60'000) {
    return unexpected(Code::kInvalidArgument, "the back end's command line is too long");
  }
  if (::write(write_end.get(), script.data(), script.size()) !=
      static_cast<ssize_t>(script.size())) {
    return unexpected(Code::kInternal, "cannot hand the script to " + words.front());
  }
  return spawn(std::move(words), merged_environment({}), read_end.get());
}

}  // namespace xylem::frontend
