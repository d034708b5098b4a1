#include "predict/target/presets.h"

#include <gtest/gtest.h>

#include <string>

#include "base/ids.h"
#include "predict/replay/machine.h"
#include "predict/target/target.h"

namespace xylem::predict {
namespace {

/// A preset as if a user had stored it. It names no further files.
LoadedTarget loaded(const Preset& preset) {
  const auto entries = parse_config(std::string(preset.text), std::string(preset.name));
  EXPECT_TRUE(entries) << entries.error().message;
  auto target = read_target(*entries, preset.name);
  EXPECT_TRUE(target) << target.error().message;
  LoadedTarget result;
  result.target = *std::move(target);
  return result;
}

TEST(Presets, CanBeReadAndHaveATopologyAndSeveralCores) {
  ASSERT_FALSE(presets().empty());
  for (const Preset& it : presets()) {
    SCOPED_TRACE(it.name);
    const Target target = loaded(it).target;
    EXPECT_NE(target.topology.kind, TopologyKind::kNone);
    EXPECT_GT(target.cores, 1u);
    EXPECT_FALSE(it.what.empty());
  }
}

TEST(Presets, AreFoundByTheirNames) {
  for (const Preset& it : presets()) EXPECT_EQ(find_preset(it.name), &it);
  EXPECT_EQ(find_preset(""), nullptr);
  EXPECT_EQ(find_preset("ib"), nullptr);
}

TEST(Presets, AreInTheOrderOfTheirSpeed) {
  std::uint64_t before = 0;
  for (const Preset& it : presets()) {
    const std::uint64_t per_byte = raw(loaded(it).target.network.gap_per_byte);
    EXPECT_GT(per_byte, before) << it.name;
    before = per_byte;
  }
}

TEST(Presets, SayWhereEachNumberComesFrom) {
  for (const Preset& it : presets()) {
    std::size_t begin = 0;
    while (begin < it.text.size()) {
      const std::size_t end = it.text.find('\n', begin);
      const std::string line(it.text.substr(begin, end - begin));
      begin = end + 1;
      if (line.find("_ns = ") == std::string::npos || line.front() == '#') continue;
      EXPECT_NE(line.find(" # "), std::string::npos) << it.name << ": " << line;
    }
  }
}

/// The figures that the comments quote, as the replay sees them.
TEST(Presets, TakeTheTimesOfTheirSourcesForAShortMessage) {
  const std::pair<const char*, std::uint64_t> expected[] = {
      {"ib-hdr200", 1000}, {"ib-20g", 1500}, {"10gbe", 10'000}};
  for (const auto& [name, ns] : expected) {
    const Preset* preset = find_preset(name);
    ASSERT_NE(preset, nullptr) << name;
    const Machine machine{loaded(*preset).target.network, {}, {}, nullptr, {}};
    const auto delay = message_delay(machine, Model::kLogGps, 0, 1, 1);
    ASSERT_TRUE(delay) << delay.error().message;
    EXPECT_EQ(delay->total, ns * delay->ticks_per_ns) << name;
  }
}

}  // namespace
}  // namespace xylem::predict
