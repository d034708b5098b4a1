#include "cli/run_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/exit_code.h"
#include "cli/front_end_start.h"
#include "cli/run_flags.h"
#include "launch/job.h"
#include "launch/launch.h"

namespace xylem {

int run_job(const RunOptions& options, const std::vector<std::string>& command) {
  if (command.empty())
    return fail_usage("nothing to run; write for example: xylem run -- mpirun -n 4 ./app");
  const launch::SignalGate gate;
  launch::GroupWitness witness;
  auto started = start_front_end(options, command, Reach::kJob);
  if (!started) return fail_usage(started.error().message);
  if (const auto signal = gate.ended_before_start()) {
    abandon(*started);
    return kExitSignal + *signal;
  }
  auto job = launch::Job::start(command, started->environment, gate);
  if (!job) {
    const Code why = job.error().code;
    abandon(*started);
    const int failed = fail_usage(job.error().message);
    return why == Code::kPermissionDenied ? kExitNotExecutable
           : why == Code::kNotFound       ? kExitNotFound
                                          : failed;
  }
  if (!options.quiet) {
    std::fprintf(stderr, "xylem: to see it live: xylem view %s\n", store_of(options).c_str());
  }
  const int code = job->wait(witness, [&started] { return attend(*started); });
  finish(*started, code);
  return code;
}

void add_run_command(CLI::App& app, const CommandLine& line, int& code) {
  CLI::App* verb =
      app.add_subcommand("run", "Run a job under xylem: xylem run [OPTIONS] -- COMMAND");
  verb->prefix_command();
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto flags = std::make_shared<RunFlags>(*verb);
  verb->callback([verb, flags, &line, &code] {
    const auto command = command_of(*verb, line);
    if (!command) {
      code = fail_usage(command.error().message);
      return;
    }
    code = flags->act([&](const RunOptions& options) { return run_job(options, *command); });
  });
}

}  // namespace xylem
