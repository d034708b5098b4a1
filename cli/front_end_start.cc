#include "cli/front_end_start.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/printable_text.h"
#include "base/run_contract.h"
#include "capture/core/ring.h"
#include "filters/plugin_copy.h"
#include "frontend/stream_options.h"
#include "launch/listening.h"
#include "launch/slurm.h"
#include "net/address.h"
#include "net/key.h"
#include "net/runtime.h"
#include "storage/write/replaced_run.h"

namespace xylem {
namespace {

// Timeout for launchers at the end. Their agents have already ended before the front end ends.
constexpr Nanos kAgentPatience = 10 * kSecond;

std::string make_run_id() {
  std::array<std::uint8_t, 8> id;
  net::fill_random(id);
  return net::to_hex(id);
}

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::getuid());
}

std::string default_store() {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"}) {
    const char* job = std::getenv(name);
    if (job != nullptr && *job != '\0') return std::string("xylem-") + job + ".db";
  }
  return "xylem-" + std::to_string(::getpid()) + ".db";
}

// Processes on this host reach the front end by a Unix socket in a private folder. The front end
// removes the folder. If it cannot, a later sweep removes it. Without a folder, for example without
// /dev/shm, processes use TCP. So do simulated hosts, as real hosts would.
std::unique_ptr<backend::RunFolder> listen_locally(const RunOptions& options,
                                                   const std::string& run,
                                                   std::vector<UniqueFd>& sockets) {
  if (options.start.test_size != 0) return nullptr;
  const std::string path = launch::front_end_folder(run);
  if (::mkdir(path.c_str(), 0700) != 0) return nullptr;
  auto folder = std::make_unique<backend::RunFolder>(path);
  folder->hold();
  auto socket = net::listen_unix(launch::front_end_socket(run));
  if (!socket) {
    folder->remove();
    return nullptr;
  }
  sockets.push_back(*std::move(socket));
  return folder;
}

launch::Setup make_setup(const RunOptions& options, const std::vector<std::string>& command,
                         Reach reach) {
  launch::Setup setup;
  setup.run = make_run_id();
  setup.key = net::make_key();
  setup.command = command;
  std::error_code error;
  setup.directory = std::filesystem::current_path(error).string();
  setup.user = user_name();
  setup.settings = options.values;
  setup.sections = options.sections;
  if (options.session.shape.kind == tree::Shape::Kind::kFile) {
    // A successor reads the text again, perhaps after the file is gone.
    const auto topology = std::ranges::find(setup.settings, "topology", &SettingValue::name);
    CHECK(topology != setup.settings.end());
    topology->value = tree::to_text(options.session.shape);
  }
  setup.store = store_of(options);
  setup.counts_calls = reach == Reach::kJob;
  // Only for tests (tests/integration/README.md): the type of the store's file system.
  const char* pretend = std::getenv("XYLEM_PRETEND_FILE_SYSTEM");
  if (pretend != nullptr) setup.pretend_file_system = std::strtol(pretend, nullptr, 0);
  return setup;
}

// In a Slurm allocation, starts the agents as a separate step before the job, so that no rank waits
// for its agent. If this fails, the ranks start the agents, as on other machines.
void start_agents_beside(Started& started) {
  constexpr Nanos kPatience = 5 * kSecond;
  const auto step = launch::step_beside(launch::current_environment());
  if (!step) return;
  auto agents = launch::LaunchedAgents::start(agent_launch(started, step->launcher),
                                              {{step->hosts, step->nodes, {}}});
  std::string why = agents ? "" : agents.error().message;
  if (agents && !agents->wait_until_ready(kPatience)) {
    why = agents->failures();
    if (why.empty()) {
      why = std::to_string(agents->ready().size()) + " of " + std::to_string(step->nodes) +
            " are ready after 5 s";
    }
  }
  if (!why.empty()) {
    say("Slurm has not started all agents (" + why +
        "); on hosts without an agent the ranks start one, and Slurm may cut off the last data"
        " of a step");
  }
  if (!agents) return;
  if (agents->ready().empty()) {
    agents->wait_for_end(0);  // Slurm does not answer: do not wait for it later.
  } else {
    started.agents.emplace(*std::move(agents));
  }
}

// Copies the plugins now, so that all front ends of the run use the same bytes.
Result<launch::FrontEndProcess> start_with_plugins(const std::string& program, launch::Setup setup,
                                                   std::vector<UniqueFd> listening) {
  setup.plugins = frontend::plugins_of(setup.sections);
  std::vector<UniqueFd> copies;
  for (const std::string& file : setup.plugins) {
    auto copy = filters::copy_plugin(file);
    if (!copy) return unexpected(std::move(copy.error()));
    copies.push_back(*std::move(copy));
  }
  return launch::FrontEndProcess::start(program, std::move(setup), std::move(listening),
                                        std::move(copies), say);
}

