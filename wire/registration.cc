#include "wire/registration.h"

#include "wire/flat_internal.h"
#include "xylem.capnp.h"

namespace xylem::wire {

namespace {

using internal::checked_count;
using internal::fixed;
using internal::require;
using internal::text;

// Sizes of version 1, with their shortest texts; later versions only grow them.
constexpr std::size_t kFunctionWords = 3;
constexpr std::size_t kProcessWords = 5;
constexpr std::size_t kTombstoneWords = 8;
// With the text of a name or of a program and a library: a guess, see encode_flat().
constexpr std::size_t kNamedFunctionWords = kFunctionWords + 4;
constexpr std::size_t kNamedProcessWords = kProcessWords + 24;
constexpr std::size_t kHeadWords = 32;

void write(const FunctionRow& row, schema::FunctionRow::Builder out) {
  out.setId(raw(row.id));
  out.setName(text(row.name));
  out.setFunctionClass(row.function_class);
}

void write(const ProcessRow& row, schema::ProcessRow::Builder out) {
  out.setLane(raw(row.lane));
  out.setPid(row.pid);
  if (row.initialised) {
    out.setWorldKey(fixed(row.world_key));
    out.setRank(raw(row.rank));
    out.setWorldSize(row.world_size);
  }
  out.setMpiLibrary(text(row.mpi_library));
  out.setProgram(text(row.program));
  if (!row.clock.empty()) out.setClock(text(row.clock));
}

FunctionRow read(schema::FunctionRow::Reader in) {
  FunctionRow row;
  row.id = FunctionId{in.getId()};
  row.name = text(in.getName());
  require(!row.name.empty(), "a function has no name");
  row.function_class = in.getFunctionClass();
  return row;
}

ProcessRow read(schema::ProcessRow::Reader in) {
  ProcessRow row;
  row.lane = Lane{in.getLane()};
  require(row.lane != kLeafLane, "a process has the number of its leaf, 0");
  row.pid = in.getPid();
  const auto key = in.getWorldKey();
  row.initialised = key.size() > 0;
  if (row.initialised) {
    row.world_key = fixed<WorldKey>(key, "a world's key is not 16 bytes");
    row.rank = Rank{in.getRank()};
    row.world_size = in.getWorldSize();
    require(raw(row.rank) < row.world_size, "a rank is outside its world");
  }
  row.mpi_library = text(in.getMpiLibrary());
  row.program = text(in.getProgram());
  row.clock = text(in.getClock());
  return row;
}

Registration read(schema::Registration::Reader in, std::size_t size) {
  Registration value;
  value.host = text(in.getHost());
  const auto functions = in.getFunctions();
  value.functions.reserve(checked_count(functions, kFunctionWords, size));
  for (const auto row : functions) value.functions.push_back(read(row));
  const auto processes = in.getProcesses();
  value.processes.reserve(checked_count(processes, kProcessWords, size));
  for (const auto row : processes) value.processes.push_back(read(row));
  return value;
}

}  // namespace

Bytes encode(const Registration& registration) {
  const std::size_t words = kHeadWords + registration.functions.size() * kNamedFunctionWords +
                            registration.processes.size() * kNamedProcessWords;
  return internal::encode_flat<schema::Registration>(
      0, words, [&](schema::Registration::Builder out) {
        out.setHost(text(registration.host));
        auto functions = out.initFunctions(static_cast<unsigned>(registration.functions.size()));
        unsigned i = 0;
        for (const FunctionRow& row : registration.functions) write(row, functions[i++]);
        auto processes = out.initProcesses(static_cast<unsigned>(registration.processes.size()));
        i = 0;
        for (const ProcessRow& row : registration.processes) write(row, processes[i++]);
      });
}

Result<Registration> decode_registration(std::span<const std::byte> payload) {
  return internal::decode_flat<schema::Registration>(
      "a registration", payload,
      [&](schema::Registration::Reader in) { return read(in, payload.size()); });
}

Bytes encode(const Tombstone& tombstone) {
  return internal::encode_flat<schema::Tombstone>(
      0, kTombstoneWords + tombstone.reason.size() / sizeof(capnp::word),
      [&](schema::Tombstone::Builder out) {
        out.setReason(text(tombstone.reason));
        out.setCalls(tombstone.calls);
      });
}

Result<Tombstone> decode_tombstone(std::span<const std::byte> payload) {
  return internal::decode_flat<schema::Tombstone>(
      "a tombstone", payload, [](schema::Tombstone::Reader in) {
        return Tombstone{text(in.getReason()), in.getCalls()};
      });
}

const char* function_class_name(std::uint8_t function_class) {
  // In the order of capture::FunctionClass, which this folder may not include; the test compares.
  static constexpr const char* kNames[] = {"other", "point_to_point", "collective", "completion",
                                           "probe", "communicator",   "datatype",   "one_sided",
                                           "file",  "environment",    "tool"};
  return function_class < std::size(kNames) ? kNames[function_class] : kNames[0];
}

}  // namespace xylem::wire
