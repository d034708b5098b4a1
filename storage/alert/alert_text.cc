#include <cmath>
#include <cstdio>

#include "base/quantity_text.h"
#include "storage/alert/alert_text_internal.h"

namespace xylem::storage {
namespace {

constexpr std::size_t kMaxPieces = 4;
constexpr Nanos kFineSeconds = 10 * kSecond;

}  // namespace

std::string number_text(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string whole_percent_text(double share) { return number_text(100 * share, 0) + " %"; }

std::string seconds_text(Nanos ns) {
  return number_text(to_seconds(ns), ns < kFineSeconds ? 1 : 0) + " s";
}

std::string list_text(const std::vector<Rank>& ranks) {
  std::string text;
  std::size_t pieces = 0, at = 0;
  while (at < ranks.size() && pieces < kMaxPieces) {
    std::size_t last = at;
    while (last + 1 < ranks.size() && raw(ranks[last + 1]) == raw(ranks[last]) + 1) ++last;
    if (last == at + 1) last = at;  // "3, 4" is as long as "3-4".
    if (pieces++ != 0) text += ", ";
    text += std::to_string(raw(ranks[at]));
    if (last != at) text += "-" + std::to_string(raw(ranks[last]));
    at = last + 1;
  }
  if (at < ranks.size()) text += " and " + count_text(ranks.size() - at) + " more";
  return text;
}

std::string ranks_text(const std::vector<Rank>& ranks, const std::string& host) {
  if (ranks.size() == 1) {
    return "rank " + std::to_string(raw(ranks[0])) + (host.empty() ? "" : " (" + host + ")");
  }
  return count_text(ranks.size()) + " ranks (" + list_text(ranks) +
         (host.empty() ? "" : ", all on " + host) + ")";
}

std::string cores_text(double cores) {
  const bool is_whole = cores == std::floor(cores);
  return number_text(cores, is_whole ? 0 : 1) + (cores == 1 ? " core" : " cores");
}

std::string calls_text(std::uint64_t calls) {
  return count_text(calls) + (calls == 1 ? " call" : " calls");
}

}  // namespace xylem::storage
