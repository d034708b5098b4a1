// xylem is the program for users. Each verb has its own file in this folder.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/own_process.h"
#include "cli/attach_command.h"
#include "cli/calibrate_command.h"
#include "cli/command_line.h"
#include "cli/completion_command.h"
#include "cli/exec_command.h"
#include "cli/export_command.h"
#include "cli/lines_command.h"
#include "cli/ls_command.h"
#include "cli/place_command.h"
#include "cli/predict_command.h"
#include "cli/query_command.h"
#include "cli/report_command.h"
#include "cli/run_command.h"
#include "cli/serve_command.h"
#include "cli/top_command.h"
#include "cli/tree_command.h"
#include "cli/version.h"
#include "cli/view_command.h"

int main(int argc, char** argv) {
  using namespace xylem;
  open_standard_streams();
  CLI::App app{"Watches MPI jobs while they run, and stores the record in SQLite", "xylem"};
  app.set_version_flag("--version", std::string("xylem ") + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Start with:  xylem run -- mpirun -n 4 ./app\n"
      "Then:        xylem report, and xylem ls for all runs. While it runs: xylem top\n"
      "Manual:      man xylem");

  const CommandLine line =
      split_command_line(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  int code = 0;  // Set by the verb that the user has chosen.
  add_run_command(app, line, code);
  add_serve_command(app, code);
  add_exec_command(app, line, code);
  add_attach_command(app, code);
  add_place_command(app, code);
  add_ls_command(app, code);
  add_query_command(app, code);
  add_report_command(app, code);
  add_top_command(app, code);
  add_tree_command(app, code);
  add_view_command(app, code);
  add_export_command(app, code);
  add_lines_command(app, code);
  add_predict_command(app, code);
  add_calibrate_command(app, line, code);
  add_completion_command(app, code);

  try {
    if (line.ours.empty()) throw CLI::CallForHelp();
    app.parse(std::vector<std::string>(line.ours.rbegin(), line.ours.rend()));  // Last word first.
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? app.exit(e) : fail_usage(explain(app, e));
  }
  return code;
}
