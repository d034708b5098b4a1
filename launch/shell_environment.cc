#include "launch/shell_environment.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/quoted.h"

namespace xylem::launch {
namespace {

constexpr std::string_view kBefore = "XYLEM_SERVE_BEFORE";
constexpr std::string_view kPreload = "LD_PRELOAD";

std::optional<std::string> find(const std::vector<std::string>& current, std::string_view name) {
  for (const std::string& entry : current) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

// XYLEM_SERVE_BEFORE has a word for each variable: its name, and `=` with its value if it was set.
// In the value, `%`, blanks and ends of lines are written as `%` and two digits.
constexpr std::pair<char, std::string_view> kSigns[] = {
    {'%', "%25"}, {' ', "%20"}, {'\t', "%09"}, {'\n', "%0a"}};

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    const auto* sign = std::ranges::find(kSigns, c, &std::pair<char, std::string_view>::first);
    if (sign == std::end(kSigns)) {
      text += c;
    } else {
      text += sign->second;
    }
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string value;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto* sign =
        std::ranges::find(kSigns, text.substr(at, 3), &std::pair<char, std::string_view>::second);
    value += sign == std::end(kSigns) ? text[at] : sign->first;
    if (sign != std::end(kSigns)) at += 2;
  }
  return value;
}

using Before = std::vector<std::pair<std::string, std::optional<std::string>>>;

Before read_before(const std::string& text) {
  Before before;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    before.emplace_back(word.substr(0, equals),
                        equals == std::string::npos
                            ? std::nullopt
                            : std::optional(unescaped(word.substr(equals + 1))));
  }
  return before;
}

std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> parts;
  std::istringstream text(list);
  for (std::string part; std::getline(text, part, separator);) parts.push_back(part);
  return parts;
}

std::string join(const std::vector<std::string>& parts, char separator) {
  std::string list;
  for (const std::string& part : parts) {
    if (!list.empty()) list += separator;
    list += part;
  }
  return list;
}

// Removes the first part that is equal to `name`.
void take_out(std::vector<std::string>& parts, const std::string& name) {
  const auto found = std::find(parts.begin(), parts.end(), name);
  if (found != parts.end()) parts.erase(found);
}

std::string export_line(std::string_view name, const std::string& value) {
  return "export " + std::string(name) + "=" + shell_quoted(value) + "\n";
}

}  // namespace

std::string lines_to_enter(const Environment& environment, int serving_pid,
                           const std::vector<std::string>& current) {
  Environment all = environment;
  all.emplace_back(kEnvServePid, std::to_string(serving_pid));
  std::string lines, before;
  const auto remember = [&](std::string_view name) {
    const auto value = find(current, name);
    before += (before.empty() ? "" : " ") + std::string(name);
    if (value) before += "=" + escaped(*value);
  };
  for (const auto& [name, value] : all) {
    lines += export_line(name, value);
    remember(name);
  }
  remember(kBefore);
  return lines + export_line(kBefore, before);
}

std::string lines_to_leave(const std::vector<std::string>& current,
                           const std::string& capture_library) {
  const auto text = find(current, kBefore);
  if (!text) return {};
  const Before before = read_before(*text);
  std::string lines;
  std::vector<std::string> gone;
  for (const auto& [name, value] : before) {
    std::optional<std::string> wanted = value;
    if (name == kPreload || name == kOpenMpiForwardList) {
      const char separator = name == kPreload ? ':' : ';';
      std::vector<std::string> parts = split(find(current, name).value_or(""), separator);
      take_out(parts, capture_library);
      // Our names come after the names that were there before.
      std::reverse(parts.begin(), parts.end());
      if (name == kOpenMpiForwardList) {
        for (const auto& entry : before) take_out(parts, entry.first);
      }
      std::reverse(parts.begin(), parts.end());
      const std::string rest = join(parts, separator);
      wanted = rest.empty() && !value ? std::nullopt : std::optional(rest);
    }
    if (wanted) {
      lines += export_line(name, *wanted);
    } else {
      gone.push_back(name);
    }
  }
  return gone.empty() ? lines : "unset " + join(gone, ' ') + "\n" + lines;
}

}  // namespace xylem::launch
