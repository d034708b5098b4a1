#pragma once

// A folder that stands for the root of a host: a test writes files like those of Linux into it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace xylem::testing {

/// Removes the folder at the end.
class RootFolder {
 public:
  RootFolder() {
    std::string name = ::testing::TempDir() + "/xylem-root-XXXXXX";
    const char* const made = ::mkdtemp(name.data());
    EXPECT_NE(made, nullptr);
    if (made != nullptr) path_ = made;
  }
  ~RootFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  RootFolder(const RootFolder&) = delete;
  RootFolder& operator=(const RootFolder&) = delete;

  const std::string& path() const { return path_; }

  /// Writes a file, for example "/proc/meminfo". Makes its folders, and replaces an earlier file.
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + file).parent_path());
    std::ofstream(path_ + file) << text;
  }

 private:
  std::string path_;
};

}  // namespace xylem::testing
