#pragma once

// The settings of a run that concern its start: where the front end listens, which command starts
// communication processes, and what the ranks find in their environment.

#include <cstdint>
#include <string>

#include "base/settings.h"

namespace xylem::launch {

struct StartOptions {
  std::string launcher;            ///< `--launcher`; empty: none.
  std::string interface = "auto";  ///< `--interface`
  std::uint16_t port = 0;          ///< `--port`; 0: any.
  bool tls = true;                 ///< `--tls`
  std::string sample;         ///< `--sample`. Not checked here: only capture/ knows the functions.
  unsigned ring_records = 0;  ///< `--ring`; 0: the capture library's default.
  unsigned test_size = 0;     ///< `--test-size`; 0: real hosts.
  bool operator==(const StartOptions&) const = default;
};

const Section<StartOptions>& start_section();

}  // namespace xylem::launch
