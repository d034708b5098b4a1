#include "launch/environment_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace xylem::launch {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

class EnvironmentFile : public testing::Test {
 protected:
  EnvironmentFile() {
    std::string name = "/tmp/xylem-environment-file-test-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ / "run.env";
  }
  ~EnvironmentFile() override { fs::remove_all(folder_); }

  fs::path folder_, path_;
};

TEST_F(EnvironmentFile, GivesBackWhatWasWritten) {
  const Environment environment = {{"XYLEM_RUN", "3a"}, {"XYLEM_EMPTY", ""}, {"A", "b=c d"}};
  ASSERT_TRUE(write_environment_file(path_, environment));
  const auto read = read_environment_file(path_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, environment);
}

TEST_F(EnvironmentFile, IsForItsOwnerOnlyEvenIfItWasThereBefore) {
  std::ofstream(path_) << "A=b\n";
  fs::permissions(path_, fs::perms::all);
  ASSERT_TRUE(write_environment_file(path_, {{"XYLEM_KEY", "secret"}}));
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(EnvironmentFile, IsRefusedIfOthersMayOpenIt) {
  ASSERT_TRUE(write_environment_file(path_, {{"XYLEM_KEY", "secret"}}));
  for (const fs::perms others : {fs::perms::group_read, fs::perms::others_write}) {
    fs::permissions(path_, fs::perms::owner_read | others);
    const auto read = read_environment_file(path_);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::kPermissionDenied);
    EXPECT_THAT(read.error().message, HasSubstr("must be yours with mode 0600"));
  }
}

TEST_F(EnvironmentFile, SaysWhyItCannotBeReadOrWritten) {
  const auto none = read_environment_file(path_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("run.env: cannot be read"));
  const auto unwritten = write_environment_file(folder_ / "nowhere" / "run.env", {});
  ASSERT_FALSE(unwritten);
  EXPECT_EQ(unwritten.error().code, Code::kInternal);
  EXPECT_THAT(unwritten.error().message, HasSubstr("cannot be written: No such file"));
}

}  // namespace
}  // namespace xylem::launch
