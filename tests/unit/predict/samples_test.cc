#include "predict/calibration/samples.h"

#include <gtest/gtest.h>

#include <string>

namespace xylem::predict {
namespace {

TEST(SampleReader, ReadsTheLinesOfAReport) {
  SampleReader reader;
  for (const char* line :
       {"library /usr/lib/libmpi.so.40", "hosts node01 node02", "cores 8", "eager 4032 4033",
        "one 1 2000", "one 1 2100", "many 1 9000", "send 16 150", "receive 1 170",
        "read 4096 90000", "write 4096 80000", "direct 1", "progress 5 20"}) {
    const auto taken = reader.take(std::string(kReportMark) + line);
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_TRUE(*taken) << line;
  }
  EXPECT_FALSE(reader.has_ended());
  EXPECT_TRUE(reader.take("xylem-calibrate: end"));
  EXPECT_TRUE(reader.has_ended());
  EXPECT_EQ(reader.progress(), 25u);
  const Samples& samples = reader.samples();
  EXPECT_EQ(samples.library, "/usr/lib/libmpi.so.40");
  EXPECT_EQ(samples.hosts[0], "node01");
  EXPECT_EQ(samples.hosts[1], "node02");
  EXPECT_FALSE(samples.is_one_host());
  EXPECT_EQ(samples.cores, 8u);
  EXPECT_EQ(samples.eager, (EagerLimit{4032, 4033}));
  EXPECT_EQ(samples.one, (Series{{1, {2000, 2100}}}));
  EXPECT_EQ(samples.many, (Series{{1, {9000}}}));
  EXPECT_EQ(samples.send, (Series{{16, {150}}}));
  EXPECT_EQ(samples.receive, (Series{{1, {170}}}));
  EXPECT_EQ(samples.read, (Series{{4096, {90000}}}));
  EXPECT_EQ(samples.write, (Series{{4096, {80000}}}));
  EXPECT_TRUE(samples.is_direct);
}

TEST(SampleReader, FindsALineBehindTheWordsOfALauncher) {
  SampleReader reader;
  const auto taken = reader.take("[1,0]<stdout>:xylem-calibrate: one 4 77\r");
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(reader.samples().one, (Series{{4, {77}}}));
}

TEST(SampleReader, LeavesOtherLinesToOthers) {
  SampleReader reader;
  for (const char* line : {"", "hello", "one 4 77", "xylem: note"}) {
    const auto taken = reader.take(line);
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_FALSE(*taken) << line;
  }
}

TEST(SampleReader, TakesAnErrorOfTheProgramForItsOwn) {
  SampleReader reader;
  const auto taken = reader.take("xylem-calibrate: error no MPI library, (x y)");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Code::kUnavailable);
  EXPECT_EQ(taken.error().message, "no MPI library, (x y)");
}

TEST(SampleReader, RefusesLinesThatCannotBeRead) {
  for (const char* line : {"one", "one 1", "one 1 2 3", "one 1 -5", "one 1 5ns", "one  1 5",
                           "hosts a", "hosts a b c", "cores many", "cores 4294967296", "eager 5",
                           "progress 5 0", "progress 6 5", "fnord 1 2", ""}) {
    SampleReader reader;
    const auto taken = reader.take(std::string(kReportMark) + line);
    ASSERT_FALSE(taken) << line;
    EXPECT_EQ(taken.error().code, Code::kCorrupt);
  }
}

}  // namespace
}  // namespace xylem::predict
