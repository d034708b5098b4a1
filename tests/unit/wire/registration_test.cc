#include "wire/registration.h"

#include <capnp/message.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "capture/core/ring.h"
#include "tests/support/hostile_bytes.h"
#include "tests/support/wire_samples.h"
#include "xylem.capnp.h"

namespace xylem::wire {
namespace {

using ::testing::HasSubstr;
using testing::sample_registration;
using testing::sample_registration_of_definitions;

Bytes registration_of(const std::function<void(schema::Registration::Builder)>& fill) {
  capnp::MallocMessageBuilder builder;
  fill(builder.initRoot<schema::Registration>());
  const auto bytes = builder.getSegmentsForOutput()[0].asBytes();
  Bytes copy(bytes.size());
  std::memcpy(copy.data(), bytes.begin(), bytes.size());
  return copy;
}

void expect_refused(const std::function<void(schema::Registration::Builder)>& fill,
                    const char* why) {
  const auto registration = decode_registration(registration_of(fill));
  ASSERT_FALSE(registration) << "taken: " << why;
  EXPECT_EQ(registration.error().code, Code::kCorrupt);
  EXPECT_THAT(registration.error().message, HasSubstr(why));
}

// Valid but for what a test then spoils.
schema::ProcessRow::Builder fill_process(schema::Registration::Builder registration) {
  static const kj::byte kKey[16] = {1};
  auto row = registration.initProcesses(1)[0];
  row.setLane(1);
  row.setWorldKey(capnp::Data::Reader(kKey, sizeof(kKey)));
  row.setRank(1);
  row.setWorldSize(2);
  return row;
}

TEST(Registration, ComesBackAsItWas) {
  const auto back = decode_registration(encode(sample_registration()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample_registration());
  const auto empty = decode_registration(encode(Registration{}));
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(*empty, Registration{});
}

TEST(Registration, CarriesTheDefinitionsOfAProcess) {
  const auto back = decode_registration(encode(sample_registration_of_definitions()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample_registration_of_definitions());
}

TEST(Registration, HoldsManyDefinitions) {
  Registration registration = sample_registration_of_definitions();
  Definitions& definitions = registration.processes[0].definitions;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    definitions.communicators.push_back({CommId{i}, {}, i, CommunicatorKind::kIntra, i, 0});
    definitions.names.push_back({CommId{i}, std::string(i % 250, 'n')});
    definitions.neighbours.push_back({CommId{i}, i % 2 == 0, i, Rank{i}});
  }
  const auto back = decode_registration(encode(registration));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, registration);
}

TEST(Registration, RefusesDefinitionsOfAProcessWithoutAWorld) {
  expect_refused(
      [](auto registration) {
        auto row = registration.initProcesses(1)[0];
        row.setLane(1);
        row.initDefinitions().initMembers(1);
      },
      "a process without a world has definitions other than call sites");
}

TEST(Registration, CarriesTheCallSitesOfAProcessWithoutAWorld) {
  Registration registration;
  ProcessRow row;
  row.lane = Lane{1};
  row.definitions.call_sites = {{CallSiteId{~0ULL}, "/bin/app", {std::byte{0xab}}, ~0ULL},
                                {CallSiteId{1}, "", {}, 0}};
  registration.processes.push_back(row);
  const auto back = decode_registration(encode(registration));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, registration);
}

TEST(Registration, HoldsTheFunctionsOfAnyMpiAndTheProcessesOfAnyHost) {
  Registration registration{"node12", {}, {}};
  for (std::uint16_t id = 0; id < 1000; ++id) {
    registration.functions.push_back(
        {FunctionId{id}, "MPI_" + std::string(id % 50, 'x') + std::to_string(id), 3});
  }
  for (std::uint32_t lane = 1; lane <= 512; ++lane) {
    ProcessRow row;
    row.lane = Lane{lane};
    row.program = std::string(lane % 300, 'p');
    row.clock = lane % 2 == 0 ? "simulated" : "";
    registration.processes.push_back(row);
  }
  const auto back = decode_registration(encode(registration));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, registration);
}

