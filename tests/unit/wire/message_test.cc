#include "wire/message.h"

#include <capnp/any.h>
#include <capnp/message.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <set>

#include "tests/support/hostile_bytes.h"
#include "tests/support/wire_samples.h"
#include "wire/message_internal.h"
#include "xylem.capnp.h"

namespace xylem::wire {
namespace {

using ::testing::HasSubstr;
using testing::sample_messages;

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kHeadBytes = 8;
constexpr std::size_t kWordBytes = 8;
// Where a frame's Message keeps its union tag: behind the head and the root pointer.
constexpr std::size_t kTagAt = kHeadBytes + kWordBytes;

std::span<const std::byte> without_length(std::span<const std::byte> frame) {
  return frame.subspan(kLengthBytes);
}

// A frame, without its length, of what `fill` makes of a builder: for messages that encode() would
// never write.
Bytes frame_of(const std::function<void(capnp::MessageBuilder&)>& fill) {
  capnp::MallocMessageBuilder builder(1 << 16);
  fill(builder);
  const auto segments = builder.getSegmentsForOutput();
  EXPECT_EQ(segments.size(), 1u);
  const auto bytes = segments[0].asBytes();
  Bytes frame(kHeadBytes - kLengthBytes + bytes.size());
  std::memcpy(frame.data() + kHeadBytes - kLengthBytes, bytes.begin(), bytes.size());
  return frame;
}

Bytes message_of(const std::function<void(schema::Message::Builder)>& fill) {
  return frame_of([&](capnp::MessageBuilder& b) { fill(b.initRoot<schema::Message>()); });
}

std::uint64_t word_at(const Bytes& bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

void put_word(Bytes& bytes, std::size_t at, std::uint64_t word) {
  std::memcpy(bytes.data() + at, &word, sizeof(word));
}

void expect_refused(std::span<const std::byte> frame, const char* why) {
  const auto message = decode(frame);
  ASSERT_FALSE(message) << "taken: " << why;
  EXPECT_EQ(message.error().code, Code::kCorrupt);
  EXPECT_THAT(message.error().message, HasSubstr(why));
}

// Valid but for what a test then spoils.
schema::PacketId::Builder fill_packet(schema::Message::Builder message) {
  auto id = message.initPacket().initId();
  id.setStream(2);
  id.setWave(5);
  id.setWaveEnd(6);
  auto sources = id.initSources(2);
  sources[0].setFirst(3);
  sources[0].setEnd(5);
  sources[1].setFirst(8);
  sources[1].setEnd(9);
  return id;
}

TEST(Message, EveryOneComesBackAsItWas) {
  std::set<std::size_t> kinds = {Message(Unknown{}).index()};
  for (const auto& [name, message] : sample_messages()) {
    SCOPED_TRACE(name);
    const auto back = decode(without_length(encode(message)));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, message);
    kinds.insert(message.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Message>) << "a message has no sample";
}

TEST(Message, DefaultsComeBackToo) {
  const auto hello = decode(without_length(encode(Message(Hello{}))));
  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_EQ(*hello, Message(Hello{}));
  const auto control = decode(without_length(encode(Message(Control{}))));
  ASSERT_TRUE(control) << control.error().message;
  EXPECT_EQ(*control, Message(Control{}));
}

TEST(Message, AFrameIsItsLengthItsFormatAndWholeWords) {
  for (const auto& [name, message] : sample_messages()) {
    SCOPED_TRACE(name);
    const Bytes frame = encode(message);
    EXPECT_EQ(frame.size() % kWordBytes, 0u);
    const auto length = frame_length(frame, kMaxFrameBytes);
    ASSERT_TRUE(length) << length.error().message;
    EXPECT_EQ(*length, frame.size() - kLengthBytes);
    const std::uint64_t format = std::holds_alternative<Packet>(message) ? 1 : 0;
    EXPECT_EQ(word_at(frame, 0) >> 32, format);
  }
}

TEST(Message, IsReadFromBytesThatLieAnywhere) {
  for (const auto& [name, message] : sample_messages()) {
    const Bytes frame = encode(message);
    for (std::size_t shift = 0; shift < kWordBytes; ++shift) {
      SCOPED_TRACE(name + " at " + std::to_string(shift));
      Bytes moved(shift);
      moved.insert(moved.end(), frame.begin(), frame.end());
      const auto back = decode(without_length(std::span(moved).subspan(shift)));
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, message);
    }
  }
}

TEST(Message, AreEncodedAtAnySize) {
  std::mt19937_64 random(20240607);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 200; ++trial) {
    Acknowledgement m;
    for (std::size_t i = random() % 300; i > 0; --i) {
      PacketId id{kWindowStream, kLeafLane, random() % 1000, 1000 + random() % 9, {}};
      for (std::size_t n = 1 + random() % 40; n > 0; --n) id.sources.insert(random() % 100000);
      (random() % 2 == 0 ? m.stored : m.resend).push_back(std::move(id));
    }
    const auto back = decode(without_length(encode(Message(m))));
    ASSERT_TRUE(back) << "trial " << trial << ": " << back.error().message;
    ASSERT_EQ(*back, Message(m)) << "trial " << trial;
  }
}

TEST(Message, APacketTakesWhatAFrameHoldsAndNoMore) {
  Packet packet({kWindowStream, kLeafLane, 0, 1, IntervalSet::of(0)}, {});
  for (const std::uint64_t intervals : {1, 1000}) {
    packet.id.sources = {};
    for (std::uint64_t i = 0; i < intervals; ++i) packet.id.sources.insert(2 * i);
    packet.payload.resize(max_payload_bytes(intervals), std::byte{0x5a});
    const auto back = decode(without_length(encode(Message(packet))));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_TRUE(std::get<Packet>(*back) == packet);
    packet.payload.resize(packet.payload.size() + 64);
    EXPECT_DEATH(encode(Message(packet)), "check failed");
  }
  EXPECT_EQ(max_payload_bytes(kMaxFrameBytes), 0u);
}

TEST(Message, CutShortAnywhereIsRefused) {
  for (const auto& [name, message] : sample_messages()) {
    const Bytes frame = encode(message);
    const auto whole = without_length(frame);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      // Of its own size, so that a sanitizer sees a read past the end.
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const auto back = decode(cut);
      ASSERT_FALSE(back) << name << " cut to " << size << " bytes was taken";
      EXPECT_EQ(back.error().code, Code::kCorrupt);
      EXPECT_FALSE(back.error().message.empty());
    }
  }
}

