// Bytes from anybody at all, as a link meets them: a length, then what should be a message.

#include <cstdint>

#include "base/check.h"
#include "wire/message.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::size_t kLengthBytes = 4;
  const auto input = std::as_bytes(std::span(bytes, size));
  const auto length = wire::frame_length(input, wire::kMaxHelloBytes);
  if (length && *length) CHECK(**length > 0 && **length <= wire::kMaxHelloBytes);
  if (size < kLengthBytes) return 0;
  // Whatever the length says: else hardly an input would get any further.
  const auto message = wire::decode(input.subspan(kLengthBytes));
  if (const auto sizes = wire::packet_sizes(input);
      sizes && sizes->head + sizes->payload + sizes->padding <= size) {
    const auto payload = input.subspan(sizes->head, sizes->payload);
    const auto in_pieces =
        wire::decode_in_pieces(input.first(sizes->head), {payload.begin(), payload.end()});
    const auto whole =
        input.subspan(kLengthBytes, sizes->head - kLengthBytes + sizes->payload + sizes->padding);
    const auto at_once = wire::decode(whole);
    CHECK(in_pieces.has_value() == at_once.has_value());
    CHECK(!in_pieces || *in_pieces == *at_once);
  }
  if (!message) {
    CHECK(message.error().code == Code::kCorrupt && !message.error().message.empty());
  } else if (!std::holds_alternative<wire::Unknown>(*message)) {
    const wire::Bytes frame = wire::encode(*message);
    const auto again = wire::decode(std::span(frame).subspan(kLengthBytes));
    CHECK(again && *again == *message);
  }
  return 0;
}
