// What `xylem lines` says. tests/unit/storage/write/call_site_test.cc has the lines themselves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/exit_code.h"
#include "cli/lines_command.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem {
namespace {

using ::testing::HasSubstr;

class LinesCommandTest : public storage::StoredRun {
 protected:
  void define(const std::string& object) {
    wire::ProcessRow row = storage::process_row(1, 0, 1, 1);
    row.definitions.call_sites = {{CallSiteId{7}, object, {}, ~0ULL}};
    put(storage::registration_packet(0, {row}));
  }
  struct Said {
    int code = 0;
    std::string out, err;
  };
  Said run(const std::vector<std::string>& paths = {}) {
    EXPECT_TRUE(store_->commit());
    std::ostringstream out, err;
    const int code = run_lines({path_, paths}, out, err);
    return {code, out.str(), err.str()};
  }
};

TEST_F(LinesCommandTest, NamesAProgramThatIsNotThereAndTheRemedy) {
  define("/nonexistent/app");
  const Said said = run();
  EXPECT_EQ(said.code, kExitSuccess);
  EXPECT_EQ(said.out, "0 of 1 call sites have a line\n");
  EXPECT_EQ(said.err,
            "xylem lines: /nonexistent/app: cannot be read; --path FROM=TO looks for it"
            " elsewhere\n");
}

TEST_F(LinesCommandTest, LooksElsewhere) {
  define("/nonexistent/exe");
  const Said said = run({"/elsewhere=/", "/nonexistent=/proc/self"});
  EXPECT_EQ(said.code, kExitSuccess);
  EXPECT_EQ(said.err, "") << "the program was found; it has no code at this address";
  EXPECT_EQ(said.out, "0 of 1 call sites have a line\n");
}

TEST_F(LinesCommandTest, SaysThatARunHasNoCallSites) {
  const Said said = run();
  EXPECT_EQ(said.code, kExitSuccess);
  EXPECT_EQ(said.out, "");
  EXPECT_THAT(said.err, HasSubstr("--detail trace"));
}

TEST_F(LinesCommandTest, RefusesAPathWithoutAPlace) {
  for (const char* path : {"/scratch", "=/scratch"}) {
    const Said said = run({path});
    EXPECT_EQ(said.code, kExitUsage);
    EXPECT_THAT(said.err, HasSubstr(std::string("--path ") + path + ": write FROM=TO"));
  }
}

TEST_F(LinesCommandTest, NamesAFileThatIsNoRun) {
  std::ostringstream out, err;
  EXPECT_EQ(run_lines({"/proc/self/exe", {}}, out, err), kExitFailure);
  EXPECT_THAT(err.str(), HasSubstr("xylem lines: /proc/self/exe"));
}

}  // namespace
}  // namespace xylem
