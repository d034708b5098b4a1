#pragma once

// A run in the terminal: the queries, and the screen that shows the answers, as values.
//
//   TopAnswers answers;
//   ask_top(*view, question_of(choice), answers);
//   const TopScreen screen = draw_top(answers, choice, {.width = 80, .height = 24});

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "storage/read/run_view.h"
#include "viz/terminal_text.h"
#include "viz/top_choice.h"

namespace xylem::viz {

/// The parts of a run that a screen needs, with time and world. Equal questions of a file that has
/// not changed have equal answers.
struct TopQuestion {
  bool functions = false, ranks = false, tree = false, notices = false;
  WorldId world{};
  std::optional<Nanos> recent_ns;  ///< Only so much before the run's end; none: the whole run.
  bool operator==(const TopQuestion&) const = default;
};

/// What the choice shows; paused, all of it, so that another pane needs no new question.
TopQuestion question_of(const TopChoice& choice, Nanos recent_ns);

/// Each part is of one commit, and of the last time that it was asked for.
struct TopAnswers {
  std::optional<storage::Overview> overview;
  std::optional<storage::FunctionTable> functions;
  struct Ranks {
    storage::RankGrid mpi, wait, calls, bytes;  ///< Of one column: a row is a rank, or several.
  };
  std::optional<Ranks> ranks;
  std::optional<storage::Tree> tree;
  std::optional<storage::Notices> notices;
  std::optional<storage::Alerts> alerts;  ///< With the notices, and in the overview.
  std::string fault;  ///< A sentence: why there are no newer ones. Empty: they are the newest.
};

/// Asks for the parts of `question` and the overview, and puts them in place of the older ones. On
/// a failure `fault` says it, and the older ones stay.
void ask_top(storage::RunView& run, const TopQuestion& question, TopAnswers& answers);

/// All parts as one JSON object: those of docs/http-api.md under their names.
std::string top_json(const TopAnswers& answers);

struct ScreenForm {
  std::size_t width = 80, height = 24;
  bool utf8 = true;
  bool is_interactive = true;  ///< Else without what only keys make sense of: a screen to keep.
};

/// Exactly `height` lines of at most `width` cells; of one that is not interactive, all lines that
/// the pane has where `height` is 0.
struct TopScreen {
  std::vector<Line> lines;
  TopExtent extent;
};

/// Draws the answers; a line says which parts are empty or were not queried. From 140 cells on the
/// overview has two columns. Numbers have their unit, estimates a "~"; a number that has no room is
/// "#"s, never cut.
TopScreen draw_top(const TopAnswers& answers, const TopChoice& choice, const ScreenForm& form);

}  // namespace xylem::viz
