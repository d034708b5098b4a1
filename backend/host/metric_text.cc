#include "backend/host/metric_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <unordered_map>

#include "backend/find/proc_file.h"

namespace xylem::backend {
namespace {

struct Family {
  bool is_counter = false;
  std::string unit;
};
using Families = std::map<std::string, Family, std::less<>>;

bool is_of_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':' || c == '.' || c == '/' || c == '-';
}

// Removes `{key="value",...}` from the line and returns it. Quoted values may contain braces. Empty
// if the end is missing.
std::optional<std::string_view> take_labels(std::string_view& line) {
  if (line.empty() || line.front() != '{') return std::string_view();
  bool quoted = false;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (quoted && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && line[i] == '}') {
      const std::string_view labels = line.substr(0, i + 1);
      line.remove_prefix(i + 1);
      return labels;
    }
  }
  return std::nullopt;
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c != '\x7f'; });
}

std::optional<double> number_of(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  double number = 0;
  const char* const end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, number);
  const bool is_out_of_range = error == std::errc::result_out_of_range;
  if ((error != std::errc() && !is_out_of_range) || at != end || word.empty()) return std::nullopt;
  // strtod distinguishes numbers that are too large from numbers that are too close to zero.
  return is_out_of_range ? std::strtod(std::string(word).c_str(), nullptr) : number;
}

void take_comment(std::string_view line, Families& families) {
  const std::string_view what = next_word(line);
  const std::string_view name = next_word(line);
  if (name.empty() || families.size() >= kMaxMetrics) return;
  if (what == "TYPE") families[std::string(name)].is_counter = next_word(line) == "counter";
  if (what == "UNIT") families[std::string(name)].unit = std::string(next_word(line).substr(0, 32));
}

// In OpenMetrics, the name of a counter's family does not have `_total`. In Prometheus it does.
const Family* family_of(const Families& families, std::string_view name) {
  if (const auto it = families.find(name); it != families.end()) return &it->second;
  constexpr std::string_view kTotal = "_total";
  if (!name.ends_with(kTotal)) return nullptr;
  const auto it = families.find(name.substr(0, name.size() - kTotal.size()));
  return it == families.end() ? nullptr : &it->second;
}

std::optional<MetricLine> read_line(std::string_view line, const Families& families) {
  const std::size_t size =
      static_cast<std::size_t>(std::ranges::find_if_not(line, is_of_a_name) - line.begin());
  const std::string_view name = line.substr(0, size);
  line.remove_prefix(size);
  const auto labels = take_labels(line);
  if (name.empty() || !labels || name.size() + labels->size() > kLongestMetricName ||
      !is_printable(*labels)) {
    return std::nullopt;
  }
  const bool apart = !labels->empty() || line.starts_with(' ') || line.starts_with('\t');
  const auto number = number_of(next_word(line));
  if (!apart || !number || number_of(name)) return std::nullopt;
  MetricLine read;
  read.name = std::string(name).append(*labels == "{}" ? std::string_view() : *labels);
  read.number = *number;
  if (const Family* family = family_of(families, name)) {
    read.is_counter = family->is_counter;
    read.unit = family->unit;
  }
  return read;
}

}  // namespace

MetricText parse_metrics(std::string_view text) {
  MetricText result;
  Families families;
  std::unordered_map<std::string, std::size_t> place;
  while (!text.empty()) {
    std::string_view line = next_line(text);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (line == "# EOF") break;
    if (line.front() == '#') {
      line.remove_prefix(1);
      take_comment(line, families);
      continue;
    }
    auto read = read_line(line, families);
    if (!read) {
      if (result.bad_lines++ != 0) continue;
      result.first_bad = std::string(line.substr(0, 60));
      std::ranges::replace_if(
          result.first_bad, [](char c) { return c < ' ' || c > '~'; }, '?');
      continue;
    }
    if (!place.contains(read->name) && place.size() >= kMaxMetrics) {
      ++result.dropped;
      continue;
    }
    const auto [it, is_new] = place.try_emplace(read->name, result.lines.size());
    if (is_new) {
      result.lines.push_back(*std::move(read));
    } else {
      result.lines[it->second] = *std::move(read);
    }
  }
  return result;
}

}  // namespace xylem::backend
