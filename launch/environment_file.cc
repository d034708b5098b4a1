#include "launch/environment_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "base/text_file.h"
#include "base/unique_fd.h"

namespace xylem::launch {

Result<void> write_environment_file(const std::string& path, const Environment& environment) {
  std::string text;
  for (const auto& [name, value] : environment) text += name + "=" + value + "\n";
  return write_text_file(path, text, true, 0600);
}

Result<Environment> read_environment_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0) {
    const Code code = errno == ENOENT ? Code::kNotFound : Code::kPermissionDenied;
    return unexpected(code, path + ": cannot be read (" + std::strerror(errno) +
                                "); `xylem serve --env-file` writes it");
  }
  if (facts.st_uid != ::getuid() || (facts.st_mode & 077) != 0) {
    return unexpected(Code::kPermissionDenied,
                      path + ": must be yours with mode 0600, since it holds the run's key");
  }
  // By the descriptor, since the file at this path may be another one by now.
  auto text = read_text_file("/proc/self/fd/" + std::to_string(fd.get()), "environment file");
  if (!text) return unexpected(std::move(text.error()));
  std::istringstream lines(*text);
  Environment environment;
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (equals == std::string::npos) continue;
    environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return environment;
}

}  // namespace xylem::launch
