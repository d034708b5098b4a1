#include "backend/agent/host_claim.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace xylem::backend {
namespace {

namespace fs = std::filesystem;

class ClaimingAHost : public ::testing::Test {
 protected:
  ~ClaimingAHost() override { fs::remove_all(path_); }

  std::string path_ =
      fs::path(::testing::TempDir()) / ("xylem-claim-" + std::to_string(::getpid()));
};

TEST_F(ClaimingAHost, MakesAPrivateFolderWithAnOpenListener) {
  const auto claim = claim_host(path_);
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_TRUE(claim->listener);
  EXPECT_TRUE(claim->folder->is_answered());
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(RunFolder(path_).try_lock()) << "the lock is for those who come next";
}

TEST_F(ClaimingAHost, LeavesItToAnAgentThatAnswers) {
  const auto first = claim_host(path_);
  const auto second = claim_host(path_);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(second->listener);
}

TEST_F(ClaimingAHost, TakesItFromAnAgentThatIsGone) {
  { const auto gone = claim_host(path_); }
  const auto claim = claim_host(path_);
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_TRUE(claim->listener);
}

TEST_F(ClaimingAHost, RefusesAFolderThatOthersMayLookInto) {
  fs::create_directory(path_);
  fs::permissions(path_, fs::perms::owner_all | fs::perms::group_read);
  const auto claim = claim_host(path_);
  ASSERT_FALSE(claim);
  EXPECT_EQ(claim.error().code, Code::kPermissionDenied);
}

TEST_F(ClaimingAHost, RefusesWhatIsNoFolder) {
  fs::create_symlink("/tmp", path_);
  EXPECT_EQ(claim_host(path_).error().code, Code::kPermissionDenied);
}

TEST_F(ClaimingAHost, WaitsForTheLockAndNoLongerThanItIsTo) {
  const auto before = claim_host(path_);
  RunFolder other(path_);
  ASSERT_TRUE(other.try_lock());
  const auto claim = claim_host(path_, 20 * kMillisecond);
  ASSERT_FALSE(claim);
  EXPECT_EQ(claim.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace xylem::backend
