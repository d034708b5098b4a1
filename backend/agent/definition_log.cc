#include "backend/agent/definition_log.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/printable_text.h"
#include "capture/core/ring.h"

namespace xylem::backend {
namespace {

using capture::DefinitionKind;

template <typename Fixed>
std::optional<Fixed> fixed_part(std::span<const std::byte> payload) {
  Fixed fixed;
  if (payload.size() < sizeof fixed) return std::nullopt;
  std::memcpy(&fixed, payload.data(), sizeof fixed);
  return fixed;
}

std::string printable(std::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (c < ' ' || c > '~') c = '?';
  }
  return name;
}

void read_communicator(std::span<const std::byte> payload, wire::Definitions& into) {
  const auto from = fixed_part<capture::CommunicatorDefinition>(payload);
  if (!from || from->size < 0 || from->second_size < 0) return;
  wire::CommunicatorRow row;
  row.comm = CommId{from->comm};
  if (from->parent != capture::kNoComm) row.parent = CommId{from->parent};
  row.group = from->group;
  row.kind = wire::CommunicatorKind{static_cast<std::uint8_t>(raw(from->kind))};
  row.size = static_cast<std::uint32_t>(from->size);
  row.second_size = static_cast<std::uint32_t>(from->second_size);
  into.communicators.push_back(row);
}

void read_member(std::span<const std::byte> payload, wire::Definitions& into) {
  const auto from = fixed_part<capture::MemberDefinition>(payload);
  if (!from || from->place < 0) return;
  into.members.push_back(
      {from->group, static_cast<std::uint32_t>(from->place), from->is_second != 0});
}

void read_name(std::span<const std::byte> payload, wire::Definitions& into) {
  const auto from = fixed_part<capture::CommunicatorText>(payload);
  if (!from) return;
  const auto text = payload.subspan(sizeof *from);
  into.names.push_back(
      {CommId{from->comm}, printable({reinterpret_cast<const char*>(text.data()), text.size()})});
}

// Calls `take(head, position, element)` for each element of a list.
template <typename Element, typename Take>
void read_list(std::span<const std::byte> payload, const Take& take) {
  const auto head = fixed_part<capture::CommunicatorList>(payload);
  if (!head) return;
  auto rest = payload.subspan(sizeof *head);
  for (std::uint32_t at = head->first; rest.size() >= sizeof(Element); ++at) {
    take(CommId{head->comm}, at, *fixed_part<Element>(rest));
    rest = rest.subspan(sizeof(Element));
  }
}

void read_neighbours(std::span<const std::byte> payload, bool is_source, wire::Definitions& into) {
  read_list<std::int32_t>(payload, [&](CommId comm, std::uint32_t at, std::int32_t rank) {
    wire::NeighbourRow row{comm, is_source, at, std::nullopt};
    if (rank >= 0) row.rank = Rank{static_cast<std::uint32_t>(rank)};
    into.neighbours.push_back(row);
  });
}

void read_mapped_file(std::span<const std::byte> payload, DefinitionBatch& batch) {
  const auto from = fixed_part<capture::MappedFile>(payload);
  if (!from || from->begin >= from->end || from->build_id_bytes > sizeof from->build_id) return;
  const auto rest = payload.subspan(sizeof *from);
  std::string path(reinterpret_cast<const char*>(rest.data()), rest.size());
  // The kernel adds this to the path of a file that has been removed or replaced.
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  const auto* const id = reinterpret_cast<const std::byte*>(&from->build_id);
  batch.mapped_code.push_back(
      {from->begin, from->end, from->base, {id, id + from->build_id_bytes}, std::move(path)});
}

void read_thread(std::span<const std::byte> payload, wire::Definitions& into) {
  const auto from = fixed_part<capture::ThreadDefinition>(payload);
  if (!from || from->ring >= capture::kMaxThreads) return;
  constexpr auto kLatest = static_cast<std::uint64_t>(std::numeric_limits<Nanos>::max());
  const auto since = static_cast<Nanos>(std::min(from->since_monotonic, kLatest));
  into.threads.push_back({ThreadIndex{from->ring}, from->os_thread, since});
}

void read_region(std::span<const std::byte> payload, wire::Definitions& into) {
  const auto from = fixed_part<capture::RegionDefinition>(payload);
  if (!from) return;
  const auto text = payload.subspan(sizeof *from);
  // Names may have any characters of UTF-8.
  into.regions.push_back(
      {from->region, xylem::printable({reinterpret_cast<const char*>(text.data()), text.size()})});
}

void read_record_cost(std::span<const std::byte> payload, wire::Definitions& into) {
  const auto from = fixed_part<capture::RecordCostDefinition>(payload);
  if (!from || raw(from->shape) >= capture::kRecordShapes) return;
  into.record_costs.push_back(
      {wire::RecordShape{static_cast<std::uint8_t>(raw(from->shape))}, from->picoseconds});
}

void read_entry(DefinitionKind kind, std::span<const std::byte> payload, DefinitionBatch& batch) {
  wire::Definitions& into = batch.definitions;
  switch (kind) {
    case DefinitionKind::kCommunicator:
      return read_communicator(payload, into);
    case DefinitionKind::kMember:
      return read_member(payload, into);
    case DefinitionKind::kCommunicatorName:
      return read_name(payload, into);
    case DefinitionKind::kDimensions:
      return read_list<capture::Dimension>(
          payload, [&](CommId comm, std::uint32_t at, const capture::Dimension& from) {
            into.dimensions.push_back({comm, at, from.size, from.is_periodic != 0});
          });
    case DefinitionKind::kSources:
      return read_neighbours(payload, true, into);
    case DefinitionKind::kDestinations:
      return read_neighbours(payload, false, into);
    case DefinitionKind::kMappedFile:
      return read_mapped_file(payload, batch);
    case DefinitionKind::kThread:
      return read_thread(payload, into);
    case DefinitionKind::kRegion:
      return read_region(payload, into);
    case DefinitionKind::kRecordCost:
      return read_record_cost(payload, into);
  }
}

}  // namespace

DefinitionBatch read_definitions(std::span<const std::byte> bytes) {
  DefinitionBatch batch;
  while (const auto head = fixed_part<capture::DefinitionHead>(bytes.subspan(batch.read))) {
    if (head->bytes > capture::kMaxDefinitionBytes) {
      batch.is_damaged = true;
      break;
    }
    const auto rest = bytes.subspan(batch.read + sizeof *head);
    const std::size_t padded = capture::padded_definition(head->bytes);
    if (rest.size() < padded) break;
    read_entry(head->kind, rest.first(head->bytes), batch);
    batch.read += sizeof *head + padded;
  }
  return batch;
}

}  // namespace xylem::backend
