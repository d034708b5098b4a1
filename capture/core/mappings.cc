#include "capture/core/definition_writer_internal.h"
#include "capture/core/mappings_internal.h"

namespace xylem::capture {
namespace {

std::uint64_t read_digits(const char*& at, unsigned base) {
  std::uint64_t number = 0;
  for (;; ++at) {
    const char c = *at;
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                                                  : base;
    if (digit >= base) return number;
    number = number * base + digit;
  }
}

void skip_spaces(const char*& at) {
  while (*at == ' ') ++at;
}

}  // namespace

MappedRange parse_mapping(const char* line) noexcept {
  constexpr unsigned kHexadecimal = 16;
  MappedRange range;
  range.begin = read_digits(line, kHexadecimal);
  if (*line == '-') ++line;
  range.end = read_digits(line, kHexadecimal);
  skip_spaces(line);
  for (; *line != ' ' && *line != 0; ++line) range.is_code = range.is_code || *line == 'x';
  skip_spaces(line);
  range.offset = read_digits(line, kHexadecimal);
  skip_spaces(line);
  range.device = read_digits(line, kHexadecimal) << 32;
  if (*line == ':') ++line;
  range.device |= read_digits(line, kHexadecimal);
  skip_spaces(line);
  range.inode = read_digits(line, 10);
  skip_spaces(line);
  range.path = line;
  return range;
}

void define_mapped_files() noexcept {
  static Text<kMaxDefinitionBytes> line;  // A thread of the application may have a small stack.
  any_mapping(line, [](const MappedRange& range) {
    if (range.is_code && range.inode != 0) {
      definitions.mapped_file({range.begin, range.end, range.offset}, range.path);
    }
    return false;
  });
}

}  // namespace xylem::capture
