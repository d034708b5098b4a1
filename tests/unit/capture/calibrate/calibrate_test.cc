// What the measuring program finds out without an MPI: library names, cores, and a disk.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "capture/calibrate/disk.h"
#include "capture/calibrate/mpi_library.h"
#include "capture/calibrate/processor_cores.h"

namespace xylem::calibrate {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Calibrate : public ::testing::Test {
 protected:
  Calibrate() {
    std::string pattern = (fs::temp_directory_path() / "xylem-calibrate-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Calibrate() override { fs::remove_all(folder_); }

  void processor(const std::string& name, const std::string& siblings) const {
    const fs::path topology = folder_ / "sys/devices/system/cpu" / name / "topology";
    fs::create_directories(topology);
    if (!siblings.empty()) std::ofstream(topology / "thread_siblings_list") << siblings << '\n';
  }

  fs::path folder_;
};

TEST_F(Calibrate, LooksForTheLibraryOfTheLauncher) {
  const char* const open_mpi[] = {"PATH=/bin", "PMIX_RANK=0", "OMPI_COMM_WORLD_SIZE=2"};
  EXPECT_THAT(library_names(open_mpi), ElementsAre("libmpi.so.40", "libmpi.so"));
  const char* const hydra[] = {"PMI_RANK=1", "PMI_SIZE=2"};
  EXPECT_THAT(library_names(hydra), ElementsAre("libmpich.so.12", "libmpi.so.12", "libmpi.so"));
  const char* const other[] = {"PMIX_RANK=1", "MY_PMI_RANK=1"};
  EXPECT_THAT(library_names(other),
              ElementsAre("libmpi.so.40", "libmpi.so", "libmpich.so.12", "libmpi.so.12"));
}

TEST_F(Calibrate, RefusesALibraryThatIsNotThereOrIsNoMpi) {
  const auto missing = MpiLibrary::load("libno-such-mpi.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("libno-such-mpi.so"));
  EXPECT_THAT(missing.error().message, HasSubstr("--mpi LIBRARY"));
  const auto other = MpiLibrary::load("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInvalidArgument);
}

TEST_F(Calibrate, CountsCoresAndNotThreads) {
  processor("cpu0", "0,4");
  processor("cpu4", "0,4");
  processor("cpu1", "1,5");
  processor("cpu5", "1,5");
  processor("cpu12", "");     // Offline.
  processor("cpufreq", "7");  // No processor.
  EXPECT_EQ(count_cores(folder_.string()), 2u);
}

TEST_F(Calibrate, CountsAtLeastOneCoreWithoutTheKernelsHelp) {
  EXPECT_GE(count_cores(folder_.string()), 1u);
}

TEST_F(Calibrate, MeasuresADiskAndLeavesNothing) {
  std::map<std::pair<DiskAccess, std::uint64_t>, unsigned> samples;
  const auto measured = measure_disk(
      folder_.string(), 3, kForever, [&](DiskAccess access, std::uint64_t bytes, Nanos took) {
        ++samples[{access, bytes}];
        EXPECT_GT(took, 0);
        EXPECT_TRUE(fs::is_empty(folder_));  // Also while it is measured.
      });
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(samples.size(), 4u);
  for (const auto& [what, count] : samples) EXPECT_EQ(count, 3u);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Calibrate, EndsTheMeasurementOfADiskAtItsDeadline) {
  unsigned samples = 0;
  const auto measured =
      measure_disk(folder_.string(), 1000, 0, [&](DiskAccess, std::uint64_t, Nanos) { ++samples; });
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(samples, 0u);
}

TEST_F(Calibrate, NamesAFolderWhoseDiskCannotBeMeasured) {
  const auto measured =
      measure_disk((folder_ / "nowhere").string(), 1, kForever, [](auto, auto, auto) {});
  ASSERT_FALSE(measured);
  EXPECT_THAT(measured.error().message, HasSubstr("nowhere: no file can be made here"));
}

}  // namespace
}  // namespace xylem::calibrate
