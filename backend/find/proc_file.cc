#include "backend/find/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace xylem::backend {
namespace {

constexpr std::size_t kFirstRoom = 4096;
constexpr std::size_t kMaxBytes = 1u << 20;

}  // namespace

bool ProcFile::read(std::string& text) {
  error_ = 0;
  if (!fd_) fd_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::size_t size = 0;
  text.resize(std::max(text.capacity(), kFirstRoom));
  while (fd_ && error_ == 0) {
    if (size == text.size()) text.resize(2 * size);
    const ssize_t got =
        ::pread(fd_.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error_ = errno;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
    if (size > kMaxBytes) error_ = EFBIG;
  }
  if (!fd_ && error_ == 0) error_ = errno;
  if (error_ != 0) {
    fd_.reset();
    size = 0;
  }
  text.resize(size);
  return error_ == 0;
}

std::string read_start(const std::string& path, std::size_t max_size) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  while (fd && text.size() < max_size) {
    constexpr std::size_t kPiece = 64u << 10;
    const std::size_t before = text.size();
    text.resize(std::min(max_size, before + kPiece));
    const ssize_t got = ::read(fd.get(), text.data() + before, text.size() - before);
    text.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0 || (got < 0 && errno != EINTR)) break;
  }
  return text;
}

std::string_view behind_name(std::string_view stat) {
  const std::size_t end = stat.rfind(')');
  return end == std::string_view::npos ? std::string_view() : stat.substr(end + 1);
}

std::string_view next_word(std::string_view& text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  // A plain loop, because find_first_of was the largest part of the cost of a sample.
  std::size_t begin = 0;
  while (begin < text.size() && is_blank(text[begin])) ++begin;
  std::size_t end = begin;
  while (end < text.size() && !is_blank(text[end])) ++end;
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Most are integers; std::from_chars of those is several times faster.
double to_double(std::string_view word) {
  std::int64_t integer = 0;
  const char* const end = word.data() + word.size();
  if (const auto [at, error] = std::from_chars(word.data(), end, integer);
      error == std::errc() && at == end) {
    return static_cast<double>(integer);
  }
  double number = 0;
  std::from_chars(word.data(), end, number);
  return number;
}

}  // namespace xylem::backend
