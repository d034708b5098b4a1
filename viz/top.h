#pragma once

// Shows a run in the terminal: queries the run's file and draws the answers as a screen. A screen
// is a list of lines; nothing here accesses the terminal.
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

/// The parts of a run that a screen needs, with their time and world. The same question to an
/// unchanged file has the same answer.
struct TopQuestion {
  bool functions = false, ranks = false, tree = false, notices = false;
  WorldId world{};
  std::optional<Nanos> recent_ns;  ///< Length of the last part of the run, if only this part is
                                   ///< wanted.
  bool operator==(const TopQuestion&) const = default;
};

/// Returns the question for the chosen pane. While the display is paused, the question is for all
/// panes, so that the user can switch between them.
TopQuestion question_of(const TopChoice& choice, Nanos recent_ns);

/// The newest answer to each part. Parts may be from different commits of the run's file.
struct TopAnswers {
  std::optional<storage::Overview> overview;
  std::optional<storage::FunctionTable> functions;
  struct Ranks {
    /// Each grid has one column; a row is one rank or several.
    storage::RankGrid mpi, wait, calls, bytes;
  };
  std::optional<Ranks> ranks;
  std::optional<storage::Tree> tree;
  std::optional<storage::Notices> notices;
  std::optional<storage::Alerts> alerts;  ///< Used by the panes notices and overview.
  std::string fault;                      ///< Why the last query failed; empty: it succeeded.
};

/// Queries the overview and the parts of `question`, and replaces their old answers. On failure it
/// sets `fault` and keeps the old answers.
void ask_top(storage::RunView& run, const TopQuestion& question, TopAnswers& answers);

/// All parts as one JSON object, with the names and forms of docs/http-api.md.
std::string top_json(const TopAnswers& answers);

struct ScreenForm {
  std::size_t width = 80, height = 24;
  bool utf8 = true;
  bool is_interactive = true;  ///< False: the screen has no hints for keys.
};

/// Exactly `height` lines of at most `width` cells. If the screen is not interactive and `height`
/// is 0, it has all lines of the pane.
struct TopScreen {
  std::vector<Line> lines;
  TopExtent extent;
};

/// Draws the answers. A line says which parts are empty or were not queried. From a width of 140
/// cells on, the overview has two columns. Numbers have their unit, and estimates begin with "~". A
/// number that does not fit becomes "#"s.
TopScreen draw_top(const TopAnswers& answers, const TopChoice& choice, const ScreenForm& form);

}  // namespace xylem::viz
