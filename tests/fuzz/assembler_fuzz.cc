// A link's bytes, in whatever pieces they come: what is made of them does not depend on the cuts.
// The bytes are frames, small and large, that are injured as the fuzzer likes.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "net/frame_assembler.h"
#include "tests/support/byte_source.h"

using namespace xylem;

namespace {

struct Made {
  std::vector<wire::Message> messages;
  bool is_refused = false;
  bool operator==(const Made&) const = default;
};

wire::Bytes frames_of(testing::ByteSource& from) {
  wire::Bytes stream;
  for (std::size_t count = from.below(6); count > 0; --count) {
    wire::Packet packet;
    packet.id.stream = wire::kFirstToolStream;
    packet.id.wave = count;
    packet.id.wave_end = count + 1;
    packet.id.sources = IntervalSet::of(1 + from.below(9));
    packet.payload.resize(from.coin() ? from.byte() : 300u * from.byte());
    const wire::Bytes frame = wire::encode(from.coin() ? wire::Message(packet) : wire::Ping{7});
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  for (std::size_t injuries = from.below(4); injuries > 0 && !stream.empty(); --injuries) {
    const std::size_t at = (from.byte() << 8 | from.byte()) % stream.size();
    stream[from.coin() ? at : at % 64] = std::byte{from.byte()};
  }
  const auto tail = std::as_bytes(from.take(from.byte()));
  stream.insert(stream.end(), tail.begin(), tail.end());
  return stream;
}

template <typename Cut>
Made assemble(const wire::Bytes& stream, Cut cut) {
  Made made;
  net::FrameAssembler assembler({});
  for (std::size_t at = 0;;) {
    for (;;) {
      auto frame = assembler.next();
      if (!frame) {
        CHECK(frame.error().code == Code::kCorrupt);
        made.is_refused = true;
        return made;
      }
      if (!*frame) break;
      made.messages.push_back(std::move((*frame)->message));
    }
    if (at == stream.size()) return made;
    const auto room = assembler.room();
    CHECK(!room.empty() && room.size() <= 2 * at + 6 * net::FrameAssembler::kReadBytes);
    const std::size_t size = std::min({room.size(), stream.size() - at, cut()});
    std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(at), size, room.begin());
    assembler.add(size);
    at += size;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  testing::ByteSource from(bytes, size);
  const wire::Bytes stream = frames_of(from);
  const Made at_once = assemble(stream, [&] { return stream.size(); });
  const Made in_pieces = assemble(stream, [&]() -> std::size_t {
    return from.coin() ? 1u + from.byte() : 500u * (1u + from.byte());
  });
  // Who refuses may have seen more of what came before when it came at once; never another thing.
  CHECK(at_once == in_pieces);
  return 0;
}
