// A file that appears completely or not at all.

#include "base/new_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/text_file.h"

namespace xylem {
namespace {

using ::testing::HasSubstr;

class NewFileTest : public ::testing::Test {
 protected:
  NewFileTest() {
    std::string name = "/tmp/xylem-new-file-test-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~NewFileTest() override { std::filesystem::remove_all(folder_); }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

  std::string folder_;
  std::string path() const { return folder_ + "/new"; }
};

TEST_F(NewFileTest, AppearsWhenItIsFinished) {
  auto file = NewFile::create(path(), false);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->write("one "));
  EXPECT_TRUE(file->write("two"));
  EXPECT_FALSE(std::filesystem::exists(path()));
  ASSERT_TRUE(file->finish());
  EXPECT_EQ(*read_text_file(path(), "file"), "one two");
  const auto second = NewFile::create(path(), false);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kInvalidArgument);
  EXPECT_THAT(second.error().message, HasSubstr("--overwrite"));
}

TEST_F(NewFileTest, LeavesNothingAndTheOldFileWhenItIsGivenUp) {
  ASSERT_TRUE(write_text_file(path(), "old", false));
  {
    auto file = NewFile::create(path(), true);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->write("half"));
  }
  EXPECT_EQ(*read_text_file(path(), "file"), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFileTest, TakesNoFileThatCameInTheMeantime) {
  auto file = NewFile::create(path(), false);
  ASSERT_TRUE(file);
  std::ofstream(path()) << "faster";
  EXPECT_FALSE(file->finish());
  EXPECT_EQ(*read_text_file(path(), "file"), "faster");
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFileTest, NamesThePathWhenItCannotBeWritten) {
  const auto file = NewFile::create("/proc/nowhere/file", false);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("/proc/nowhere/file: cannot be written"));
}

}  // namespace
}  // namespace xylem
