// A journal's memory as a predecessor may have left it: written by whoever had the memory. The
// input is a list of injuries to a real journal, ten bytes each: where, and eight bytes to be
// there.

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "backend/leaf/journal.h"
#include "base/check.h"

using namespace xylem;

namespace {

constexpr std::size_t kBytes = backend::Journal::kSmallest;
constexpr std::size_t kPage = 4096;
// Injuries fall where there is something: the header's begin and the first entries.
constexpr std::size_t kHeaderWords = 64;
constexpr std::size_t kLogWords = 256;

std::span<std::byte> region() {
  // NOLINTNEXTLINE(readability-identifier-naming): what it points to changes.
  static void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  return {static_cast<std::byte*>(memory), kBytes};
}

backend::Draft make_draft(StreamId stream, std::uint64_t wave) {
  backend::Draft draft;
  draft.packet.id.stream = stream;
  draft.packet.id.wave = wave;
  draft.packet.id.wave_end = wave + 1;
  draft.packet.id.sources = IntervalSet::of(7);
  draft.packet.payload.assign(200, std::byte{0x5a});
  draft.progress.rings.push_back({Lane{3}, 0, {}});
  draft.progress.calls.push_back({Lane{3}, FunctionId{5}, 77});
  draft.progress.finished.push_back(Lane{4});
  return draft;
}

void injure(std::span<std::byte> memory, const std::uint8_t* bytes, std::size_t size) {
  for (; size >= 10; bytes += 10, size -= 10) {
    std::size_t word = (bytes[0] | std::size_t{bytes[1]} << 8) % (kHeaderWords + kLogWords);
    if (word >= kHeaderWords) word += kPage / 8 - kHeaderWords;
    std::memcpy(memory.data() + 8 * word, bytes + 2, 8);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span<std::byte> memory = region();
  std::memset(memory.data(), 0, memory.size());
  backend::JournalOptions options;
  options.give_back_bytes = backend::Journal::kKeepAll;
  {
    auto journal = backend::Journal::open(memory, options);
    CHECK(journal);
    for (std::uint64_t wave = 0; wave < 3; ++wave) {
      CHECK(journal->append(make_draft(wire::kWindowStream, wave)));
    }
    CHECK(journal->append(make_draft(wire::kFirstToolStream, 9)));
    CHECK(journal->acknowledge({wire::kWindowStream, kLeafLane, 0}));
  }
  injure(memory, bytes, size);
  auto journal = backend::Journal::open(memory, options);
  if (!journal) {
    CHECK(journal.error().code == Code::kCorrupt && !journal.error().message.empty());
    return 0;
  }
  for (const backend::PacketKey& key : journal->keys()) {
    CHECK(journal->read(key).payload.size() == journal->payload_bytes(key));
    static_cast<void>(journal->progress_of(key.lane));
  }
  static_cast<void>(journal->memo());
  // It is a journal: what is put in comes out, until it is full and everything can be freed.
  for (std::uint64_t wave = 1; wave < 60; ++wave) {
    backend::Draft draft = make_draft(wire::kChunkStream, wave << 32);
    draft.packet.payload.resize(2000);
    if (journal->contains(backend::key_of(draft.packet.id))) continue;
    if (!journal->append(draft)) break;
    const auto key = backend::key_of(draft.packet.id);
    CHECK(journal->read(key).payload == draft.packet.payload);
  }
  for (const backend::PacketKey& key : journal->keys()) CHECK(journal->acknowledge(key));
  CHECK(journal->empty());
  return 0;
}
