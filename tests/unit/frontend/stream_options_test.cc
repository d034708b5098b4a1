#include "frontend/stream_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace xylem::frontend {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<std::vector<wire::StreamSpec>> read_streams_of(const std::string& text) {
  const auto entries = parse_config(text, "x.toml");
  EXPECT_TRUE(entries) << entries.error().message;
  return read_streams(*entries, "x.toml");
}

TEST(StreamOptions, AreNumberedByNameAndHaveDefaults) {
  const auto read_ones = read_streams_of(
      "[stream.b]\naggregation = \"sum\"\nsynchronisation = \"time_out 500ms\"\n"
      "when_full = \"block\"\n[stream.a]\n");
  ASSERT_TRUE(read_ones) << read_ones.error().message;
  ASSERT_EQ(read_ones->size(), 2u);
  const wire::StreamSpec& a = read_ones->at(0);
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.id, wire::kFirstStoredStream);
  EXPECT_EQ(a.aggregation, "");
  EXPECT_EQ(a.synchronisation, wire::Synchronisation::kWaitForAll);
  EXPECT_EQ(a.when_full, wire::WhenFull::kDropNewest) << "no program waits unasked";
  const wire::StreamSpec& b = read_ones->at(1);
  EXPECT_EQ(raw(b.id), raw(wire::kFirstStoredStream) + 1);
  EXPECT_EQ(b.aggregation, "sum");
  EXPECT_EQ(b.synchronisation, wire::Synchronisation::kTimeOut);
  EXPECT_EQ(b.time_out_ns, 500 * kMillisecond);
  EXPECT_EQ(b.when_full, wire::WhenFull::kBlock);
}

TEST(StreamOptions, RefuseWhatIsWrongWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"[stream.Energy]\n", "x.toml:1: 'Energy' cannot be the name of a stream"},
      {"[stream.e]\nfilter = \"sum\"\n", "x.toml:2: stream e: a stream has the keys"},
      {"[stream.e]\nsynchronisation = \"soon\"\n", "x.toml:2: stream e: synchronisation is"},
      {"[stream.e]\nsynchronisation = \"time_out 2h\"\n", "x.toml:2: stream e: synchronisation is"},
      {"[stream.e]\nwhen_full = \"wait\"\n", "x.toml:2: stream e: when_full is"},
      {"[stream.e]\nplugin = \"/x.so\"\n", "x.toml:2: stream e: it has a plugin and no"},
      {"[stream.e]\n\naggregation = \"summ\"\n", "x.toml:3: stream e: "},
      {"[stream.e]\naggregation = \"sum\"\nplugin = \"/none/x.so\"\n", "x.toml:3: stream e: "},
  };
  for (const auto& [text, why] : cases) {
    const auto refused = read_streams_of(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message, StartsWith(why)) << text;
  }
  EXPECT_THAT(read_streams_of("[stream.e]\naggregation = \"summ\"\n").error().message,
              HasSubstr("moments"));  // It names those that there are.
}

// What has ended front ends is not loaded by their successors, but every node is told of it.
TEST(StreamOptions, DoNotLoadAPluginWhereTheCallerDoesWithout) {
  std::string file = "/tmp/xylem-no-plugin-XXXXXX";
  const UniqueFd made(::mkstemp(file.data()));
  ASSERT_TRUE(made);
  const auto entries = parse_config(
      "[stream.e]\naggregation = \"odd\"\nplugin = \"" + file + "\"\n[stream.d]\n", "x.toml");
  ASSERT_TRUE(entries);
  const PluginCopies copies = {{file, file}};
  EXPECT_FALSE(read_streams(*entries, "x.toml", copies));
  std::vector<StreamId> asked;
  const auto without = [&](StreamId stream, const auto&) -> Result<void> {
    asked.push_back(stream);
    return {};
  };
  const auto streams = read_streams(*entries, "x.toml", copies, without);
  ASSERT_TRUE(streams) << streams.error().message;
  ASSERT_EQ(streams->size(), 2u);
  EXPECT_EQ(asked, std::vector{streams->at(1).id}) << "d has no plugin";
  EXPECT_EQ(streams->at(1).plugin, file);
  EXPECT_EQ(streams->at(1).aggregation, "odd");
  ::unlink(file.c_str());
}

TEST(StreamOptions, AreNoMoreThanSoMany) {
  std::string text;
  for (std::size_t i = 0; i <= kMaxStreams; ++i) {
    text += "[stream.s" + std::to_string(i) + "]\n";
  }
  const auto refused = read_streams_of(text);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("too many streams"));
}

}  // namespace
}  // namespace xylem::frontend
