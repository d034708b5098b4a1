#include "base/new_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace xylem {
namespace {

Unexpected cannot_write(const std::string& path, int why) {
  const Code code = why == EACCES || why == EPERM ? Code::kPermissionDenied : Code::kInternal;
  return unexpected(code, path + ": cannot be written: " + std::strerror(why));
}

}  // namespace

NewFile::NewFile(std::string path, std::string part, bool overwrite, UniqueFd fd)
    : path_(std::move(path)), part_(std::move(part)), overwrite_(overwrite), fd_(std::move(fd)) {}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      part_(std::exchange(other.part_, std::string())),
      overwrite_(other.overwrite_),
      fd_(std::move(other.fd_)) {}

NewFile::~NewFile() {
  if (!part_.empty()) ::unlink(part_.c_str());
}

Unexpected NewFile::failed(int why) const { return cannot_write(path_, why); }

Result<NewFile> NewFile::create(const std::string& path, bool overwrite, unsigned mode) {
  std::error_code failure;
  const auto status = std::filesystem::symlink_status(path, failure);
  if (std::filesystem::is_directory(status)) {
    return unexpected(Code::kInvalidArgument, path + ": is a folder; name a file in it");
  }
  if (std::filesystem::exists(status) && overwrite &&
      !std::filesystem::is_regular_file(std::filesystem::status(path, failure))) {
    return unexpected(Code::kInvalidArgument, path + ": is not a regular file; name another one");
  }
  if (std::filesystem::exists(status) && !overwrite) {
    return unexpected(Code::kInvalidArgument,
                      path + ": is there already; --overwrite takes its place");
  }
  std::string part = path + "." + std::to_string(::getpid()) + ".part";
  UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd) return cannot_write(path, errno);
  return NewFile(path, std::move(part), overwrite, std::move(fd));
}

Result<void> NewFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd_.get(), text.data(), text.size());
    if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
    if (wrote < 0 && errno != EINTR) return failed(errno);
  }
  return {};
}

Result<void> NewFile::finish() {
  const std::string part = std::exchange(part_, std::string());
  if (overwrite_) {
    if (::rename(part.c_str(), path_.c_str()) == 0) return {};
    const int why = errno;
    ::unlink(part.c_str());
    return failed(why);
  }
  // link() fails if the path was created in the meantime.
  const int why = ::link(part.c_str(), path_.c_str()) == 0 ? 0 : errno;
  ::unlink(part.c_str());
  if (why != 0) return failed(why);
  return {};
}

}  // namespace xylem
