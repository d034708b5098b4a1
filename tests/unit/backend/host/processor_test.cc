#include "backend/host/processor.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <set>
#include <string>

#include "tests/support/root_folder.h"

namespace xylem::backend {
namespace {

class ProcessorTest : public ::testing::Test {
 protected:
  testing::RootFolder root_;
};

constexpr const char* kInfo =
    "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9R14 \ncpu MHz\t\t: 2596.254\n\n"
    "processor\t: 1\nmodel name\t: another\ncpu MHz\t\t: 3000.0\n";

TEST_F(ProcessorTest, HasTheModelAndTheMaximumFrequency) {
  root_.write("/proc/cpuinfo", kInfo);
  root_.write("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700000\n");
  const Processor processor = read_processor(root_.path());
  EXPECT_EQ(processor.model, "AMD EPYC 9R14");
  EXPECT_EQ(processor.frequency_hz, 3'700'000'000u);
}

TEST_F(ProcessorTest, HasThePresentFrequencyIfTheMaximumIsNotKnown) {
  root_.write("/proc/cpuinfo", kInfo);
  EXPECT_EQ(read_processor(root_.path()).frequency_hz, 2'596'254'000u);
}

TEST_F(ProcessorTest, IsEmptyWhereTheKernelSaysNothing) {
  const Processor none = read_processor(root_.path());
  EXPECT_EQ(none.model, "");
  EXPECT_EQ(none.frequency_hz, 0u);
  root_.write("/proc/cpuinfo",
              "processor\t: 0\nBogoMIPS\t: 100\nmodel name\ncpu MHz\t: -5\nmodel name\t:\n");
  EXPECT_EQ(read_processor(root_.path()).model, "");
  EXPECT_EQ(read_processor(root_.path()).frequency_hz, 0u);
}

TEST_F(ProcessorTest, ProcessorsOfAProcessAreWrittenAsTheKernelWritesThem) {
  root_.write("/proc/77/status",
              "Name:\ta\nCpus_allowed:\tf1\nCpus_allowed_list:\t0,4-7\nMems_allowed_list:\t0\n");
  EXPECT_EQ(allowed_processors(77, root_.path()), "0,4-7");
  EXPECT_EQ(allowed_processors(78, root_.path()), "");
}

TEST(Processors, OfThisProcessAreThoseOfTheScheduler) {
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::set<int> expected, found;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) expected.insert(i);
  }
  const std::string list = allowed_processors(static_cast<std::uint32_t>(::getpid()));
  for (std::size_t at = 0; at < list.size();) {
    std::size_t used = 0;
    const int first = std::stoi(list.substr(at), &used);
    at += used;
    int last = first;
    if (at < list.size() && list[at] == '-') {
      last = std::stoi(list.substr(at + 1), &used);
      at += 1 + used;
    }
    for (int i = first; i <= last; ++i) found.insert(i);
    ++at;  // The comma.
  }
  EXPECT_EQ(found, expected) << list;
}

}  // namespace
}  // namespace xylem::backend
