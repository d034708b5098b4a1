#include "cli/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>

#include "backend/run_folder.h"
#include "base/argv.h"
#include "frontend/front_end_process.h"
#include "frontend/job.h"
#include "frontend/launch.h"
#include "frontend/launched_agents.h"
#include "frontend/slurm.h"
#include "net/key.h"
#include "net/runtime.h"

namespace xylem {
namespace {

constexpr int kUsageError = 2;
// Launched agents have said goodbye when the front end ends; their launchers follow.
constexpr Nanos kAgentPatience = 10 * kSecond;
constexpr const char* kServePid = "XYLEM_SERVE_PID";

int fail(const std::string& sentence) {
  std::fprintf(stderr, "xylem: %s\n", sentence.c_str());
  return kUsageError;
}

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

// Where the front end listens, and under which names it is reached.
struct Listening {
  std::vector<UniqueFd> sockets;
  std::vector<std::string> reachable;  // Numeric hosts.
  std::uint16_t port = 0;
  bool loopback = false;
};

Result<Listening> listen(const std::string& wanted, std::uint16_t port, bool remote) {
  const std::vector<net::InterfaceAddress> all = net::interface_addresses();
  Listening result;
  std::string bind_to = wanted;
  if (wanted == "all") {
    bind_to = net::any_address(all);
  } else if (wanted == "auto" && (!remote || all.empty() || all.front().loopback)) {
    bind_to = "127.0.0.1";
  } else if (wanted == "auto") {
    bind_to = all.front().address;
  } else {
    const auto it = std::find_if(all.begin(), all.end(),
                                 [&wanted](const auto& a) { return a.interface == wanted; });
    if (it != all.end()) bind_to = it->address;
  }
  auto socket = net::listen_tcp(bind_to, port);
  if (!socket && socket.error().code == Code::kInvalidArgument) {
    std::string names;
    for (const auto& it : all) names += " " + it.interface + " (" + it.address + ")";
    return unexpected(Code::kInvalidArgument,
                      "--interface: " + socket.error().message + "; this host has" + names);
  }
  if (!socket) return unexpected(std::move(socket.error()));
  auto bound = net::bound_port(*socket);
  if (!bound) return unexpected(std::move(bound.error()));
  result.port = *bound;
  result.reachable = net::reachable_addresses(bind_to, all);
  result.loopback = std::all_of(all.begin(), all.end(), [&](const auto& it) {
    return it.loopback || std::find(result.reachable.begin(), result.reachable.end(), it.address) ==
                              result.reachable.end();
  });
  result.sockets.push_back(*std::move(socket));
  return result;
}

// What runs on this host reaches the front end by a socket in a private folder, which is removed by
// the front end, or by whoever sweeps when nobody holds it any more. Without one (no /dev/shm, say)
// TCP does. Hosts that are only pretended are apart, as real ones would be.
std::unique_ptr<backend::RunFolder> listen_locally(const RunOptions& options,
                                                   const std::string& run,
                                                   std::vector<UniqueFd>& sockets) {
  if (options.test_size != 0) return nullptr;
  const std::string path = frontend::front_end_folder(run);
  if (::mkdir(path.c_str(), 0700) != 0) return nullptr;
  auto folder = std::make_unique<backend::RunFolder>(path);
  folder->hold();
  auto socket = net::listen_unix(frontend::front_end_socket(run));
  if (!socket) {
    folder->remove();
    return nullptr;
  }
  sockets.push_back(*std::move(socket));
  return folder;
}

// Everything that is up before a job can start.
struct Started {
  frontend::FrontEndProcess front_end;
  frontend::Environment environment;
  std::unique_ptr<backend::RunFolder> folder;  // Of its Unix socket, if there is one.
  /// Those that are not started by ranks.
  std::optional<frontend::LaunchedAgents> agents;
};

frontend::Setup make_setup(const RunOptions& options, const std::string& printed_options,
                           const std::vector<std::string>& command) {
  frontend::Setup setup;
  setup.run = make_run_id();
  setup.key = net::make_key();
  setup.command = command;
  std::error_code error;
  setup.directory = std::filesystem::current_path(error).string();
  setup.user = user_name();
  setup.options = printed_options;
  setup.store = options.store.empty() ? default_store() : options.store;
  setup.overwrite = options.overwrite;
  setup.shape = options.topology;
  setup.launcher = options.launcher;
  setup.settle = options.settle;
  setup.window = options.window;
  setup.chunks = options.chunks;
  setup.tls = options.tls;
  setup.quiet = options.quiet;
  setup.log_level = options.log_level;
  setup.run_folder = frontend::run_folder(setup.run);
  // A seam for the tests: what statfs would say of the store's file system.
  const char* pretend = std::getenv("XYLEM_PRETEND_FILE_SYSTEM");
  if (pretend != nullptr) setup.pretend_file_system = std::strtol(pretend, nullptr, 0);
  return setup;
}

void say(const std::string& sentence) { std::fprintf(stderr, "xylem: %s\n", sentence.c_str()); }

// In a Slurm allocation: a step of their own, up before the job starts, so that ranks wait for
// nobody. Where that fails ranks start their hosts' agents, as everywhere else.
void start_agents_beside(const std::string& program, Started& started) {
  constexpr Nanos kPatience = 5 * kSecond;
  const auto step = frontend::step_beside(frontend::current_environment());
  if (!step) return;
  frontend::AgentLaunchOptions how;
  how.launcher = step->launcher;
  how.program = program;
  for (const auto& [name, value] : started.environment) {
    if (name.starts_with("XYLEM_")) how.environment.push_back(name + "=" + value);
  }
  auto agents = frontend::LaunchedAgents::start(how, {{step->hosts, step->nodes, {}}});
  std::string why = agents ? "" : agents.error().message;
  if (agents && !agents->wait_until_ready(kPatience)) {
    why = agents->failures();
    if (why.empty()) {
      why = std::to_string(agents->ready().size()) + " of " + std::to_string(step->nodes) +
            " stand after 5 s";
    }
  }
  if (!why.empty()) {
    say("the agents are not all up as a Slurm step of their own (" + why +
        "); where one is missing ranks start it, and Slurm may cut off the last data of a step");
  }
  if (agents) started.agents.emplace(*std::move(agents));
}

Result<Started> start_front_end(const RunOptions& options, const std::string& printed_options,
                                const std::vector<std::string>& command) {
  auto installation = frontend::find_installation();
  if (!installation) return unexpected(std::move(installation.error()));
  const char* path = std::getenv("PATH");
  const frontend::CommandFacts facts = frontend::inspect_command(
      command, path != nullptr ? path : "", frontend::current_environment());
  const char* nodes = std::getenv("SLURM_JOB_NUM_NODES");
  const bool many_nodes = nodes != nullptr && std::atoi(nodes) > 1;
  // What a script or a later launcher will do cannot be known: it must be able to reach us.
  auto listening =
      listen(options.interface, options.port, !facts.is_local || !options.launcher.empty());
  if (!listening) return unexpected(std::move(listening.error()));

  frontend::Setup setup = make_setup(options, printed_options, command);
  setup.reachable_hosts = listening->reachable;
  setup.remote = !facts.is_local && (facts.launcher != frontend::Launcher::kNone || many_nodes);
  frontend::LaunchOptions launch;
  auto folder = listen_locally(options, setup.run, listening->sockets);
  if (folder) launch.addresses.push_back("unix:" + frontend::front_end_socket(setup.run));
  launch.run = setup.run;
  launch.key = setup.key;
  auto front_end = frontend::FrontEndProcess::start(installation->frontend, std::move(setup),
                                                    std::move(listening->sockets));
  if (!front_end) {
    if (folder) folder->remove();
    return unexpected(std::move(front_end.error()));
  }
  if (!options.tls) {
    std::fputs("xylem: --tls off: what goes over TCP can be read and changed on its way\n", stderr);
  }
  for (const std::string& host : listening->reachable) {
    const bool v6 = host.find(':') != std::string::npos;
    launch.addresses.push_back((v6 ? "[" + host + "]" : host) + ":" +
                               std::to_string(listening->port));
  }
  launch.tls = options.tls;
  launch.capture_library = installation->capture_library;
  launch.backend = installation->backend;
  launch.sample = options.sample;
  launch.ring_records = options.ring_records;
  launch.test_size = options.test_size;
  launch.remote = !listening->loopback;
  Started started{*std::move(front_end),
                  frontend::job_environment(launch, frontend::current_environment()),
                  std::move(folder), std::nullopt};
  if (options.test_size == 0) start_agents_beside(installation->backend, started);
  return started;
}

std::optional<Nanos> attend(Started& started) {
  if (started.agents) started.agents->hear();
  return started.front_end.attend(monotonic_now(), say);
}

void finish(Started& started, int exit_code) {
  auto finished = started.front_end.finish(exit_code, say);
  if (!finished) say(finished.error().message);
  if (started.agents) started.agents->wait_for_end(kAgentPatience);
  if (started.folder) started.folder->remove();
  started.folder.reset();
  // Where the agents of this host were killed there is nobody else to do it.
  backend::sweep_run_folders(backend::own_run_folders());
}

}  // namespace

int run_job(const RunOptions& options, const std::string& printed_options,
            const std::vector<std::string>& command) {
  if (command.empty())
    return fail("nothing to run; write for example: xylem run -- mpirun -n 4 ./app");
  const frontend::SignalGate gate;
  frontend::GroupWitness witness;
  auto started = start_front_end(options, printed_options, command);
  if (!started) return fail(started.error().message);
  if (const auto signal = gate.ended_before_start()) {
    finish(*started, 128 + *signal);
    return 128 + *signal;
  }
  auto job = frontend::Job::start(command, started->environment, gate);
  if (!job) {
    const int code = job.error().code == Code::kPermissionDenied ? 126 : 127;
    finish(*started, code);
    fail(job.error().message);
    return code;
  }
  const int code = job->wait(witness, [&started] { return attend(*started); });
  finish(*started, code);
  return code;
}

// ---- serve ----

namespace {

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Result<void> write_env_file(const std::string& path, const frontend::Environment& environment) {
  // Written under another name first: nobody reads half of it, and the mode is right from the
  // start.
  const std::string temporary = path + ".new";
  const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  std::string text;
  for (const auto& [name, value] : environment) text += name + "=" + value + "\n";
  const bool written =
      fd && ::fchmod(fd.get(), 0600) == 0 &&
      ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::rename(temporary.c_str(), path.c_str()) == 0;
  if (written) return {};
  const std::string why = std::strerror(errno);
  ::unlink(temporary.c_str());
  return unexpected(Code::kPermissionDenied, path + ": cannot be written: " + why);
}

// Waits for SIGTERM, SIGINT or SIGHUP, or for the end of `pid`; meanwhile looks after the front
// end.
void wait_for_end(int pid, Started& started) {
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  const UniqueFd owner(pidfd);
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ending, signal);
  for (;;) {
    const timespec patience{0, 200'000'000};
    if (::sigtimedwait(&ending, nullptr, &patience) > 0) return;
    pollfd watched{pidfd, POLLIN, 0};
    if (pidfd < 0 || ::poll(&watched, 1, 0) > 0) return;
    attend(started);
  }
}

int stop_serving() {
  const char* text = std::getenv(kServePid);
  const int pid = text != nullptr ? std::atoi(text) : 0;
  const UniqueFd pidfd(pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1);
  std::error_code error;
  const std::filesystem::path process = "/proc/" + std::to_string(pid);
  // A number may have become somebody else's.
  const bool is_ours = pidfd && std::filesystem::read_symlink(process / "exe", error) ==
                                    std::filesystem::read_symlink("/proc/self/exe", error);
  if (!is_ours || ::kill(pid, SIGTERM) != 0) {
    return fail("no front end serves this environment; `eval \"$(xylem serve)\"` starts one");
  }
  pollfd watched{pidfd.get(), POLLIN, 0};
  if (::poll(&watched, 1, 60'000) > 0) return 0;
  return fail("the front end still stores what is there after a minute; it goes on");
}

// Whoever reads our standard error through a pipe waits for its end, which must not be that of the
// run. What there is to say afterwards stands in the store.
UniqueFd set_piped_stderr_aside() {
  struct stat found {};
  const bool is_waited_for =
      ::fstat(STDERR_FILENO, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode));
  if (!is_waited_for) return UniqueFd();
  UniqueFd aside(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ::dup2(null.get(), STDERR_FILENO);
  return aside;
}

[[noreturn]] void fail_to_serve(const UniqueFd& spoken, const std::string& sentence) {
  if (spoken) ::dup2(spoken.get(), STDERR_FILENO);
  std::_Exit(fail(sentence));
}

// The process that stays. What its caller is to evaluate goes into `text`.
[[noreturn]] void serve_until(int until, const RunOptions& options,
                              const std::string& printed_options, const std::string& env_file,
                              UniqueFd text) {
  ::setsid();
  UniqueFd spoken = set_piped_stderr_aside();
  auto started = start_front_end(options, printed_options, {"xylem", "serve"});
  if (!started) fail_to_serve(spoken, started.error().message);
  if (!env_file.empty()) {
    if (auto written = write_env_file(env_file, started->environment); !written) {
      finish(*started, kUsageError);
      fail_to_serve(spoken, written.error().message);
    }
  }
  std::string lines;
  for (const auto& [name, value] : started->environment) {
    lines += "export " + name + "=" + shell_quoted(value) + "\n";
  }
  lines += std::string("export ") + kServePid + "=" + std::to_string(::getpid()) + "\n";
  if (::write(text.get(), lines.data(), lines.size()) < 0) std::_Exit(kUsageError);
  text.reset();
  spoken.reset();
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  wait_for_end(until, *started);
  finish(*started, 0);
  if (!env_file.empty()) ::unlink(env_file.c_str());
  std::_Exit(0);
}

}  // namespace

int serve(const RunOptions& options, const std::string& printed_options, const ServeOptions& how) {
  if (how.stop) return stop_serving();
  const int until = how.until_pid != 0 ? how.until_pid : ::getppid();
  const frontend::SignalGate gate;
  // The parent prints and leaves; the child serves on. What it has to say before goes through the
  // pipe, so that a failure is the parent's exit code.
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(std::string("no pipe: ") + std::strerror(errno));
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail(std::string("cannot fork: ") + std::strerror(errno));
  if (child == 0) {
    reading.reset();
    serve_until(until, options, printed_options, how.env_file, std::move(writing));
  }
  writing.reset();
  std::string text;
  char piece[4096];
  for (ssize_t size; (size = ::read(reading.get(), piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(size));
  }
  std::fputs(text.c_str(), stdout);
  return text.empty() ? kUsageError : 0;
}

// ---- exec ----

int exec_rank(const std::string& env_file, const std::vector<std::string>& command) {
  if (command.empty()) return fail("nothing to start; write for example: xylem exec -- ./app");
  frontend::Environment environment;
  if (!env_file.empty()) {
    struct stat facts {};
    std::ifstream file(env_file);
    if (!file || ::stat(env_file.c_str(), &facts) != 0) {
      return fail(env_file + ": cannot be read; `xylem serve --env-file` writes it");
    }
    if (facts.st_uid != ::getuid() || (facts.st_mode & 077) != 0) {
      return fail(env_file + ": must be yours with mode 0600, since it holds the run's key");
    }
    for (std::string line; std::getline(file, line);) {
      const auto equals = line.find('=');
      if (equals != std::string::npos) {
        environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
      }
    }
  } else if (std::getenv("XYLEM_ADDRESS") == nullptr) {
    return fail(
        "no run to report to: give --env-file, or start under `xylem run` or `xylem serve`");
  } else {
    auto installation = frontend::find_installation();
    if (!installation) return fail(installation.error().message);
    const char* preload = std::getenv("LD_PRELOAD");
    const bool there =
        preload != nullptr &&
        std::string_view(preload).find(installation->capture_library) != std::string::npos;
    if (!there) {
      const std::string others = preload != nullptr ? std::string(":") + preload : "";
      environment.emplace_back("LD_PRELOAD", installation->capture_library + others);
    }
  }
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<std::string> arguments = command;
  const std::vector<char*> argv = argv_of(arguments);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  fail(command.front() + ": cannot be started: " + std::strerror(error));
  return error == EACCES ? 126 : 127;
}

}  // namespace xylem
