#include "launch/start_options.h"

namespace xylem::launch {
namespace {

constexpr std::uint64_t kMaxPort = 65535;
constexpr std::uint64_t kMinRing = 64;
constexpr std::uint64_t kMaxRing = 1u << 22;
constexpr std::uint64_t kMaxTestSize = 1024;

Result<void> read_ring(const SettingValue& setting, StartOptions& options) {
  const auto records = to_number(setting, kMaxRing);
  if (!records) return unexpected(records.error());
  if ((*records & (*records - 1)) != 0 || (*records != 0 && *records < kMinRing)) {
    return bad_setting(setting, "must be a power of two, at least 64");
  }
  options.ring_records = static_cast<unsigned>(*records);
  return {};
}

}  // namespace

const Section<StartOptions>& start_section() {
  static const Section<StartOptions> kSection = {
      text_option("launcher", &StartOptions::launcher,
                  "Starts communication processes on hosts that the job does not use: ssh, or any "
                  "command that runs `LAUNCHER HOST sh`",
                  "COMMAND"),
      text_option("sample", &StartOptions::sample,
                  "Record 1 in N calls: FUNCTION=N[,FUNCTION=N], or none [of MPI_Iprobe, "
                  "MPI_Improbe, MPI_Test, MPI_Testall, MPI_Testany, MPI_Testsome: 1000]",
                  "LIST"),
      text_option("interface", &StartOptions::interface,
                  "Where the front end listens: interface, address, all, or auto (loopback if a "
                  "launcher names no other hosts; for scripts the first other address)",
                  "NAME|ADDRESS"),
      number_option("port", &StartOptions::port, kMaxPort,
                    "TCP port of the front end; 0 takes a free one"),
      word_option("tls", &StartOptions::tls, "off", "on",
                  "on: encrypt TCP links; off: do not, for measurements and private networks"),
      {{"ring", "0", false,
        "Number of records in a thread's ring, a power of two; 0 is the default, 262144", "N"},
       read_ring},
      number_option("test-size", &StartOptions::test_size, kMaxTestSize,
                    "Number of hosts to pretend on this one, to try a tree"),
  };
  return kSection;
}

}  // namespace xylem::launch
