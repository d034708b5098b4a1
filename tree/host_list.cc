#include "tree/host_list.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "tree/topology.h"

namespace xylem::tree {
namespace {

constexpr std::size_t kMaxDigits = 18;  // Fits into 64 bits.

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::uint64_t> number_of(std::string_view text) {
  if (text.empty() || text.size() > kMaxDigits || !std::ranges::all_of(text, is_digit)) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (const char c : text) value = 10 * value + static_cast<std::uint64_t>(c - '0');
  return value;
}

std::string padded(std::uint64_t value, std::size_t width) {
  const std::string digits = std::to_string(value);
  return std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
}

// ---- reading ----

Unexpected wrong(std::string_view item, const std::string& why) {
  constexpr std::size_t kShown = 60;
  std::string shown;
  for (const char c : item.substr(0, kShown)) shown += c >= 0x20 && c < 0x7f ? c : '?';
  return unexpected(Code::kInvalidArgument,
                    "host list: '" + shown + (item.size() > kShown ? "..." : "") + "' " + why);
}

// Minimum width of the numbers in a bracket: the width of its first number if this has leading
// zeros.
std::size_t width_of(std::string_view first) { return first.front() == '0' ? first.size() : 0; }

// Appends each number of a bracket to each of `stems`.
Result<std::vector<std::string>> continue_by(const std::vector<std::string>& stems,
                                             std::string_view ranges, std::string_view item) {
  // Text of the first number of each range, and the size of the range.
  std::vector<std::pair<std::string_view, std::uint64_t>> firsts;
  std::uint64_t count = 0;
  for (std::size_t at = 0; at <= ranges.size();) {
    const std::size_t end = std::min(ranges.find(',', at), ranges.size());
    const std::string_view range = ranges.substr(at, end - at);
    const std::size_t dash = std::min(range.find('-'), range.size());
    const auto first = number_of(range.substr(0, dash));
    const auto last = dash < range.size() ? number_of(range.substr(dash + 1)) : first;
    if (!first || !last || *last < *first) {
      return wrong(item, "has a bracket without numbers in it; write node[01-04,07]");
    }
    const std::uint64_t length = *last - *first + 1;
    if (length > kMaxListedHosts) return wrong(item, "names too many hosts");
    firsts.emplace_back(range.substr(0, dash), length);
    count += length;
    if (count * stems.size() > kMaxListedHosts) return wrong(item, "names too many hosts");
    at = end + 1;
  }
  const std::size_t least = width_of(firsts.front().first);
  std::vector<std::string> all;
  all.reserve(count * stems.size());
  for (const std::string& stem : stems) {
    for (const auto& [first, length] : firsts) {
      const std::uint64_t from = *number_of(first);
      const std::size_t width = std::max(least, first.size());
      for (std::uint64_t i = 0; i < length; ++i) all.push_back(stem + padded(from + i, width));
    }
  }
  return all;
}

Unexpected no_host_name(std::string_view item) {
  return wrong(item, "is not a host name; use at most 253 letters, digits, '.', '-' and '_'");
}

Result<std::vector<std::string>> expand(std::string_view item) {
  std::vector<std::string> names = {""};
  for (std::size_t at = 0; at < item.size();) {
    const std::size_t open = std::min(item.find('[', at), item.size());
    for (std::string& name : names) name += item.substr(at, open - at);
    if (open == item.size()) break;
    // Each bracket adds at least one digit, so this check also limits the number of brackets.
    if (!is_host_name(names.front() + '0')) return no_host_name(item);
    const std::size_t close = item.find(']', open);
    if (close == std::string_view::npos) return wrong(item, "has a bracket that is not closed");
    auto longer = continue_by(names, item.substr(open + 1, close - open - 1), item);
    if (!longer) return longer;
    names = *std::move(longer);
    at = close + 1;
  }
  for (const std::string& name : names) {
    if (!is_host_name(name)) return no_host_name(item);
  }
  return names;
}

// ---- writing ----

// A name, split at its last number: "rack2n07.x" is "rack2n", "07", ".x". A name without a number
// is only a stem. So is a name whose last number has more than kMaxDigits digits.
struct Parts {
  std::string stem, number, rest;
};

Parts parts_of(const std::string& name) {
  const auto last = std::find_if(name.rbegin(), name.rend(), is_digit).base();
  const auto first =
      std::find_if_not(std::make_reverse_iterator(last), name.rend(), is_digit).base();
  if (first == last || last - first > static_cast<std::ptrdiff_t>(kMaxDigits)) {
    return {name, "", ""};
  }
  return {{name.begin(), first}, {first, last}, {last, name.end()}};
}

// Returns ranges: "01-04,07". All numbers of a range have the width of its first number, so that
// reading the range gives the same texts.
std::string ranges_of(const std::vector<std::string>& numbers) {
  std::string text;
  for (std::size_t at = 0; at < numbers.size();) {
    const std::uint64_t first = *number_of(numbers[at]);
    std::size_t length = 1;
    while (at + length < numbers.size() &&
           numbers[at + length] == padded(first + length, numbers[at].size())) {
      ++length;
    }
    if (!text.empty()) text += ',';
    text += numbers[at];
    if (length > 1) text += '-' + numbers[at + length - 1];
    at += length;
  }
  return text;
}

// Returns items: "node[01-04,07].x,node[5,6].x". If the first number of a bracket has leading
// zeros, it sets the width of all numbers in the bracket. So shorter numbers need another bracket.
std::string brackets_of(const std::string& stem, const std::string& rest,
                        std::vector<std::string> numbers) {
  std::string text;
  while (!numbers.empty()) {
    const std::size_t least = width_of(numbers.front());
    const auto shorter = std::stable_partition(
        numbers.begin(), numbers.end(), [least](const auto& n) { return n.size() >= least; });
    const std::vector<std::string> fitting(numbers.begin(), shorter);
    numbers.erase(numbers.begin(), shorter);
    const std::string ranges = ranges_of(fitting);
    if (!text.empty()) text += ',';
    text += stem + (fitting.size() == 1 ? ranges : '[' + ranges + ']') + rest;
  }
  return text;
}

}  // namespace

Result<std::vector<std::string>> parse_host_list(std::string_view text) {
  std::vector<std::string> hosts;
  if (text.empty()) return hosts;
  std::size_t begin = 0;
  bool in_bracket = false;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    if (c == '[' && in_bracket) return wrong(text, "has a bracket in a bracket");
    if (c == '[') in_bracket = true;
    if (c == ']') in_bracket = false;
    if (at < text.size() && (c != ',' || in_bracket)) continue;
    auto names = expand(text.substr(begin, at - begin));
    if (!names) return names;
    if (hosts.size() + names->size() > kMaxListedHosts) return wrong(text, "names too many hosts");
    hosts.insert(hosts.end(), std::make_move_iterator(names->begin()),
                 std::make_move_iterator(names->end()));
    begin = at + 1;
  }
  return hosts;
}

std::string fold_hosts(std::span<const std::string> hosts) {
  // Sorted by stem and rest; in a group, by value, then by length.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> groups;
  for (const std::string& host : hosts) {
    Parts parts = parts_of(host);
    groups[{std::move(parts.stem), std::move(parts.rest)}].push_back(std::move(parts.number));
  }
  std::string text;
  for (auto& [around, numbers] : groups) {
    std::ranges::sort(numbers, {}, [](const std::string& number) {
      return std::tuple(number_of(number), number.size());
    });
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    if (!text.empty()) text += ',';
    // Only a name without a number has an empty text here. It is the first.
    if (numbers.front().empty()) {
      text += around.first;
      numbers.erase(numbers.begin());
      if (numbers.empty()) continue;
      text += ',';
    }
    text += brackets_of(around.first, around.second, std::move(numbers));
  }
  return text;
}

}  // namespace xylem::tree
