#include "wire/chunk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <random>
#include <string>

#include "tests/support/event_streams.h"
#include "tests/support/golden_bytes.h"
#include "tests/support/hostile_bytes.h"
#include "wire/columns_internal.h"

namespace xylem::wire {

/// How a failed test names an event.
void PrintTo(const Event& e, std::ostream* out) {
  *out << e.begin_ns << ".." << e.end_ns << " function " << raw(e.function) << " kind " << +e.kind
       << " flags " << +e.flags << " thread " << raw(e.thread) << " peer " << e.peer << " bytes "
       << e.bytes << " tag " << e.tag << " comm " << raw(e.comm) << " request " << e.request
       << " result " << e.result << " calls " << e.calls << " number " << e.number << " room "
       << e.room << " cpu " << e.cpu << " operation " << +e.operation << " site " << raw(e.site);
}

namespace {

constexpr std::uint64_t kMaxRoom = (std::uint64_t{1} << 48) - 1;

constexpr std::size_t kSizes[] = {1,   2,   3,   7,   8,    23,   24,   25,   255,
                                  256, 511, 512, 513, 1000, 1535, 4095, 4096, kMaxChunkEvents};

Bytes encoded(std::span<const Event> events) {
  ChunkEncoder encoder;
  return encoder.encode(events);
}

void expect_round_trip(std::span<const Event> events) {
  const Bytes chunk = encoded(events);
  EXPECT_LE(chunk.size(), kMaxChunkBytes);
  const auto decoded = decode_chunk(chunk);
  ASSERT_TRUE(decoded) << decoded.error().message;
  ASSERT_EQ(decoded->size(), events.size());
  const auto [ours, theirs] = std::mismatch(decoded->begin(), decoded->end(), events.begin());
  if (ours == decoded->end()) return;
  ADD_FAILURE() << "event " << ours - decoded->begin() << " is " << ::testing::PrintToString(*ours)
                << "\ninstead of " << ::testing::PrintToString(*theirs);
}

ChunkSummary summary_of(std::span<const Event> events) {
  ChunkSummary summary{static_cast<std::uint32_t>(events.size()), 0,
                       std::numeric_limits<Nanos>::max(), std::numeric_limits<Nanos>::min()};
  for (const Event& event : events) {
    summary.calls += event.calls;
    summary.begin_ns = std::min(summary.begin_ns, event.begin_ns);
    summary.end_ns = std::max(summary.end_ns, event.end_ns);
  }
  return summary;
}

/// A chunk whose checksum fits whatever stands behind it: how decoders are reached past it.
Bytes with_checksum(std::span<const std::byte> body) {
  Bytes chunk{std::byte{kChunkVersion}};
  internal::append_u64(chunk, internal::checksum(body));
  chunk.insert(chunk.end(), body.begin(), body.end());
  return chunk;
}

std::span<const std::byte> body_of(const Bytes& chunk) { return std::span(chunk).subspan(1 + 8); }

void expect_corrupt(std::span<const std::byte> chunk, const std::string& trouble = "") {
  const auto decoded = decode_chunk(chunk);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Code::kCorrupt);
  EXPECT_NE(decoded.error().message.find(trouble), std::string::npos) << decoded.error().message;
}

double bytes_per_event(std::span<const Event> events) {
  return static_cast<double>(encoded(events).size()) / static_cast<double>(events.size());
}

TEST(Chunk, GivesBackTheEventsOfEveryKindOfStreamAtEverySize) {
  constexpr std::uint64_t kSeed = 20240611;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  for (const std::size_t size : kSizes) {
    SCOPED_TRACE(::testing::Message() << size << " events");
    expect_round_trip(xylem::testing::hpl_like_events(size, kSeed));
    expect_round_trip(xylem::testing::lammps_like_events(size, kSeed));
    expect_round_trip(xylem::testing::exchange_events(size, kSeed));
    expect_round_trip(xylem::testing::threaded_events(size, kSeed, 5));
    expect_round_trip(xylem::testing::random_events(size, kSeed));
  }
}

TEST(Chunk, GivesBackRandomEventsForAnySizeAndMixture) {
  std::mt19937_64 random(20240612);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint64_t seed = random();
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    auto events = xylem::testing::hpl_like_events(1 + random() % 700, seed);
    const auto wild = xylem::testing::random_events(1 + random() % 300, seed);
    events.insert(events.begin() + static_cast<std::ptrdiff_t>(random() % events.size()),
                  wild.begin(), wild.end());
    expect_round_trip(events);
    std::shuffle(events.begin(), events.end(), random);
    expect_round_trip(events);
  }
}

