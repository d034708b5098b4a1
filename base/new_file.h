#pragma once

// Writes a file piece by piece, so that it appears completely or not at all.

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem {

/// A file that is being written, under another name in the same folder: PATH.PID.part. finish()
/// gives it its name. Without finish(), the destructor removes it. So no reader sees an incomplete
/// file, and a full disk does not destroy an old file.
class NewFile {
 public:
  /// The file's mode is `mode` without the bits of the umask. Without `overwrite`, fails with
  /// kInvalidArgument if the path exists. Fails with kInvalidArgument if the path is a folder, or
  /// if an existing path is not a regular file. Fails with kPermissionDenied or kInternal if the
  /// file cannot be created. Messages begin with the path.
  static Result<NewFile> create(const std::string& path, bool overwrite, unsigned mode = 0666);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  /// Appends. Fails with kPermissionDenied or kInternal, for example if the disk is full.
  Result<void> write(std::string_view text);
  /// Gives the file its name. Call it once. Fails like write(). Without `overwrite`, also fails if
  /// somebody else has created the path in the meantime.
  Result<void> finish();

 private:
  NewFile(std::string path, std::string part, bool overwrite, UniqueFd fd);
  Unexpected failed(int why) const;

  std::string path_, part_;
  bool overwrite_ = false;
  UniqueFd fd_;
};

}  // namespace xylem
