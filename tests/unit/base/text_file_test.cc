#include "base/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace xylem {
namespace {

class TextFile : public ::testing::Test {
 protected:
  TextFile() { std::filesystem::create_directory(folder_); }
  ~TextFile() override { std::filesystem::remove_all(folder_); }

  const std::string folder_ = ::testing::TempDir() + "xylem-text-" + std::to_string(::getpid());
  const std::string path_ = folder_ + "/x";
};

TEST_F(TextFile, IsReadWhole) {
  std::string text = "first\n";
  text += '\0';
  text.append(200'000, 'x');
  std::ofstream(path_, std::ios::binary) << text;
  const auto read = read_text_file(path_, "list");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, text);
}

TEST_F(TextFile, IsWrittenWholeAndOverNothingUnlessToldTo) {
  ASSERT_TRUE(write_text_file(path_, "one", false));
  const auto refused = write_text_file(path_, "two", false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("is there already"));
  EXPECT_EQ(*read_text_file(path_, "list"), "one");
  ASSERT_TRUE(write_text_file(path_, "three", true));
  EXPECT_EQ(*read_text_file(path_, "list"), "three");
  EXPECT_FALSE(write_text_file(folder_, "x", true)) << "a folder";
  EXPECT_FALSE(write_text_file("/dev/null", "x", true)) << "a device";
  EXPECT_FALSE(write_text_file(folder_ + "/none/x", "x", false));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1)
      << "no part is left";
}

TEST_F(TextFile, IsCutOneByteBehindTheMost) {
  std::ofstream(path_) << std::string(100'000, 'x');
  EXPECT_EQ(read_text_file(path_, "list", 70'000)->size(), 70'001u);
  EXPECT_EQ(read_text_file(path_, "list", 100'000)->size(), 100'000u);
}

TEST_F(TextFile, SaysWhyItIsNotRead) {
  const auto missing = read_text_file(path_, "list");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message, path_ + ": no such list; check the path");
  const auto folder = read_text_file(folder_, "list");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Code::kInvalidArgument);
  EXPECT_EQ(folder.error().message, folder_ + ": is a folder; name a list in it");
}

}  // namespace
}  // namespace xylem