TEST(Chunk, GivesBackEachExtremeOfEachField) {
  const auto with = [](auto set) {
    Event event;
    set(event);
    return event;
  };
  constexpr auto kLow = std::numeric_limits<std::int32_t>::min();
  constexpr auto kHigh = std::numeric_limits<std::int32_t>::max();
  constexpr auto kEarly = std::numeric_limits<Nanos>::min();
  constexpr auto kLate = std::numeric_limits<Nanos>::max();
  const std::vector<Event> events{
      Event{},
      with([](Event& e) { e.begin_ns = kEarly, e.end_ns = kLate; }),
      with([](Event& e) { e.begin_ns = kLate, e.end_ns = kEarly; }),
      with([](Event& e) { e.begin_ns = e.end_ns = kEarly; }),
      with([](Event& e) { e.begin_ns = e.end_ns = kLate; }),
      with([](Event& e) { e.request = ~0ULL; }),
      with([](Event& e) { e.bytes = ~0ULL; }),
      with([](Event& e) { e.comm = CommId{0}; }),
      with([](Event& e) { e.comm = CommId{0xfffffffe}; }),
      with([](Event& e) { e.peer = kLow; }),
      with([](Event& e) { e.peer = kHigh; }),
      with([](Event& e) { e.tag = kHigh; }),
      with([](Event& e) { e.tag = -1; }),
      with([](Event& e) { e.result = kLow; }),
      with([](Event& e) { e.result = kHigh; }),
      with([](Event& e) { e.calls = 0; }),
      with([](Event& e) { e.calls = 0xffffffff; }),
      with([](Event& e) { e.thread = ThreadIndex{0xffffffff}; }),
      with([](Event& e) { e.function = FunctionId{0xffff}; }),
      with([](Event& e) { e.kind = 0xff; }),
      with([](Event& e) { e.flags = 0xffff; }),
      with([](Event& e) { e.room = kMaxRoom; }),
      with([](Event& e) { e.site = CallSiteId{1}; }),
      with([](Event& e) { e.site = CallSiteId{~0ULL}; }),
      with([](Event& e) { e.cpu = 0; }),
      with([](Event& e) { e.cpu = 0xfffe; }),
      with([](Event& e) { e.operation = 0; }),
      with([](Event& e) { e.operation = 0xfe; }),
  };
  expect_round_trip(events);
  for (const Event& event : events) expect_round_trip({&event, 1});
}

TEST(Chunk, StaysWithinItsBoundWhenNothingRepeats) {
  std::mt19937_64 random(20240613);
  std::vector<Event> events(kMaxChunkEvents);
  for (Event& event : events) {
    const auto u32 = [&random] { return static_cast<std::uint32_t>(random()); };
    const auto u16 = [&random] { return static_cast<std::uint16_t>(random()); };
    event = Event{.begin_ns = static_cast<Nanos>(random()),
                  .end_ns = static_cast<Nanos>(random()),
                  .request = random(),
                  .bytes = random(),
                  .room = random() & kMaxRoom,
                  .site = CallSiteId{random()},
                  .comm = CommId{u32()},
                  .peer = static_cast<std::int32_t>(u32()),
                  .tag = static_cast<std::int32_t>(u32()),
                  .result = static_cast<std::int32_t>(u32()),
                  .calls = u32(),
                  .thread = ThreadIndex{u32()},
                  .number = u32(),
                  .function = FunctionId{u16()},
                  .flags = static_cast<std::uint16_t>(u16() | kEventNumbered),
                  .cpu = u16(),
                  .kind = static_cast<std::uint8_t>(u16()),
                  .operation = static_cast<std::uint8_t>(u16())};
  }
  expect_round_trip(events);
}

TEST(Chunk, TakesAtMostFourBytesForAnEventOfRealPrograms) {
  constexpr std::size_t kAll = kMaxChunkEvents;
  EXPECT_LE(bytes_per_event(xylem::testing::hpl_like_events(kAll, 1)), 4.0);
  EXPECT_LE(bytes_per_event(xylem::testing::lammps_like_events(kAll, 1)), 4.0);
  EXPECT_LE(bytes_per_event(xylem::testing::threaded_events(kAll, 1, 4)), 4.0);
}

