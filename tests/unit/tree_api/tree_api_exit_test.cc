// A program may call exit() whatever its leaf is doing: it ends, and no thread of the leaf is left
// when static objects are destroyed.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include "net/runtime.h"
#include "tests/support/tool_tree.h"

namespace xylem {
namespace {

class TreeApiExitTest : public testing::ToolTreeTest,
                        public ::testing::WithParamInterface<const char*> {
 protected:
  // Its exit code; 124 when it hung.
  int run(const std::string& address, const std::string& where) {
    const auto environment = tree_->environment();
    // What a call that is cut short had is nobody's to give back.
    const std::string command = "ASAN_OPTIONS=detect_leaks=0 XYLEM_ADDRESS='" + address +
                                "' XYLEM_RUN=" + testing::value_of(environment, "XYLEM_RUN") +
                                " XYLEM_KEY=" + testing::value_of(environment, "XYLEM_KEY") +
                                " timeout 20 " + XYLEM_LEAF_EXIT + " " + where + " " + GetParam();
    const auto begun = std::chrono::steady_clock::now();
    const int status = std::system(command.c_str());
    took_ = std::chrono::steady_clock::now() - begun;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int run(const std::string& where) {
    return run(testing::value_of(tree_->environment(), "XYLEM_ADDRESS"), where);
  }

  std::chrono::steady_clock::duration took_{};
};

TEST_P(TreeApiExitTest, EndsALeafThatJoins) {
  start(0);
  auto silent = net::listen_tcp("127.0.0.1", 0);
  ASSERT_TRUE(silent) << silent.error().message;
  const auto port = net::bound_port(*silent);
  ASSERT_TRUE(port) << port.error().message;
  EXPECT_EQ(run("127.0.0.1:" + std::to_string(*port), "joining"), 7);
}

TEST_P(TreeApiExitTest, EndsALeafThatIsBeingDestroyed) {
  frontend::TreeOptions options;
  options.shape = "flat";
  options.queue_bytes = 64u << 10;
  start(std::move(options), 0);
  auto stuck = open({.name = "stuck"});
  // A handler may interrupt an allocation of the destructor, on a busy machine more often. Then
  // exit() allocates in a heap that is not in order, which is the program's fault: such a run shows
  // nothing.
  constexpr int kAborted = 128 + SIGABRT;
  const bool is_handler = std::string(GetParam()) == "handler";
  int code = kAborted;
  for (int tries = 0; tries < 5 && code == kAborted; ++tries) {
    code = run("destroying");
    if (!is_handler) break;
  }
  EXPECT_EQ(code, 7);
}

// Nothing of it is a thread's own: it is left where it is.
TEST_P(TreeApiExitTest, DoesNotWaitForALeafThatServes) {
  start(0);
  EXPECT_EQ(run("serving"), 7);
  EXPECT_LT(took_, std::chrono::seconds(1)) << "the loop was entered twice";
}

INSTANTIATE_TEST_SUITE_P(In, TreeApiExitTest, ::testing::Values("handler", "thread"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace xylem
