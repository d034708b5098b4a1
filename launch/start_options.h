#pragma once

// The settings for the start of a run: addresses of the front end, the launcher of communication
// processes, and environment variables of the ranks.

#include <cstdint>
#include <string>

#include "base/settings.h"

namespace xylem::launch {

struct StartOptions {
  std::string launcher;            ///< `--launcher`; empty: none.
  std::string interface = "auto";  ///< `--interface`
  std::uint16_t port = 0;          ///< `--port`; 0: any.
  bool tls = true;                 ///< `--tls`
  /// `--sample`. Not checked here, because only capture/ has the list of functions.
  std::string sample;
  unsigned ring_records = 0;  ///< `--ring`; 0: the capture library's default.
  unsigned test_size = 0;     ///< `--test-size`; 0: real hosts.
  bool operator==(const StartOptions&) const = default;
};

/// The settings of StartOptions.
const Section<StartOptions>& start_section();

}  // namespace xylem::launch