TEST(Chunk, SpendsNextToNothingOnCompletionsThatRepeatTheTimesOfTheirCall) {
  EXPECT_LE(bytes_per_event(xylem::testing::exchange_events(kMaxChunkEvents, 1)), 2.0);
}

/// A program that exchanges messages with `peers` other ranks in turn; each exchange has a send, a
/// receive and a barrier, all numbered.
std::vector<Event> numbered_events(std::size_t size, std::int32_t peers, std::uint32_t first) {
  std::vector<Event> events(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto round = static_cast<std::uint32_t>(i / 3);
    const auto peer = static_cast<std::int32_t>(round % static_cast<std::uint32_t>(peers));
    Event& event = events[i];
    event.begin_ns = static_cast<Nanos>(100 * i);
    event.end_ns = event.begin_ns + 50;
    event.comm = CommId{0};
    event.flags = kEventNumbered;
    event.number = first + round;
    if (i % 3 == 2) continue;
    event.flags |= i % 3 == 0 ? kEventSend : kEventReceive;
    event.peer = peer;
    event.tag = 7;
    event.bytes = 8 * (round % 5);
    event.number = first + round / static_cast<std::uint32_t>(peers);
  }
  return events;
}

TEST(Chunk, GivesBackNumbersAlsoAcrossTheirWrapAround) {
  for (const std::size_t size : kSizes) {
    expect_round_trip(numbered_events(size, 3, 0));
    expect_round_trip(numbered_events(size, 40, 0xffffffff - 20));
  }
}

TEST(Chunk, SpendsNextToNothingOnNumbersThatCountUp) {
  auto events = numbered_events(kMaxChunkEvents, 12, 1'000'000);
  const double with_numbers = bytes_per_event(events);
  for (Event& event : events) {
    event.flags &= static_cast<std::uint8_t>(~kEventNumbered);
    event.number = 0;
  }
  EXPECT_LE(with_numbers - bytes_per_event(events), 0.05);
}

TEST(Chunk, NumbersOfLostMessagesLeaveAGap) {
  auto events = numbered_events(30, 1, 5);
  events.erase(events.begin() + 9, events.begin() + 18);
  expect_round_trip(events);
}

TEST(Chunk, OfVersionOneHasNoNumbersWhateverItsFlagsSay) {
  Event event;
  event.flags = kEventSend;
  const Bytes newest = encoded({&event, 1});
  Bytes body(body_of(newest).begin(), body_of(newest).end());
  body.pop_back();  // Processors.
  // Room, operation and call site, before the index of the shape. Behind it, the number of call
  // sites, 0, becomes the number of requests.
  body.erase(body.end() - 7, body.end() - 4);
  Bytes chunk = with_checksum(body);
  chunk[0] = std::byte{1};
  const auto decoded = decode_chunk(chunk);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->front(), event);
}

TEST(Chunk, DoesNotDependOnWhatItsEncoderEncodedBefore) {
  ChunkEncoder used;
  for (const std::size_t size : kSizes) {
    const auto events = xylem::testing::lammps_like_events(size, size);
    used.encode(xylem::testing::random_events(kMaxChunkEvents - size + 1, size));
    EXPECT_EQ(used.encode(events), encoded(events));
  }
}

TEST(Chunk, TellsItsSummaryUnopened) {
  for (const std::size_t size : kSizes) {
    for (const auto& events :
         {xylem::testing::threaded_events(size, 7, 3), xylem::testing::random_events(size, 7)}) {
      const auto summary = read_chunk_summary(encoded(events));
      ASSERT_TRUE(summary) << summary.error().message;
      EXPECT_EQ(*summary, summary_of(events));
    }
  }
}

TEST(Chunk, IsOpenedAfterAnotherThatWasLargerOrCorrupt) {
  ChunkDecoder decoder;
  for (const std::size_t size : {kMaxChunkEvents, std::size_t{3}, std::size_t{900}}) {
    const auto events = xylem::testing::exchange_events(size, 3);
    Bytes chunk = encoded(events);
    const auto whole = decoder.decode(chunk);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_TRUE(std::equal(whole->begin(), whole->end(), events.begin(), events.end()));
    std::vector<Event> kept(17);
    ASSERT_TRUE(decoder.decode(chunk, kept));
    EXPECT_EQ(kept, events);
    chunk.pop_back();
    EXPECT_FALSE(decoder.decode(chunk));
    EXPECT_FALSE(decoder.decode(chunk, kept));
  }
}

