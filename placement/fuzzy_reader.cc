// The configuration file's part about fuzzy placement: entries with lines in, rules out.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "base/quoted.h"
#include "placement/fuzzy_rules.h"

namespace xylem::placement {
namespace {

constexpr std::string_view kPrefix = "fuzzy.";

constexpr std::string_view kKnownKeys =
    "composition, score, emphasis, grades.GRADE, weights.FACTOR, comparisons.FACTOR and "
    "functions.FACTOR.GRADE";

/// The values of one key.
struct Values {
  std::string name;  ///< The last part of the key.
  std::vector<std::string> texts;
  int line = 0;
};

bool is_word(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return !text.empty() && text.size() <= 40 && std::ranges::all_of(text, is_letter);
}

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

/// A number, or two with a slash between: "1/3".
std::optional<double> ratio_of(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return number_of(text);
  const auto above = number_of(text.substr(0, slash));
  const auto below = number_of(text.substr(slash + 1));
  if (!above || !below || *below == 0) return std::nullopt;
  return *above / *below;
}

class Reader {
 public:
  Reader(std::span<const ConfigEntry> entries, std::string_view source) : source_(source) {
    for (const ConfigEntry& entry : entries) {
      if (is_fuzzy_key(entry.key)) entries_.push_back(&entry);
    }
    // parse_config() sorts keys by name, but the user's order in the text counts.
    std::ranges::stable_sort(entries_, {}, &ConfigEntry::line);
  }

  Result<FuzzyRules> read() {
    for (const auto part : {&Reader::sort_out, &Reader::read_composition, &Reader::read_scoring,
                            &Reader::read_emphasis, &Reader::read_grades, &Reader::read_factors,
                            &Reader::read_functions}) {
      if (auto done = (this->*part)(); !done) return unexpected(std::move(done.error()));
    }
    if (auto good = check(rules_); !good) return wrong(weights_line_, good.error().message);
    return std::move(rules_);
  }

 private:
  Unexpected wrong(int line, const std::string& why) const {
    return unexpected(Code::kInvalidArgument, source_ + ":" + std::to_string(line) + ": " + why);
  }

  /// Puts every entry where it belongs.
  Result<void> sort_out() {
    for (const ConfigEntry* entry : entries_) {
      std::string_view key(entry->key);
      key.remove_prefix(std::min(kPrefix.size(), key.size()));
      const std::size_t dot = key.find('.');
      const std::string_view part = key.substr(0, dot);
      std::string_view name = dot == std::string_view::npos ? "" : key.substr(dot + 1);
      std::vector<Values>* list = nullptr;
      if (part == "composition" && name.empty()) {
        list = &composition_;
        name = part;
      } else if (part == "score" && name.empty()) {
        list = &scoring_;
        name = part;
      } else if (part == "emphasis" && name.empty()) {
        list = &emphasis_;
        name = part;
      } else if (part == "grades") {
        list = &grades_;
      } else if (part == "weights") {
        list = &weights_;
      } else if (part == "comparisons") {
        list = &comparisons_;
      } else if (part == "functions") {
        const std::size_t next = name.find('.');
        list = &functions_[std::string(name.substr(0, next))];
        name = next == std::string_view::npos ? "" : name.substr(next + 1);
      }
      if (list == nullptr || !is_word(name)) {
        return wrong(entry->line, quoted(entry->key) +
                                      " is not a key of fuzzy placement; they are " +
                                      std::string(kKnownKeys));
      }
      if (list->empty() || list->back().name != name) {
        list->push_back({std::string(name), {}, entry->line});
      }
      list->back().texts.push_back(entry->value);
    }
    return {};
  }

  Result<double> single(const Values& values) const {
    const auto number = values.texts.size() == 1 ? number_of(values.texts[0]) : std::nullopt;
    if (number) return *number;
    return wrong(values.line, values.name + " wants one number, not " + quoted(values.texts[0]) +
                                  (values.texts.size() > 1 ? " and more" : ""));
  }

