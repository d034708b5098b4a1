#include "backend/find/mapped_code.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "backend/find/object_file.h"
#include "backend/find/proc_file.h"
#include "backend/find/proc_table.h"

namespace xylem::backend {
namespace {

constexpr std::size_t kMaxMaps = 8u << 20;

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, 16);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

// Parses a line such as "7f12-7f34 r-xp 00001000 08:01 1234   /usr/lib/libm.so.6".
std::optional<MapsLine> line_of(std::string_view line) {
  std::string_view rest = line;
  const std::string_view range = next_word(rest);
  const std::string_view permissions = next_word(rest);
  const std::string_view offset = next_word(rest);
  next_word(rest);  // The device.
  const std::string_view inode = next_word(rest);
  const auto dash = range.find('-');
  const auto slash = rest.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || inode == "0" ||
      permissions.find('x') == std::string_view::npos) {
    return std::nullopt;
  }
  const auto begin = number_of(range.substr(0, dash));
  const auto end = number_of(range.substr(dash + 1));
  const auto at = number_of(offset);
  if (!begin || !end || !at || *begin >= *end) return std::nullopt;
  std::uint64_t number = 0;
  std::from_chars(inode.data(), inode.data() + inode.size(), number);
  return MapsLine{*begin, *end, *at, number, std::string(rest.substr(slash))};
}

}  // namespace

std::vector<MapsLine> maps_lines_in(std::string_view maps) {
  std::vector<MapsLine> found;
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(maps.size(), line.size() + 1));
    if (auto code = line_of(line)) found.push_back(*std::move(code));
  }
  return found;
}

std::optional<MappedCode> read_mapped_code(std::uint32_t pid, std::uint64_t start_time,
                                           std::uint64_t address) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::vector<MapsLine> lines = maps_lines_in(read_start(folder + "/maps", kMaxMaps));
  const auto line = std::find_if(lines.begin(), lines.end(), [&](const MapsLine& each) {
    return each.begin <= address && address < each.end;
  });
  if (line == lines.end()) return std::nullopt;
  ObjectFile file = read_object_file(folder + "/root" + line->path);
  const auto at = file.address_of_page(line->offset);
  // The time is checked at last: then all that was read is of this process.
  if (!at || file.inode != line->inode || start_time_of(pid) != start_time) return std::nullopt;
  return MappedCode{line->begin, line->end, line->begin - *at, std::move(file.build_id),
                    line->path};
}

}  // namespace xylem::backend
