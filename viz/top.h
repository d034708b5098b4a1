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

/// The parts of a run that a screen needs, with time and world. Equal questions to an unchanged
/// file have equal answers.
struct TopQuestion {
  bool functions = false, ranks = false, tree = false, notices = false;
  WorldId world{};
  std::optional<Nanos> recent_ns;  ///< Only this long before the run's end; none: the whole run.
  bool operator==(const TopQuestion&) const = default;
};

/// The question for the chosen pane; when paused, for all panes, so that the user can switch.
TopQuestion question_of(const TopChoice& choice, Nanos recent_ns);

/// Each part comes from one commit, of the last time that it was queried.
struct TopAnswers {
  std::optional<storage::Overview> overview;
  std::optional<storage::FunctionTable> functions;
  struct Ranks {
    storage::RankGrid mpi, wait, calls, bytes;  ///< One column; a row is a rank, or several.
  };
  std::optional<Ranks> ranks;
  std::optional<storage::Tree> tree;
  std::optional<storage::Notices> notices;
  std::optional<storage::Alerts> alerts;  ///< For the panes notices and overview.
  std::string fault;  ///< Why there are no newer answers; empty: these are the newest.
};

/// Queries the parts of `question` and the overview, and replaces the older answers. On failure it
/// sets `fault` and keeps the older answers.
void ask_top(storage::RunView& run, const TopQuestion& question, TopAnswers& answers);

/// All parts as one JSON object, with the names and forms of docs/http-api.md.
std::string top_json(const TopAnswers& answers);

struct ScreenForm {
  std::size_t width = 80, height = 24;
  bool utf8 = true;
  bool is_interactive = true;  ///< False: without hints for keys, as for a screen to keep.
};

/// Exactly `height` lines of at most `width` cells. If not interactive and `height` is 0: all lines
/// of the pane.
struct TopScreen {
  std::vector<Line> lines;
  TopExtent extent;
};

/// Draws the answers; a line says which parts are empty or were not queried. From 140 cells on the
/// overview has two columns. Numbers have their unit, estimates a "~"; a number that has no room is
/// "#"s, never cut.
TopScreen draw_top(const TopAnswers& answers, const TopChoice& choice, const ScreenForm& form);

}  // namespace xylem::viz
