#include "cli/spooled_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <tuple>
#include <utility>

namespace xylem {
namespace {

constexpr std::size_t kPieceBytes = 64u << 10;
constexpr std::size_t kMaxInMemory = 1u << 20;

std::string temporary_folder() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

// Without a name, so that it goes with this process. Not every file system can.
UniqueFd make_spool(const std::string& folder) {
  UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  std::string name = folder + "/xylem-query-XXXXXX";
  file.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (file) ::unlink(name.c_str());
  return file;
}

bool write_whole(int fd, const std::string& piece) {
  for (std::size_t at = 0; at < piece.size();) {
    const ssize_t size = ::write(fd, piece.data() + at, piece.size() - at);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    at += static_cast<std::size_t>(size);
  }
  return true;
}

}  // namespace

SpooledOutput::SpooledOutput(int fd) : fd_(fd), piece_(kPieceBytes, '\0') {
  setp(piece_.data(), piece_.data() + piece_.size());
  try {
    writer_ = std::thread([this] { write_all(); });
  } catch (const std::system_error&) {
    // No thread to be had: then the question waits for its reader.
  }
}

SpooledOutput::~SpooledOutput() { stop(); }

void SpooledOutput::stop() {
  hand_over();
  if (!writer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  writer_.join();
}

std::string SpooledOutput::finish() {
  stop();
  return failure_;
}

// ---- the question's side ----

SpooledOutput::int_type SpooledOutput::overflow(int_type c) {
  if (!hand_over()) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(c);
    pbump(1);
  }
  return traits_type::not_eof(c);
}

int SpooledOutput::sync() { return hand_over() ? 0 : -1; }

bool SpooledOutput::hand_over() {
  std::string piece(pbase(), static_cast<std::size_t>(pptr() - pbase()));
  setp(piece_.data(), piece_.data() + piece_.size());
  const std::lock_guard lock(mutex_);
  if (has_failed_ || !failure_.empty()) return false;
  if (piece.empty()) return true;
  if (!writer_.joinable()) {
    has_failed_ = !write_whole(fd_, piece);
    return !has_failed_;
  }
  if (spool_begin_ != spool_end_ || waiting_bytes_ >= kMaxInMemory) {
    if (!spool(piece)) return false;
  } else {
    waiting_bytes_ += piece.size();
    waiting_.push_back(std::move(piece));
  }
  changed_.notify_one();
  return true;
}

bool SpooledOutput::spool(const std::string& piece) {
  const std::string folder = temporary_folder();
  if (!spool_) spool_ = make_spool(folder);
  std::size_t at = 0;
  while (spool_ && at < piece.size()) {
    const ssize_t size = ::pwrite(spool_.get(), piece.data() + at, piece.size() - at,
                                  static_cast<off_t>(spool_end_ + at));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    at += static_cast<std::size_t>(size);
  }
  if (at == piece.size()) {
    spool_end_ += at;
    return true;
  }
  failure_ = "nobody reads the answer, and there is no room for it in " + folder + ": " +
             std::strerror(errno) + "; ask for less, or name another folder by TMPDIR";
  return false;
}

// ---- the reader's side ----

void SpooledOutput::write_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock,
                  [this] { return is_over_ || !waiting_.empty() || spool_begin_ != spool_end_; });
    std::string piece;
    if (!waiting_.empty()) {
      piece = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= piece.size();
    } else if (spool_begin_ != spool_end_) {
      piece = take_spooled();
    } else {
      return;
    }
    lock.unlock();
    const bool written = write_whole(fd_, piece);
    lock.lock();
    if (written) continue;
    has_failed_ = true;
    return;
  }
}

std::string SpooledOutput::take_spooled() {
  std::string piece(std::min<std::uint64_t>(kPieceBytes, spool_end_ - spool_begin_), '\0');
  const ssize_t size =
      ::pread(spool_.get(), piece.data(), piece.size(), static_cast<off_t>(spool_begin_));
  if (size <= 0) {
    failure_ = std::string("what was kept of the answer cannot be read: ") + std::strerror(errno);
    spool_begin_ = spool_end_;
    return {};
  }
  piece.resize(static_cast<std::size_t>(size));
  spool_begin_ += piece.size();
  if (spool_begin_ != spool_end_) return piece;
  spool_begin_ = spool_end_ = 0;
  std::ignore = ::ftruncate(spool_.get(), 0);  // Failing costs room, nothing else.
  return piece;
}

}  // namespace xylem