// The run's front end is gone, and no other front end continues the run. Gives the earlier run's
// file its name back.
void put_back_earlier_run(const std::string& store, const std::string& run) {
  auto replaced = storage::ReplacedRun::of_former(store, run);
  if (!replaced.holds()) return;
  if (auto undone = replaced.undo(); !undone) say(undone.error().message);
}

launch::JobReach job_reach(const std::vector<std::string>& command, Reach reach) {
  if (reach != Reach::kJob) return {reach == Reach::kOtherHosts, reach == Reach::kOtherHosts};
  const char* path = std::getenv("PATH");
  const auto environment = launch::current_environment();
  return launch::reach_of(
      launch::inspect_command(command, path != nullptr ? path : "", environment), environment);
}

}  // namespace

Result<Started> start_front_end(const RunOptions& options, const std::vector<std::string>& command,
                                Reach reach) {
  auto installation = launch::find_installation();
  if (!installation) return unexpected(std::move(installation.error()));
  if (reach == Reach::kJob) {
    auto usable = launch::check_preload(installation->capture_library);
    if (!usable) return unexpected(std::move(usable.error()));
  }
  const launch::JobReach job = job_reach(command, reach);
  auto listening =
      launch::listen_for_run(options.start, job.may_leave_host || !options.start.launcher.empty());
  if (!listening) return unexpected(std::move(listening.error()));

  launch::Setup setup = make_setup(options, command, reach);
  setup.reachable_hosts = listening->reachable;
  setup.remote = job.is_remote;
  launch::LaunchOptions launch;
  std::vector<UniqueFd> sockets;
  sockets.push_back(std::move(listening->socket));
  auto folder = listen_locally(options, setup.run, sockets);
  if (folder) launch.addresses.push_back("unix:" + launch::front_end_socket(setup.run));
  launch.run = setup.run;
  launch.key = setup.key;
  const std::string store = setup.store;
  auto front_end = start_with_plugins(installation->frontend, std::move(setup), std::move(sockets));
  if (!front_end) {
    put_back_earlier_run(store, launch.run);
    if (folder) folder->remove();
    return unexpected(std::move(front_end.error()));
  }
  if (!options.start.tls) {
    std::fputs("xylem: --tls off: others on the network can read and change data on TCP links\n",
               stderr);
  }
  for (const std::string& host : listening->reachable) {
    launch.addresses.push_back(net::address_text(host, listening->port));
  }
  launch.start = options.start;
  launch.capture_library = installation->capture_library;
  launch.backend = installation->backend;
  launch.remote = !listening->is_loopback;
  Started started{*std::move(front_end),
                  launch::job_environment(launch, launch::current_environment()),
                  std::move(folder),
                  std::nullopt,
                  store,
                  launch.run};
  if (reach == Reach::kJob && options.start.test_size == 0) start_agents_beside(started);
  return started;
}

launch::AgentLaunchOptions agent_launch(const Started& started, const std::string& launcher) {
  launch::AgentLaunchOptions how;
  how.launcher = launcher;
  for (const auto& [name, value] : started.environment) {
    if (name.starts_with("XYLEM_")) how.environment.push_back(name + "=" + value);
    if (name == kEnvBackend) how.program = value;
  }
  return how;
}

std::optional<Nanos> attend(Started& started) {
  if (started.agents) started.agents->hear();
  return started.front_end.attend(monotonic_now(), say);
}

namespace {

void clear_up(Started& started, const Result<void>& ended) {
  if (!ended) {
    say(ended.error().message);
    put_back_earlier_run(started.store, started.run);
  }
  if (started.agents) started.agents->wait_for_end(kAgentPatience);
  if (started.folder) started.folder->remove();
  started.folder.reset();
  // If the agents of this host were killed, no other process removes their folder.
  backend::sweep_run_folders(backend::own_run_folders());
}

}  // namespace

void finish(Started& started, int exit_code) {
  clear_up(started, started.front_end.finish(exit_code, say));
}

void abandon(Started& started) { clear_up(started, started.front_end.abandon(say)); }

void say(const std::string& sentence) {
  std::fprintf(stderr, "xylem: %s\n", printable(sentence).c_str());
}

std::string store_of(const RunOptions& options) {
  return options.store.empty() ? default_store() : options.store;
}

}  // namespace xylem
