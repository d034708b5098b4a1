#include "cli/predict_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/nearest_word.h"
#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "base/quoted.h"
#include "cli/exit_code.h"
#include "cli/network_text.h"
#include "cli/predict_timeline.h"
#include "cli/storage_text.h"
#include "predict/replay/machine.h"
#include "predict/source/source.h"
#include "predict/target/presets.h"
#include "predict/target/target.h"
#include "viz/json.h"
#include "viz/reply.h"
#include "viz/text_columns.h"

namespace xylem {
namespace {

using predict::Prediction;

constexpr std::size_t kMaxPrintedRanks = 16;

constexpr std::array<const char*, 3> kModels = {"loggps", "analytic", "channels"};

predict::Model model_of(const std::string& name) {
  const auto found = std::ranges::find(kModels, name);
  CHECK(found != kModels.end());
  return static_cast<predict::Model>(found - kModels.begin());
}

/// Reads the target. Fails also if it has not what the model needs.
Result<predict::LoadedTarget> target_for(const PredictOptions& options) {
  auto target = predict::load_target(options.target);
  if (!target && target.error().code == Code::kNotFound &&
      predict::find_preset(options.target) != nullptr) {
    // A preset is never taken for a file: the user should see its guesses, and keep it.
    return unexpected(Code::kNotFound,
                      target.error().message +
                          "; to get the preset of this name: " + "xylem predict --print-target " +
                          options.target + " > " + options.target + ".toml");
  }
  if (target && !target->topology && model_of(options.model) != predict::Model::kLogGps) {
    return unexpected(Code::kInvalidArgument,
                      target->path + ": has no topology, which the model " + options.model +
                          " needs; add the section [topology], or use --model loggps");
  }
  return target;
}

/// The machine of a target, with nodes for `ranks` ranks. The target must outlive it.
Result<predict::Machine> machine_for(const predict::LoadedTarget& target, std::size_t ranks) {
  auto nodes = predict::place_ranks(target, ranks);
  if (!nodes) return unexpected(std::move(nodes.error()));
  const predict::Target& of = target.target;
  return predict::Machine{of.network,        of.fabric,
                          of.memory,         target.topology.get(),
                          *std::move(nodes), {of.cores, of.slice_ns},
                          of.storage,        predict::storage_nodes(target)};
}

std::string time_text(std::uint64_t ns) { return duration_text(static_cast<Nanos>(ns)); }

/// The ranks that end last, in the order of their numbers.
std::vector<std::size_t> last_ranks(const Prediction& of) {
  std::vector<std::size_t> ranks(of.end_ns.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  std::ranges::stable_sort(ranks, std::greater(), [&](std::size_t it) { return of.end_ns[it]; });
  ranks.resize(std::min(ranks.size(), kMaxPrintedRanks));
  std::ranges::sort(ranks);
  return ranks;
}

std::string text_of(const Prediction& of, const std::string& model) {
  std::string text = "makespan " + time_text(of.makespan_ns) + " (" + count_text(of.makespan_ns) +
                     " ns): " + counted(of.end_ns.size(), "rank") + ", " +
                     counted(of.messages, "message") + ", model " + model + "\n";
  viz::TextColumns columns(
      {{"rank", true}, {"end", true}, {"run", true}, {"messages and I/O", true}, {"ready", true}});
  const std::vector<std::size_t> ranks = last_ranks(of);
  for (const std::size_t it : ranks) {
    columns.add({std::to_string(it), time_text(of.end_ns[it]), time_text(of.run_ns[it]),
                 time_text(of.io_ns[it]), time_text(of.ready_ns[it])});
  }
  text += columns.text();
  if (ranks.size() < of.end_ns.size()) {
    text += "  These ranks end last. --json has all.\n";
  }
  return text;
}

std::string json_of(const predict::MachinePrediction& result, const std::string& model,
                    const predict::Topology* topology, double seconds) {
  const Prediction& of = result.prediction;
  std::vector<std::size_t> ranks(of.end_ns.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  viz::Json json;
  json.object([&] {
    json.field("version", viz::kApiVersion);
    json.field("view", "predict");
    json.field("model", model);
    json.field("makespan_ns", of.makespan_ns);
    json.field("events", of.events);
    json.field("messages", of.messages);
    json.field("unreceived", of.unreceived);
    json.array("ranks", ranks, [&](std::size_t it) {
      json.object([&] {
        json.field("rank", it);
        json.field("end_ns", of.end_ns[it]);
        json.field("run_ns", of.run_ns[it]);
        json.field("io_ns", of.io_ns[it]);
        json.field("ready_ns", of.ready_ns[it]);
      });
    });
    write_channels(json, result, topology);
    write_storage(json, result.storage);
    if (model_of(model) == predict::Model::kAnalytic) {
      json.field("replays", result.replays);
      json.field("converged", result.has_converged);
      json.field("saturated", result.saturated);
    }
    // The only number that is measured, and not the same in each run.
    json.field("events_per_s", seconds > 0
                                   ? std::optional(static_cast<double>(result.events()) / seconds)
                                   : std::nullopt);
  });
  return json.take() + '\n';
}

/// The parts of "SRC,DST,BYTES".
std::optional<TimedMessage> parse_message(const std::string& text) {
  std::array<std::uint64_t, 3> numbers{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && (at == end || *at++ != ',')) return std::nullopt;
    const auto [stop, failed] = std::from_chars(at, end, numbers[i]);
    if (failed != std::errc{}) return std::nullopt;
    at = stop;
  }
  if (at != end || std::max(numbers[0], numbers[1]) >= predict::kMaxRanks) return std::nullopt;
  return TimedMessage{static_cast<std::uint32_t>(numbers[0]),
                      static_cast<std::uint32_t>(numbers[1]),
                      numbers[2],
                      "",
                      {}};
}

Result<TimedMessage> time_message(const PredictOptions& options,
                                  const predict::LoadedTarget& target) {
  auto message = parse_message(options.message);
  CHECK(message);
  const auto machine = machine_for(target, std::max(message->source, message->destination) + 1);
  if (!machine) return unexpected(machine.error());
  const auto delay = predict::message_delay(*machine, model_of(options.model), message->source,
                                            message->destination, message->bytes);
  if (!delay) return unexpected(delay.error());
  message->model = options.model;
  message->delay = *delay;
  return *std::move(message);
}

Result<std::string> answer_message(const PredictOptions& options,
                                   const predict::LoadedTarget& target) {
  const auto message = time_message(options, target);
  if (!message) return unexpected(message.error());
  return options.json ? message_json(*message) : message_text(*message);
}

/// All writes, then all reads.
Result<std::vector<NamedAccess>> accesses_of(const PredictOptions& options) {
  std::vector<NamedAccess> accesses;
  for (const bool is_write : {true, false}) {
    for (const std::string& it : is_write ? options.writes : options.reads) {
      auto access = parse_access(it, is_write);
      if (!access) return unexpected(access.error());
      accesses.push_back(*std::move(access));
    }
  }
  return accesses;
}

Result<std::string> answer_files(const PredictOptions& options,
                                 const predict::LoadedTarget& target) {
  const auto accesses = accesses_of(options);
  if (!accesses) return unexpected(accesses.error());
  const std::uint32_t last = std::ranges::max(*accesses, {}, &NamedAccess::rank).rank;
  const auto machine = machine_for(target, std::size_t{last} + 1);
  if (!machine) return unexpected(machine.error());
  return answer_accesses(*accesses, *machine, model_of(options.model), options.model, options.json);
}

/// "" or the option that asks for parts of times instead of a program.
std::string parts_option(const PredictOptions& options) {
  if (!options.message.empty()) return "--message";
  if (!options.reads.empty()) return "--read";
  return options.writes.empty() ? "" : "--write";
}

constexpr const char* kNoMachine = "there is no machine; give it with --target FILE";

/// "" or which options do not go together.
std::string usage_fault(const PredictOptions& options) {
  const bool is_made = !options.synthesis.pattern.empty();
  if (const std::string parts = parts_option(options); !parts.empty()) {
    const char* const other = !options.source.empty()       ? "SOURCE"
                              : is_made                     ? "--synthesise"
                              : !options.files.goal.empty() ? "--write-goal"
                              : !options.files.ti.empty()   ? "--write-ti"
                              : !options.timeline.empty()   ? "--timeline"
                              : options.world               ? "--world"
                                                            : nullptr;
    if (other != nullptr) {
      return parts + " needs no program; leave out " + parts + " or " + other;
    }
    if (parts == "--message" && !(options.reads.empty() && options.writes.empty())) {
      return "--message is not an access to a file; leave out --message, or --read and --write";
    }
    return options.target.empty() ? kNoMachine : "";
  }
  if (is_made && !options.source.empty()) {
    return "there is a SOURCE and --synthesise; give one of them";
  }
  if (is_made && options.world) {
    return "only the file of a run has worlds; leave out --world or --synthesise";
  }
  if (!is_made && options.source.empty()) {
    return "there is no program; give a SOURCE, or --synthesise with a pattern";
  }
  const bool writes = !options.files.goal.empty() || !options.files.ti.empty();
  if (options.target.empty() && (!writes || !options.timeline.empty())) return kNoMachine;
  return "";
}

Result<predict::SourceProgram> program_for(const PredictOptions& options,
                                           const predict::Target& target) {
  if (options.synthesis.pattern.empty()) {
    return predict::read_program(
        options.source,
        {{target.flops_per_ns, target.collectives}, target.processor_ratio, options.world});
  }
  auto made = synthesise(options.synthesis, target);
  if (!made) return unexpected(std::move(made.error()));
  return predict::SourceProgram{*std::move(made), {}};
}

/// What a replay gave, and how long it took.
struct Replayed {
  Result<predict::MachinePrediction> result;
  double seconds = 0;
  std::optional<int> signal{};  ///< It has stopped the replay.
};

/// Replays the program, and writes the timelines if they are wanted. Without a result, there is no
/// file.
Replayed replay_program(const PredictOptions& options, const predict::Program& program,
                        const predict::Machine& machine, HeldSignals& signals, std::ostream& err) {
  std::optional<TimelineFile> timeline;
  if (!options.timeline.empty()) {
    auto file = TimelineFile::create(options.timeline);
    if (!file) return {unexpected(std::move(file.error()))};
    timeline.emplace(*std::move(file));
  }
  std::optional<Progress> progress;
  if (&err == &std::cerr && ::isatty(STDERR_FILENO) == 1) {
    progress.emplace(err, count_events(program));
  }
  std::optional<int> signal;
  const auto go_on = [&](std::uint64_t events) {
    if (progress) progress->show(events);
    signal = signals.take();
    return !signal;
  };
  const Nanos begin = monotonic_now();
  auto result = predict::replay_on(program, machine, model_of(options.model),
                                   {timeline ? &*timeline : nullptr, go_on});
  const auto seconds = static_cast<double>(monotonic_now() - begin) / 1e9;
  if (!result && !signal) {
    const std::string& made = options.synthesis.pattern;
    result.error().message = (made.empty() ? options.source : made) + ": " + result.error().message;
  }
  if (result && timeline) {
    if (auto written = timeline->finish(); !written) {
      return {unexpected(std::move(written.error()))};
    }
  }
  return {std::move(result), seconds, signal};
}

/// Sentences about a result that may mislead.
void print_doubts(const predict::MachinePrediction& result, const predict::Topology* topology,
                  std::ostream& err) {
  if (const std::string doubts = doubts_about(result, topology); !doubts.empty()) {
    err << "xylem predict: " << doubts << '\n';
  }
  if (result.prediction.unreceived > 0) {
    err << "xylem predict: no receive matches " << counted(result.prediction.unreceived, "message")
        << "; the first is that of " << result.prediction.first_unreceived << '\n';
  }
}

/// What --print-target prints if no preset is named.
constexpr const char* kExample = "example";

std::string preset_names(const char* between = "|") {
  std::string names;
  for (const predict::Preset& it : predict::presets()) {
    names += (names.empty() ? "" : between) + std::string(it.name);
  }
  return names;
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
  if (!parts_option(options).empty()) {
    const auto target = target_for(options);
    if (!target) return fail(target.error(), kExitUsage);
    const auto answer =
        options.message.empty() ? answer_files(options, *target) : answer_message(options, *target);
    if (!answer) return fail(answer.error(), kExitUsage);
    out << *answer << std::flush;
    return kExitSuccess;
  }
  const auto target = options.target.empty()
                          ? Result<predict::LoadedTarget>(predict::LoadedTarget{})
                          : target_for(options);
  if (!target) return fail(target.error(), kExitUsage);
  const bool is_made = !options.synthesis.pattern.empty();
  const auto source = program_for(options, target->target);
  if (!source) return fail(source.error(), is_made ? kExitUsage : kExitFailure);
  const predict::Program* program = &source->program;
  const auto machine = machine_for(*target, program->ranks.size());
  if (!machine) return fail(machine.error(), kExitUsage);
  auto signals = std::make_optional<HeldSignals>();
  if (const auto written = write_program(options.files, *program); !written) {
    return fail(written.error(), kExitFailure);
  }
  if (options.target.empty()) return kExitSuccess;
  const Replayed replayed = replay_program(options, *program, *machine, *signals, err);
  signals.reset();  // The reader of the answer may be slow.
  if (replayed.signal) return kExitSignal + *replayed.signal;
  const auto& result = replayed.result;
  if (!result) return fail(result.error(), kExitFailure);
  const predict::Topology* topology = target->topology.get();
  out << (options.json ? json_of(*result, options.model, topology, replayed.seconds)
                       : text_of(result->prediction, options.model) +
                             channels_text(*result, topology) + storage_text(result->storage))
      << std::flush;
  for (const std::string& it : source->assumptions) err << "xylem predict: " << it << '\n';
  print_doubts(*result, topology, err);
  return kExitSuccess;
}

void add_predict_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand(
      "predict", "Predict how long a program runs on a machine that a file describes");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto options = std::make_shared<PredictOptions>();
  CLI::Option* source = command
                            ->add_option("SOURCE", options->source,
                                         "The file of a run with a trace, a GOAL file (*.goal), or "
                                         "the list file of a time-independent trace")
                            ->type_name("");
  command->add_option("--target", options->target, "The target machine, a TOML file")
      ->type_name("FILE");
  command->add_option("--model", options->model, "The model of the network")
      ->type_name("loggps|analytic|channels")
      ->check([](const std::string& text) {
        if (std::ranges::find(kModels, text) != kModels.end()) return std::string();
        return xylem::quoted(text) + " is not a model" +
               did_you_mean(text, std::vector<std::string>(kModels.begin(), kModels.end()));
      });
  command
      ->add_option("--message", options->message,
                   "Instead of SOURCE: print the parts of the time of one message in an idle "
                   "network, from rank SRC to rank DST")
      ->type_name("SRC,DST,BYTES")
      ->check([](const std::string& text) {
        return parse_message(text) ? "" : "write two ranks and a number of bytes such as 0,5,1000";
      })
      ->excludes(source);
  command
      ->add_option_function<std::uint32_t>(
          "--world", [options](std::uint32_t world) { options->world = WorldId{world}; },
          "Of a run with several worlds: which one")
      ->type_name("N");
  command
      ->add_option("--timeline", options->timeline,
                   "Write what each rank does when, as comma-separated values")
      ->type_name("FILE");
  const auto add_accesses = [&](const char* name, std::vector<std::string>& accesses, bool is_write,
                                const char* what) {
    command->add_option(name, accesses, what)
        ->type_name("RANK,PATH,OFFSET,BYTES")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->check([is_write](const std::string& text) {
          const auto access = parse_access(text, is_write);
          return access ? std::string() : access.error().message;
        })
        ->excludes(source);
  };
  add_accesses("--write", options->writes, true,
               "Instead of SOURCE: print the parts of the time of a write to a file. May be "
               "repeated; all writes come before all reads");
  add_accesses("--read", options->reads, false,
               "The same for a read. May be repeated: caches keep what they have");
  command->add_flag("--json", options->json, "One JSON object for programs");
  const auto printed = std::make_shared<std::string>();
  CLI::Option* print =
      command
          ->add_option(
              "--print-target", *printed,
              "Print a target with a comment for each number, and exit: one of the presets, "
              "or, without a name, an example with all keys")
          ->type_name(preset_names())
          ->expected(0, 1)
          ->default_str(kExample)
          ->check([](const std::string& text) {
            if (text == kExample || predict::find_preset(text) != nullptr) return std::string();
            return xylem::quoted(text) + " is not a preset; the presets are " + preset_names(", ");
          });
  add_synthesis_options(*command, options->synthesis);
  add_program_files(*command, options->files);
  command->callback([options, printed, print, &code] {
    if (print->count() > 0) {
      const predict::Preset* preset = predict::find_preset(*printed);
      std::cout << (preset != nullptr ? preset->text : predict::example_target()) << std::flush;
      code = kExitSuccess;
      return;
    }
    code = run_predict(*options, std::cout, std::cerr);
  });
}

}  // namespace xylem
