// The golden frames: bytes that earlier versions wrote, decoded for ever.
//
// A golden file that must change is a break of the wire. So the generator, which is
//
//   wire_test --write-golden=tests/golden/wire
//
// writes those that are missing and leaves the others alone.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tests/support/golden_bytes.h"
#include "tests/support/wire_samples.h"
#include "wire/waves.h"

namespace xylem::wire {
namespace {

using xylem::testing::read_hex;
using xylem::testing::write_hex;

const std::filesystem::path kGolden = XYLEM_GOLDEN_DIR;

Bytes golden(const std::string& name) {
  const auto bytes = read_hex(kGolden / (name + ".hex"));
  EXPECT_FALSE(bytes.empty()) << name << ".hex is missing or is no hex";
  return bytes;
}

TEST(Golden, EveryMessageIsReadAsItWasMeant) {
  for (const auto& [name, message] : testing::sample_messages()) {
    SCOPED_TRACE(name);
    const Bytes frame = golden(name);
    const auto length = frame_length(frame, kMaxFrameBytes);
    ASSERT_TRUE(length) << length.error().message;
    ASSERT_EQ(*length, frame.size() - 4);
    const auto read = decode(std::span(frame).subspan(4));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, message);
  }
}

TEST(Golden, APacketWithItsPayloadBehindIsReadAsItWasMeant) {
  const Bytes flat = golden("packet"), pieces = golden("packet_in_pieces");
  const auto read = decode(std::span(pieces).subspan(4));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, *decode(std::span(flat).subspan(4)));
}

TEST(Golden, EveryPayloadIsReadAsItWasMeant) {
  const auto registration = decode_registration(golden("registration"));
  ASSERT_TRUE(registration) << registration.error().message;
  EXPECT_EQ(*registration, testing::sample_registration());

  const auto services = decode_registration(golden("registration_of_services"));
  ASSERT_TRUE(services) << services.error().message;
  EXPECT_EQ(*services, testing::sample_registration_of_services());

  const auto definitions = decode_registration(golden("registration_of_definitions"));
  ASSERT_TRUE(definitions) << definitions.error().message;
  EXPECT_EQ(*definitions, testing::sample_registration_of_definitions());

  const auto processors = decode_registration(golden("registration_of_processors"));
  ASSERT_TRUE(processors) << processors.error().message;
  EXPECT_EQ(*processors, testing::sample_registration_of_processors());

  const auto threads = decode_registration(golden("registration_of_threads"));
  ASSERT_TRUE(threads) << threads.error().message;
  EXPECT_EQ(*threads, testing::sample_registration_of_threads());

  const auto series = decode_series(golden("series"));
  ASSERT_TRUE(series) << series.error().message;
  EXPECT_EQ(encode(*series), encode(testing::sample_series()));

  const auto tombstone = decode_tombstone(golden("tombstone"));
  ASSERT_TRUE(tombstone) << tombstone.error().message;
  EXPECT_EQ(*tombstone, testing::sample_tombstone());

  const auto of_window = decode_tombstone(golden("tombstone_of_window"));
  ASSERT_TRUE(of_window) << of_window.error().message;
  EXPECT_EQ(*of_window, testing::sample_tombstone_of_window());

  const auto window = decode_profile_window(golden("window"));
  ASSERT_TRUE(window) << window.error().message;
  EXPECT_EQ(*window, testing::sample_window());

  const auto under_way = decode_profile_window(golden("window_of_calls_under_way"));
  ASSERT_TRUE(under_way) << under_way.error().message;
  EXPECT_EQ(*under_way, testing::sample_window_of_calls_under_way());

  const auto chunk = decode_chunk(golden("chunk"));
  ASSERT_TRUE(chunk) << chunk.error().message;
  EXPECT_EQ(*chunk, testing::sample_events());

  const auto waves = decode_waves(golden("waves"), testing::sample_waves().size());
  ASSERT_TRUE(waves) << waves.error().message;
  EXPECT_EQ(*waves, testing::sample_waves());

  const auto fields = decode_fields(golden("fields"));
  ASSERT_TRUE(fields) << fields.error().message;
  EXPECT_EQ(*fields, testing::sample_waves().front());
}

bool write_golden(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const Bytes& bytes) {
    const auto file = folder / (name + ".hex");
    if (std::filesystem::exists(file)) return true;
    std::cout << "writing " << file << "\n";
    return write_hex(file, bytes);
  };
  bool good = true;
  for (const auto& [name, message] : testing::sample_messages()) {
    good = write(name, encode(message)) && good;
    if (name == "packet") good = write("packet_in_pieces", encode(message)) && good;
  }
  good = write("registration", encode(testing::sample_registration())) && good;
  good =
      write("registration_of_definitions", encode(testing::sample_registration_of_definitions())) &&
      write("registration_of_processors", encode(testing::sample_registration_of_processors())) &&
      write("registration_of_threads", encode(testing::sample_registration_of_threads())) &&
      write("registration_of_services", encode(testing::sample_registration_of_services())) && good;
  good = write("series", encode(testing::sample_series())) && good;
  good = write("tombstone", encode(testing::sample_tombstone())) && good;
  good = write("tombstone_of_window", encode(testing::sample_tombstone_of_window())) && good;
  good = write("window", encode(testing::sample_window())) && good;
  good = write("window_of_calls_under_way", encode(testing::sample_window_of_calls_under_way())) &&
         good;
  good = write("chunk", ChunkEncoder().encode(testing::sample_events())) && good;
  good = write("waves", encode_waves(testing::sample_waves())) && good;
  good = write("fields", encode_fields(testing::sample_waves().front())) && good;
  return good;
}

}  // namespace
}  // namespace xylem::wire

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kOption = "--write-golden=";
  if (argc == 2 && std::string_view(argv[1]).starts_with(kOption)) {
    return xylem::wire::write_golden(argv[1] + kOption.size()) ? 0 : 1;
  }
  return RUN_ALL_TESTS();
}
