#include "backend/leaf/journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <map>
#include <random>

#include "tests/support/hand_made_segment.h"
#include "wire/registration.h"
#include "wire/tombstone.h"

namespace xylem::backend {
namespace {

using testing::Memory;

Draft make_draft(std::uint64_t wave, std::size_t bytes, std::uint64_t calls = 1,
                 StreamId stream = wire::kWindowStream) {
  Draft draft;
  draft.packet.id.stream = stream;
  draft.packet.id.wave = wave;
  draft.packet.id.wave_end = wave + 1;
  draft.packet.id.sources = IntervalSet::of(7);
  draft.packet.payload.assign(bytes, std::byte(wave));
  draft.calls = calls;
  return draft;
}

Journal open(const Memory& memory, std::function<void()> on_store = {}) {
  JournalOptions options;
  options.on_store = std::move(on_store);
  auto journal = Journal::open(memory.bytes(), std::move(options));
  EXPECT_TRUE(journal) << journal.error().message;
  return *std::move(journal);
}

TEST(Journal, GivesBackWhatWasAppendedInOrder) {
  Memory memory(1 << 20);
  Journal journal = open(memory);
  for (std::uint64_t wave = 0; wave < 5; ++wave) ASSERT_TRUE(journal.append(make_draft(wave, 100)));
  const auto keys = journal.keys();
  ASSERT_EQ(keys.size(), 5u);
  for (std::uint64_t wave = 0; wave < 5; ++wave) {
    EXPECT_EQ(keys[wave].wave, wave);
    const wire::Packet packet = journal.read(keys[wave]);
    EXPECT_EQ(packet.id, make_draft(wave, 100).packet.id);
    EXPECT_EQ(packet.payload, make_draft(wave, 100).packet.payload);
    EXPECT_FALSE(packet.tombstone);
  }
}

TEST(Journal, FreesWhatIsAcknowledgedInAnyOrderAndOnce) {
  Memory memory(1 << 20);
  Journal journal = open(memory);
  for (std::uint64_t wave = 0; wave < 3; ++wave) ASSERT_TRUE(journal.append(make_draft(wave, 100)));
  EXPECT_TRUE(journal.acknowledge({wire::kWindowStream, kLeafLane, 1}));
  EXPECT_FALSE(journal.acknowledge({wire::kWindowStream, kLeafLane, 1}));
  EXPECT_TRUE(journal.acknowledge({wire::kWindowStream, kLeafLane, 0}));
  EXPECT_TRUE(journal.acknowledge({wire::kWindowStream, kLeafLane, 2}));
  EXPECT_TRUE(journal.empty());
  EXPECT_EQ(journal.live_bytes(), 0u);
}

TEST(Journal, RefusesTheSameIdentityTwice) {
  Memory memory(1 << 20);
  Journal journal = open(memory);
  ASSERT_TRUE(journal.append(make_draft(1, 10)));
  const auto again = journal.append(make_draft(1, 10));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
}

TEST(Journal, TellsASuccessorHowFarEachLaneCameAndWhichWavesAreUsed) {
  Memory memory(1 << 20);
  {
    Journal journal = open(memory);
    Draft draft = make_draft(41, 10);
    draft.progress.rings.push_back({Lane{3}, 2, {100, 90, 80, 85}});
    draft.progress.calls.push_back({Lane{3}, FunctionId{5}, 77});
    draft.progress.finished.push_back(Lane{4});
    ASSERT_TRUE(journal.append(draft));
    ASSERT_TRUE(journal.append(make_draft(9, 10, 0, wire::kRegistrationStream)));
    EXPECT_TRUE(journal.acknowledge({wire::kRegistrationStream, kLeafLane, 9}));
  }
  Journal successor = open(memory);
  const Progress progress = successor.progress_of(Lane{3});
  ASSERT_EQ(progress.rings.size(), 1u);
  EXPECT_EQ(progress.rings[0].to, (RingProgress{100, 90, 80, 85}));
  ASSERT_EQ(progress.calls.size(), 1u);
  EXPECT_EQ(progress.calls[0].calls, 77u);
  EXPECT_EQ(successor.progress_of(Lane{4}).finished.size(), 1u);
  EXPECT_EQ(successor.next_wave(wire::kWindowStream), 42u);
  EXPECT_EQ(successor.next_wave(wire::kRegistrationStream), 10u)
      << "an acknowledged wave came again";
}

TEST(Journal, RemembersItsPlaceWhole) {
  Memory memory(1 << 20);
  Memo memo;
  memo.known = 1;
  memo.leaf = 12;
  memo.epoch_ns = -5;
  open(memory).remember(memo);
  EXPECT_EQ(open(memory).memo(), memo);
}

TEST(Journal, RefusesABeginAndAnEndThatNoneCanHave) {
  constexpr std::size_t kHead = 16;  // Their position in the header.
  constexpr std::size_t kTail = 24;
  constexpr std::uint64_t kLog = (1 << 20) - 4096;
  const std::pair<std::uint64_t, std::uint64_t> places[] = {
      {1, 1},         {0, 1},        {0, kLog + 8},          {kLog - 8, kLog - 8},
      {8, 0},         {9 * kLog, 0}, {~std::uint64_t{7}, 8}, {0, ~std::uint64_t{7}},
      {kLog + 16, 16}};
  for (const auto& [tail, head] : places) {
    SCOPED_TRACE(::testing::Message() << tail << " to " << head);
    Memory memory(1 << 20);
    open(memory);
    std::memcpy(memory.bytes().data() + kHead, &head, sizeof head);
    std::memcpy(memory.bytes().data() + kTail, &tail, sizeof tail);
    const auto journal = Journal::open(memory.bytes());
    const bool cut_while_rewinding = tail % kLog == 0 && tail > head;
    EXPECT_EQ(journal.has_value(), cut_while_rewinding);
    if (!journal) {
      EXPECT_EQ(journal.error().code, Code::kCorrupt);
    }
  }
}

TEST(Journal, RefusesMemoryThatHoldsSomethingElse) {
  Memory memory(1 << 20);
  std::memset(memory.bytes().data(), 0x5a, 4096);
  const auto journal = Journal::open(memory.bytes());
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().code, Code::kCorrupt);
}

TEST(Journal, GivesUpTheOldestWhenFullAndCountsTheirCalls) {
  Memory memory(Journal::kSmallest);
  Journal journal = open(memory);
  for (std::uint64_t wave = 0; wave < 40; ++wave)
    ASSERT_TRUE(journal.append(make_draft(wave, 4000, 10)));
  std::uint64_t whole = 0, tombstones = 0;
  for (const PacketKey& key : journal.keys()) {
    const wire::Packet packet = journal.read(key);
    (packet.tombstone ? tombstones : whole) += 1;
    if (!packet.tombstone) continue;
    const auto tombstone = wire::decode_tombstone(packet.payload);
    ASSERT_TRUE(tombstone) << tombstone.error().message;
    EXPECT_EQ(tombstone->calls, 10u);
    EXPECT_FALSE(tombstone->reason.empty());
  }
  EXPECT_EQ(whole + tombstones, 40u) << "an identity was lost";
  EXPECT_GT(whole, 5u) << "more was given up than needed";
  EXPECT_EQ(journal.given_up_packets(), tombstones);
  EXPECT_EQ(journal.given_up_calls(), 10 * tombstones);
  EXPECT_FALSE(journal.read({wire::kWindowStream, kLeafLane, 39}).tombstone);
  EXPECT_TRUE(journal.read({wire::kWindowStream, kLeafLane, 0}).tombstone);
}

TEST(Journal, KeepsTheAccountsOfTheWindowsThatItGivesUp) {
  Memory memory(Journal::kSmallest);
  Journal journal = open(memory);
  wire::ProfileWindow window;
  window.rows.resize(1);
  window.rows[0].leaf = LeafId{7};
  window.rows[0].lane = Lane{3};
  window.rows[0].calls = 12;
  window.accounts.resize(1);
  window.accounts[0].leaf = LeafId{7};
  window.accounts[0].lane = Lane{3};
  window.accounts[0].captured = 12;
  window.accounts[0].ended = true;
  window.matrix.assign(100, {LeafId{7}, Lane{3}, Rank{1}, 8, 1});
  Draft draft = make_draft(0, 0, 12);
  draft.packet.payload = wire::encode(window);
  draft.packet.last = true;
  ASSERT_TRUE(journal.append(draft));
  const PacketKey first = key_of(draft.packet.id);
  for (std::uint64_t wave = 1; wave < 40 && !journal.read(first).tombstone; ++wave) {
    ASSERT_TRUE(journal.append(make_draft(wave, 4000)));
  }
  const wire::Packet stone = journal.read(first);
  ASSERT_TRUE(stone.tombstone);
  EXPECT_TRUE(stone.last);
  const auto tombstone = wire::decode_tombstone(stone.payload);
  ASSERT_TRUE(tombstone) << tombstone.error().message;
  EXPECT_EQ(tombstone->calls, 12u);
  EXPECT_EQ(tombstone->lanes, (std::vector<wire::LaneCalls>{{LeafId{7}, Lane{3}, 12}}));
  EXPECT_EQ(tombstone->accounts, window.accounts);
}

TEST(Journal, NeverGivesUpRegistrations) {
  Memory memory(Journal::kSmallest);
  Journal journal = open(memory);
  ASSERT_TRUE(journal.append(make_draft(0, 1000, 0, wire::kRegistrationStream)));
  for (std::uint64_t wave = 0; wave < 40; ++wave)
    ASSERT_TRUE(journal.append(make_draft(wave, 4000)));
  EXPECT_FALSE(journal.read({wire::kRegistrationStream, kLeafLane, 0}).tombstone);
}

TEST(Journal, SaysWhenNothingMoreCanBeGivenUpAndRecoversWithRoom) {
  Memory memory(Journal::kSmallest);
  Journal journal = open(memory);
  std::uint64_t wave = 0;
  Result<void> appended;
  while ((appended = journal.append(make_draft(wave, 200)))) ASSERT_LT(++wave, 10'000u);
  EXPECT_EQ(appended.error().code, Code::kExhausted);
  for (const PacketKey& key : journal.keys()) EXPECT_TRUE(journal.acknowledge(key));
  EXPECT_TRUE(journal.append(make_draft(wave, 200)));
}

TEST(Journal, OldEntryAloneDoesNotFillIt) {
  Memory memory(Journal::kSmallest);
  Journal journal = open(memory);
  ASSERT_TRUE(journal.append(make_draft(0, 1000)));
  for (std::uint64_t wave = 1; wave < 500; ++wave) {
    ASSERT_TRUE(journal.append(make_draft(wave, 1000)));
    EXPECT_TRUE(journal.acknowledge({wire::kWindowStream, kLeafLane, wave}));
  }
  EXPECT_FALSE(journal.read({wire::kWindowStream, kLeafLane, 0}).tombstone);
  EXPECT_EQ(journal.given_up_packets(), 0u);
}

// The expected contents after a cut: all committed operations, and at most one uncertain operation.
using Content = std::map<PacketKey, wire::Bytes>;

Content content_of(const Journal& journal) {
  Content content;
  for (const PacketKey& key : journal.keys()) content[key] = journal.read(key).payload;
  return content;
}

// The journal is small, so it wraps, becomes full and gives up packets. It is cut after every store
// and opened from a copy of the memory at that time.
TEST(Journal, CutAfterAnyStoreItHoldsTheStateBeforeOrAfterTheOperation) {
  const unsigned seed = 20261121;
  std::mt19937 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Memory memory(Journal::kSmallest);
  Memory copy(Journal::kSmallest);
  std::vector<Content> cuts;
  const auto cut = [&] {
    std::memcpy(copy.bytes().data(), memory.bytes().data(), copy.bytes().size());
    auto recovered = Journal::open(copy.bytes());
    ASSERT_TRUE(recovered) << recovered.error().message;
    cuts.push_back(content_of(*recovered));
  };
  Journal journal = open(memory, cut);
  std::uint64_t wave = 0;
  std::size_t checked = 0;
  for (int step = 0; step < 600; ++step) {
    const Content before = content_of(journal);
    const std::uint64_t given_up = journal.given_up_packets();
    cuts.clear();
    if (random() % 5 < 2 && !before.empty()) {
      journal.acknowledge(std::next(before.begin(), random() % before.size())->first);
    } else {
      Draft draft = make_draft(wave++, random() % 5000);
      draft.progress.rings.resize(random() % 3);
      draft.progress.calls.resize(random() % 3);
      ASSERT_TRUE(journal.append(draft));
    }
    const Content after = content_of(journal);
    for (const Content& seen : cuts) {
      ++checked;
      if (seen == before || seen == after) continue;
      // Making room changes several entries one by one. Identities never disappear.
      ASSERT_NE(journal.given_up_packets(), given_up) << "step " << step;
      for (const auto& [key, payload] : before) ASSERT_TRUE(seen.contains(key)) << "step " << step;
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(checked, 2000u);
  EXPECT_GT(journal.given_up_packets(), 10u) << "the schedule never filled the journal";
}

TEST(Journal, GivesMemoryBackToTheSystem) {
  constexpr std::size_t kBytes = 8u << 20;
  UniqueFd fd = *make_memory("test", kBytes);
  const Mapping mapping = *Mapping::of(fd.get(), kBytes);
  Journal journal = *Journal::open(mapping.bytes());
  // One entry stays, so that the log never rewinds. Then all are freed.
  for (std::uint64_t wave = 0; wave < 60; ++wave) {
    ASSERT_TRUE(journal.append(make_draft(wave, 100'000)));
    if (wave == 0) continue;
    EXPECT_TRUE(journal.acknowledge({wire::kWindowStream, kLeafLane, wave - 1}));
  }
  struct stat file {};
  ASSERT_EQ(::fstat(fd.get(), &file), 0);
  EXPECT_LT(file.st_blocks * 512, 1 << 20);
}

}  // namespace
}  // namespace xylem::backend
