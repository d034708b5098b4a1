#include "launch/environment_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/unique_fd.h"

namespace xylem::launch {

Result<void> write_environment_file(const std::string& path, const Environment& environment) {
  // Written under another name first: nobody reads half of it, and the mode is right from the
  // start.
  const std::string temporary = path + ".new";
  const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  std::string text;
  for (const auto& [name, value] : environment) text += name + "=" + value + "\n";
  const bool written =
      fd && ::fchmod(fd.get(), 0600) == 0 &&
      ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::rename(temporary.c_str(), path.c_str()) == 0;
  if (written) return {};
  const std::string why = std::strerror(errno);
  ::unlink(temporary.c_str());
  return unexpected(Code::kPermissionDenied, path + ": cannot be written: " + why);
}

Result<Environment> read_environment_file(const std::string& path) {
  struct stat facts {};
  std::ifstream file(path);
  if (!file || ::stat(path.c_str(), &facts) != 0) {
    return unexpected(Code::kNotFound,
                      path + ": cannot be read; `xylem serve --env-file` writes it");
  }
  if (facts.st_uid != ::getuid() || (facts.st_mode & 077) != 0) {
    return unexpected(Code::kPermissionDenied,
                      path + ": must be yours with mode 0600, since it holds the run's key");
  }
  Environment environment;
  for (std::string line; std::getline(file, line);) {
    const auto equals = line.find('=');
    if (equals == std::string::npos) continue;
    environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return environment;
}

}  // namespace xylem::launch
