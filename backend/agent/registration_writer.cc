#include "backend/agent/registration_writer.h"

#include <algorithm>
#include <utility>

#include "backend/agent/definition_log.h"
#include "base/fnv.h"
#include "base/log.h"

namespace xylem::backend {
namespace {

std::uint64_t hash_of(const std::vector<wire::FunctionRow>& table) {
  Fnv1a hash;
  for (const wire::FunctionRow& row : table) {
    for (const char c : row.name + '\n') hash.add(static_cast<std::uint8_t>(c));
  }
  return hash.value();
}

}  // namespace

bool RegistrationWriter::announce(const Drain& drain) {
  while (!unwatched_.empty()) {
    wire::Registration registration;
    registration.host = options_.host;
    add_processor(registration);
    registration.processes.push_back(unwatched_.back());
    if (!write(registration, drain)) return false;
    processes_.note_finished(unwatched_.back().lane);
    unwatched_.pop_back();
  }
  for (auto& [lane, process] : processes_) {
    const bool is_announced = process.announced && process.announced_world;
    if (!is_announced && !announce(process, drain)) return false;
    if (process.announced_world && !announce_definitions(process, drain)) return false;
  }
  return true;
}

wire::Registration RegistrationWriter::registration_of(const WatchedProcess& process) const {
  wire::Registration registration;
  registration.host = options_.host;
  registration.processes.push_back(process.segment.describe());
  registration.processes.front().lane = process.lane;
  return registration;
}

void RegistrationWriter::add_processor(wire::Registration& registration) const {
  registration.processor = options_.processor.model;
  registration.frequency_hz = options_.processor.frequency_hz;
}

bool RegistrationWriter::announce(WatchedProcess& process, const Drain& drain) {
  wire::Registration registration = registration_of(process);
  wire::ProcessRow& row = registration.processes.front();
  std::uint64_t table = 0;
  bool has_functions = process.announced_functions;
  if (!process.announced_functions) {
    registration.functions = process.segment.functions();
    table = hash_of(registration.functions);
    has_functions = !registration.functions.empty();
    if (tables_.contains(table)) registration.functions.clear();
  }
  if (process.announced && !row.initialised && registration.functions.empty()) {
    process.announced_functions = has_functions;
    return true;
  }

  add_processor(registration);
  row.processors = options_.allowed_processors(row.pid);
  if (!write(registration, drain)) return false;
  process.announced_functions = has_functions;
  if (!registration.functions.empty()) tables_.insert(table);
  process.announced = true;
  process.announced_world = row.initialised;
  return true;
}

// The journal never gives up a registration, so definitions must not fill it.
bool RegistrationWriter::has_room_for_definitions() {
  constexpr std::size_t kParts = 4;
  while (!definitions_.empty() && !packets_.is_live(definitions_.front().key)) {
    definition_bytes_ -= definitions_.front().bytes;
    definitions_.pop_front();
  }
  return definition_bytes_ < packets_.capacity() / kParts;
}

// Announces all that is in the log now: a process that has ended is finished in the same drain.
bool RegistrationWriter::announce_definitions(WatchedProcess& process, const Drain& drain) {
  constexpr std::size_t kBatchBytes = 64u << 10;
  Segment& segment = process.segment;
  if (!process.ended && !has_room_for_definitions()) return true;
  std::size_t left = segment.waiting_definitions();
  do {
    DefinitionBatch batch = read_definitions(segment.definitions(std::min(left, kBatchBytes)));
    // The process publishes whole entries, so an entry that is cut off there means damage too.
    const bool is_damaged = batch.is_damaged || (batch.read == 0 && left != 0);
    const std::uint64_t lost =
        segment.dropped_definitions() + process.unreadable_definitions + (is_damaged ? 1 : 0);
    if (batch.read == 0 && lost == process.told_lost_definitions) return true;
    for (wire::ThreadRow& row : batch.definitions.threads) {
      row.since_ns = std::max<Nanos>(1, drain.run_time(std::min(row.since_ns, drain.now)));
    }
    for (MappedCode& code : batch.mapped_code) process.call_sites.add(std::move(code));
    if (batch.definitions != wire::Definitions{} || lost != process.told_lost_definitions) {
      batch.definitions.lost = lost;
      if (!announce(std::move(batch.definitions), process, drain)) return false;
    }
    segment.advance_definitions(batch.read);
    left -= batch.read;
    process.told_lost_definitions = lost;
    if (!is_damaged) continue;
    if (process.unreadable_definitions++ == 0) {
      log(Level::kWarn, "a process has damaged its log of definitions", {{"pid", segment.pid()}});
    }
    segment.skip_definitions();
    return true;
  } while (left != 0);
  return true;
}

bool RegistrationWriter::announce_call_sites(WatchedProcess& process, const Drain& drain) {
  constexpr std::size_t kBatch = 64;  // A row has a path, so it may have some KiB.
  std::vector<wire::CallSiteRow> batch;
  const auto announce_batch = [&] {
    wire::Definitions definitions;
    definitions.call_sites = batch;
    definitions.lost = process.told_lost_definitions;
    if (!announce(std::move(definitions), process, drain)) return false;
    for (const wire::CallSiteRow& row : batch) announced_sites_.insert(row.site);
    batch.clear();
    return true;
  };
  for (const wire::CallSiteRow& row : process.call_sites.found()) {
    if (announced_sites_.contains(row.site)) continue;
    batch.push_back(row);
    if (batch.size() == kBatch && !announce_batch()) return false;
  }
  if (!batch.empty() && !announce_batch()) return false;
  process.call_sites.forget_found();
  return true;
}

bool RegistrationWriter::announce(wire::Definitions definitions, const WatchedProcess& process,
                                  const Drain& drain) {
  wire::Registration registration = registration_of(process);
  registration.processes.front().definitions = std::move(definitions);
  return write(registration, drain);
}

bool RegistrationWriter::write(const wire::Registration& registration, const Drain& drain) {
  Draft draft;
  draft.packet.id.stream = wire::kRegistrationStream;
  draft.packet.id.wave = packets_.next_wave(wire::kRegistrationStream);
  draft.packet.id.wave_end = draft.packet.id.wave + 1;
  draft.packet.id.sources = IntervalSet::of(raw(drain.leaf));
  draft.packet.payload = wire::encode(registration);
  const std::size_t bytes = draft.packet.payload.size();
  if (!packets_.write(draft, drain.now)) return false;
  if (!registration.processes.empty() &&
      registration.processes.front().definitions != wire::Definitions{}) {
    definitions_.push_back({key_of(draft.packet.id), bytes});
    definition_bytes_ += bytes;
  }
  return true;
}

}  // namespace xylem::backend
