#include "filters/plugin_copy.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "filters/plugin_trial_internal.h"

// The file is copied into sealed memory while its SHA-256 is computed, and the copy is loaded.
// dlopen(path) would be wrong for two reasons. The file may change between the check and dlopen().
// And for a path that it has loaded before, the dynamic linker returns the old library, perhaps an
// older version.

namespace xylem::filters {

namespace {

// Opens a file after checking that only its owner can change it.
Result<UniqueFd> open_trusted(const std::string& path) {
  if (path.empty() || path.front() != '/') {
    return plugin_refused(Code::kPermissionDenied, path,
                          "its path is not absolute; give all of it");
  }
  // O_NONBLOCK: does not wait for the writer of a named pipe.
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    const bool denied = errno == EACCES || errno == EPERM;
    return plugin_refused(denied ? Code::kPermissionDenied : Code::kNotFound, path,
                          std::string("it cannot be opened: ") + std::strerror(errno) +
                              "; it must be at this path on every host");
  }
  const auto denied = [&](const char* why) {
    return plugin_refused(Code::kPermissionDenied, path, why);
  };
  if (!S_ISREG(status.st_mode)) return denied("it is not a regular file");
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return denied("it belongs to another user; own it, or let root own it");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return denied("group or others may write it; chmod go-w");
  }
  return file;
}

// Reads all of the file, giving each piece to `take`, which may fail.
template <typename Take>
Result<Sha256> read_all(const std::string& path, int file, const Take& take) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> digest(::EVP_MD_CTX_new(),
                                                                  ::EVP_MD_CTX_free);
  CHECK(digest && ::EVP_DigestInit_ex(digest.get(), ::EVP_sha256(), nullptr) == 1);
  constexpr std::size_t kPiece = 64u << 10;
  std::vector<std::byte> piece(kPiece);
  std::size_t total = 0;
  for (;;) {
    const ssize_t got = ::read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return plugin_refused(Code::kNotFound, path,
                            std::string("it cannot be read: ") + std::strerror(errno));
    }
    if (got == 0) break;
    total += static_cast<std::size_t>(got);
    if (total > kMaxPluginBytes) {
      return plugin_refused(Code::kExhausted, path, "it is larger than 64 MiB; strip it");
    }
    const auto bytes = std::span(piece).first(static_cast<std::size_t>(got));
    CHECK(::EVP_DigestUpdate(digest.get(), bytes.data(), bytes.size()) == 1);
    if (!take(bytes)) {
      return plugin_refused(Code::kExhausted, path,
                            std::string("there is no memory for a copy: ") + std::strerror(errno));
    }
  }
  Sha256 sha256{};
  CHECK(::EVP_DigestFinal_ex(digest.get(), sha256.data(), nullptr) == 1);
  return sha256;
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

std::string hex(const Sha256& sha256) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : sha256) (text += kDigits[byte >> 4]) += kDigits[byte & 15];
  return text;
}

}  // namespace

Unexpected plugin_refused(Code code, const std::string& path, const std::string& why) {
  return unexpected(code, "plugin " + path + ": " + why);
}

Result<Sha256> plugin_fingerprint(const std::string& path) {
  const auto file = open_trusted(path);
  if (!file) return unexpected(file.error());
  return read_all(path, file->get(), [](std::span<const std::byte>) { return true; });
}

Result<UniqueFd> copy_plugin(const std::string& path, const Sha256* announced) {
  auto file = open_trusted(path);
  if (!file) return unexpected(std::move(file.error()));
  const std::string name = path.substr(path.rfind('/') + 1, 200);  // The kernel takes 249.
  UniqueFd copy(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto sha256 = read_all(path, file->get(), [&](std::span<const std::byte> bytes) {
    return copy.get() >= 0 && write_all(copy.get(), bytes);
  });
  if (!sha256) return unexpected(sha256.error());
  if (announced != nullptr && *sha256 != *announced) {
    return plugin_refused(Code::kCorrupt, path,
                          "its SHA-256 here is " + hex(*sha256) + ", announced was " +
                              hex(*announced) + "; copy the same file to every host");
  }
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  // The copy must pass the checks of open_trusted(), because it may be opened by its name.
  if (copy.get() < 0 || ::fchmod(copy.get(), S_IRUSR | S_IXUSR) != 0 ||
      ::fcntl(copy.get(), F_ADD_SEALS, kSeals) != 0) {
    return plugin_refused(Code::kExhausted, path,
                          std::string("a copy cannot be made: ") + std::strerror(errno));
  }
  return copy;
}

std::string name_of_copy(int copy) { return "/proc/self/fd/" + std::to_string(copy); }

}  // namespace xylem::filters
