#include "frontend/run_streams.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/config.h"
#include "filters/plugin_copy.h"
#include "launch/fold_mark.h"
#include "storage/read/query.h"

namespace xylem::frontend {
namespace {

constexpr StreamId kFirst = wire::kFirstStoredStream;

class RunStreamsTest : public testing::Test {
 protected:
  RunStreamsTest() {
    std::string name = "/tmp/xylem-run-streams-test-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~RunStreamsTest() override { std::filesystem::remove_all(folder_); }

  /// A run with the stream `e` of the plugin NAME.so. The file of the plugin is gone.
  launch::Setup setup_with(const std::string& name, const std::string& aggregation) {
    const std::string file = folder_ + "/" + name + ".so";
    std::filesystem::copy_file(std::filesystem::path(XYLEM_TEST_PLUGINS) / (name + ".so"), file);
    auto copy = filters::copy_plugin(file);
    EXPECT_TRUE(copy) << copy.error().message;
    copy_ = *std::move(copy);
    std::filesystem::remove(file);
    auto mark = launch::FoldMark::make();
    EXPECT_TRUE(mark);
    mark_.emplace(*std::move(mark));
    launch::Setup setup;
    setup.sections = *parse_config(
        "[stream.e]\naggregation = \"" + aggregation + "\"\nplugin = \"" + file + "\"\n", "x.toml");
    setup.plugins = {file};
    setup.first_plugin_fd = copy_.get();
    setup.fold_mark_fd = ::dup(mark_->fd());
    return setup;
  }

  std::string folder_;
  UniqueFd copy_;                         // The starter's; the front end gets the same one here.
  std::optional<launch::FoldMark> mark_;  // The starter's side of the mark.
};

TEST_F(RunStreamsTest, MergeWithTheCopyOfAPluginWhoseFileIsGone) {
  const auto streams = open_run_streams(setup_with("span", "span"));
  ASSERT_TRUE(streams) << streams.error().message;
  ASSERT_EQ(streams->specs.size(), 1u);
  EXPECT_TRUE(streams->unmerged.empty());
  ASSERT_TRUE(streams->fold->merges(kFirst));
  wire::Fields state{{1, std::int64_t{3}}, {2, std::int64_t{3}}};
  EXPECT_TRUE(streams->fold->merge(kFirst, state, {{1, std::int64_t{8}}, {2, std::int64_t{8}}}));
  EXPECT_EQ(streams->fold->finish(kFirst, state), (wire::Fields{{1, std::int64_t{5}}}));
  EXPECT_FALSE(mark_->take()) << "no plugin is being called";
}

TEST_F(RunStreamsTest, AreNotInheritedByChildren) {
  const launch::Setup setup = setup_with("span", "span");
  ASSERT_EQ(::fcntl(copy_.get(), F_SETFD, 0), 0);  // As a new front end gets it.
  ASSERT_TRUE(open_run_streams(setup));
  EXPECT_EQ(::fcntl(copy_.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(RunStreamsTest, MarkTheStreamWhosePluginCrashes) {
  const auto streams = open_run_streams(setup_with("span", "brittle"));
  ASSERT_TRUE(streams) << streams.error().message;
  const auto crash = [&streams] { streams->fold->finish(kFirst, {{1, std::int64_t{2}}}); };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGABRT), "");
  EXPECT_EQ(mark_->take(), kFirst);
}

TEST_F(RunStreamsTest, DoWithoutAPluginThatHasCrashedFrontEnds) {
  launch::Setup setup = setup_with("throws", "odd");  // Could not be loaded.
  EXPECT_FALSE(open_run_streams(setup));
  setup.fold_mark_fd = ::dup(mark_->fd());
  setup.unmerged_streams = {std::to_string(raw(kFirst))};
  const auto streams = open_run_streams(setup);
  ASSERT_TRUE(streams) << streams.error().message;
  EXPECT_FALSE(streams->fold->merges(kFirst));
  ASSERT_EQ(streams->specs.size(), 1u);
  EXPECT_EQ(streams->specs[0].aggregation, "odd") << "the other nodes still merge";
  ASSERT_EQ(streams->unmerged.size(), 1u);
  EXPECT_EQ(streams->unmerged[0].name, "e");
}

TEST_F(RunStreamsTest, TellInTheRunsFileWhatIsNotMerged) {
  storage::SqliteOptions options;
  options.path = folder_ + "/run.db";
  auto store = storage::make_sqlite_store(options);
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_TRUE((*store)->begin_run({}));
  wire::StreamSpec spec;
  spec.name = "e";
  spec.plugin = "/opt/site/filters.so";
  record_unmerged({{}, {spec}, nullptr}, **store, -5);
  auto run = storage::RunFile::open(options.path);
  ASSERT_TRUE(run) << run.error().message;
  const auto rows = (*run)->rows("SELECT text, at_ns FROM notice");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(storage::to_text(rows->at(0).at(0)),
            "stream e: its plugin /opt/site/filters.so has crashed front ends; its waves are not "
            "merged from now on");
  EXPECT_EQ(storage::to_text(rows->at(0).at(1)), "0");
}

}  // namespace
}  // namespace xylem::frontend
