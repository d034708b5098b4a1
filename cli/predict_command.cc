#include "cli/predict_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "cli/exit_code.h"
#include "predict/replay/replay.h"
#include "predict/target/target.h"
#include "predict/trace/source.h"
#include "viz/json.h"
#include "viz/reply.h"
#include "viz/text_columns.h"

namespace xylem {
namespace {

using predict::Prediction;

constexpr std::size_t kMaxPrintedRanks = 16;

Result<predict::Target> load_target(const std::string& path) {
  const auto entries = load_config(path);
  if (!entries) return unexpected(entries.error());
  return predict::read_target(*entries, path);
}

/// Time of a rank in which it does not compute.
std::uint64_t io_ns(const Prediction& of, std::size_t rank) {
  return of.end_ns[rank] - std::min(of.end_ns[rank], of.compute_ns[rank]);
}

std::string time_text(std::uint64_t ns) { return duration_text(static_cast<Nanos>(ns)); }

std::string counted(std::uint64_t count, const char* what) {
  return count_text(count) + " " + what + (count == 1 ? "" : "s");
}

/// The ranks that end last, in the order of their numbers.
std::vector<std::size_t> last_ranks(const Prediction& of) {
  std::vector<std::size_t> ranks(of.end_ns.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  std::ranges::stable_sort(ranks, std::greater(), [&](std::size_t it) { return of.end_ns[it]; });
  ranks.resize(std::min(ranks.size(), kMaxPrintedRanks));
  std::ranges::sort(ranks);
  return ranks;
}

std::string text_of(const Prediction& of) {
  std::string text = "makespan " + time_text(of.makespan_ns) + " (" + count_text(of.makespan_ns) +
                     " ns): " + counted(of.end_ns.size(), "rank") + ", " +
                     counted(of.messages, "message") + ", model loggps\n";
  viz::TextColumns columns(
      {{"rank", true}, {"end", true}, {"computing", true}, {"messages and waiting", true}});
  const std::vector<std::size_t> ranks = last_ranks(of);
  for (const std::size_t it : ranks) {
    columns.add({std::to_string(it), time_text(of.end_ns[it]), time_text(of.compute_ns[it]),
                 time_text(io_ns(of, it))});
  }
  text += columns.text();
  if (ranks.size() < of.end_ns.size()) {
    text += "  These ranks end last. --json has all.\n";
  }
  return text;
}

std::string json_of(const Prediction& of, double seconds) {
  std::vector<std::size_t> ranks(of.end_ns.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  viz::Json json;
  json.object([&] {
    json.field("version", viz::kApiVersion);
    json.field("view", "predict");
    json.field("model", "loggps");
    json.field("makespan_ns", of.makespan_ns);
    json.field("events", of.events);
    json.field("messages", of.messages);
    json.field("unreceived", of.unreceived);
    json.array("ranks", ranks, [&](std::size_t it) {
      json.object([&] {
        json.field("rank", it);
        json.field("end_ns", of.end_ns[it]);
        json.field("run_ns", of.compute_ns[it]);
        json.field("io_ns", io_ns(of, it));
        json.field("ready_ns", 0);
      });
    });
    json.array("channels", std::vector<int>(), [](int) {});
    // The only number that is measured, and not the same in each run.
    json.field("events_per_s", seconds > 0 ? std::optional(static_cast<double>(of.events) / seconds)
                                           : std::nullopt);
  });
  return json.take() + '\n';
}

/// "" or which options do not go together.
std::string usage_fault(const PredictOptions& options) {
  const bool is_made = !options.synthesis.pattern.empty();
  if (is_made && !options.source.empty()) {
    return "there is a SOURCE and --synthesise; give one of them";
  }
  if (!is_made && options.source.empty()) {
    return "there is no program; give a SOURCE, or --synthesise with a pattern";
  }
  if (options.target.empty() && options.files.goal.empty() && options.files.ti.empty()) {
    return "there is no machine; give it with --target FILE";
  }
  return "";
}

}  // namespace

int run_predict(const PredictOptions& options, std::ostream& out, std::ostream& err) {
  const auto fail = [&](const Error& error, int code) {
    err << "xylem predict: " << printable(error.message) << '\n';
    return code;
  };
  if (const std::string fault = usage_fault(options); !fault.empty()) {
    return fail({Code::kInvalidArgument, fault}, kExitUsage);
  }
  const auto target = options.target.empty() ? Result<predict::Target>(predict::Target{})
                                             : load_target(options.target);
  if (!target) return fail(target.error(), kExitUsage);
  const bool is_made = !options.synthesis.pattern.empty();
  const auto program =
      is_made ? synthesise(options.synthesis, *target)
              : predict::read_program(options.source, {target->flops_per_ns, target->collectives});
  if (!program) return fail(program.error(), is_made ? kExitUsage : kExitFailure);
  if (const auto written = write_program(options.files, *program); !written) {
    return fail(written.error(), kExitFailure);
  }
  if (options.target.empty()) return kExitSuccess;
  const Nanos begin = monotonic_now();
  const auto prediction = predict::replay(*program, target->network);
  const auto seconds = static_cast<double>(monotonic_now() - begin) / 1e9;
  if (!prediction) {
    const std::string& name = is_made ? options.synthesis.pattern : options.source;
    return fail({prediction.error().code, name + ": " + prediction.error().message}, kExitFailure);
  }
  out << (options.json ? json_of(*prediction, seconds) : text_of(*prediction)) << std::flush;
  if (prediction->unreceived > 0) {
    err << "xylem predict: no receive matches " << counted(prediction->unreceived, "message")
        << "; the first is that of " << prediction->first_unreceived << '\n';
  }
  return kExitSuccess;
}

void add_predict_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand(
      "predict", "Predict how long a program runs on a machine that a file describes");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto options = std::make_shared<PredictOptions>();
  command
      ->add_option("SOURCE", options->source,
                   "A GOAL file (*.goal), or the list file of a time-independent trace")
      ->type_name("");
  command->add_option("--target", options->target, "The target machine, a TOML file")
      ->type_name("FILE");
  command->add_option("--model", "The model of the network")
      ->type_name("loggps")
      ->check(CLI::IsMember({"loggps"}));
  command->add_flag("--json", options->json, "One JSON object for programs");
  add_synthesis_options(*command, options->synthesis);
  add_program_files(*command, options->files);
  command->callback([options, &code] { code = run_predict(*options, std::cout, std::cerr); });
}

}  // namespace xylem
