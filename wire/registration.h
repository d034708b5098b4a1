#pragma once

// Payload of the registration stream: names travel from the capture library to the store, so that
// nobody above capture/ knows an MPI function by name.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "wire/packet.h"

namespace xylem::wire {

/// Random, equal in all processes of one MPI_COMM_WORLD.
using WorldKey = std::array<std::uint8_t, 16>;

struct FunctionRow {
  FunctionId id{};
  std::string name;
  std::uint8_t function_class = 0;
};

struct ProcessRow {
  Lane lane{};
  std::uint32_t pid = 0;
  bool initialised = false;  ///< MPI_Init has returned: what follows is valid.
  WorldKey world_key{};
  Rank rank{};
  std::uint32_t world_size = 0;
  std::string mpi_library;
  std::string program;
};

/// State, not change: told again it says the same. Rows not named are as before.
struct Registration {
  std::string host;
  std::vector<FunctionRow> functions;
  std::vector<ProcessRow> processes;
};

Bytes encode(const Registration& registration);
/// Fails with kCorrupt.
Result<Registration> decode_registration(std::span<const std::byte> payload);

Bytes encode(const Tombstone& tombstone);
/// Fails with kCorrupt.
Result<Tombstone> decode_tombstone(std::span<const std::byte> payload);

/// Name of a function class as it is stored: "point_to_point", "collective", ...; "other" for
/// numbers that this version does not know. Numbers are those of capture::FunctionClass.
const char* function_class_name(std::uint8_t function_class);

}  // namespace xylem::wire
