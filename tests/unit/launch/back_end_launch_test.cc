// Programs and launchers that really run, on this host.

#include "launch/back_end_launch.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {
// How the system refuses a process; 0: it does not. A full table of processes takes more than a
// test may do to a host.
int spawn_refusal = 0;
}  // namespace

// In place of the C library's, for this program.
extern "C" int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const* argv,
                            char* const* envp) {
  if (spawn_refusal != 0) return spawn_refusal;
  const auto real = reinterpret_cast<decltype(&::posix_spawnp)>(::dlsym(RTLD_NEXT, "posix_spawnp"));
  return real(pid, file, actions, attributes, argv, envp);
}

namespace xylem::launch {
namespace {

using ::testing::HasSubstr;

class Launching : public ::testing::Test {
 protected:
  Launching() { std::filesystem::create_directory(folder_); }
  ~Launching() override { std::filesystem::remove_all(folder_); }

  /// A launcher as a shell script; "$@" is the host and the command.
  std::string launcher(const std::string& script) {
    const std::string path = folder_ / "launcher";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  /// Waits for its end; what it said is heard meanwhile.
  int code_of(Launched& launched) {
    bool says_more = launched.said() >= 0;
    while (says_more) {
      pollfd watched{launched.said(), POLLIN, 0};
      EXPECT_GE(::poll(&watched, 1, 30'000), 1) << "it neither speaks nor ends";
      says_more = launched.hear();
    }
    int status = 0;
    EXPECT_EQ(::waitpid(launched.pid(), &status, 0), launched.pid());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string content(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  ("xylem-launching-" + std::to_string(::getpid()));
};

TEST_F(Launching, StartsAProgramHereWithItsVariables) {
  auto launched = launch_on("localhost", "",
                            {"/bin/sh", "-c", "echo $XYLEM_RUN >" + (folder_ / "out").string()},
                            {"XYLEM_RUN=a b"});
  ASSERT_TRUE(launched) << launched.error().message;
  EXPECT_EQ(launched->by(), "");
  EXPECT_EQ(launched->said(), -1);
  EXPECT_EQ(code_of(*launched), 0);
  EXPECT_EQ(content("out"), "a b\n");
}

TEST_F(Launching, HandsALauncherTheHostAndNothingSecret) {
  const std::string path =
      launcher("echo \"$@\" >" + (folder_ / "words").string() + "; shift; exec env -i \"$@\"\n");
  auto launched = launch_on(
      "node9", path,
      {"/bin/sh", "-c", "echo \"$XYLEM_KEY|$0\" >" + (folder_ / "out").string(), "it's here"},
      {"XYLEM_KEY=se'cret"});
  ASSERT_TRUE(launched) << launched.error().message;
  EXPECT_EQ(launched->by(), path);
  EXPECT_EQ(code_of(*launched), 0);
  EXPECT_EQ(content("words"), "node9 sh\n");
  EXPECT_EQ(content("out"), "se'cret|it's here\n");
}

TEST_F(Launching, KeepsTheLastLineOfALauncherThatFails) {
  auto launched = launch_on(
      "node9", launcher("echo first >&2; printf 'no route to %s\\r\\n' $1 >&2; exit 255\n"), {"x"},
      {});
  ASSERT_TRUE(launched) << launched.error().message;
  EXPECT_EQ(code_of(*launched), 255);
  EXPECT_EQ(launched->last_line(), "no route to node9");
}

TEST_F(Launching, KeepsABoundedPieceOfWhatIsSaid) {
  auto launched =
      launch_on("node9", launcher("head -c 3000 /dev/zero | tr '\\0' x >&2\n"), {"x"}, {});
  ASSERT_TRUE(launched) << launched.error().message;
  EXPECT_EQ(code_of(*launched), 0);
  EXPECT_EQ(launched->last_line(), std::string(500, 'x'));
}

TEST_F(Launching, SaysWhichProgramIsNotThere) {
  const auto launched = launch_on("node9", "/nonexistent/rsh -q", {"x"}, {});
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().code, Code::kNotFound);
  EXPECT_THAT(launched.error().message, HasSubstr("cannot start /nonexistent/rsh: "));
  EXPECT_FALSE(launch_on("node9", "  ", {"x"}, {}));
}

TEST_F(Launching, TellsARefusalOfTheSystemFromAMissingProgram) {
  for (const auto& [error, code, advice] : std::vector<std::tuple<int, Code, std::string>>{
           {EAGAIN, Code::kExhausted, "no process, memory or descriptor left"},
           {ENOMEM, Code::kExhausted, "no process, memory or descriptor left"},
           {EACCES, Code::kPermissionDenied, "may this user execute it?"},
           {ENOENT, Code::kNotFound, "is it installed, and in PATH?"}}) {
    spawn_refusal = error;
    const auto launched = launch_on("localhost", "", {"/bin/true"}, {});
    spawn_refusal = 0;
    ASSERT_FALSE(launched);
    EXPECT_EQ(launched.error().code, code) << error;
    EXPECT_THAT(launched.error().message, HasSubstr(advice));
  }
}

TEST(GatherFailures, TellsWhatIsAlikeOnce) {
  const std::vector<BackEndFailure> failures = {
      {"n1", "ended with code 255: ssh: connect to host n1 port 22: Connection refused", "ssh"},
      {"n7", "ended with code 127: sh: 1: exec: /opt/leaf: not found", "ssh"},
      {"n2", "ended with code 255: ssh: connect to host n2 port 22: Connection refused", "ssh"},
      {"n3", "ended with code 255: ssh: connect to host n3 port 22: Connection refused", "ssh"}};
  EXPECT_EQ(gather_failures(failures),
            "a back end on n[1-3], started by ssh, ended with code 255: ssh: connect to host n1 "
            "port 22: Connection refused (try it: ssh n1 true); one on n7, started by ssh, ended "
            "with code 127: sh: 1: exec: /opt/leaf: not found (try it: ssh n7 true)");
}

TEST(GatherFailures, NeedsNoLauncher) {
  const BackEndFailure failure{"", "was killed: Killed", ""};
  EXPECT_EQ(gather_failures(std::span(&failure, 1)), "a back end on this host was killed: Killed");
  EXPECT_EQ(gather_failures({}), "");
}

}  // namespace
}  // namespace xylem::launch
