#include "cli/report_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/printable_text.h"
#include "base/text_file.h"
#include "cli/exit_code.h"
#include "cli/known_runs.h"
#include "storage/read/query.h"
#include "storage/read/report.h"
#include "storage/read/run_view.h"
#include "viz/report_json.h"
#include "viz/report_page.h"
#include "viz/report_text.h"

namespace xylem {
namespace {

/// Never overwrites the run's file, even under another name.
Result<void> write_page(const std::string& file, const ReportOptions& options) {
  std::error_code failure;
  if (std::filesystem::equivalent(file, options.html, failure)) {
    return unexpected(Code::kInvalidArgument, options.html + ": is the run itself");
  }
  auto run = storage::RunView::open(file);
  if (!run) return unexpected(run.error());
  const auto values = viz::ask_report_page(*run);
  if (!values) return unexpected(values.error());
  return write_text_file(options.html, viz::make_report_page(*values), options.overwrite);
}

}  // namespace

int run_report(const ReportOptions& options, std::ostream& out, std::ostream& err) {
  const auto fail = [&err](const std::string& sentence) {
    err << "xylem report: " << printable(sentence) << '\n';
    return kExitFailure;
  };
  const auto file = choose_run("report", {options.file}, Newest::kInFolder, err);
  if (!file) return fail(file.error().message);
  if (!options.html.empty()) {
    const auto written = write_page(*file, options);
    return written ? kExitSuccess : fail(written.error().message);
  }
  auto run = storage::RunFile::open(
      *file, options.json ? storage::Texts::kExact : storage::Texts::kPrintable);
  if (!run) return fail(run.error().message);
  auto report = storage::make_report(**run);
  if (!report) return fail(report.error().message);
  if (options.verify) {
    auto faults = storage::verify_totals(**run);
    if (!faults) return fail(faults.error().message);
    report->faults = std::move(*faults);
  }
  out << (options.json ? viz::report_json(*report) : viz::report_text(*report)) << std::flush;
  return report->faults.empty() ? kExitSuccess : kExitFailure;
}

void add_report_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand(
      "report", "Summarize a run: account, time per function, share of MPI, waits, losses");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto options = std::make_shared<ReportOptions>();
  add_run_file(*command, options->file);
  command->add_flag("--json", options->json, "All numbers as one JSON object");
  command->add_flag("--verify", options->verify, "Count all totals again from the stored rows");
  CLI::Option* html = command
                          ->add_option("--html", options->html,
                                       "Write an HTML page to this file; it needs no other file")
                          ->type_name("PAGE");
  command->add_flag("--overwrite", options->overwrite, "Replace the HTML file if it exists")
      ->needs(html);
  html->excludes("--json")->excludes("--verify");
  command->callback([options, &code] { code = run_report(*options, std::cout, std::cerr); });
}

}  // namespace xylem