TEST(Message, WithAnyBitFlippedIsRefusedOrIsAMessage) {
  for (const auto& [name, message] : sample_messages()) {
    SCOPED_TRACE(name);
    const Bytes frame = encode(message);
    const auto whole = without_length(frame);
    xylem::testing::with_each_bit_flipped(
        Bytes(whole.begin(), whole.end()), [](std::span<const std::byte> bytes) {
          const auto back = decode(bytes);
          if (!back) {
            EXPECT_EQ(back.error().code, Code::kCorrupt);
          } else if (!std::holds_alternative<Unknown>(*back)) {
            const auto again = decode(without_length(encode(*back)));
            ASSERT_TRUE(again) << "what was read cannot be told on: " << again.error().message;
            EXPECT_EQ(*again, *back);
          }
        });
  }
}

TEST(Message, OfAnUnknownTagIsToldApart) {
  Bytes frame = encode(sample_messages().front().message);
  for (const int number : {500, 501, 1000, 0xffff}) {
    const auto tag = static_cast<std::uint16_t>(number);
    std::memcpy(frame.data() + kTagAt, &tag, sizeof(tag));
    const auto message = decode(without_length(frame));
    ASSERT_TRUE(message) << message.error().message;
    EXPECT_EQ(*message, Message(Unknown{tag}));
  }
}

TEST(Message, OfALaterVersionIsReadWithoutItsNewFields) {
  // As a sender would write it whose Message and Ping have grown by words and pointers.
  const Bytes frame = frame_of([](capnp::MessageBuilder& builder) {
    auto message = builder.getRoot<capnp::AnyPointer>().initAsAnyStruct(3, 4);
    message.getDataSection()[0] = 14;  // ping
    auto ping = message.getPointerSection()[0].initAsAnyStruct(5, 2);
    const std::int64_t sent = 987654321;
    std::memcpy(ping.getDataSection().begin(), &sent, sizeof(sent));
    ping.getDataSection()[17] = 0xee;
    ping.getPointerSection()[1].setAs<capnp::Text>("what only the later version knows");
  });
  const auto message = decode(frame);
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ(*message, Message(Ping{987654321}));
}

TEST(Message, OfAnEarlierVersionIsReadWithDefaults) {
  // As a sender would write it whose Pong ended after its first field.
  const Bytes frame = frame_of([](capnp::MessageBuilder& builder) {
    auto message = builder.getRoot<capnp::AnyPointer>().initAsAnyStruct(1, 1);
    message.getDataSection()[0] = 15;  // pong
    message.getPointerSection()[0].initAsAnyStruct(1, 0).getDataSection()[0] = 42;
  });
  const auto message = decode(frame);
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ(*message, Message(Pong{42, 0, 0, 0, 0}));
}

