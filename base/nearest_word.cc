// The distance is the restricted edit distance of Damerau and Levenshtein, computed row by row
// (https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance). Example: "repotr" and "report" have
// distance 1, since two neighbouring letters have changed places.

#include "base/nearest_word.h"

#include <algorithm>
#include <cstddef>

namespace xylem {
namespace {

constexpr std::size_t kMaxLetters = 64;

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(std::string_view typed, const std::vector<std::string>& words) {
  if (typed.empty() || typed.size() > kMaxLetters) return {};
  const std::size_t allowed = std::max<std::size_t>(1, typed.size() / 3);
  std::size_t least = allowed + 1;
  std::string nearest;
  for (const std::string& word : words) {
    if (word.size() > kMaxLetters) continue;
    // One letter for another would make any two words of one letter alike.
    const std::size_t errors = distance(typed, word);
    if (errors >= least || errors >= word.size()) continue;
    least = errors;
    nearest = word;
  }
  if (!nearest.empty() || typed.size() < 2) return nearest;
  const auto begins = [typed](const std::string& word) { return word.starts_with(typed); };
  if (std::ranges::count_if(words, begins) != 1) return {};
  return *std::ranges::find_if(words, begins);
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words) {
  const std::string word = nearest_word(typed, words);
  return word.empty() ? "" : " (did you mean " + word + "?)";
}

}  // namespace xylem
