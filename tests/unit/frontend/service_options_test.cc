#include "frontend/service_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/config.h"

namespace xylem::frontend {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

Result<std::vector<wire::ServiceSpec>> read_services_of(const std::string& text) {
  const auto entries = parse_config(text, "x.toml");
  EXPECT_TRUE(entries) << entries.error().message;
  return read_services(*entries, "x.toml");
}

TEST(ServiceOptions, AProgramIsOneTextWithItsArguments) {
  const auto good = read_services_of("[service.gpu]\nexec = \"/bin/a -b\"\ntimeout = \"2s\"\n");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->at(0).program, "/bin/a -b");
  EXPECT_EQ(good->at(0).timeout_ns, 2 * kSecond);
  const auto list = read_services_of("[service.gpu]\nexec = [\"/bin/a\", \"/bin/b\"]\n");
  ASSERT_FALSE(list);
  EXPECT_THAT(list.error().message,
              StartsWith("x.toml:2: service gpu: it has a program already, '/bin/a'; write"));
}

std::vector<std::string> names_with_built_in(const std::string& text,
                                             const std::string& list = "host,process") {
  auto services = read_services_of(text);
  const auto built_in = read_built_in_services(list);
  if (!services || !built_in) return {"refused"};
  add_built_in_services(*built_in, *services);
  std::vector<std::string> names;
  for (const wire::ServiceSpec& spec : *services) names.push_back(spec.name);
  return names;
}

TEST(ServiceOptions, HaveTheBuiltInServicesAddedThatAreNotNamed) {
  EXPECT_THAT(names_with_built_in(""), ElementsAre("host", "process"));
  EXPECT_THAT(names_with_built_in("", "process"), ElementsAre("process"));
  EXPECT_THAT(names_with_built_in("[service.host]\ninterval = \"2s\"\n"),
              ElementsAre("host", "process"));
  EXPECT_THAT(names_with_built_in("[service.probe]\nexec = \"/bin/a\"\n"),
              ElementsAre("host", "probe", "process"));
}

TEST(ServiceOptions, KeepTheIntervalThatTheFileGives) {
  auto services = read_services_of("[service.host]\ninterval = \"2s\"\n");
  ASSERT_TRUE(services) << services.error().message;
  add_built_in_services({"host"}, *services);
  ASSERT_EQ(services->size(), 1u);
  EXPECT_EQ(services->front().interval_ns, 2 * kSecond);
}

TEST(ServiceOptions, NoneMeansThoseOfTheFileOnly) {
  EXPECT_THAT(names_with_built_in("", "none"), ElementsAre());
  EXPECT_THAT(names_with_built_in("[service.host]\n", "none"), ElementsAre("host"));
}

TEST(ServiceOptions, AListWithAnotherNameIsRefused) {
  for (const char* list : {"", "gpu", "host,", "host process", "none,host", "host,none"}) {
    const auto refused = read_built_in_services(list);
    ASSERT_FALSE(refused) << list;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  }
}

TEST(ServiceOptions, HaveNoneAddedBeyondTheMaximum) {
  std::string text;
  for (std::size_t i = 1; i < wire::kMaxServices; ++i) {
    text += "[service.s" + std::to_string(i) + "]\nexec = \"/bin/a\"\n";
  }
  const auto names = names_with_built_in(text);
  EXPECT_EQ(names.size(), wire::kMaxServices);
  EXPECT_THAT(names, Contains("host"));
  EXPECT_THAT(names, Not(Contains("process")));
}

TEST(ServiceOptions, ATimeOutIsForProgramsOnly) {
  for (const char* name : {"host", "process"}) {
    const auto refused = read_services_of("[service." + std::string(name) +
                                          "]\ninterval = \"1s\"\ntimeout = \"2s\"\n");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message,
                StartsWith("x.toml:3: service " + std::string(name) + ": timeout is for programs"));
  }
}

}  // namespace
}  // namespace xylem::frontend