TEST(ChunkDeathTest, OfNoEventsOrOfTooManyIsABug) {
  EXPECT_DEATH(encoded({}), "check failed");
  EXPECT_DEATH(encoded(std::vector<Event>(kMaxChunkEvents + 1)), "check failed");
}

TEST(Chunk, NamesTheKindsThatItKnows) {
  const auto name = [](std::uint8_t kind, std::uint8_t flags) {
    Event event;
    event.kind = kind;
    event.flags = flags;
    return std::string(event_kind_name(event));
  };
  EXPECT_EQ(name(kKindMpi, 0), "mpi");
  EXPECT_EQ(name(kKindMpi, kEventPosts), "mpi");
  EXPECT_EQ(name(kKindCompletion, kEventCompletes), "completion");
  EXPECT_EQ(name(kKindCompletion, kEventPosts | kEventSend), "start");
  EXPECT_EQ(name(200, 0), "other");
}

TEST(Chunk, TellsTheStageOfAnOperationAndTheAnswerOfATest) {
  Event event;
  EXPECT_EQ(stage_name(event), nullptr);
  EXPECT_EQ(success_of(event), std::nullopt);
  event.flags = kEventPosts | kEventFindsNothing;
  EXPECT_STREQ(stage_name(event), "start");
  EXPECT_EQ(success_of(event), false);
  event.flags = kEventCompletes | kEventSucceeds;
  EXPECT_STREQ(stage_name(event), "completion");
  EXPECT_EQ(success_of(event), true);
}

// However the operations end, a request takes little more space than no request.
TEST(Chunk, HasSmallRequestsInAnyOrderOfCompletion) {
  for (const std::size_t stride : {1u, 3u, 5u}) {
    std::vector<Event> events;
    for (std::uint64_t count = 0; events.size() + 14 < kMaxChunkEvents; count += 7) {
      for (std::uint64_t i = 0; i < 14; ++i) {
        Event event;
        event.thread = ThreadIndex{2};
        event.flags = i < 7 ? kEventPosts : kEventCompletes;
        event.request = (std::uint64_t{2} << 40) + 1 + count + (i < 7 ? i : i * stride % 7);
        events.push_back(event);
      }
    }
    expect_round_trip(events);
    EXPECT_LT(bytes_per_event(events), 0.1) << "stride " << stride;
  }
}

TEST(CorruptChunk, IsRefusedWhenCutAtAnyByte) {
  const Bytes chunk = encoded(xylem::testing::lammps_like_events(1500, 5));
  for (std::size_t size = 0; size < chunk.size(); ++size) {
    SCOPED_TRACE(::testing::Message() << size << " of " << chunk.size() << " bytes");
    expect_corrupt(std::span(chunk).first(size));
    EXPECT_FALSE(read_chunk_summary(std::span(chunk).first(size)));
  }
}

TEST(CorruptChunk, IsRefusedWithAnyBitFlipped) {
  const Bytes chunk = encoded(xylem::testing::hpl_like_events(300, 6));
  xylem::testing::with_each_bit_flipped(chunk, [](std::span<const std::byte> flipped) {
    expect_corrupt(flipped);
    EXPECT_FALSE(read_chunk_summary(flipped));
  });
}

TEST(CorruptChunk, IsRefusedWhenMoreFollows) {
  Bytes chunk = encoded(xylem::testing::hpl_like_events(300, 6));
  Bytes body(body_of(chunk).begin(), body_of(chunk).end());
  body.push_back(std::byte{0});
  expect_corrupt(with_checksum(body), "more bytes follow");
  chunk.push_back(std::byte{0});
  expect_corrupt(chunk, "checksum");
}

TEST(CorruptChunk, OfAnotherVersionSaysSo) {
  Bytes chunk = encoded(xylem::testing::hpl_like_events(3, 6));
  for (const unsigned version : {0u, 3u, kChunkVersion + 1}) {
    chunk[0] = std::byte{static_cast<unsigned char>(version)};
    expect_corrupt(chunk, "a newer xylem");
  }
}

TEST(CorruptChunk, IsRefusedWhenCutBeneathAFittingChecksum) {
  const Bytes chunk = encoded(xylem::testing::lammps_like_events(1500, 5));
  for (std::size_t size = 0; size < body_of(chunk).size(); ++size) {
    expect_corrupt(with_checksum(body_of(chunk).first(size)));
  }
}

