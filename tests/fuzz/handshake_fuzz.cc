// What a stranger may say before it has proved the key, to either side: frames behind one another.

#include <cstdint>
#include <span>

#include "base/check.h"
#include "net/handshake.h"

using namespace xylem;

namespace {

constexpr std::size_t kLengthBytes = 4;

template <typename Side>
void listen(Side side, std::span<const std::byte> input) {
  while (true) {
    const auto length = wire::frame_length(input, wire::kMaxHelloBytes);
    if (!length || !*length || input.size() < kLengthBytes + **length) return;
    const auto message = wire::decode(input.subspan(kLengthBytes, **length));
    if (!message) return;
    input = input.subspan(kLengthBytes + **length);
    const auto answer = side.on_message(*message);
    CHECK(!side.proved());  // Without the key there is no proof.
    if (!answer) {
      CHECK(!answer.error().message.empty());
      return;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = std::as_bytes(std::span(bytes, size));
  const net::Key key{1, 2, 3};
  listen(net::AcceptHandshake(key, "20240607-1f2e", wire::Welcome{}), input);
  wire::Hello hello;
  hello.run = "20240607-1f2e";
  listen(net::ConnectHandshake(key, hello), input);
  return 0;
}
