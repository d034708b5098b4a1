#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "backend/leaf/joining_internal.h"
#include "backend/leaf/journal.h"
#include "base/run_contract.h"
#include "base/this_host.h"
#include "capture/core/ring.h"
#include "capture/core/run_key.h"
#include "net/address.h"
#include "net/key.h"

namespace xylem::backend {
namespace {

std::string from_environment(const std::string& given, const char* name) {
  if (!given.empty()) return given;
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// In a rank with the capture library, the library and the leaf both need the key. The library keeps
// it.
std::string take_key() {
  if (void* function = ::dlsym(RTLD_DEFAULT, capture::kRunKeyFunction)) {
    std::array<char, capture::kKeyDigits + 1> digits{};
    const bool kept = reinterpret_cast<capture::RunKeyFunction>(function)(digits.data()) == 1;
    std::string key = kept ? digits.data() : "";
    ::explicit_bzero(digits.data(), digits.size());
    return key;
  }
  std::string key = from_environment("", kEnvKey);
  ::unsetenv(kEnvKey);
  return key;
}

Result<net::RuntimeOptions> network_of(const LeafOptions& options, std::string& address) {
  address = from_environment(options.address, kEnvAddress);
  net::RuntimeOptions network;
  network.run = from_environment(options.run, kEnvRun);
  const bool has_place = !address.empty() && !network.run.empty();
  std::string key = options.key.empty() && has_place ? take_key() : options.key;
  if (!has_place || key.empty()) {
    return unexpected(
        Code::kInvalidArgument,
        "no tree to join: XYLEM_ADDRESS, XYLEM_RUN and XYLEM_KEY say where it is, and "
        "whoever starts the front end prints them");
  }
  auto parsed = net::parse_key(key);
  ::explicit_bzero(key.data(), key.size());
  if (!parsed) return unexpected(std::move(parsed.error()));
  network.key = *parsed;
  const char* tls = std::getenv(kEnvTls);
  network.tls = tls == nullptr || std::string_view(tls) != "off";
  return network;
}

CommProcessSetting comm_process_setting(const std::string& address,
                                        const net::RuntimeOptions& network,
                                        const wire::HostReport& host, Nanos orphan_limit) {
  CommProcessSetting setting;
  setting.program = from_environment("", kEnvCommproc);
  // The monitor passes the path of its agent. xylem-commproc is installed beside it.
  const std::filesystem::path agent = from_environment("", kEnvBackend);
  if (setting.program.empty() && !agent.empty()) {
    setting.program = agent.parent_path() / "xylem-commproc";
  }
  setting.run = network.run;
  setting.front_end = address;
  setting.host = host.name;
  setting.host_key = host.host_key;
  setting.tls = network.tls;
  setting.key = network.key;
  setting.orphan_limit = orphan_limit;
  return setting;
}

}  // namespace

Result<Joining> prepare_joining(const LeafOptions& options) {
  Joining joining;
  std::string address;
  auto network = network_of(options, address);
  if (!network) return unexpected(std::move(network.error()));
  joining.network = *std::move(network);
  auto front_end = net::parse_addresses(address);
  if (!front_end) return unexpected(std::move(front_end.error()));
  joining.node.front_end = *std::move(front_end);
  joining.node.host.name = options.name.empty() ? this_host_name() : options.name;
  joining.node.host.pid = static_cast<std::uint32_t>(::getpid());
  std::array<std::uint8_t, 16> random{};
  net::fill_random(random);
  joining.node.host.host_key = "leaf:" + net::to_hex(random);
  joining.node.orphan_limit = options.orphan_limit;

  if (options.journal_bytes < Journal::kSmallest) {
    return unexpected(Code::kInvalidArgument,
                      "journal_bytes of " + std::to_string(options.journal_bytes) +
                          " is too small: at least " + std::to_string(Journal::kSmallest));
  }
  auto memory = make_memory("xylem-leaf-journal", options.journal_bytes);
  if (!memory) return unexpected(std::move(memory.error()));
  auto mapping = Mapping::of(memory->get(), options.journal_bytes);
  if (!mapping) return unexpected(std::move(mapping.error()));
  joining.memory = *std::move(mapping);
  joining.starter = std::make_unique<CommProcessStarter>(
      comm_process_setting(address, joining.network, joining.node.host, options.orphan_limit));
  return joining;
}

}  // namespace xylem::backend
