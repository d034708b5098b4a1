#include "cli/calibrate_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "base/text_file.h"
#include "cli/calibrate_run.h"
#include "cli/calibrate_text.h"
#include "cli/exit_code.h"
#include "predict/calibration/target_file.h"

namespace xylem {
namespace {

constexpr unsigned kMaxRepetitions = 10'000;

std::string usage_fault(const CalibrateOptions& options, const std::vector<std::string>& launcher) {
  if (launcher.empty()) {
    return "there is no launcher; write for example: xylem calibrate --output my.toml -- mpirun -n "
           "2";
  }
  if (options.repetitions < predict::kMinRounds || options.repetitions > kMaxRepetitions) {
    return "--repetitions: write a number from " + count_text(predict::kMinRounds) + " to " +
           count_text(kMaxRepetitions);
  }
  if (options.limit < kSecond) return "--limit: write at least 1s";
  std::error_code error;
  if (!options.output.empty() && std::filesystem::exists(options.output, error)) {
    return options.output + ": exists; give another name, or remove it";
  }
  return "";
}

int code_of(const Error& error, int signal) {
  if (signal != 0) return kExitSignal + signal;
  if (error.code == Code::kNotFound) return kExitNotFound;
  if (error.code == Code::kPermissionDenied) return kExitNotExecutable;
  return kExitFailure;
}

/// A line on the terminal that the next one replaces.
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& err) : err_(err), is_shown_(::isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() {
    if (shown_) err_ << "\r\x1b[K" << std::flush;
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(unsigned percent) {
    if (!is_shown_ || shown_ == percent) return;
    shown_ = percent;
    err_ << "\rxylem calibrate: " << percent << " % measured" << std::flush;
  }

 private:
  std::ostream& err_;
  bool is_shown_;
  std::optional<unsigned> shown_;
};

}  // namespace

int run_calibrate(const CalibrateOptions& options, const std::vector<std::string>& launcher,
                  std::ostream& out, std::ostream& err) {
  const auto fail = [&](const std::string& sentence, int code) {
    err << "xylem calibrate: " << printable(sentence) << '\n';
    return code;
  };
  if (const std::string fault = usage_fault(options, launcher); !fault.empty()) {
    return fail(fault, kExitUsage);
  }
  CalibrateHow how;
  const auto samples = [&] {
    ProgressLine line(err);
    how.progress = [&line](unsigned percent) { line.show(percent); };
    return run_calibration(
        {launcher, options.mpi, options.disk, options.repetitions, options.limit}, how);
  }();
  if (!samples) return fail(samples.error().message, code_of(samples.error(), how.signal));
  const auto calibration = predict::estimate(*samples);
  if (!calibration) return fail(calibration.error().message, kExitFailure);
  if (!options.output.empty()) {
    const std::string file =
        predict::target_file(*calibration, *samples, date_text(realtime_now()));
    if (const auto written = write_text_file(options.output, file, false); !written) {
      return fail(written.error().message, kExitFailure);
    }
  }
  out << (options.json ? calibration_json(*calibration, *samples)
                       : calibration_text(*calibration, *samples));
  if (!options.json && options.output.empty()) {
    out << "  --output FILE writes a target for xylem predict.\n";
  }
  out << std::flush;
  return kExitSuccess;
}

void add_calibrate_command(CLI::App& app, const CommandLine& line, int& code) {
  CLI::App* verb = app.add_subcommand("calibrate",
                                      "Measure messages between two ranks for xylem predict: xylem "
                                      "calibrate [OPTIONS] -- LAUNCHER");
  verb->prefix_command();
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto options = std::make_shared<CalibrateOptions>();
  verb->add_option("--output", options->output, "Write a target, a new TOML file")
      ->type_name("FILE");
  verb->add_flag("--json", options->json, "One JSON object for programs");
  verb->add_option("--disk", options->disk,
                   "Measure also the disk of a folder, on the host of rank 0")
      ->type_name("FOLDER");
  verb->add_option("--mpi", options->mpi,
                   "The MPI library of the launcher, if it is not found by itself")
      ->type_name("LIBRARY");
  verb->add_option("--repetitions", options->repetitions, "Number of rounds")
      ->type_name("N")
      ->capture_default_str();
  add_time_option(*verb, "--limit", options->limit, "End the measurement after this time [2m]");
  verb->callback([verb, options, &line, &code] {
    const auto launcher = command_of(*verb, line);
    code = launcher ? run_calibrate(*options, *launcher, std::cout, std::cerr)
                    : fail_usage(launcher.error().message);
  });
}

}  // namespace xylem
