// What programs are told by text: addresses, keys, and the front end's setup.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "launch/setup.h"
#include "net/address.h"
#include "net/key.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto addresses = net::parse_addresses(text)) {
    for (const wire::Address& address : *addresses) {
      CHECK(address.host.empty() != address.unix_path.empty());
    }
  } else {
    CHECK(addresses.error().code == Code::kInvalidArgument && !addresses.error().message.empty());
  }
  if (const auto key = net::parse_key(text)) {
    const auto again = net::parse_key(net::to_hex(*key));
    CHECK(again && *again == *key);
  } else {
    CHECK(key.error().code == Code::kInvalidArgument);
    // Whoever mistypes a key does not want to read it in a log: one sentence for all.
    CHECK(key.error().message == net::parse_key("").error().message);
  }
  if (const auto setup = launch::parse_setup(text)) {
    const std::string line = launch::to_json(*setup);
    CHECK(line.find('\n') == std::string::npos);
    const auto again = launch::parse_setup(line);
    CHECK(again && launch::to_json(*again) == line);
  } else {
    CHECK(setup.error().code == Code::kCorrupt && !setup.error().message.empty());
  }
  return 0;
}
