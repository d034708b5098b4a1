#include "wire/fields.h"

#include <capnp/any.h>
#include <capnp/message.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "fields.capnp.h"
#include "tests/support/hostile_bytes.h"
#include "tests/support/random_fields.h"
#include "tests/support/wire_samples.h"
#include "wire/waves.h"

namespace xylem::wire {
namespace {

using ::testing::HasSubstr;
using xylem::testing::any_fields;
using xylem::testing::any_value;

constexpr std::uint64_t kSeed = 20240701;  // Fixed, so that a failure can be repeated.

std::vector<Fields> any_waves(std::mt19937_64& random) {
  std::vector<Fields> waves(random() % 6);
  for (Fields& fields : waves) fields = any_fields(random);
  return waves;
}

// The flat segment of a message that was built by hand.
Bytes flat(capnp::MessageBuilder& message) {
  const auto segments = message.getSegmentsForOutput();
  CHECK(segments.size() == 1);
  const auto bytes = segments[0].asBytes();
  Bytes copy(bytes.size());
  std::memcpy(copy.data(), bytes.begin(), bytes.size());
  return copy;
}

template <typename Decoded>
void expect_corrupt(const Decoded& decoded, const char* why) {
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Code::kCorrupt);
  EXPECT_THAT(decoded.error().message, HasSubstr(why));
}

TEST(Fields, KeepTheirValuesByNumberInOrder) {
  const Fields fields{{7, std::string("seven")}, {2, std::uint64_t{2}}, {5, 0.5}};
  std::vector<FieldNumber> numbers;
  for (const auto& [number, value] : fields) numbers.push_back(number);
  EXPECT_EQ(numbers, (std::vector<FieldNumber>{2, 5, 7}));
  EXPECT_EQ(*fields.get<std::string>(7), "seven");
  EXPECT_EQ(*fields.get<std::uint64_t>(2), 2u);
  EXPECT_EQ(*fields.find_as<double>(5), 0.5);
}

TEST(Fields, HoldEachNumberOnceAndTheLaterCounts) {
  Fields fields{{1, std::int64_t{1}}, {1, std::int64_t{2}}};
  EXPECT_EQ(fields.size(), 1u);
  EXPECT_EQ(*fields.get<std::int64_t>(1), 2);
  fields.set(1, std::string("three"));
  EXPECT_EQ(fields.size(), 1u);
  EXPECT_EQ(*fields.get<std::string>(1), "three");
}

TEST(Fields, SayWhichFieldIsMissing) {
  const Fields fields{{1, std::int64_t{1}}};
  const auto got = fields.get<double>(3);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kNotFound);
  EXPECT_THAT(got.error().message, HasSubstr("no field 3 (float64 wanted)"));
  EXPECT_EQ(fields.find(3), nullptr);
  EXPECT_EQ(fields.find_as<double>(3), nullptr);
}

TEST(Fields, ConvertNothingAndNameBothTypes) {
  const Fields fields{{1, std::int64_t{1}}};
  const auto got = fields.get<std::vector<std::string>>(1);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kInvalidArgument);
  EXPECT_THAT(got.error().message, HasSubstr("field 1 is int64, not array of string"));
  EXPECT_EQ(fields.find_as<std::uint64_t>(1), nullptr);
}

TEST(Fields, AgreeWithAMap) {
  std::mt19937_64 random(kSeed);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", trial " << trial);
    Fields fields;
    std::map<FieldNumber, FieldValue> model;
    for (int i = 0; i < 30; ++i) {
      const auto number = static_cast<FieldNumber>(random() % 20);
      const FieldValue value = static_cast<std::int64_t>(random());
      fields.set(number, value);
      model[number] = value;
    }
    ASSERT_EQ(fields.size(), model.size());
    auto expected = model.begin();
    for (const auto& [number, value] : fields) {
      EXPECT_EQ(number, expected->first);
      EXPECT_EQ(value, expected++->second);
    }
    for (FieldNumber number = 0; number < 20; ++number) {
      EXPECT_EQ(fields.find(number) != nullptr, model.contains(number));
    }
  }
}

TEST(Waves, ComeBackAsTheyWereAndTakeWhatTheySay) {
  std::mt19937_64 random(kSeed);
  for (int trial = 0; trial < 2000; ++trial) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", trial " << trial);
    const auto waves = any_waves(random);
    const Bytes bytes = encode_waves(waves);
    std::size_t size = kWavesHeadBytes;
    for (const Fields& fields : waves) size += fields.bytes();
    EXPECT_EQ(bytes.size(), size);
    const auto decoded = decode_waves(bytes, waves.size());
    ASSERT_TRUE(decoded) << decoded.error().message;
    // By bytes, as a NaN is not equal to itself.
    EXPECT_EQ(encode_waves(*decoded), bytes);
    ASSERT_EQ(decoded->size(), waves.size());
    for (std::size_t i = 0; i < waves.size(); ++i) {
      ASSERT_EQ((*decoded)[i].size(), waves[i].size());
      const Bytes single = encode_fields(waves[i]);
      EXPECT_EQ(single.size(), 8 + waves[i].bytes());
      const auto fields = decode_fields(single);
      ASSERT_TRUE(fields) << fields.error().message;
      EXPECT_EQ(encode_fields(*fields), encode_fields((*decoded)[i]));
    }
  }
}

