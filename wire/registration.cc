#include "wire/registration.h"

#include <cmath>

#include "wire/definitions_internal.h"
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
constexpr std::size_t kServiceWords = 2;
constexpr std::size_t kLayoutWords = 2;
constexpr std::size_t kMetricWords = 4;
constexpr std::size_t kNamedMetricWords = kMetricWords + 6;
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
    out.setThreadLevel(row.thread_level);
  }
  out.setMpiLibrary(text(row.mpi_library));
  out.setProgram(text(row.program));
  if (!row.clock.empty()) out.setClock(text(row.clock));
  if (!row.unwatched.empty()) out.setUnwatched(text(row.unwatched));
  if (!row.processors.empty()) out.setProcessors(text(row.processors));
  if (row.definitions != Definitions{})
    internal::write_definitions(row.definitions, out.initDefinitions());
}

void write(const std::vector<ServiceRow>& rows, schema::Registration::Builder out) {
  auto services = out.initServices(static_cast<unsigned>(rows.size()));
  unsigned i = 0;
  for (const ServiceRow& row : rows) {
    services[i].setLane(raw(row.lane));
    services[i++].setName(text(row.name));
  }
}

void write(const std::vector<SeriesLayout>& layouts, schema::Registration::Builder out) {
  auto all = out.initLayouts(static_cast<unsigned>(layouts.size()));
  unsigned i = 0;
  for (const SeriesLayout& layout : layouts) {
    all[i].setService(text(layout.service));
    auto rows = all[i++].initRows(static_cast<unsigned>(layout.rows.size()));
    unsigned at = 0;
    for (const MetricRow& row : layout.rows) {
      auto to = rows[at++];
      to.setName(text(row.name));
      to.setUnit(text(row.unit));
      to.setScale(row.scale);
      to.setPerSecond(row.per_second);
    }
  }
}

FunctionRow read(schema::FunctionRow::Reader in) {
  FunctionRow row;
  row.id = FunctionId{in.getId()};
  row.name = text(in.getName());
  require(!row.name.empty(), "a function has no name");
  row.function_class = in.getFunctionClass();
  return row;
}

ProcessRow read(schema::ProcessRow::Reader in, std::size_t size) {
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
    row.thread_level = in.getThreadLevel();
  }
  row.mpi_library = text(in.getMpiLibrary());
  row.program = text(in.getProgram());
  row.clock = text(in.getClock());
  row.unwatched = text(in.getUnwatched());
  row.processors = text(in.getProcessors());
  if (in.hasDefinitions()) {
    row.definitions = internal::read_definitions(in.getDefinitions(), size);
    Definitions sites;
    sites.call_sites = row.definitions.call_sites;
    sites.lost = row.definitions.lost;
    require(row.initialised || row.definitions == sites,
            "a process without a world has definitions other than call sites");
  }
  return row;
}

ServiceRow read(schema::ServiceRow::Reader in) {
  ServiceRow row{Lane{in.getLane()}, text(in.getName())};
  require(row.lane != kLeafLane && raw(row.lane) <= kMaxServices, "a service has no such number");
  require(is_service_name(row.name), "a service has no name that can be one");
  return row;
}

SeriesLayout read(schema::SeriesLayout::Reader in, std::size_t size) {
  SeriesLayout layout;
  layout.service = text(in.getService());
  const auto rows = in.getRows();
  layout.rows.reserve(checked_count(rows, kMetricWords, size));
  for (const auto row : rows) {
    layout.rows.push_back(
        {text(row.getName()), text(row.getUnit()), row.getScale(), row.getPerSecond()});
    require(!layout.rows.back().name.empty(), "a metric has no name");
    // Equal layouts must have equal keys. A NaN is not equal to itself, so it cannot be part of a
    // key.
    require(std::isfinite(layout.rows.back().scale), "the scale of a metric is not a number");
  }
  return layout;
}

Registration read(schema::Registration::Reader in, std::size_t size) {
  Registration value;
  value.host = text(in.getHost());
  const auto functions = in.getFunctions();
  value.functions.reserve(checked_count(functions, kFunctionWords, size));
  for (const auto row : functions) value.functions.push_back(read(row));
  const auto processes = in.getProcesses();
  value.processes.reserve(checked_count(processes, kProcessWords, size));
  for (const auto row : processes) value.processes.push_back(read(row, size));
  const auto services = in.getServices();
  value.services.reserve(checked_count(services, kServiceWords, size));
  for (const auto row : services) value.services.push_back(read(row));
  const auto layouts = in.getLayouts();
  value.layouts.reserve(checked_count(layouts, kLayoutWords, size));
  for (const auto row : layouts) value.layouts.push_back(read(row, size));
  value.processor = text(in.getProcessor());
  value.frequency_hz = in.getFrequencyHz();
  return value;
}

}  // namespace

Bytes encode(const Registration& registration) {
  std::size_t words = kHeadWords + registration.functions.size() * kNamedFunctionWords +
                      registration.processes.size() * kNamedProcessWords +
                      registration.services.size() * (kServiceWords + kHeadWords);
  for (const ProcessRow& row : registration.processes) {
    words += internal::definition_words(row.definitions);
  }
  for (const SeriesLayout& layout : registration.layouts) {
    words += kHeadWords + layout.rows.size() * kNamedMetricWords;
  }
  return internal::encode_flat<schema::Registration>(
      0, words, [&](schema::Registration::Builder out) {
        out.setHost(text(registration.host));
        auto functions = out.initFunctions(static_cast<unsigned>(registration.functions.size()));
        unsigned i = 0;
        for (const FunctionRow& row : registration.functions) write(row, functions[i++]);
        auto processes = out.initProcesses(static_cast<unsigned>(registration.processes.size()));
        i = 0;
        for (const ProcessRow& row : registration.processes) write(row, processes[i++]);
        if (!registration.services.empty()) write(registration.services, out);
        if (!registration.layouts.empty()) write(registration.layouts, out);
        if (!registration.processor.empty()) out.setProcessor(text(registration.processor));
        out.setFrequencyHz(registration.frequency_hz);
      });
}

Result<Registration> decode_registration(std::span<const std::byte> payload) {
  return internal::decode_flat<schema::Registration>(
      "a registration", payload,
      [&](schema::Registration::Reader in) { return read(in, payload.size()); });
}

const char* function_class_name(std::uint8_t function_class) {
  // In the order of capture::FunctionClass, which this folder may not include; the test compares.
  static constexpr const char* kNames[] = {"other", "point_to_point", "collective", "completion",
                                           "probe", "communicator",   "datatype",   "one_sided",
                                           "file",  "environment",    "tool"};
  return function_class < std::size(kNames) ? kNames[function_class] : kNames[0];
}

const char* thread_level_name(std::uint8_t thread_level) {
  static constexpr const char* kNames[] = {"", "single", "funneled", "serialized", "multiple"};
  return thread_level < std::size(kNames) ? kNames[thread_level] : kNames[0];
}

}  // namespace xylem::wire
