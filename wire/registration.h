#pragma once

// Payload of the registration stream. It carries the names of functions from the capture library to
// the store.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "wire/definitions.h"
#include "wire/packet.h"
#include "wire/series.h"

namespace xylem::wire {

/// A random key, equal in all processes of one MPI_COMM_WORLD.
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
  /// True if MPI_Init has returned. Only then world, rank and thread level are valid.
  bool initialised = false;
  WorldKey world_key{};
  Rank rank{};
  std::uint32_t world_size = 0;
  std::string mpi_library;
  std::string program;
  /// The clock with which this process measures times, in words; empty if it is the run's clock.
  std::string clock;
  /// Why the process is not recorded, worded as part of a sentence; empty if the process is
  /// recorded.
  std::string unwatched{};
  /// The processors on which the process may run, as in "0-3,8"; empty if they are not known.
  std::string processors{};
  /// What MPI_Query_thread has said, plus 1; 0: not known. See thread_level_name().
  std::uint8_t thread_level = 0;
  /// New definitions of the process; empty if it is not initialised.
  Definitions definitions{};
  bool operator==(const ProcessRow&) const = default;
};

/// The current state of a leaf. A repeated registration has no effect. A new registration does not
/// remove rows of earlier ones.
struct Registration {
  std::string host;
  std::vector<FunctionRow> functions;
  std::vector<ProcessRow> processes;
  std::vector<ServiceRow> services{};   ///< The services that may take samples on this leaf's host.
  std::vector<SeriesLayout> layouts{};  ///< Meaning of the numbers in these services' samples.
  /// Model and frequency of the host's processor; empty and 0: unknown, or in another packet.
  std::string processor{};
  std::uint64_t frequency_hz = 0;
  bool operator==(const Registration&) const = default;
};

/// Encodes a registration as a flat Cap'n Proto segment. For a process that is not initialised, the
/// world fields are left out.
Bytes encode(const Registration& registration);
/// Fails with kCorrupt if the bytes are not a registration, or if a row is invalid:
///
/// - a function or a metric without a name, or a metric whose scale is not finite;
/// - a process with lane 0, a world key of the wrong size, or a rank outside its world;
/// - definitions of a process that is not initialised;
/// - a service with lane 0 or a lane above kMaxServices, or with an invalid name
///   (is_service_name()).
Result<Registration> decode_registration(std::span<const std::byte> payload);

/// The stored name of a function class: "point_to_point", "collective", ...; "other" for numbers
/// that this version does not know. The numbers are the same as in capture::FunctionClass.
const char* function_class_name(std::uint8_t function_class);

/// The stored name of ProcessRow::thread_level: "single", "funneled", "serialized" or "multiple";
/// "" for 0 and for levels that this version does not know.
const char* thread_level_name(std::uint8_t thread_level);

}  // namespace xylem::wire
