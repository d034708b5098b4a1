#include "base/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/new_file.h"

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
  auto file = NewFile::create(path, overwrite, mode);
  if (!file) return unexpected(file.error());
  if (auto written = file->write(text); !written) return written;
  return file->finish();
}

}  // namespace xylem