TEST(CorruptChunk, CannotClaimMoreThanItMay) {
  const auto claim = [](std::initializer_list<std::uint64_t> numbers) {
    Bytes body;
    for (const std::uint64_t number : numbers) internal::append_varint(body, number);
    return with_checksum(body);
  };
  constexpr std::uint64_t kHuge = ~0ULL;
  expect_corrupt(claim({0, 0, 0, 0, 0}), "no events, or more than fit");
  expect_corrupt(claim({kMaxChunkEvents + 1, 0, 0, 0, 1}), "no events, or more than fit");
  expect_corrupt(claim({kHuge, 0, 0, 0, 1}), "no events, or more than fit");
  expect_corrupt(claim({4, 4, 0, 0, 5}), "more shapes than events");
  expect_corrupt(claim({4, 4, 0, 0, kHuge}), "more shapes than events");
  expect_corrupt(claim({4, 4, 0, 0, 0}), "more shapes than events");
  expect_corrupt(claim({4, 4, 0, 0, 1, 9}), "wider than its field");
  expect_corrupt(claim({4, 4, 0, 0, 1, 1, 3, 0}), "unknown form");
  expect_corrupt(claim({4, 4, 0, 0, 1, 1, 2, kHuge}), "ends early");
  Bytes endless(40, std::byte{0xff});
  expect_corrupt(with_checksum(endless), "longer than 64 bits");
}

TEST(CorruptChunk, IsRefusedWhenAnEventNamesACallSiteThatIsNotInIt) {
  Event event;
  event.site = CallSiteId{1};
  const Bytes chunk = encoded({&event, 1});
  const Bytes body(body_of(chunk).begin(), body_of(chunk).end());
  // Behind the number of call sites: a column of one, two empty ones of times, one of processors.
  const std::size_t count = body.size() - 7;
  const std::size_t index = count - 2;
  ASSERT_EQ(body.at(count), std::byte{1});
  ASSERT_EQ(body.at(index), std::byte{1});
  Bytes damaged = body;
  damaged[index] = std::byte{2};
  expect_corrupt(with_checksum(damaged), "no call site");
  damaged = body;
  damaged[count] = std::byte{2};
  expect_corrupt(with_checksum(damaged), "more call sites than shapes");
}

TEST(CorruptChunk, IsRefusedWhenItsSummaryIsNotThatOfItsEvents) {
  const auto events = xylem::testing::hpl_like_events(100, 6);
  const Bytes chunk = encoded(events);
  Bytes body(body_of(chunk).begin(), body_of(chunk).end());
  ASSERT_EQ(body[1], std::byte{100}) << "the number of calls has moved";
  body[1] = std::byte{101};
  expect_corrupt(with_checksum(body), "summary");
}

TEST(CorruptChunk, BeneathAFittingChecksumIsRefusedOrIsAnotherWholeChunk) {
  std::mt19937_64 random(20240614);  // Fixed, so that a failure can be repeated.
  const std::vector<Bytes> whole{
      encoded(xylem::testing::hpl_like_events(1200, 1)),
      encoded(xylem::testing::exchange_events(1200, 1)),
      encoded(xylem::testing::threaded_events(64, 1, 4)),
      encoded(xylem::testing::random_events(40, 1)),
  };
  ChunkDecoder decoder;
  for (int trial = 0; trial < 20'000; ++trial) {
    const Bytes body = xylem::testing::injured(body_of(whole[trial % whole.size()]), random);
    const auto events = decoder.decode(with_checksum(body));
    if (!events) {
      ASSERT_EQ(events.error().code, Code::kCorrupt);
      continue;
    }
    const auto summary = read_chunk_summary(with_checksum(body));
    ASSERT_TRUE(summary) << "trial " << trial;
    ASSERT_EQ(*summary, summary_of(*events)) << "trial " << trial;
  }
}

