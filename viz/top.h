#pragma once

// The contents of `xylem top`: queries the run's file and draws the answers as a screen. A screen
// is a list of lines. Nothing here accesses the terminal.
//
//   TopAnswers answers;
//   ask_top(*view, question_of(choice, 10 * kSecond), answers);
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

/// The parts of a run that a screen needs, with the world and the time. If the file has not
/// changed, the same question has the same answer.
struct TopQuestion {
  bool functions = false, ranks = false, tree = false, notices = false;
  WorldId world{};
  /// If set, the answers for functions and ranks are only for the end of the run, of this length.
  std::optional<Nanos> recent_ns;
  bool operator==(const TopQuestion&) const = default;
};

/// Returns the question for the chosen pane. While the display is paused, the question is for all
/// panes, so that the user can switch between panes.
TopQuestion question_of(const TopChoice& choice, Nanos recent_ns);

/// The newest answer for each part of the question. Parts may be from different commits of the
/// run's file.
struct TopAnswers {
  std::optional<storage::Overview> overview;
  std::optional<storage::FunctionTable> functions;
  struct Ranks {
    /// Each grid has one column. A row is for one rank or for several ranks.
    storage::RankGrid mpi, wait, calls, bytes;
    storage::UnderWay under_way = {};  ///< Not limited to the last seconds.
  };
  std::optional<Ranks> ranks;
  std::optional<storage::TreeSnapshot> tree;
  std::optional<storage::Notices> notices;
  std::optional<storage::Alerts> alerts;  ///< Used by the panes notices and overview.
  std::string fault;  ///< The reason why the last query failed; empty if it succeeded.
};

/// Queries the overview, the alerts and the parts of `question`, one after another, and replaces
/// the old answers of these parts. At the first failure, sets `fault` and keeps the remaining old
/// answers.
void ask_top(storage::RunView& run, const TopQuestion& question, TopAnswers& answers);

/// Returns all parts as one JSON object. docs/http-api.md describes the fields.
std::string top_json(const TopAnswers& answers);

struct ScreenForm {
  std::size_t width = 80, height = 24;
  bool utf8 = true;
  bool is_interactive = true;  ///< If false, the screen has no hints for keys.
};

/// The drawn screen: exactly `height` lines of at most `width` cells. If `height` is 0 and the
/// screen is not interactive, it has all lines of the pane.
struct TopScreen {
  std::vector<Line> lines;
  TopExtent extent;
};

/// Draws the answers. If a part is empty or was not queried, a line says so. If the width is at
/// least 140 cells, the overview has two columns. Numbers have a unit, and estimates begin with
/// "~". A number that does not fit is replaced by "#" characters.
TopScreen draw_top(const TopAnswers& answers, const TopChoice& choice, const ScreenForm& form);

}  // namespace xylem::viz
