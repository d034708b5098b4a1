// `xylem calibrate` without a measurement: what it refuses, and how it prints a result.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/calibrate_command.h"
#include "cli/calibrate_text.h"
#include "cli/exit_code.h"

namespace xylem {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

predict::Samples samples_of(const std::string& second_host) {
  predict::Samples samples;
  samples.library = "/lib/libmpi.so.40";
  samples.hosts[0] = "node01";
  samples.hosts[1] = second_host;
  samples.cores = 8;
  return samples;
}

predict::Calibration calibration() {
  predict::Calibration of;
  of.rounds = 50;
  of.latency = {1300, 1200.4, 1400};
  of.overhead = {500, 490, 510};
  of.send_overhead = {400, 390, 410};
  of.receive_overhead = {600, 590, 610};
  of.gap = {700.25, 690, 710};
  of.gap_per_byte = {0.4, 0.39, 0.41};
  of.overhead_per_byte = {0, 0, 0.01};
  of.eager = {4040, 4041};
  of.checks = {{2048, 3000, 3300}};
  of.doubts = {"Something is odd"};
  return of;
}

TEST(CalibrateText, HasATableOfFigures) {
  EXPECT_EQ(calibration_text(calibration(), samples_of("node02")),
            "50 rounds between node01 and node02, with /lib/libmpi.so.40\n"
            "     figure                     ns   95 % interval\n"
            "  L  latency                 1,300  1,200 to 1,400\n"
            "  o  processor, per message    500      490 to 510\n"
            "       MPI_Send                400      390 to 410\n"
            "       MPI_Recv                600      590 to 610\n"
            "  g  NIC, per message        700.2      690 to 710\n"
            "  G  NIC, per byte             0.4    0.39 to 0.41\n"
            "  O  processor, per byte         0       0 to 0.01\n"
            "  S: sends of up to 4,040 bytes return at once, of 4,041 bytes wait\n"
            "  half a round trip, of sizes that the estimate has not used:\n"
            "  bytes  measured ns  predicted ns   error\n"
            "  2,048        3,000         3,300  10.0 %\n"
            "  Something is odd.\n");
}

TEST(CalibrateText, SaysThatOneHostHasNoNetwork) {
  const std::string text = calibration_text(calibration(), samples_of("node01"));
  EXPECT_THAT(text, HasSubstr("two ranks on node01"));
  EXPECT_THAT(text, HasSubstr("A network needs ranks on two hosts."));
  EXPECT_THAT(text, HasSubstr("latency of the memory"));
}

TEST(CalibrateText, HasNoControlCodesOfOtherHosts) {
  EXPECT_THAT(calibration_text(calibration(), samples_of("a\x1b[2Jb")), Not(HasSubstr("\x1b")));
}

TEST(CalibrateText, HasTheDiskIfItWasMeasured) {
  predict::Samples samples = samples_of("node02");
  samples.read = {{4096, std::vector<double>(20, 90'000)},
                  {1 << 20, std::vector<double>(20, 524'288)}};
  const std::string text = calibration_text(calibration(), samples);
  EXPECT_THAT(text, HasSubstr("read      4,096  90,000  90,000 to 90,000  ns\n"));
  EXPECT_THAT(text, HasSubstr("read  1,048,576       2            2 to 2  bytes/ns\n"));
  EXPECT_THAT(text, HasSubstr("refuses O_DIRECT"));
}

TEST(CalibrateJson, HasAllFigures) {
  auto samples = samples_of("node02");
  samples.write = {{4096, std::vector<double>(20, 90'000)}};
  const auto json = boost::json::parse(calibration_json(calibration(), samples)).as_object();
  EXPECT_EQ(json.at("view").as_string(), "calibrate");
  EXPECT_EQ(json.at("hosts").as_array().size(), 2u);
  EXPECT_FALSE(json.at("one_host").as_bool());
  EXPECT_EQ(json.at("latency_ns").at("low").to_number<double>(), 1200.4);
  EXPECT_EQ(json.at("gap_ns").at("value").to_number<double>(), 700.25);
  EXPECT_EQ(json.at("eager_bytes").to_number<int>(), 4040);
  EXPECT_EQ(json.at("waiting_bytes").to_number<int>(), 4041);
  EXPECT_EQ(json.at("checks").at(0).at("predicted_ns").to_number<double>(), 3300);
  EXPECT_EQ(json.at("doubts").at(0).as_string(), "Something is odd");
  EXPECT_EQ(json.at("disk").at("write").at("latency_ns").at("value").to_number<double>(), 90'000);
}

TEST(CalibrateJson, HasNoWaitingSizeIfNoneWaited) {
  predict::Calibration of = calibration();
  of.eager = {1 << 22, 0};
  const auto json = boost::json::parse(calibration_json(of, samples_of("node02"))).as_object();
  EXPECT_TRUE(json.at("waiting_bytes").is_null());
  EXPECT_FALSE(json.contains("disk"));
  EXPECT_THAT(calibration_text(of, samples_of("node02")), HasSubstr("larger ones were not tried"));
}

TEST(CalibrateCommand, StartsNothingIfAnOptionIsWrong) {
  const auto refusal = [](const CalibrateOptions& options, std::vector<std::string> launcher) {
    std::ostringstream out, err;
    EXPECT_EQ(run_calibrate(options, launcher, out, err), kExitUsage);
    EXPECT_EQ(out.str(), "");
    return err.str();
  };
  CalibrateOptions options;
  EXPECT_THAT(refusal(options, {}), HasSubstr("xylem calibrate: there is no launcher"));
  options.repetitions = 9;
  EXPECT_THAT(refusal(options, {"true"}), HasSubstr("from 10 to 10,000"));
  options.repetitions = 10'001;
  EXPECT_THAT(refusal(options, {"true"}), HasSubstr("from 10 to 10,000"));
  options = {};
  options.limit = kSecond - 1;
  EXPECT_THAT(refusal(options, {"true"}), HasSubstr("--limit"));
  options = {};
  options.output = "/";
  EXPECT_THAT(refusal(options, {"true"}), HasSubstr("/: exists"));
}

}  // namespace
}  // namespace xylem
