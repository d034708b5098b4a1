// The log of definitions, as the agent reads it. threads_test.cc has the program's main().

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "backend/agent/definition_log.h"
#include "capture/core/definition_writer_internal.h"
#include "capture/core/process_internal.h"

namespace xylem::capture {
namespace {

/// The header of a segment, with its log behind it.
class DefinitionWriterTest : public ::testing::Test {
 protected:
  DefinitionWriterTest() {
    // Behind a child of fork(), the gate would be closed.
    EXPECT_NE(process.gate->enabled.load(), nullptr);
    writer_.begin(&segment());
  }

  SegmentHeader& segment() { return *reinterpret_cast<SegmentHeader*>(memory_.get()); }

  /// As the agent: reads all new definitions, and lets the writer use their room again.
  wire::Definitions read() { return read_all().definitions; }
  backend::DefinitionBatch read_all() {
    DefinitionLog& log = segment().definitions;
    std::vector<std::byte> bytes;
    const std::uint64_t tail = log.tail.load();
    for (std::uint64_t at = tail; at != log.head.load(); ++at)
      bytes.push_back(memory_[definitions_offset() + at % kDefinitionBytes]);
    backend::DefinitionBatch batch = backend::read_definitions(bytes);
    EXPECT_EQ(batch.read, bytes.size());
    EXPECT_FALSE(batch.is_damaged);
    log.tail.store(tail + batch.read);
    return batch;
  }
  std::uint64_t dropped() { return segment().definitions.dropped.load(); }

  std::unique_ptr<std::byte[]> memory_ =
      std::make_unique<std::byte[]>(definitions_offset() + kDefinitionBytes);
  DefinitionWriter writer_;
};

TEST_F(DefinitionWriterTest, TheAgentReadsWhatWasWritten) {
  writer_.communicator({77, kNoComm, 5, CommunicatorKind::kCartesian, 6, 0, 0});
  writer_.communicator({78, 77, 6, CommunicatorKind::kInter, 2, 4, 0});
  writer_.member({6, 3, 1});
  writer_.name(78, "halo\nexchange");
  const Dimension dimensions[] = {{3, 1}, {2, 0}};
  writer_.dimensions(77, dimensions, 2);
  const std::int32_t ranks[] = {5, kNoPeer};
  writer_.neighbours(DefinitionKind::kSources, 77, ranks, 2);
  writer_.neighbours(DefinitionKind::kDestinations, 77, ranks, 1);

  wire::Definitions expected;
  expected.communicators = {{CommId{77}, std::nullopt, 5, wire::CommunicatorKind::kCartesian, 6, 0},
                            {CommId{78}, CommId{77}, 6, wire::CommunicatorKind::kInter, 2, 4}};
  expected.members = {{6, 3, true}};
  expected.names = {{CommId{78}, "halo?exchange"}};
  expected.dimensions = {{CommId{77}, 0, 3, true}, {CommId{77}, 1, 2, false}};
  expected.neighbours = {{CommId{77}, true, 0, Rank{5}},
                         {CommId{77}, true, 1, std::nullopt},
                         {CommId{77}, false, 0, Rank{5}}};
  EXPECT_EQ(read(), expected);
}

TEST_F(DefinitionWriterTest, AMappedFileHasItsWholePathIfAnEntryHasRoomForIt) {
  const std::string longest(kMaxDefinitionBytes - sizeof(MappedFile), 'p');
  writer_.mapped_file({0x1000, 0x2000, 0x300, 1, {9}}, "/usr/lib/a library\n.so");
  writer_.mapped_file({1, 2, 3, 0, {}}, (longest + "cut").c_str());
  const std::vector<backend::MappedCode> expected = {
      {0x1000, 0x2000, 0x300, {std::byte{9}}, "/usr/lib/a library\n.so"}, {1, 2, 3, {}, longest}};
  EXPECT_EQ(read_all().mapped_code, expected);
}

TEST_F(DefinitionWriterTest, ALongListIsCutIntoEntries) {
  std::vector<std::int32_t> ranks(5000);
  std::iota(ranks.begin(), ranks.end(), 0);
  writer_.neighbours(DefinitionKind::kSources, 9, ranks.data(), 5000);
  const wire::Definitions found = read();
  ASSERT_EQ(found.neighbours.size(), ranks.size());
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    EXPECT_EQ(found.neighbours[i], (wire::NeighbourRow{CommId{9}, true, i, Rank{i}}));
  }
}

TEST_F(DefinitionWriterTest, GoesRoundManyTimes) {
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    writer_.name(i, std::string(i % 100, 'x').c_str());
    const wire::Definitions found = read();
    ASSERT_EQ(found.names.size(), 1u);
    ASSERT_EQ(found.names[0], (wire::CommunicatorNameRow{CommId{i}, std::string(i % 100, 'x')}));
  }
  EXPECT_EQ(dropped(), 0u);
}

TEST_F(DefinitionWriterTest, WhatHasNoRoomIsCountedAndTheRestStays) {
  constexpr std::uint32_t kMany = 60'000;
  for (std::uint32_t i = 0; i < kMany; ++i) writer_.member({i, 0, 0});
  const wire::Definitions found = read();
  EXPECT_EQ(found.members.size() + dropped(), kMany);
  EXPECT_GT(dropped(), 0u);
  for (std::uint32_t i = 0; i < found.members.size(); ++i) ASSERT_EQ(found.members[i].group, i);
  writer_.member({kMany, 0, 0});
  EXPECT_EQ(read().members.size(), 1u);
}

TEST_F(DefinitionWriterTest, WritesNothingIfTheTailIsImpossible) {
  segment().definitions.tail.store(1000);
  writer_.member({1, 0, 0});
  EXPECT_EQ(segment().definitions.head.load(), 0u);
  EXPECT_EQ(dropped(), 1u);
}

TEST_F(DefinitionWriterTest, SeveralThreadsWriteWholeEntries) {
  constexpr std::uint32_t kEach = 1000;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (std::uint32_t i = 0; i < kEach; ++i) writer_.member({std::uint64_t{t} << 32 | i, 0, 0});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const wire::Definitions found = read();
  EXPECT_EQ(found.members.size() + dropped(), 4 * kEach);
  std::uint32_t next[4] = {};
  for (const wire::MemberRow& row : found.members) {
    std::uint32_t& expected = next[row.group >> 32];
    EXPECT_GE(static_cast<std::uint32_t>(row.group), expected);
    expected = static_cast<std::uint32_t>(row.group) + 1;
  }
}

}  // namespace
}  // namespace xylem::capture