/// Events of the golden chunk: loops, noise, completions, two threads, "none" values. Made by
/// arithmetic alone, so that they are the same everywhere and for ever.
std::vector<Event> golden_events() {
  std::vector<Event> events;
  std::uint32_t noise = 12345;
  const auto below = [&noise](std::uint32_t limit) {
    noise = noise * 1664525 + 1013904223;
    return (noise >> 8) % limit;
  };
  Nanos now[2] = {1'000'000'007, 1'000'400'009};
  for (std::uint32_t i = 0; i < 1400; ++i) {
    Event event;
    event.thread = ThreadIndex{i % 7 == 0 ? 1u : 0u};
    event.function = FunctionId{static_cast<std::uint16_t>(10 + i % 2)};
    event.begin_ns = now[raw(event.thread)] + 40 + below(100);
    event.end_ns = now[raw(event.thread)] = event.begin_ns + 300 + below(900);
    event.peer = static_cast<std::int32_t>(i % 3) - 1;
    event.tag = i % 5 == 0 ? kNoTag : 70;
    event.comm = i % 5 == 0 ? kNoComm : CommId{0};
    event.bytes = 8 * below(4);
    event.request = i % 2 == 0 ? 0x55d03c412a80 + 0x3c0 * below(3) : 0;
    event.result = i == 700 ? -1 : 0;
    event.calls = i == 900 ? 1000 : 1;
    event.flags = static_cast<std::uint8_t>(i == 900 ? 1 : 2);
    events.push_back(event);
    if (i % 10 != 9) continue;
    event.kind = kKindCompletion;
    event.calls = 0;
    events.push_back(event);
  }
  return events;
}

/// golden_events() with numbers, also after a gap and of a second channel.
std::vector<Event> golden_numbered_events() {
  auto events = golden_events();
  std::uint32_t number = 41;
  for (std::size_t i = 0; i < events.size(); ++i) {
    Event& event = events[i];
    if ((event.flags & (kEventSend | kEventReceive)) == 0 || i % 7 == 0) continue;
    event.flags |= kEventNumbered;
    event.number = number++;
    if (i == 300) number += 1000;
  }
  return events;
}

/// golden_numbered_events() with requests as they are since version 4: of two threads, completed in
/// another order, polled, and from an earlier chunk.
std::vector<Event> golden_requests() {
  auto events = golden_numbered_events();
  std::uint64_t started[2] = {1000, 0};
  for (std::size_t i = 0; i < events.size(); ++i) {
    Event& event = events[i];
    const std::uint64_t thread = raw(event.thread);
    event.request = 0;
    if (i % 5 == 4) continue;
    const std::uint64_t ring = thread << 40;
    if (i % 5 < 2) {
      event.flags |= kEventPosts;
      event.request = ring | ++started[thread];
    } else if (started[thread] > 8) {
      event.flags |= i % 5 == 2 ? kEventCompletes | kEventSucceeds : kEventFindsNothing;
      event.request = ring | (started[thread] - i % 3);
    }
  }
  return events;
}

/// golden_requests() with what else version 4 has: buffers, wildcards, reductions, blocks,
/// processors, call sites.
std::vector<Event> golden_rest() {
  auto events = golden_requests();
  for (std::size_t i = 0; i < events.size(); ++i) {
    Event& event = events[i];
    event.cpu = i < 20 ? kNoCpu : static_cast<std::uint16_t>(i / 90 + 2 * raw(event.thread));
    if (i % 4 == 1) event.room = event.bytes + 64 * (i % 3);
    if (i % 6 == 1) event.flags |= kEventAnySource;
    if (i % 12 == 1) event.flags |= kEventAnyTag;
    if (i % 8 == 3) event.operation = static_cast<std::uint8_t>(i % 15);
    if (i % 16 == 3) event.flags |= kEventInPlace;
    if (i % 25 == 24) event.flags |= kEventBlock;
    if (i % 9 != 0) event.site = CallSiteId{(i % 7 + 1) * 0x9e37'79b9'7f4a'7c15};
  }
  return events;
}

void expect_golden(const char* name, const std::vector<Event>& expected) {
  const auto path = std::filesystem::path(XYLEM_GOLDEN_DIR) / name;
  const Bytes chunk = xylem::testing::read_hex(path);
  if (chunk.empty()) {
    const auto made = std::filesystem::temp_directory_path() / name;
    xylem::testing::write_hex(made, encoded(expected));
    FAIL() << path << " is missing; a new one is in " << made;
  }
  const auto events = decode_chunk(chunk);
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_EQ(*events, expected);
}

TEST(GoldenChunk, OfVersionOneIsReadForEver) { expect_golden("chunk-v1.hex", golden_events()); }

TEST(GoldenChunk, OfVersionTwoIsReadForEver) {
  expect_golden("chunk-v2.hex", golden_numbered_events());
}

TEST(GoldenChunk, OfVersionFourIsReadForEver) { expect_golden("chunk-v4.hex", golden_rest()); }

}  // namespace
}  // namespace xylem::wire
