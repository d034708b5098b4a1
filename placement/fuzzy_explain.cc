// Fuzzy placement as a text that a person can follow with a pocket calculator.

#include <cmath>
#include <numeric>

#include "base/check.h"
#include "placement/fuzzy.h"
#include "placement/number_text_internal.h"
#include "placement/room.h"

namespace xylem::placement {
namespace {

using Row = std::vector<std::string>;

bool is_one(double sum) { return std::abs(sum - 1) < 1e-9; }

double sum_of(std::span<const double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

void append_comparisons(std::string& text, const Comparisons& it, const FuzzyRules& rules,
                        bool all_known) {
  text += "comparisons: principal eigenvalue " + fixed(it.eigenvalue) + ", consistency index " +
          fixed(it.consistency_index) + ", random index " + shortest(it.random_index) +
          ", consistency ratio " + fixed(it.consistency_ratio) + "\n";
  if (!all_known) return;  // Rows and columns belong to factors, some of which are left out.
  Table table;
  Row head = {""};
  for (const Factor& factor : rules.factors) head.emplace_back(to_text(factor.fact));
  table.add(std::move(head));
  for (std::size_t i = 0; i < it.matrix.size(); ++i) {
    Row row = {std::string(to_text(rules.factors[i].fact))};
    for (const double entry : it.matrix[i]) row.push_back(fixed(entry));
    table.add(std::move(row));
  }
  text += table.print();
}

void append_rules(std::string& text, const FuzzyPlacement& placement) {
  const FuzzyRules& rules = placement.rules;
  text += "composition: " + std::string(to_text(rules.composition)) + "\n";
  if (rules.scoring != Scoring::kGradeValues) {
    text += "score: " + std::string(to_text(rules.scoring)) + "\n";
  }
  if (rules.emphasis > 0) text += "emphasis: " + shortest(rules.emphasis) + "\n";
  text += "grades: ";
  for (std::size_t j = 0; j < rules.grades.size(); ++j) {
    text += (j > 0 ? ", " : "") + rules.grades[j].name + " " + shortest(rules.grades[j].value);
  }
  text += "\n";
  if (rules.comparisons) {
    append_comparisons(text, *rules.comparisons, rules, placement.left_out.empty());
  }
  if (!placement.left_out.empty()) {
    text += "unknown for all hosts, left out:";
    for (const Fact fact : placement.left_out) (text += " ") += to_text(fact);
    text += "; the other weights are divided by their sum\n";
  }
  Table weights;
  weights.add({"factor", "weight"});
  for (const Factor& factor : rules.factors) {
    weights.add({std::string(to_text(factor.fact)), fixed(factor.weight)});
  }
  text += weights.print();
  Table functions;
  functions.add({"function", "a", "b", "c", "d"});
  for (const Factor& factor : rules.factors) {
    for (std::size_t j = 0; j < rules.grades.size(); ++j) {
      const Trapezoid& it = factor.functions[j];
      functions.add({std::string(to_text(factor.fact)) + " " + rules.grades[j].name, shortest(it.a),
                     shortest(it.b), shortest(it.c), shortest(it.d)});
    }
  }
  text += functions.print();
}

void append_numbers(Row& row, std::span<const double> numbers) {
  for (const double number : numbers) row.push_back(fixed(number));
}

void append_host(std::string& text, const std::string& name, const FuzzyRules& rules,
                 const Evaluation& it) {
  const std::size_t grades = rules.grades.size();
  Table table;
  const bool own_weights = rules.emphasis > 0;
  Row head = {"factor", "value"};
  if (own_weights) head.push_back("weight");
  for (const Grade& grade : rules.grades) head.push_back(grade.name);
  table.add(std::move(head));
  for (std::size_t i = 0; i < rules.factors.size(); ++i) {
    const auto row_of = [&](const std::vector<double>& matrix) {
      return std::span(matrix).subspan(i * grades, grades);
    };
    Row row = {std::string(to_text(rules.factors[i].fact)),
               it.values[i] ? shortest(*it.values[i]) : "-"};
    if (own_weights) row.push_back(fixed(it.weights[i]));
    append_numbers(row, row_of(it.memberships));
    table.add(std::move(row));
    if (is_one(sum_of(row_of(it.memberships)))) continue;
    Row normal = {"/ its sum", fixed(sum_of(row_of(it.memberships)))};
    if (own_weights) normal.emplace_back();
    append_numbers(normal, row_of(it.matrix));
    table.add(std::move(normal));
  }
  Row composed = {"B", ""};
  if (own_weights) composed.emplace_back();
  append_numbers(composed, it.composed);
  table.add(std::move(composed));
  if (!is_one(sum_of(it.composed))) {
    Row normal = {"/ its sum", fixed(sum_of(it.composed))};
    if (own_weights) normal.emplace_back();
    append_numbers(normal, it.grades);
    table.add(std::move(normal));
  }
  text += name + "\n" + table.print("  ") + "  score = ";
  if (rules.scoring == Scoring::kMaximumMembership) {
    const std::size_t strongest = strongest_grade(it);
    text += "value of " + rules.grades[strongest].name + ", whose membership " +
            fixed(it.grades[strongest]) + " is the largest = " + fixed(it.score) + "\n";
    return;
  }
  for (std::size_t j = 0; j < grades; ++j) {
    text += (j > 0 ? " + " : "") + fixed(it.grades[j]) + " * " + shortest(rules.grades[j].value);
  }
  text += " = " + fixed(it.score) + "\n";
}

void append_round(std::string& text, std::size_t number, const FuzzyRound& round,
                  std::span<const tree::Host> hosts, const FuzzyPlacement& placement) {
  text += "round " + std::to_string(number) + ": " + std::to_string(round.comm_processes) +
          " communication processes by scores that sum to " + fixed(round.scores) + "\n";
  Table table;
  table.add({"host", "score", "quota", "whole", "rest", "more", "room", "gets"});
  for (const FuzzyShare& share : round.shares) {
    table.add({hosts[raw(share.host)].name, fixed(placement.hosts[raw(share.host)].score),
               fixed(share.quota), std::to_string(share.whole), fixed(share.rest),
               share.one_more ? "1" : "0", room_text(share.room), std::to_string(share.gets)});
  }
  text += table.print();
}

}  // namespace

std::string explain(std::span<const tree::Host> hosts, const FuzzyPlacement& placement) {
  CHECK(hosts.size() == placement.added.size());
  const std::uint64_t placed =
      std::accumulate(placement.added.begin(), placement.added.end(), std::uint64_t{0});
  std::string text = "fuzzy placement of " + std::to_string(placed) +
                     " communication processes on " + std::to_string(hosts.size()) + " hosts\n";
  append_rules(text, placement);
  for (std::size_t i = 0; i < placement.hosts.size(); ++i) {
    append_host(text, hosts[i].name, placement.rules, placement.hosts[i]);
  }
  for (std::size_t i = 0; i < placement.rounds.size(); ++i) {
    append_round(text, i + 1, placement.rounds[i], hosts, placement);
  }
  if (placement.rounds.size() < 2) return text;
  Table all;
  all.add({"host", "in all"});
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    all.add({hosts[i].name, std::to_string(placement.added[i])});
  }
  return text + all.print();
}

}  // namespace xylem::placement