TEST(Message, OfAnUnknownFormatIsRefused) {
  Bytes frame = encode(sample_messages().front().message);
  frame[kLengthBytes] = std::byte{2};
  expect_refused(without_length(frame), "its format is unknown");
}

TEST(Message, APacketsPayloadIsMovedIntoItsFrame) {
  for (const std::size_t bytes : {0, 1, 7, 8, 70'001}) {
    Packet packet({kChunkStream, Lane{1}, 0, 1, IntervalSet::of(0)}, Bytes(bytes, std::byte{0x5a}));
    const Packet original = packet;
    const auto* payload = packet.payload.data();
    PacketFrame pieces = encode_in_pieces(std::move(packet));
    EXPECT_EQ(pieces.payload.data(), payload);
    EXPECT_EQ(pieces.size() % kWordBytes, 0u);
    Bytes frame = std::move(pieces.head);
    frame.insert(frame.end(), pieces.payload.begin(), pieces.payload.end());
    frame.resize(frame.size() + pieces.padding);
    EXPECT_EQ(frame, encode(Message(original)));
    const auto back = decode(without_length(frame));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_TRUE(std::get<Packet>(*back) == original);
  }
}

TEST(Message, APacketsSizesMustAddUp) {
  const Bytes good = encode(
      Message(Packet({kChunkStream, Lane{1}, 0, 1, IntervalSet::of(0)}, Bytes(21, std::byte{1}))));
  constexpr std::size_t kSegmentAt = kHeadBytes, kPayloadAt = kHeadBytes + 4;
  for (const std::size_t at : {kSegmentAt, kPayloadAt}) {
    for (const auto& [byte, value] : {std::pair{0, 0xff}, {0, 0}, {3, 0xff}, {1, 1}}) {
      Bytes frame = good;
      frame[at + byte] = static_cast<std::byte>(value);
      expect_refused(without_length(frame), "do not add up");
    }
  }
  expect_refused(std::span(good).subspan(kLengthBytes, 8), "no room for its sizes");
}

TEST(Message, OnlyABarePacketHasAPayloadBehindIt) {
  for (const Message& message :
       {Message(Goodbye{"good night"}),
        Message(Packet({kChunkStream, Lane{1}, 0, 1, IntervalSet::of(0)}, Bytes(8)))}) {
    Bytes frame = frame_of([&](capnp::MessageBuilder& builder) {
      internal::write_message(message, builder.initRoot<schema::Message>());
    });
    const std::size_t segment = frame.size() - kLengthBytes;
    frame[0] = std::byte{1};
    frame.insert(frame.begin() + kLengthBytes, 8, std::byte{0});
    frame[kLengthBytes] = static_cast<std::byte>(segment);
    expect_refused(frame, "a bare packet");
  }
}

TEST(Message, WithOnePointerThatGoesInACircleIsRefused) {
  Bytes frame = encode(Message(Goodbye{"round and round"}));
  // The root points at itself: a struct of no data and one pointer, one word back.
  put_word(frame, kHeadBytes, 0x00010000fffffffcu);
  const auto message = decode(without_length(frame));
  // A Message without data is a hello, and this one has no nonce.
  EXPECT_FALSE(message);
}

TEST(Message, NestedDeeperThanAnyIsLeftAlone) {
  const Bytes frame = frame_of([](capnp::MessageBuilder& builder) {
    auto at = builder.getRoot<capnp::AnyPointer>().initAsAnyStruct(1, 1);
    at.getDataSection()[0] = 8;  // assignment, but of structs in structs
    for (int depth = 0; depth < 5000; ++depth) {
      at = at.getPointerSection()[0].initAsAnyStruct(2, 1);
    }
  });
  const auto message = decode(frame);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, Code::kCorrupt);
}

TEST(Message, ThatNamesOneListAgainAndAgainIsRefused) {
  // A small frame, which would be read as a thousand sets of a thousand intervals each.
  constexpr unsigned kMany = 1000;
  Bytes frame = message_of([](schema::Message::Builder message) {
    auto stored = message.initAcknowledgement().initStored(kMany);
    for (auto id : stored) id.setWaveEnd(1);
    auto sources = stored[0].initSources(kMany);
    for (unsigned i = 0; i < kMany; ++i) {
      sources[i].setFirst(2 * i);
      sources[i].setEnd(2 * i + 1);
    }
  });
  // Root pointer, Message (2 words), Acknowledgement (2), tag; then ids of 3 words and a pointer.
  constexpr std::size_t kFormatBytes = kHeadBytes - kLengthBytes;
  constexpr std::size_t kFirstPointer = kFormatBytes + (6 + 3) * kWordBytes;
  const std::uint64_t pointer = word_at(frame, kFirstPointer);
  for (unsigned i = 1; i < kMany; ++i) {
    const std::uint64_t nearer = 4 * i;  // In words; the offset's two low bits are the kind.
    put_word(frame, kFirstPointer + i * 4 * kWordBytes, pointer - (nearer << 2));
  }
  expect_refused(frame, "limit");
}

