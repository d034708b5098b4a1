#include "storage/read/chunk_reads_internal.h"

namespace xylem::storage {

std::string meeting(Nanos begin_ns, Nanos end_ns) {
  return " AND begin_ns < " + std::to_string(end_ns) + " AND end_ns >= " + std::to_string(begin_ns);
}

ChunkReads::ChunkReads(ViewReader& reader, std::uint64_t max_cost)
    : reader_(reader), max_cost_(max_cost) {
  for (const auto& row : reader.inquiry.ask("SELECT leaf, id, function FROM function_alias")) {
    aliases_[{id_of<LeafId>(row[0]), id_of<FunctionId>(row[1])}] = id_of<FunctionKey>(row[2]);
  }
}

std::uint64_t ChunkReads::cost(ProcessKey process, const std::string& condition,
                               std::uint64_t max_cost) {
  const auto row = reader_.inquiry.ask_one(
      "SELECT count(*), total(max(events, 0)) FROM (SELECT events FROM event_chunk WHERE process"
      " = " +
          std::to_string(raw(process)) + condition + " LIMIT " +
          std::to_string(max_cost / kChunkEvents + 1) + ")",
      2);
  return count_of(row[0]) * kChunkEvents +
         static_cast<std::uint64_t>(std::clamp(real_of(row[1]), 0.0, 1e15));
}

std::span<const wire::Event> ChunkReads::open(std::span<const Value> row) {
  if (spent_ >= max_cost_ || !opened_.insert(integer_of(row[0])).second) return {};
  const auto* bytes = std::get_if<Blob>(&row[1]);
  const auto events = decoder_.decode(bytes == nullptr ? Blob{} : *bytes);
  if (!events) {
    reader_.fail(events.error().code,
                 "chunk " + to_text(row[0]) + " is damaged: " + events.error().message);
    return {};
  }
  spent_ += events->size() + kChunkEvents;
  return *events;
}

FunctionKey ChunkReads::function_of(const wire::Event& event, LeafId leaf) const {
  if (aliases_.empty()) return key_of(event.function);
  const auto alias = aliases_.find({leaf, event.function});
  return alias == aliases_.end() ? key_of(event.function) : alias->second;
}

Timeline::Call ChunkReads::call_of(Rank rank, FunctionKey function, const wire::Event& event) {
  Timeline::Call call;
  call.rank = rank;
  call.thread = event.thread;
  call.begin_ns = event.begin_ns;
  call.end_ns = event.end_ns;
  auto [name, function_class] = reader_.function(function);
  call.function = std::move(name);
  call.function_class = std::move(function_class);
  call.bytes = event.bytes;
  call.calls = event.calls;
  call.estimated = (event.flags & wire::kEventEstimated) != 0;
  if (event.peer != wire::kNoPeer) call.peer = event.peer;
  if (event.tag != wire::kNoTag) call.tag = event.tag;
  if (event.comm != wire::kNoComm) call.comm = event.comm;
  if ((event.flags & wire::kEventNumbered) != 0) call.number = event.number;
  return call;
}

}  // namespace xylem::storage
