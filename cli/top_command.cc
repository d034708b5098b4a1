#include "cli/top_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "base/nearest_word.h"
#include "base/printable_text.h"
#include "base/settings.h"
#include "cli/exit_code.h"
#include "cli/known_runs.h"
#include "cli/terminal.h"
#include "storage/read/query.h"
#include "viz/stored_waits.h"
#include "viz/top.h"

namespace xylem {
namespace {

/// The same limit as in `xylem view`, far above the needs of any screen.
constexpr std::int64_t kMaxTopMemory = std::int64_t{256} << 20;
/// Keys are not read while a query runs, so each query has a deadline.
constexpr Nanos kAnswerDeadline = 10 * kSecond;
/// If no byte follows an escape byte for this time, the escape is a key of its own.
constexpr Nanos kEscapePause = 50 * kMillisecond;

/// The time that the key l shows without --recent.
constexpr Nanos kRecent = 10 * kSecond;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::size_t size_variable(const char* name, std::size_t otherwise) {
  const std::string text = variable(name);
  std::size_t size = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), size);
  constexpr std::size_t kMax = 10'000;
  return fault == std::errc() && end == text.data() + text.size() && size >= 1
             ? std::min(size, kMax)
             : otherwise;
}

/// The first of these variables that is set says whether the terminal shows UTF-8.
bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = variable(name);
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

Nanos nanos_of(double seconds) { return static_cast<Nanos>(seconds * 1e9); }

/// Shows one run to one user.
class Top {
 public:
  Top(std::string file, const TopOptions& options)
      : file_(std::move(file)),
        waits_(file_),
        interval_(nanos_of(options.interval_s)),
        recent_(options.recent_s > 0 ? nanos_of(options.recent_s) : kRecent) {
    choice_.pane = viz::pane_of(options.pane).value_or(viz::TopPane::kOverview);
    choice_.is_recent = options.recent_s > 0;
  }

  /// Queries all parts, as in a pause.
  const viz::TopAnswers& ask_all() {
    viz::TopChoice all = choice_;
    all.is_paused = true;
    ask(viz::question_of(all, recent_));
    return answers_;
  }

  void print_screen(std::ostream& out) {
    viz::ScreenForm form{size_variable("COLUMNS", 80), size_variable("LINES", 0), speaks_utf8(),
                         false};
    for (const viz::Line& line : viz::draw_top(ask_all(), choice_, form).lines) {
      out << viz::plain_line(line) << '\n';
    }
    out.flush();
  }

  const std::string& fault() const { return answers_.fault; }

  /// Shows the run until the user or a signal ends the program.
  void watch(Terminal& terminal) {
    const bool colors = variable("NO_COLOR").empty();
    viz::KeyReader reader;
    while (!choice_.has_ended) {
      look();
      show(terminal, colors);
      Terminal::Event event = terminal.wait(next_look_ - monotonic_now());
      for (const viz::TerminalKey key : reader.read(event.keys)) press(key);
      if (reader.is_waiting() && !event.has_ended) {
        event = terminal.wait(kEscapePause);
        const bool is_more = !event.keys.empty();
        for (const viz::TerminalKey key : is_more ? reader.read(event.keys) : reader.rest())
          press(key);
      }
      if (event.has_ended) return;
    }
  }

 private:
  void press(viz::TerminalKey key) { choice_ = viz::pressed(choice_, key, extent_); }

  /// Queries again if the interval has passed and the file has changed, or if the user has chosen
  /// something else.
  void look() {
    const Nanos now = monotonic_now();
    const viz::TopQuestion question = viz::question_of(choice_, recent_);
    const bool is_due = now >= next_look_;
    if (is_due) next_look_ = now + interval_;
    if (choice_.is_paused && question == asked_) return;
    if (question == asked_ && !is_due) return;
    const std::string stamp = waits_.stamp();
    if (question == asked_ && stamp == stamp_ && answers_.fault.empty()) return;
    stamp_ = stamp;
    ask(question);
  }

  void ask(const viz::TopQuestion& question) {
    asked_ = question;
    auto run = storage::RunView::open(file_);
    if (!run) {
      answers_.fault = run.error().message;
      return;
    }
    run->file().set_deadline(deadline_in(kAnswerDeadline));
    run->use_waits(waits_.get_soon(run->file()));
    viz::ask_top(*run, question, answers_);
  }

  void show(Terminal& terminal, bool colors) {
    const Terminal::Size size = terminal.size();
    const viz::TopScreen screen =
        viz::draw_top(answers_, choice_, {size.width, size.height, speaks_utf8(), true});
    extent_ = screen.extent;
    std::vector<Terminal::Row> rows;
    for (const viz::Line& line : screen.lines) {
      std::size_t cells = 0;
      for (const viz::Piece& piece : line) cells += viz::cells(piece.text);
      rows.push_back({viz::escaped_line(line, colors), cells >= size.width});
    }
    terminal.show(rows);
  }

  std::string file_;
  viz::StoredWaits waits_;
  Nanos interval_, recent_;
  viz::TopChoice choice_;
  viz::TopExtent extent_;
  viz::TopAnswers answers_;
  std::optional<viz::TopQuestion> asked_;
  std::string stamp_;
  Nanos next_look_ = 0;
};

bool is_screen() {
  const std::string term = variable("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && !term.empty() && term != "dumb";
}

Result<void> show_run(const TopOptions& options, std::ostream& out, std::ostream& err) {
  storage::limit_memory(kMaxTopMemory);
  const auto file = choose_run("top", options.run, Newest::kLive, err);
  if (!file) return unexpected(file.error());
  if (auto run = storage::RunFile::open(*file); !run) return unexpected(run.error());
  Top top(*file, options);
  if (options.json) {
    const std::string json = viz::top_json(top.ask_all());
    if (top.fault().empty()) out << json << std::flush;
  } else if (options.once || !is_screen()) {
    top.print_screen(out);
  } else {
    auto terminal = Terminal::take();
    if (!terminal) return unexpected(terminal.error());
    top.watch(*terminal);
    return {};
  }
  if (top.fault().empty()) return {};
  return unexpected(Code::kUnavailable, top.fault());
}

}  // namespace

int run_top(const TopOptions& options, std::ostream& out, std::ostream& err) {
  const auto shown = show_run(options, out, err);
  if (shown) return kExitSuccess;
  err << "xylem top: " << printable(shown.error().message) << '\n';
  return kExitFailure;
}

void add_top_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand("top", "Show a run in the terminal, live or finished");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto options = std::make_shared<TopOptions>();
  add_run_choice(*command, options->run);
  command->add_flag("--once", options->once, "Print one screen as plain text, and exit");
  command->add_flag("--json", options->json, "Print the numbers of the screen as one JSON object");
  const std::vector<std::string> panes = {"overview", "functions", "ranks",
                                          "waits",    "tree",      "notices"};
  command->add_option("--pane", options->pane, "The pane to begin with [overview]")
      ->type_name(choices_text(panes))
      ->check([panes](const std::string& name) {
        return viz::pane_of(name) ? std::string()
                                  : "'" + name + "' is not a pane" + did_you_mean(name, panes);
      });
  command->add_option("--interval", options->interval_s, "Seconds between two updates [1]")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0, "0.1 to 3600"));
  command
      ->add_option("--recent", options->recent_s,
                   "Begin with only this many of the last seconds; the key l switches [10 by l]")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.25, 86400.0, "0.25 to 86400"));
  command->callback([options, &code] { code = run_top(*options, std::cout, std::cerr); });
}

}  // namespace xylem