  Result<Fact> fact_of(const std::string& name, int line) const {
    if (const auto fact = find_fact(name)) return *fact;
    return wrong(line, quoted(name) + " is not a factor; they are " + list_facts());
  }

  /// Returns which of two words the key has; the first word if the key is missing.
  template <typename Choice>
  Result<Choice> choose(const std::vector<Values>& entries, Choice first, Choice second) const {
    Choice chosen = first;
    for (const Values& values : entries) {
      const std::string& text = values.texts[0];
      const bool is_one = values.texts.size() == 1;
      if (is_one && text == to_text(first)) continue;
      if (!is_one || text != to_text(second)) {
        return wrong(values.line, values.name + " " + quoted(text) + " is not known; write " +
                                      std::string(to_text(first)) + " or " +
                                      std::string(to_text(second)));
      }
      chosen = second;
    }
    return chosen;
  }

  Result<void> read_composition() {
    const auto chosen = choose(composition_, Composition::kWeightedAverage, Composition::kMaxMin);
    if (!chosen) return unexpected(chosen.error());
    rules_.composition = *chosen;
    return {};
  }

  Result<void> read_scoring() {
    const auto chosen = choose(scoring_, Scoring::kGradeValues, Scoring::kMaximumMembership);
    if (!chosen) return unexpected(chosen.error());
    rules_.scoring = *chosen;
    return {};
  }

  Result<void> read_emphasis() {
    if (emphasis_.empty()) return {};
    const auto emphasis = single(emphasis_.front());
    if (!emphasis) return unexpected(emphasis.error());
    if (!(*emphasis >= 0 && *emphasis <= kMaxEmphasis)) {
      return wrong(emphasis_.front().line,
                   "emphasis is " + emphasis_.front().texts[0] + "; give a number from 0 to 4");
    }
    rules_.emphasis = *emphasis;
    return {};
  }

  Result<void> read_grades() {
    if (grades_.empty()) return {};
    rules_.grades.clear();
    for (const Values& values : grades_) {
      const auto value = single(values);
      if (!value) return unexpected(value.error());
      rules_.grades.push_back({values.name, *value});
    }
    std::ranges::stable_sort(rules_.grades,
                             [](const Grade& a, const Grade& b) { return a.value > b.value; });
    if (auto good = check_grades(rules_.grades); !good) {
      return wrong(grades_.front().line, good.error().message);
    }
    return {};
  }

  Result<void> read_factors() {
    if (!weights_.empty() && !comparisons_.empty()) {
      return wrong(std::max(weights_.front().line, comparisons_.front().line),
                   "there are both weights and comparisons; keep one of them");
    }
    if (!comparisons_.empty()) return read_comparisons();
    if (weights_.empty()) return {};
    rules_.factors.clear();
    for (const Values& values : weights_) {
      const auto fact = fact_of(values.name, values.line);
      if (!fact) return unexpected(fact.error());
      const auto weight = single(values);
      if (!weight) return unexpected(weight.error());
      if (*weight < 0) {
        return wrong(values.line, "factor " + values.name + " has the weight " + values.texts[0] +
                                      "; give one from 0 to 1");
      }
      rules_.factors.push_back({*fact, *weight, default_functions(*fact)});
      weights_line_ = values.line;
    }
    return {};
  }

  Result<void> read_comparisons() {
    rules_.factors.clear();
    std::vector<std::vector<double>> matrix;
    weights_line_ = comparisons_.front().line;
    int line = 0;
    for (const Values& values : comparisons_) {
      const auto fact = fact_of(values.name, values.line);
      if (!fact) return unexpected(fact.error());
      if (values.line == line) {
        return wrong(line,
                     "two rows of comparisons are on one line, so their order is unclear; "
                     "write each row on its own line");
      }
      line = values.line;
      std::vector<double>& row = matrix.emplace_back();
      for (const std::string& text : values.texts) {
        const auto ratio = ratio_of(text);
        if (!ratio)
          return wrong(line, quoted(text) + " is not a number; write for example 3 or \"1/3\"");
        row.push_back(*ratio);
      }
      rules_.factors.push_back({*fact, 0, default_functions(*fact)});
    }
    auto comparisons = compare(std::move(matrix));
    if (!comparisons) return wrong(weights_line_, comparisons.error().message);
    for (std::size_t i = 0; i < rules_.factors.size(); ++i) {
      rules_.factors[i].weight = comparisons->weights[i];
    }
    rules_.comparisons = *std::move(comparisons);
    return {};
  }

