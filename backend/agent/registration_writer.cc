#include "backend/agent/registration_writer.h"

#include "base/fnv.h"

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
    registration.host = host_;
    registration.processes.push_back(unwatched_.back());
    if (!write(registration, drain)) return false;
    processes_.note_finished(unwatched_.back().lane);
    unwatched_.pop_back();
  }
  for (auto& [lane, process] : processes_) {
    if (process.announced && process.announced_world) continue;
    if (!announce(process, drain)) return false;
  }
  return true;
}

bool RegistrationWriter::announce(WatchedProcess& process, const Drain& drain) {
  wire::Registration registration;
  registration.host = host_;
  registration.processes.push_back(process.segment.describe());
  wire::ProcessRow& row = registration.processes.front();
  row.lane = process.lane;
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

  if (!write(registration, drain)) return false;
  process.announced_functions = has_functions;
  if (!registration.functions.empty()) tables_.insert(table);
  process.announced = true;
  process.announced_world = row.initialised;
  return true;
}

bool RegistrationWriter::write(const wire::Registration& registration, const Drain& drain) {
  Draft draft;
  draft.packet.id.stream = wire::kRegistrationStream;
  draft.packet.id.wave = packets_.next_wave(wire::kRegistrationStream);
  draft.packet.id.wave_end = draft.packet.id.wave + 1;
  draft.packet.id.sources = IntervalSet::of(raw(drain.leaf));
  draft.packet.payload = wire::encode(registration);
  return packets_.write(draft, drain.now);
}

}  // namespace xylem::backend
