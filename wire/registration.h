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
#include "wire/series.h"

namespace xylem::wire {

/// Random, equal in all processes of one MPI_COMM_WORLD.
using WorldKey = std::array<std::uint8_t, 16>;

struct FunctionRow {
  FunctionId id{};
  std::string name;
  std::uint8_t function_class = 0;
  bool operator==(const FunctionRow&) const = default;
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
  std::string clock;  ///< Of what sort its times are, for people; empty: the run's.
  /// Why nothing of it is recorded, as part of a sentence; empty: it is watched.
  std::string unwatched{};
  bool operator==(const ProcessRow&) const = default;
};

/// State, not change: told again it says the same. Rows not named are as before.
struct Registration {
  std::string host;
  std::vector<FunctionRow> functions;
  std::vector<ProcessRow> processes;
  std::vector<ServiceRow> services{};   ///< What may take samples here.
  std::vector<SeriesLayout> layouts{};  ///< What their numbers mean.
  bool operator==(const Registration&) const = default;
};

/// A flat Cap'n Proto segment. Of a process that is not initialised no world is sent.
Bytes encode(const Registration& registration);
/// Fails with kCorrupt: on bytes that are no registration, a function without a name, a process of
/// lane 0, a world key of another size, a rank outside its world, a service of lane 0 or beyond
/// kMaxServices or with another name than is_service_name(), a metric without a name.
Result<Registration> decode_registration(std::span<const std::byte> payload);

/// Name of a function class as it is stored: "point_to_point", "collective", ...; "other" for
/// numbers that this version does not know. Numbers are those of capture::FunctionClass.
const char* function_class_name(std::uint8_t function_class);

}  // namespace xylem::wire