TEST(Message, WhoseListClaimsToBeLongerThanItIsIsRefused) {
  Bytes frame = message_of([](schema::Message::Builder m) { fill_packet(m); });
  // Message, Packet (1 word, 2 pointers), PacketId (3, 1): the pointer to its sources.
  constexpr std::size_t kPointerAt = kHeadBytes - kLengthBytes + (3 + 3 + 3) * kWordBytes;
  const std::uint64_t pointer = word_at(frame, kPointerAt);
  put_word(frame, kPointerAt, (pointer & 0x7ffffffff) | std::uint64_t{0x1fffffff} << 35);
  expect_refused(frame, "bounds");
}

TEST(Message, OfAPacketWithoutIdentityIsRefused) {
  const auto refused = [](const char* why,
                          const std::function<void(schema::PacketId::Builder)>& spoil) {
    expect_refused(message_of([&](schema::Message::Builder m) { spoil(fill_packet(m)); }), why);
  };
  refused("no wave", [](auto id) { id.setWaveEnd(5); });
  refused("no wave", [](auto id) { id.setWaveEnd(0); });
  refused("no sources", [](auto id) { id.initSources(0); });
  refused("several sources", [](auto id) { id.setLane(1); });
  refused("not ascending", [](auto id) { id.getSources()[1].setFirst(4); });
  refused("not ascending", [](auto id) { id.getSources()[1].setFirst(5); });  // They touch.
  refused("not ascending", [](auto id) { id.getSources()[0].setEnd(std::uint64_t{1} << 31); });
  refused("empty interval", [](auto id) { id.getSources()[1].setEnd(8); });
  refused("empty interval", [](auto id) { id.getSources()[0].setEnd(2); });
  refused("past the last id", [](auto id) { id.getSources()[1].setEnd(0x100000000); });
  refused("past the last id", [](auto id) { id.getSources()[1].setEnd(~std::uint64_t{0}); });
}

TEST(Message, OfIdsInAnAcknowledgementIsCheckedAsPacketsAre) {
  expect_refused(message_of([](schema::Message::Builder m) {
                   m.initAcknowledgement().initResend(1)[0].setWaveEnd(1);
                 }),
                 "no sources");
}

TEST(Message, OfALeafSetMayBeEmpty) {
  const auto back = decode(without_length(encode(Message(LeafSet{}))));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, Message(LeafSet{}));
}

TEST(Message, OfAMulticastThatHoldsNothingHasNoPayload) {
  struct Case {
    std::uint16_t share;
    const char* why;
  };
  for (const Case& it :
       {Case{2, "has a payload"}, Case{3, "has a payload"}, Case{4, "unknown share"}}) {
    const Bytes frame = message_of([&](schema::Message::Builder m) {
      auto multicast = m.initMulticast();
      multicast.initPayload(8);
      multicast.setShare(it.share);
    });
    expect_refused(frame, it.why);
  }
}

TEST(Message, OfAStreamWithAShortDigestIsRefused) {
  const Bytes frame = message_of([](schema::Message::Builder m) {
    auto control = m.initControl();
    control.setWindowNs(1);
    auto stream = control.initStreams(1)[0];
    stream.initPluginSha256(32);
    stream.initNarrowingSha256(31);
  });
  expect_refused(frame, "narrowing plugin is not 32 bytes");
}

TEST(Message, WithANonceOrProofOfAnotherSizeIsRefused) {
  const kj::byte bytes[33] = {};
  for (const std::size_t size : {0u, 15u, 17u, 31u, 33u}) {
    const capnp::Data::Reader some(bytes, size);
    expect_refused(message_of([&](auto m) { m.initHello().setNonce(some); }), "not 16 bytes");
    expect_refused(message_of([&](auto m) { m.initChallenge().setNonce(some); }), "not 16 bytes");
    expect_refused(message_of([&](auto m) { m.initWelcome().setProof(some); }), "not 32 bytes");
    expect_refused(message_of([&](auto m) { m.initProof().setMac(some); }), "not 32 bytes");
  }
}

