#include "cli/spooled_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <ostream>
#include <string>
#include <thread>

namespace xylem {
namespace {

using ::testing::HasSubstr;

class SpooledOutputTest : public ::testing::Test {
 protected:
  SpooledOutputTest() {
    ::signal(SIGPIPE, SIG_IGN);
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    reads_.reset(ends[0]);
    writes_.reset(ends[1]);
  }
  // Lines of a number each: more than a pipe and the memory take.
  static std::string answer() {
    std::string text;
    for (int i = 0; i < 1'000'000; ++i) text += std::to_string(i) + '\n';
    return text;
  }
  std::string read_all() {
    std::string text;
    char piece[4096];
    for (ssize_t size; (size = ::read(reads_.get(), piece, sizeof piece)) > 0;) {
      text.append(piece, static_cast<std::size_t>(size));
    }
    return text;
  }

  UniqueFd reads_, writes_;
};

TEST_F(SpooledOutputTest, TakesAllWhileNobodyReadsAndGivesItInOrder) {
  const std::string whole = answer();
  SpooledOutput output(writes_.get());
  std::ostream out(&output);
  out << whole << std::flush;
  EXPECT_TRUE(out.good());  // Nobody has read anything yet.
  std::string got;
  std::thread reader([&] { got = read_all(); });
  EXPECT_EQ(output.finish(), "");
  writes_.reset();
  reader.join();
  EXPECT_EQ(got == whole, true) << got.size() << " of " << whole.size() << " bytes";
}

TEST_F(SpooledOutputTest, GoesOnInMemoryWhenItsReaderHasCaughtUp) {
  const std::string whole = answer();
  std::string got;
  SpooledOutput output(writes_.get());
  std::ostream out(&output);
  out << whole;
  std::thread reader([&] { got = read_all(); });
  for (int i = 0; i < 3; ++i) out << whole << std::flush;
  EXPECT_EQ(output.finish(), "");
  writes_.reset();
  reader.join();
  EXPECT_EQ(got == whole + whole + whole + whole, true) << got.size() << " bytes";
}

TEST_F(SpooledOutputTest, FailsWhenItsReaderHasGone) {
  SpooledOutput output(writes_.get());
  std::ostream out(&output);
  reads_.reset();
  const std::string whole = answer();
  for (int i = 0; i < 10'000 && out.good(); ++i) out << whole << std::flush;
  EXPECT_TRUE(out.bad());
  EXPECT_EQ(output.finish(), "") << "whoever reads no more misses nothing";
}

TEST_F(SpooledOutputTest, SaysWhereThereIsNoRoomForWhatIsNotRead) {
  ::setenv("TMPDIR", "/proc/self/no-such-folder", 1);
  SpooledOutput output(writes_.get());
  std::ostream out(&output);
  out << answer() << std::flush;
  EXPECT_TRUE(out.bad());
  ::unsetenv("TMPDIR");
  reads_.reset();  // Else the end waits for it.
  EXPECT_THAT(output.finish(), HasSubstr("/proc/self/no-such-folder"));
}

}  // namespace
}  // namespace xylem
