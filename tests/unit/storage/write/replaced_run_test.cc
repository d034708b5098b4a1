#include "storage/write/replaced_run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/log.h"
#include "base/unique_fd.h"
#include "storage/write/store.h"
#include "tests/unit/storage/packets.h"

namespace xylem::storage {
namespace {

using ::testing::HasSubstr;

class ReplacedRunTest : public ::testing::Test {
 protected:
  ReplacedRunTest() {
    std::string name = "/tmp/xylem-replaced-run-test-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ + "/run.db";
  }
  ~ReplacedRunTest() override { std::filesystem::remove_all(folder_); }

  enum class Content { kNothing, kAProcess };
  /// Writes a run to the file, with its end if `ended`.
  void make_run(Content content, bool ended = true) {
    SqliteOptions options;
    options.path = path_;
    auto store = make_sqlite_store(options);
    ASSERT_TRUE(store) << store.error().message;
    RunFacts facts;
    facts.run_id = "old";
    ASSERT_TRUE((*store)->begin_run(facts));
    if (content == Content::kAProcess) {
      ASSERT_TRUE((*store)->put(registration_packet(1, {process_row(1, 0, 1, 1)})));
    }
    if (ended) {
      ASSERT_TRUE((*store)->end_run(0, 1));
    } else {
      ASSERT_TRUE((*store)->commit());
    }
  }
  Result<ReplacedRun> set_aside(bool overwrite) {
    return ReplacedRun::set_aside({.path = path_, .run_id = "new", .overwrite = overwrite});
  }
  std::string bytes(const std::string& path) const {
    std::stringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  std::size_t files() const {
    using Files = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(Files(folder_), Files()));
  }

  std::string folder_, path_;
};

TEST_F(ReplacedRunTest, StandsThereAgainWhenTheNewRunIsUndone) {
  make_run(Content::kAProcess);
  const std::string before = bytes(path_);
  auto replaced = set_aside(true);
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_TRUE(replaced->holds_record());
  EXPECT_FALSE(std::filesystem::exists(path_));
  make_run(Content::kNothing);
  ASSERT_TRUE(replaced->undo());
  EXPECT_EQ(bytes(path_), before);
  EXPECT_EQ(files(), 1u);
}

/// Keeps the new run in a process that may not delete files here. Its exit code is the number of
/// lines in the log.
[[noreturn]] void keep_where_nothing_can_be_deleted(const std::string& path) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && ::setuid(kNobody) != 0) std::_Exit(100);
  int lines = 0;
  set_log_sink([&lines](Level, std::string_view) { ++lines; });
  auto replaced = ReplacedRun::of_former(path, "new");
  replaced.keep_new();
  replaced.keep_new();
  std::_Exit(lines);
}

TEST_F(ReplacedRunTest, IsLoggedOnceWhenItCannotBeDeleted) {
  std::ofstream(path_ + ".before-new") << "old";
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  EXPECT_EXIT(keep_where_nothing_can_be_deleted(path_), ::testing::ExitedWithCode(1), "");
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
}

TEST_F(ReplacedRunTest, OfAFormerProcessStaysAsideUntilSomebodyDecides) {
  std::ofstream(path_) << "new";
  std::ofstream(path_ + ".before-new") << "old";
  { const auto former = ReplacedRun::of_former(path_, "new"); }
  EXPECT_TRUE(std::filesystem::exists(path_ + ".before-new"));
  auto former = ReplacedRun::of_former(path_, "new");
  ASSERT_TRUE(former.holds());
  EXPECT_TRUE(former.undo());
  std::string text;
  std::ifstream(path_) >> text;
  EXPECT_EQ(text, "old");
  EXPECT_FALSE(former.holds());
}

TEST_F(ReplacedRunTest, IsGoneWhenTheNewOneIsKept) {
  make_run(Content::kAProcess);
  {
    auto replaced = set_aside(true);
    ASSERT_TRUE(replaced);
    make_run(Content::kNothing);
    replaced->keep_new();
    EXPECT_FALSE(replaced->holds());
  }
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplacedRunTest, StandsThereAgainWhenNobodyDecides) {
  make_run(Content::kAProcess);
  { ASSERT_TRUE(set_aside(true)); }
  EXPECT_EQ(files(), 1u);
  auto replaced = set_aside(true);
  ASSERT_TRUE(replaced);
  replaced->release();
  EXPECT_FALSE(std::filesystem::exists(path_)) << "another process's by then";
  EXPECT_TRUE(ReplacedRun::of_former(path_, "new").holds());
}

TEST_F(ReplacedRunTest, IsLeftAloneWithoutLeave) {
  make_run(Content::kAProcess);
  const std::string before = bytes(path_);
  auto replaced = set_aside(false);
  ASSERT_TRUE(replaced) << "it is for the store to say that it exists";
  EXPECT_FALSE(replaced->holds());
  EXPECT_EQ(bytes(path_), before);
}

TEST_F(ReplacedRunTest, GivesWayWithoutLeaveWhenItHasEndedWithNothingInIt) {
  make_run(Content::kNothing, false);
  {
    const auto unended = set_aside(false);
    ASSERT_TRUE(unended);
    EXPECT_FALSE(unended->holds()) << "its end is not known";
  }
  std::filesystem::remove(path_);
  make_run(Content::kNothing);
  auto replaced = set_aside(false);
  ASSERT_TRUE(replaced);
  EXPECT_TRUE(replaced->holds());
  EXPECT_FALSE(replaced->holds_record());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ReplacedRunTest, NeverIsWhatIsNoRunOrIsBeingWritten) {
  std::ofstream(path_) << "years of work\n";
  const auto foreign = set_aside(true);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("not a run of xylem"));
  EXPECT_EQ(bytes(path_), "years of work\n");
  std::filesystem::remove(path_);
  make_run(Content::kAProcess);
  const UniqueFd writer(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX), 0);
  const auto busy = set_aside(true);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, Code::kUnavailable);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace xylem::storage
