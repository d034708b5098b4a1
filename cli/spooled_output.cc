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

// Makes a file without a name, which disappears with this process. If the file system has no
// unnamed files, makes and removes a named file.
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
    // There is no thread: then the query waits for the reader.
  }
}

SpooledOutput::~SpooledOutput() { stop(); }

void SpooledOutput::stop() {
  hand_over();
  if (!writer_.joinable()) return;
  auto queue = queue_.lock();
  queue->is_over = true;
  queue.notify();
  queue.unlock();
  writer_.join();
}

std::string SpooledOutput::finish() {
  stop();
  return queue_.lock()->failure;
}

// ---- The thread that writes ----

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
  auto queue = queue_.lock();
  if (queue->has_failed || !queue->failure.empty()) return false;
  if (piece.empty()) return true;
  if (!writer_.joinable()) {
    queue->has_failed = !write_whole(fd_, piece);
    return !queue->has_failed;
  }
  if (!queue->put(std::move(piece))) return false;
  queue.notify();
  return true;
}

bool SpooledOutput::Queue::put(std::string piece) {
  if (file_begin != file_end || bytes_in_memory >= kMaxInMemory) return put_into_file(piece);
  bytes_in_memory += piece.size();
  in_memory.push_back(std::move(piece));
  return true;
}

bool SpooledOutput::Queue::put_into_file(const std::string& piece) {
  const std::string folder = temporary_folder();
  if (!file) file = make_spool(folder);
  std::size_t at = 0;
  while (file && at < piece.size()) {
    const ssize_t size = ::pwrite(file.get(), piece.data() + at, piece.size() - at,
                                  static_cast<off_t>(file_end + at));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    at += static_cast<std::size_t>(size);
  }
  if (at == piece.size()) {
    file_end += at;
    return true;
  }
  failure = "nobody reads the answer, and there is no room for it in " + folder + ": " +
            std::strerror(errno) + "; ask for less, or name another folder by TMPDIR";
  return false;
}

// ---- The thread that hands text to the reader ----

void SpooledOutput::write_all() {
  auto queue = queue_.lock();
  for (;;) {
    queue.wait_until(kForever, [&queue] { return queue->is_over || !queue->is_empty(); });
    if (queue->is_empty()) return;
    const std::string piece = queue->take();
    queue.unlock();
    const bool is_written = write_whole(fd_, piece);
    queue.lock();
    if (is_written) continue;
    queue->has_failed = true;
    return;
  }
}

std::string SpooledOutput::Queue::take() {
  if (in_memory.empty()) return take_from_file();
  std::string piece = std::move(in_memory.front());
  in_memory.pop_front();
  bytes_in_memory -= piece.size();
  return piece;
}

std::string SpooledOutput::Queue::take_from_file() {
  std::string piece(std::min<std::uint64_t>(kPieceBytes, file_end - file_begin), '\0');
  const ssize_t size =
      ::pread(file.get(), piece.data(), piece.size(), static_cast<off_t>(file_begin));
  if (size <= 0) {
    failure = std::string("the spooled part of the answer cannot be read: ") + std::strerror(errno);
    file_begin = file_end;
    return {};
  }
  piece.resize(static_cast<std::size_t>(size));
  file_begin += piece.size();
  if (file_begin != file_end) return piece;
  file_begin = file_end = 0;
  std::ignore = ::ftruncate(file.get(), 0);  // A failure only costs space.
  return piece;
}

}  // namespace xylem
