#include "frontend/service_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/config.h"

namespace xylem::frontend {
namespace {

using ::testing::StartsWith;

Result<std::vector<wire::ServiceSpec>> read(const std::string& text) {
  const auto entries = parse_config(text, "x.toml");
  EXPECT_TRUE(entries) << entries.error().message;
  return read_services(*entries, "x.toml");
}

TEST(ServiceOptions, AProgramIsOneTextWithItsArguments) {
  const auto good = read("[service.gpu]\nexec = \"/bin/a -b\"\ntimeout = \"2s\"\n");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->at(0).program, "/bin/a -b");
  EXPECT_EQ(good->at(0).timeout_ns, 2 * kSecond);
  const auto list = read("[service.gpu]\nexec = [\"/bin/a\", \"/bin/b\"]\n");
  ASSERT_FALSE(list);
  EXPECT_THAT(list.error().message,
              StartsWith("x.toml:2: service gpu: it has a program already, '/bin/a'; write"));
}

TEST(ServiceOptions, ATimeOutIsForProgramsOnly) {
  for (const char* name : {"host", "process"}) {
    const auto refused =
        read("[service." + std::string(name) + "]\ninterval = \"1s\"\ntimeout = \"2s\"\n");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message,
                StartsWith("x.toml:3: service " + std::string(name) + ": timeout is for programs"));
  }
}

}  // namespace
}  // namespace xylem::frontend