TEST(Waves, OfOrdinaryValuesAreEqualAfterTheirTravel) {
  const auto waves = testing::sample_waves();
  const auto decoded = decode_waves(encode_waves(waves), waves.size());
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, waves);
}

TEST(Waves, AreReadFromAnyAddress) {
  const auto waves = testing::sample_waves();
  const Bytes bytes = encode_waves(waves);
  for (std::size_t shift = 1; shift < 8; ++shift) {
    Bytes shifted(shift);
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    const auto decoded = decode_waves(std::span(shifted).subspan(shift), waves.size());
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, waves);
  }
}

TEST(Waves, AreRefusedWhenTheyAreNotSoMany) {
  const auto waves = testing::sample_waves();
  const Bytes bytes = encode_waves(waves);
  expect_corrupt(decode_waves(bytes, waves.size() + 1), "waves and not");
  expect_corrupt(decode_waves(bytes, 0), "waves and not 0");
}

TEST(Waves, AreRefusedWhenCutShort) {
  const auto waves = testing::sample_waves();
  const Bytes bytes = encode_waves(waves);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto decoded = decode_waves(std::span(bytes).first(size), waves.size());
    ASSERT_FALSE(decoded) << size;
    EXPECT_EQ(decoded.error().code, Code::kCorrupt);
  }
}

TEST(Waves, SurviveEachFlippedBit) {
  const auto waves = testing::sample_waves();
  xylem::testing::with_each_bit_flipped(encode_waves(waves), [&](std::span<const std::byte> bytes) {
    const auto decoded = decode_waves(bytes, waves.size());
    if (!decoded) {
      EXPECT_EQ(decoded.error().code, Code::kCorrupt);
      return;
    }
    const auto again = decode_waves(encode_waves(*decoded), decoded->size());
    EXPECT_TRUE(again);
  });
}

TEST(Waves, SurviveInjuries) {
  std::mt19937_64 random(kSeed);
  for (int trial = 0; trial < 20000; ++trial) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", trial " << trial);
    const auto waves = any_waves(random);
    const Bytes bytes = xylem::testing::injured(encode_waves(waves), random);
    if (const auto decoded = decode_waves(bytes, waves.size())) {
      EXPECT_EQ(decoded->size(), waves.size());
    } else {
      EXPECT_EQ(decoded.error().code, Code::kCorrupt);
    }
  }
}

TEST(Waves, AreRefusedWhenTheNumbersDoNotAscend) {
  for (const int second : {3, 2}) {
    capnp::MallocMessageBuilder message;
    auto list = message.initRoot<schema::Fields>().initFields(2);
    list[0].setNumber(3);
    list[1].setNumber(static_cast<std::uint16_t>(second));
    expect_corrupt(decode_fields(flat(message)), "not in order of their numbers");
  }
}

TEST(Waves, AreRefusedWhenAFieldIsOfATypeOfTheFuture) {
  Bytes bytes = encode_fields(Fields{{1, std::int64_t{5}}});
  // Root pointer, list pointer, tag; then number and type, two bytes each.
  constexpr std::size_t kTypeAt = 3 * 8 + 2;
  bytes[kTypeAt] = std::byte{200};
  expect_corrupt(decode_fields(bytes), "type that this version does not know");
}

TEST(Waves, AreRefusedWhenTheirListsOverlap) {
  Fields many;
  for (FieldNumber i = 0; i < 8; ++i) many.set(i, std::int64_t{i});
  Bytes bytes = encode_waves(std::vector<Fields>{many, {}});
  // Root pointer, pointer to the list of waves, tag; then a pointer for each wave. A pointer counts
  // from its own end, so the second leads to the first's list when it says one word less.
  constexpr std::size_t kFirst = 3 * 8;
  constexpr std::size_t kSecond = 4 * 8;
  std::copy_n(bytes.begin() + kFirst, 8, bytes.begin() + kSecond);
  std::uint32_t offset = 0;
  std::memcpy(&offset, bytes.data() + kSecond, sizeof(offset));
  offset -= 1u << 2;
  std::memcpy(bytes.data() + kSecond, &offset, sizeof(offset));
  expect_corrupt(decode_waves(bytes, 2), "lists are longer than it");
}

TEST(Waves, AreRefusedWhenAnArrayIsOneOfStructs) {
  capnp::MallocMessageBuilder message;
  auto fields = message.getRoot<capnp::AnyPointer>().initAsAnyStruct(0, 1);
  auto list = fields.getPointerSection()[0].initAsListOfAnyStruct(2, 1, 1);
  // A pointer to a list of structs where one to a list of numbers belongs.
  list[0].getPointerSection()[0].initAsListOfAnyStruct(2, 1, 4);
  Bytes bytes = flat(message);
  constexpr std::size_t kTypeAt = 3 * 8 + 2;
  bytes[kTypeAt] = std::byte{5};  // array of int64
  expect_corrupt(decode_fields(bytes), "cannot be read");
}

}  // namespace
}  // namespace xylem::wire
