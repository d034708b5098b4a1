#include "base/text_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"

namespace xylem {

Result<std::string> read_text_file(const std::string& path, std::string_view what,
                                   std::size_t max_bytes) {
  const std::string kind(what);
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (status.type() == std::filesystem::file_type::not_found) {
    return unexpected(Code::kNotFound, path + ": no such " + kind + "; check the path");
  }
  if (std::filesystem::is_directory(status)) {
    return unexpected(Code::kInvalidArgument, path + ": is a folder; name a " + kind + " in it");
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    const int why = errno;
    const Code code = why == EACCES || why == EPERM ? Code::kPermissionDenied : Code::kInternal;
    return unexpected(code, path + ": cannot be opened as a " + kind + ": " + std::strerror(why));
  }
  // Reads in pieces and does not ask for the file's size: the file may be a pipe, and a pipe may
  // never end.
  std::string text;
  char piece[1 << 16];
  while (text.size() <= max_bytes) {
    stream.read(piece,
                static_cast<std::streamsize>(std::min(sizeof piece, max_bytes + 1 - text.size())));
    text.append(piece, static_cast<std::size_t>(stream.gcount()));
    if (!stream) break;
  }
  if (stream.bad()) {
    return unexpected(Code::kInternal,
                      path + ": could not be read to its end; is the disk damaged?");
  }
  return text;
}

Result<void> write_text_file(const std::string& path, std::string_view text, bool overwrite,
                             unsigned mode) {
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
  const auto fail = [&path](int why) {
    const Code code = why == EACCES || why == EPERM ? Code::kPermissionDenied : Code::kInternal;
    return unexpected(code, path + ": cannot be written: " + std::strerror(why));
  };
  // Writes another file first. So no reader sees an incomplete file, and a full disk does not
  // destroy the old file.
  const std::string part = path + "." + std::to_string(::getpid()) + ".part";
  UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd) return fail(errno);
  int why = 0;
  while (!text.empty() && why == 0) {
    const ssize_t wrote = ::write(fd.get(), text.data(), text.size());
    if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
    if (wrote < 0 && errno != EINTR) why = errno;
  }
  if (why == 0 && overwrite && ::rename(part.c_str(), path.c_str()) != 0) why = errno;
  // Without `overwrite`, link() fails if the path was created in the meantime.
  if (why == 0 && !overwrite && ::link(part.c_str(), path.c_str()) != 0) why = errno;
  if (why == 0 && overwrite) return {};
  ::unlink(part.c_str());
  if (why == 0) return {};
  return fail(why);
}

}  // namespace xylem
