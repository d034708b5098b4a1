#include "capture/calibrate/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/unique_fd.h"

namespace xylem::calibrate {
namespace {

/// Direct access needs memory and offsets that are multiples of the disk's blocks.
constexpr std::size_t kAlignment = 4096;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<char, Free>;

Unexpected failed(const std::string& folder, const char* what) {
  const int error = errno;
  return unexpected(
      error == EACCES || error == EROFS ? Code::kPermissionDenied : Code::kUnavailable,
      "--disk " + folder + ": " + what + ": " + std::strerror(error) + "; choose another folder");
}

UniqueFd make_file(const std::string& folder) {
  UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.get() >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  // The file system does not have nameless files, for example NFS.
  std::string path = folder + "/xylem-calibrate-XXXXXX";
  UniqueFd named(::mkostemp(path.data(), O_CLOEXEC));
  if (named.get() >= 0) ::unlink(path.c_str());
  return named;
}

class DiskFile {
 public:
  DiskFile(const std::string& folder, UniqueFd file, Buffer buffer)
      : folder_(folder), file_(std::move(file)), buffer_(std::move(buffer)) {
    const int flags = ::fcntl(file_.get(), F_GETFL);
    is_direct_ = ::fcntl(file_.get(), F_SETFL, flags | O_DIRECT) == 0;
  }

  bool is_direct() const { return is_direct_; }

  Result<Nanos> write(std::uint64_t bytes, std::uint64_t at) {
    const Nanos begin = monotonic_now();
    if (::pwrite(file_.get(), buffer_.get(), bytes, static_cast<off_t>(at)) !=
        static_cast<ssize_t>(bytes)) {
      // Some file systems accept the flag and refuse the write.
      if (is_direct_ && errno == EINVAL && leave_direct()) return write(bytes, at);
      return failed(folder_, "cannot be written");
    }
    if (::fdatasync(file_.get()) != 0) return failed(folder_, "cannot be written");
    return monotonic_now() - begin;
  }

  Result<Nanos> read(std::uint64_t bytes, std::uint64_t at) {
    if (!is_direct_) ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
    const Nanos begin = monotonic_now();
    if (::pread(file_.get(), buffer_.get(), bytes, static_cast<off_t>(at)) !=
        static_cast<ssize_t>(bytes)) {
      return failed(folder_, "cannot be read");
    }
    return monotonic_now() - begin;
  }

 private:
  bool leave_direct() {
    is_direct_ = false;
    const int flags = ::fcntl(file_.get(), F_GETFL);
    return ::fcntl(file_.get(), F_SETFL, flags & ~O_DIRECT) == 0;
  }

  std::string folder_;
  UniqueFd file_;
  Buffer buffer_;
  bool is_direct_ = false;
};

/// Offset of an access: far from the one before, so that the disk cannot read ahead.
std::uint64_t scattered(std::uint64_t index, std::uint64_t bytes) {
  constexpr std::uint64_t kStep = 2'654'435'761;  // Odd, so that all places come about.
  return index * kStep % (kDiskFile / bytes) * bytes;
}

}  // namespace

Result<bool> measure_disk(const std::string& folder, unsigned repetitions, Nanos deadline,
                          const DiskSample& sample) {
  UniqueFd made = make_file(folder);
  if (made.get() < 0) return failed(folder, "no file can be made here");
  Buffer buffer(static_cast<char*>(std::aligned_alloc(kAlignment, kLongAccess)));
  if (!buffer) return unexpected(Code::kExhausted, "no memory for the measurement of a disk");
  std::memset(buffer.get(), 0x5a, kLongAccess);  // Not zeroes: a disk may leave them out.
  DiskFile file(folder, std::move(made), std::move(buffer));
  for (std::uint64_t at = 0; at < kDiskFile; at += kLongAccess) {
    if (auto written = file.write(kLongAccess, at); !written) return unexpected(written.error());
  }
  for (unsigned i = 0; i < repetitions && monotonic_now() < deadline; ++i) {
    for (const std::uint64_t bytes : {kShortAccess, kLongAccess}) {
      const auto written = file.write(bytes, scattered(i, bytes));
      if (!written) return unexpected(written.error());
      const auto read = file.read(bytes, scattered(i + repetitions, bytes));
      if (!read) return unexpected(read.error());
      sample(DiskAccess::kWrite, bytes, *written);
      sample(DiskAccess::kRead, bytes, *read);
    }
  }
  return file.is_direct();
}

}  // namespace xylem::calibrate
