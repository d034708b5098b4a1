#include "backend/leaf/timed_record.h"

#include <gtest/gtest.h>

namespace xylem::backend {
namespace {

capture::Record made(std::uint16_t flags) {
  capture::Record record{};
  record.function = 17;
  record.calls = 1;
  record.bytes = 24;
  record.room = 400;
  record.flags = flags;
  record.peer = 3;
  record.tag = 7;
  record.cpu = 5;
  return record;
}

wire::Event converted(const capture::Record& record) {
  return event_of(record, 100, 250, ThreadIndex{2});
}

TEST(TimedRecord, AReceiveKeepsItsBufferAndItsTag) {
  const wire::Event event =
      converted(made(capture::kRecordReceive | capture::kRecordHasBuffer | capture::kRecordAnyTag));
  EXPECT_EQ(wire::posted_bytes_of(event), 400u);
  EXPECT_EQ(wire::received_bytes_of(event), std::nullopt);
  EXPECT_EQ(event.bytes, 24u);
  EXPECT_EQ(event.tag, 7);
  EXPECT_EQ(event.cpu, 5);
  EXPECT_EQ(event.calls, 1u);
  EXPECT_EQ(raw(event.thread), 2u);
  EXPECT_EQ(wire::operation_name(event), nullptr);
  EXPECT_NE(event.flags & wire::kEventAnyTag, 0);
}

TEST(TimedRecord, TheTagOfACollectiveIsItsOperation) {
  capture::Record record = made(capture::kRecordCollective);
  record.tag = static_cast<std::int32_t>(capture::ReduceOperation::kSum);
  const wire::Event sum = converted(record);
  EXPECT_EQ(sum.tag, wire::kNoTag);
  EXPECT_STREQ(wire::operation_name(sum), "sum");
  EXPECT_EQ(wire::received_bytes_of(sum), 400u);
  EXPECT_EQ(wire::posted_bytes_of(sum), std::nullopt);

  record.tag = capture::kNoTag;
  EXPECT_EQ(wire::operation_name(converted(record)), nullptr);
  record.tag = -5;  // Of a hostile process.
  EXPECT_STREQ(wire::operation_name(converted(record)), "user");
}

TEST(TimedRecord, AFailedCallHasItsResultAndNoSize) {
  capture::Record record = made(0);
  capture::set_result(record, -3);
  const wire::Event event = converted(record);
  EXPECT_EQ(event.result, -3);
  EXPECT_EQ(event.room, 0u);
  EXPECT_EQ(converted(made(0)).result, 0);
}

TEST(TimedRecord, APartStandsForNoCall) {
  const wire::Event block = converted(made(capture::kRecordPart | capture::kRecordBlock));
  EXPECT_EQ(block.calls, 0u);
  EXPECT_STREQ(wire::event_kind_name(block), "block");
  EXPECT_EQ(wire::received_bytes_of(block), 400u);
  EXPECT_EQ(block.flags, wire::kEventBlock);
}

}  // namespace
}  // namespace xylem::backend