TEST(Message, OfANoticeIsOneLineOfBoundedLengthThatCannotSteerATerminal) {
  Notice notice;
  notice.host = "node\n12";
  notice.text = "\x1b[2Jlost\r\n" + std::string(2 * kMaxNoticeBytes, 'x');
  const auto read = decode(without_length(encode(Message(notice))));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<Notice>(*read).host, "node 12");
  EXPECT_EQ(std::get<Notice>(*read).text.substr(0, 10), " [2Jlost  ");
  EXPECT_EQ(std::get<Notice>(*read).text.size(), kMaxNoticeBytes);
}

TEST(Message, OfANoticeCarriesItsNumber) {
  Notice notice;
  notice.number = ~0ull;
  const auto read = decode(without_length(encode(Message(notice))));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<Notice>(*read), notice);
}

TEST(Message, OfANoticeFromTheFutureIsRefused) {
  expect_refused(message_of([](auto message) { message.initNotice().setAgeNs(-1); }),
                 "the age of a notice is negative");
}

TEST(Message, OfAnUnknownRoleIsRefused) {
  expect_refused(message_of([](schema::Message::Builder m) {
                   m.initHello().setRole(static_cast<schema::Role>(4));
                 }),
                 "unknown role");
}

TEST(Message, OfAnotherMajorVersionOrMagicIsReadSoThatItCanBeAnswered) {
  Hello hello;
  hello.magic = 0x20544547;  // "GET "
  hello.major = 77;
  const auto back = decode(without_length(encode(Message(hello))));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(std::get<Hello>(*back), hello);
}

TEST(Message, OfAWindowWithoutLengthOrALoadThatIsNoneIsRefused) {
  const auto control = [](std::uint64_t ns) {
    return message_of([=](schema::Message::Builder m) { m.initControl().setWindowNs(ns); });
  };
  expect_refused(control(0), "not positive");
  expect_refused(control(std::uint64_t{1} << 63), "not positive");
  const auto report = [](double load) {
    return message_of([=](schema::Message::Builder m) { m.initHostReport().setLoad(load); });
  };
  expect_refused(report(std::nan("")), "load");
  expect_refused(report(-1), "load");
  expect_refused(report(HUGE_VAL), "load");
}

TEST(Message, OfRandomBytesIsAlmostAlwaysRefused) {
  std::mt19937_64 random(20240608);
  int taken = 0;
  for (int trial = 0; trial < 100000; ++trial) {
    Bytes bytes(kLengthBytes + kWordBytes * (random() % 12));
    for (std::size_t i = kLengthBytes; i < bytes.size(); ++i) bytes[i] = std::byte(random() % 256);
    if (decode(bytes)) ++taken;
  }
  // Few random words are a pointer to a struct inside; those are hardly ever more than Unknown.
  EXPECT_LT(taken, 1000);
}

TEST(FrameLength, IsNotKnownBeforeFourBytes) {
  const Bytes bytes(3, std::byte{0xff});
  for (std::size_t size = 0; size <= 3; ++size) {
    const auto length = frame_length(std::span(bytes).first(size), 10);
    ASSERT_TRUE(length);
    EXPECT_EQ(*length, std::nullopt);
  }
}

TEST(FrameLength, LiesWithinTheLimitOrIsRefused) {
  const auto length = [](std::uint32_t claimed) {
    Bytes bytes(9);
    std::memcpy(bytes.data(), &claimed, sizeof(claimed));
    return frame_length(bytes, 4096);
  };
  EXPECT_EQ(*length(1), 1u);
  EXPECT_EQ(*length(4096), 4096u);
  for (const std::uint32_t claimed : {0u, 4097u, 0x80000000u, 0xffffffffu}) {
    const auto refused = length(claimed);
    ASSERT_FALSE(refused) << claimed;
    EXPECT_EQ(refused.error().code, Code::kCorrupt);
  }
  EXPECT_THAT(length(4097).error().message, HasSubstr("4096"));
}

TEST(Role, HasTheNameThatTheTableNodeShows) {
  EXPECT_STREQ(role_name(Role::kFrontEnd), "front_end");
  EXPECT_STREQ(role_name(Role::kCommProcess), "comm_process");
  EXPECT_STREQ(role_name(Role::kBackEnd), "back_end");
  EXPECT_STREQ(role_name(Role::kTool), "tool");
  EXPECT_STREQ(role_name(Role::kProgram), "program");
}

}  // namespace
}  // namespace xylem::wire
