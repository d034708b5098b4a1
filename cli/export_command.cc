#include "cli/export_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <streambuf>

#include "base/new_file.h"
#include "base/own_process.h"
#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "cli/exit_code.h"
#include "cli/known_runs.h"
#include "cli/spooled_output.h"
#include "exports/trace_export.h"
#include "storage/read/query.h"

namespace xylem {
namespace {

using exports::Exported;

/// Writes to a file. The stream becomes bad when the file fails.
class FileBuffer final : public std::streambuf {
 public:
  explicit FileBuffer(NewFile& file) : file_(file) {}
  const Result<void>& result() const { return result_; }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    if (result_) result_ = file_.write({text, static_cast<std::size_t>(size)});
    return result_ ? size : 0;
  }
  int_type overflow(int_type c) override {
    const char byte = traits_type::to_char_type(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
  }

 private:
  NewFile& file_;
  Result<void> result_;
};

Result<Exported> write_to(const ExportOptions& options, storage::RunFile& run, std::ostream& out) {
  switch (options.format) {
    case ExportFormat::kChrome:
      return exports::write_chrome(run, out);
    case ExportFormat::kCsv:
      return exports::write_csv(run, out);
    case ExportFormat::kText:
    case ExportFormat::kOtf2:
      break;
  }
  return exports::write_text(run, out);
}

Result<Exported> write_file(const ExportOptions& options, storage::RunFile& run) {
  // Never overwrites the run's file, even under another name.
  std::error_code failure;
  if (std::filesystem::equivalent(run.path(), options.target, failure)) {
    return unexpected(Code::kInvalidArgument, options.target + ": is the run itself");
  }
  auto file = NewFile::create(options.target, options.overwrite);
  if (!file) return unexpected(file.error());
  FileBuffer buffer(*file);
  std::ostream out(&buffer);
  auto exported = write_to(options, run, out);
  if (!exported) return exported;
  if (!buffer.result()) return unexpected(buffer.result().error());
  if (auto finished = file->finish(); !finished) return unexpected(finished.error());
  return exported;
}

std::string summary_of(const ExportOptions& options, const Exported& exported) {
  std::string text = count_text(exported.calls) + " calls of " + count_text(exported.processes) +
                     (exported.processes == 1 ? " process" : " processes");
  if (options.format == ExportFormat::kChrome) {
    text += ", " + count_text(exported.messages) + " messages as arrows";
  }
  if (options.format == ExportFormat::kText) {
    text += ", " + count_text(exported.completions) + " parts of calls";
  }
  if (options.format == ExportFormat::kOtf2) {
    text += ", " + count_text(exported.messages) + " sends and receives, " +
            count_text(exported.collectives) + " collectives";
  }
  return text + (options.target == "-" ? "" : "; " + options.target);
}

}  // namespace

int run_export(const ExportOptions& options, std::ostream& out, std::ostream& err) {
  const auto say = [&err](const std::string& sentence) {
    err << "xylem export: " << printable(sentence) << '\n';
  };
  const auto fail = [&say](const std::string& sentence) {
    say(sentence);
    return kExitFailure;
  };
  if (options.format == ExportFormat::kOtf2 && options.target == "-") {
    say("--otf2 writes a folder, not standard output");
    return kExitUsage;
  }
  const auto path = choose_run("export", {options.file}, Newest::kInFolder, err);
  if (!path) return fail(path.error().message);
  auto run = storage::RunFile::open(*path);
  if (!run) return fail(run.error().message);
  const auto missing = exports::missing_in_trace(**run);
  if (!missing) return fail(missing.error().message);
  for (const std::string& sentence : *missing) say("warning: the trace is not whole: " + sentence);
  const auto exported =
      options.format == ExportFormat::kOtf2
          ? exports::write_otf2(**run, options.target, options.overwrite)
          : (options.target == "-" ? write_to(options, **run, out) : write_file(options, **run));
  if (!exported) return fail(exported.error().message);
  for (const std::string& remark : exported->remarks) say(remark);
  say(summary_of(options, *exported));
  return kExitSuccess;
}

void add_export_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand(
      "export", "Write a run's trace for other programs: Chrome and Perfetto, OTF2, text, CSV");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto options = std::make_shared<ExportOptions>();
  add_run_file(*command, options->file);
  const auto targets = std::make_shared<std::array<std::string, 4>>();
  std::vector<CLI::Option*> formats;
  const auto add = [&](ExportFormat format, const char* name, const char* type, const char* help) {
    CLI::Option* const option =
        command->add_option(name, (*targets)[static_cast<std::size_t>(format)], help)
            ->type_name(type);
    for (CLI::Option* other : formats) option->excludes(other);
    formats.push_back(option);
  };
  add(ExportFormat::kChrome, "--chrome", "FILE",
      "JSON for Perfetto and chrome://tracing; - for standard output");
  add(ExportFormat::kText, "--text", "FILE", "A line for each event; - for standard output");
  add(ExportFormat::kCsv, "--csv", "FILE",
      "The table event as comma-separated values; - for standard output");
  add(ExportFormat::kOtf2, "--otf2", "FOLDER", "An OTF2 archive, for Vampir, Scalasca and others");
  command->add_flag("--overwrite", options->overwrite, "Replace the output if it exists");
  command->callback([options, targets, &code] {
    const auto chosen = std::ranges::find_if(*targets, [](const auto& t) { return !t.empty(); });
    if (chosen == targets->end()) {
      throw CLI::ValidationError("name a format: --chrome, --text, --csv or --otf2");
    }
    options->format = static_cast<ExportFormat>(chosen - targets->begin());
    options->target = *chosen;
    survive_size_limit();  // The incomplete output is then removed.
    SpooledOutput output(STDOUT_FILENO);
    std::ostream out(&output);
    code = run_export(*options, out, std::cerr);
    const std::string unwritten = output.finish();
    if (unwritten.empty()) return;
    std::cerr << "xylem export: " << printable(unwritten) << '\n';
    code = kExitFailure;
  });
}

}  // namespace xylem
