#include "capture/core/sampling.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>

#include "capture/core/text_internal.h"
#include "xylem_capture_functions.h"

namespace xylem::capture {
namespace {

class Sampling : public ::testing::Test {
 protected:
  std::string set(const char* text) {
    const char* part = set_sampling(text, every_.data());
    return part == nullptr ? "" : part;
  }
  std::uint32_t every(std::uint16_t function) const { return every_[function]; }

  std::array<std::atomic<std::uint32_t>, kMaxFunctions> every_{};
};

TEST_F(Sampling, ByDefaultThinsWhatProgramsSpinOn) {
  EXPECT_EQ(set(nullptr), "");
  for (const auto function :
       {kMPI_Iprobe, kMPI_Improbe, kMPI_Test, kMPI_Testall, kMPI_Testany, kMPI_Testsome}) {
    EXPECT_EQ(every(function), kDefaultSampling) << function_names[function];
  }
  EXPECT_EQ(every(kMPI_Send), 1u);
}

TEST_F(Sampling, ByDefaultThinsLocalCalls) {
  EXPECT_EQ(set(nullptr), "");
  for (const auto function : {kMPI_Wtime, kMPI_Comm_rank, kMPI_Comm_size, kMPI_Type_size,
                              kMPI_Type_size_x, kMPI_Get_count, kMPI_Test_cancelled}) {
    EXPECT_EQ(every(function), kDefaultSampling) << function_names[function];
  }
  for (const auto function : {kMPI_Recv, kMPI_Comm_dup, kMPI_Type_commit, kMPI_Init, kMPI_Wait})
    EXPECT_EQ(every(function), 1u) << function_names[function];
}

TEST_F(Sampling, NoneGivesEachCallARecord) {
  EXPECT_EQ(set("none"), "");
  for (std::uint16_t f = 0; f < kFunctionCount; ++f) EXPECT_EQ(every(f), 1u) << function_names[f];
}

TEST_F(Sampling, ALaterPartChangesWhatStandsBefore) {
  EXPECT_EQ(set("MPI_Test*=50,MPI_Testall=7,MPI_Send=3"), "");
  EXPECT_EQ(every(kMPI_Testany), 50u);
  EXPECT_EQ(every(kMPI_Testall), 7u);
  EXPECT_EQ(every(kMPI_Send), 3u);
  EXPECT_EQ(every(kMPI_Iprobe), kDefaultSampling);
}

TEST_F(Sampling, ARecordCanStandForAllCallsOfASample) {
  EXPECT_EQ(set("MPI_Test=65535"), "");
  EXPECT_EQ(every(kMPI_Test), kMaxRecordCalls);
  EXPECT_EQ(set("MPI_Test=65536"), "MPI_Test=65536");
}

TEST_F(Sampling, NamesThePartThatSaysNothingAndKeepsTheOthers) {
  EXPECT_EQ(set("MPI_Send=4,MPI_Sendd=5,MPI_Recv=6"), "MPI_Sendd=5,MPI_Recv=6");
  EXPECT_EQ(every(kMPI_Send), 4u);
  EXPECT_EQ(every(kMPI_Recv), 6u);
  EXPECT_EQ(set("MPI_Send=99999999999,MPI_Recv=8"), "MPI_Send=99999999999,MPI_Recv=8");
  EXPECT_EQ(every(kMPI_Recv), 8u);
  EXPECT_EQ(set("MPI_Send"), "MPI_Send");
  EXPECT_EQ(set("MPI_Send="), "MPI_Send=");
  EXPECT_EQ(set("MPI_Send=0"), "MPI_Send=0");
  EXPECT_EQ(set("MPI_Send=5x"), "MPI_Send=5x");
  EXPECT_EQ(set("MPI_Send=99999999999"), "MPI_Send=99999999999");
  EXPECT_EQ(set("=5"), "=5");
  EXPECT_EQ(set(",none"), ",none");
}

TEST(CaptureText, MarksWhatDoesNotFit) {
  Text<8> text;
  text.add("run-").add_number(7, 2);
  EXPECT_STREQ(text.c_str(), "run-07");
  EXPECT_TRUE(text.fits());
  text.add("xyz");
  EXPECT_STREQ(text.c_str(), "run-07x");
  EXPECT_FALSE(text.fits());
}

TEST(CaptureText, ReadsNumbersUpTo32Bits) {
  const char* text = "4294967295,";
  std::uint32_t number = 0;
  EXPECT_TRUE(read_number(&text, &number));
  EXPECT_EQ(number, 4294967295u);
  EXPECT_STREQ(text, ",");
  EXPECT_FALSE(read_number(&text, &number));
  text = "4294967296";
  EXPECT_FALSE(read_number(&text, &number));
}

}  // namespace
}  // namespace xylem::capture