TEST(Registration, SaysNothingOfAWorldBeforeMpiInit) {
  Registration registration = sample_registration();
  ProcessRow& row = registration.processes[0];
  ASSERT_FALSE(row.initialised);
  row.world_key.fill(9);
  row.rank = Rank{9};
  row.world_size = 10;
  const auto back = decode_registration(encode(registration));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->processes[0], sample_registration().processes[0]);
}

TEST(Registration, CutShortAnywhereIsRefused) {
  const Bytes whole = encode(sample_registration());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto back = decode_registration(cut);
    ASSERT_FALSE(back) << "cut to " << size;
    EXPECT_EQ(back.error().code, Code::kCorrupt);
  }
}

TEST(Registration, WithAnyBitFlippedIsRefusedOrIsARegistration) {
  xylem::testing::with_each_bit_flipped(encode(sample_registration()), [](auto bytes) {
    const auto back = decode_registration(bytes);
    if (!back) {
      EXPECT_EQ(back.error().code, Code::kCorrupt);
      return;
    }
    const auto again = decode_registration(encode(*back));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, *back);
  });
}

TEST(Registration, OfWhatCannotBeIsRefused) {
  expect_refused([](auto r) { r.initFunctions(1); }, "no name");
  expect_refused([](auto r) { fill_process(r).setLane(0); }, "number of its leaf");
  expect_refused([](auto r) { fill_process(r).setRank(2); }, "outside its world");
  expect_refused([](auto r) { fill_process(r).initWorldKey(15); }, "not 16 bytes");
  expect_refused([](auto r) { fill_process(r).initWorldKey(17); }, "not 16 bytes");
}

TEST(FunctionClass, HasANameForEachNumberOfTheCaptureLibrary) {
  using capture::FunctionClass;
  const auto name = [](FunctionClass c) {
    return std::string(function_class_name(static_cast<std::uint8_t>(c)));
  };
  EXPECT_EQ(name(FunctionClass::kOther), "other");
  EXPECT_EQ(name(FunctionClass::kPointToPoint), "point_to_point");
  EXPECT_EQ(name(FunctionClass::kCollective), "collective");
  EXPECT_EQ(name(FunctionClass::kCompletion), "completion");
  EXPECT_EQ(name(FunctionClass::kProbe), "probe");
  EXPECT_EQ(name(FunctionClass::kCommunicator), "communicator");
  EXPECT_EQ(name(FunctionClass::kDatatype), "datatype");
  EXPECT_EQ(name(FunctionClass::kOneSided), "one_sided");
  EXPECT_EQ(name(FunctionClass::kFile), "file");
  EXPECT_EQ(name(FunctionClass::kEnvironment), "environment");
  EXPECT_EQ(name(FunctionClass::kTool), "tool");
}

TEST(RecordShape, HasANameForEachNumberOfTheCaptureLibrary) {
  const auto name = [](capture::RecordShape shape) {
    return std::string(record_shape_name(RecordShape{static_cast<std::uint8_t>(raw(shape))}));
  };
  EXPECT_EQ(name(capture::RecordShape::kCounted), "counted");
  EXPECT_EQ(name(capture::RecordShape::kCall), "call");
  EXPECT_EQ(name(capture::RecordShape::kMessage), "message");
  EXPECT_EQ(name(capture::RecordShape::kStart), "start");
  EXPECT_EQ(name(capture::RecordShape::kCompletion), "completion");
  EXPECT_EQ(name(capture::RecordShape::kCollective), "collective");
  EXPECT_EQ(name(capture::RecordShape::kPart), "part");
  EXPECT_EQ(record_shape_name(RecordShape{capture::kRecordShapes}), nullptr);
}

TEST(ThreadLevel, HasMpisNames) {
  std::string names;
  for (unsigned level = 0; level < 7; ++level)
    names += thread_level_name(static_cast<std::uint8_t>(level)) + std::string(" ");
  EXPECT_EQ(names, " single funneled serialized multiple   ");
}

TEST(FunctionClass, IsOtherForNumbersOfALaterVersion) {
  EXPECT_STREQ(function_class_name(11), "other");
  EXPECT_STREQ(function_class_name(255), "other");
}

}  // namespace
}  // namespace xylem::wire
