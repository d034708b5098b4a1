// Logs of definitions that no honest process writes. What the capture library writes is read in
// tests/unit/capture/core/definition_writer_test.cc.

#include "backend/agent/definition_log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "capture/core/ring.h"

namespace xylem::backend {
namespace {

using capture::DefinitionHead;
using capture::DefinitionKind;

/// Bytes of a log, part by part.
class Log {
 public:
  template <typename Part>
  Log& add(const Part& part) {
    const auto* const from = reinterpret_cast<const std::byte*>(&part);
    bytes_.insert(bytes_.end(), from, from + sizeof part);
    return *this;
  }
  template <typename Payload>
  Log& entry(DefinitionKind kind, const Payload& payload) {
    add(DefinitionHead{kind, sizeof payload, 0}).add(payload);
    bytes_.resize(capture::padded_definition(bytes_.size()));
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

constexpr capture::MemberDefinition kMember{5, 1, 0};

TEST(DefinitionLog, AnEmptyLogHasNothing) {
  const DefinitionBatch batch = read_definitions({});
  EXPECT_EQ(batch.definitions, wire::Definitions{});
  EXPECT_EQ(batch.read, 0u);
  EXPECT_FALSE(batch.is_damaged);
}

TEST(DefinitionLog, AnEntryThatIsCutOffIsLeft) {
  Log log;
  log.entry(DefinitionKind::kMember, kMember);
  const std::size_t one = log.bytes().size();
  log.entry(DefinitionKind::kMember, kMember);
  for (std::size_t size = one; size < 2 * one; ++size) {
    const DefinitionBatch batch = read_definitions(std::span(log.bytes()).first(size));
    EXPECT_EQ(batch.definitions.members.size(), 1u) << size;
    EXPECT_EQ(batch.read, one) << size;
    EXPECT_FALSE(batch.is_damaged) << size;
  }
}

TEST(DefinitionLog, AnEntryThatCannotBeSoLongIsDamage) {
  Log log;
  log.entry(DefinitionKind::kMember, kMember);
  const std::size_t one = log.bytes().size();
  log.add(DefinitionHead{DefinitionKind::kMember, capture::kMaxDefinitionBytes + 1, 0});
  const DefinitionBatch batch = read_definitions(log.bytes());
  EXPECT_EQ(batch.read, one);
  EXPECT_TRUE(batch.is_damaged);
}

TEST(DefinitionLog, UnknownKindsAndShortPayloadsAreSkipped) {
  Log log;
  log.entry(DefinitionKind{999}, kMember);
  for (const DefinitionKind kind :
       {DefinitionKind::kCommunicator, DefinitionKind::kMember, DefinitionKind::kCommunicatorName,
        DefinitionKind::kDimensions, DefinitionKind::kSources, DefinitionKind::kDestinations,
        DefinitionKind::kMappedFile, DefinitionKind::kThread, DefinitionKind::kRecordCost}) {
    log.entry(kind, std::uint16_t{1});
    log.add(DefinitionHead{kind, 0, 0});
  }
  log.entry(DefinitionKind::kMember, kMember);
  const DefinitionBatch batch = read_definitions(log.bytes());
  wire::Definitions expected;
  expected.members = {{5, 1, false}};
  EXPECT_EQ(batch.definitions, expected);
  EXPECT_EQ(batch.read, log.bytes().size());
  EXPECT_FALSE(batch.is_damaged);
}

TEST(DefinitionLog, NegativeSizesAndPlacesAreSkipped) {
  Log log;
  log.entry(DefinitionKind::kCommunicator,
            capture::CommunicatorDefinition{9, 0, 1, capture::CommunicatorKind::kIntra, -1, 0, 0});
  log.entry(DefinitionKind::kCommunicator,
            capture::CommunicatorDefinition{9, 0, 1, capture::CommunicatorKind::kIntra, 1, -1, 0});
  log.entry(DefinitionKind::kMember, capture::MemberDefinition{5, -1, 0});
  EXPECT_EQ(read_definitions(log.bytes()).definitions, wire::Definitions{});
}

TEST(DefinitionLog, ThreadsAndCostsThatCannotBeAreSkipped) {
  Log log;
  log.entry(DefinitionKind::kThread, capture::ThreadDefinition{capture::kMaxThreads, 5, 6});
  log.entry(DefinitionKind::kThread, capture::ThreadDefinition{63, 5, ~0ULL});
  log.entry(DefinitionKind::kRecordCost,
            capture::RecordCostDefinition{capture::RecordShape{capture::kRecordShapes}, 1});
  log.entry(DefinitionKind::kRecordCost,
            capture::RecordCostDefinition{capture::RecordShape::kPart, ~0U});
  const DefinitionBatch batch = read_definitions(log.bytes());
  wire::Definitions expected;
  expected.threads = {{ThreadIndex{63}, 5, std::numeric_limits<Nanos>::max()}};
  expected.record_costs = {{wire::RecordShape::kPart, ~0U}};
  EXPECT_EQ(batch.definitions, expected);
  EXPECT_EQ(batch.read, log.bytes().size());
}

TEST(DefinitionLog, AMappedFileThatCannotBeIsSkipped) {
  Log log;
  log.entry(DefinitionKind::kMappedFile, capture::MappedFile{2, 2, 0, 0, {}});
  log.entry(DefinitionKind::kMappedFile,
            capture::MappedFile{2, 3, 0, capture::kMaxBuildIdBytes + 1, {}});
  log.entry(DefinitionKind::kMappedFile, capture::MappedFile{2, 3, 7, 2, {8, 9, 10}});
  const DefinitionBatch batch = read_definitions(log.bytes());
  EXPECT_EQ(batch.mapped_code,
            (std::vector<MappedCode>{{2, 3, 7, {std::byte{8}, std::byte{9}}, ""}}));
  EXPECT_EQ(batch.definitions, wire::Definitions{});
}

}  // namespace
}  // namespace xylem::backend