  Result<void> read_functions() {
    for (const auto& [name, given] : functions_) {
      const int line = given.front().line;
      const auto fact = fact_of(name, line);
      if (!fact) return unexpected(fact.error());
      const auto factor = std::ranges::find(rules_.factors, *fact, &Factor::fact);
      if (factor == rules_.factors.end()) {
        return wrong(line, "factor " + name + " has functions and no weight; give it one");
      }
      factor->functions.clear();
      for (const Grade& grade : rules_.grades) {
        const auto values = std::ranges::find(given, grade.name, &Values::name);
        if (values == given.end()) {
          return wrong(line, "factor " + name + " has no function for the grade " + grade.name +
                                 "; give each grade one");
        }
        const auto function = function_of(*values, name);
        if (!function) return unexpected(function.error());
        factor->functions.push_back(*function);
      }
      for (const Values& values : given) {
        if (std::ranges::find(rules_.grades, values.name, &Grade::name) != rules_.grades.end()) {
          continue;
        }
        return wrong(values.line,
                     quoted(values.name) + " is not a grade; they are" + grade_names());
      }
      if (auto good = check_functions(*factor, rules_.grades); !good) {
        return wrong(line, good.error().message);
      }
    }
    return check_defaults_fit();
  }

  Result<Trapezoid> function_of(const Values& values, const std::string& factor) const {
    std::vector<double> corners;
    for (const std::string& text : values.texts) {
      if (const auto corner = number_of(text)) corners.push_back(*corner);
    }
    if (corners.size() != values.texts.size() || (corners.size() != 3 && corners.size() != 4)) {
      return wrong(values.line, "the function of " + factor + " for " + values.name +
                                    " wants 3 or 4 numbers; write [a, b, c] or [a, b, c, d]");
    }
    if (corners.size() == 3) corners.insert(corners.begin() + 1, corners[1]);
    return Trapezoid{corners[0], corners[1], corners[2], corners[3]};
  }

  /// The default functions are for the default grades.
  Result<void> check_defaults_fit() const {
    const FuzzyRules defaults = default_fuzzy_rules();
    const bool same =
        std::ranges::equal(rules_.grades, defaults.grades, {}, &Grade::name, &Grade::name);
    for (const Factor& factor : rules_.factors) {
      const std::string name(to_text(factor.fact));
      if (same || functions_.contains(name)) continue;
      return wrong(grades_.front().line, "these grades are not the default grades, so " + name +
                                             " needs functions: write [fuzzy.functions." + name +
                                             "]");
    }
    return {};
  }

  std::string grade_names() const {
    std::string names;
    for (const Grade& grade : rules_.grades) names += " " + grade.name;
    return names;
  }

  std::string source_;
  std::vector<const ConfigEntry*> entries_;
  std::vector<Values> composition_, scoring_, emphasis_, grades_, weights_, comparisons_;
  std::map<std::string, std::vector<Values>> functions_;
  int weights_line_ = 1;
  FuzzyRules rules_ = default_fuzzy_rules();
};

}  // namespace

bool is_fuzzy_key(std::string_view key) { return key == "fuzzy" || key.starts_with(kPrefix); }

Result<FuzzyRules> read_fuzzy_rules(std::span<const ConfigEntry> entries, std::string_view source) {
  return Reader(entries, source).read();
}

}  // namespace xylem::placement
