#include <algorithm>
#include <limits>
#include <utility>

#include "storage/read/event_stream_internal.h"

namespace xylem::storage {
namespace {

constexpr std::size_t kFunctionIds = std::size_t{1} << 16;

}  // namespace

EventStream::EventStream(Connection& connection) : connection_(connection) {
  read_functions();
  read_processes();
}

void EventStream::read_functions() {
  functions_.push_back({});
  Statement rows(connection_, "SELECT id, name, class FROM function");
  for (bool more = rows.first(); more; more = rows.next()) {
    by_key_[FunctionKey{rows.integer(0)}] =
        FunctionIndex{static_cast<std::uint32_t>(functions_.size())};
    functions_.push_back({rows.text(1), role_of(rows.text(1), rows.text(2))});
  }
  Statement aliases(connection_, "SELECT leaf, id, function FROM function_alias");
  for (bool more = aliases.first(); more; more = aliases.next()) {
    const LeafId leaf{static_cast<std::uint32_t>(aliases.integer(0))};
    aliases_[leaf][aliases.integer(1)] = FunctionKey{aliases.integer(2)};
  }
}

const std::vector<FunctionIndex>* EventStream::functions_of(LeafId leaf) {
  const auto own = aliases_.find(leaf);
  const auto [place, is_new] =
      tables_.try_emplace(own == aliases_.end() ? std::nullopt : std::optional(leaf));
  std::vector<FunctionIndex>& table = place->second;
  if (!is_new) return &table;
  const auto put = [&](std::int64_t id, FunctionKey key) {
    const auto known = by_key_.find(key);
    if (id < 0 || id >= static_cast<std::int64_t>(kFunctionIds) || known == by_key_.end()) return;
    if (table.size() <= static_cast<std::size_t>(id))
      table.resize(static_cast<std::size_t>(id) + 1);
    table[static_cast<std::size_t>(id)] = known->second;
  };
  for (const auto& [key, index] : by_key_) put(raw(key), key);
  if (own != aliases_.end()) {
    for (const auto& [id, key] : own->second) put(id, key);
  }
  return &table;
}

void EventStream::read_processes() {
  // Files before schema 17 do not count threads.
  bool counts_threads = false;
  {
    Statement column(connection_,
                     "SELECT 1 FROM pragma_table_info('process') WHERE name = 'threads'");
    counts_threads = column.first();
  }
  Statement rows(connection_, std::string("SELECT id, leaf, world, rank, ") +
                                  (counts_threads ? "threads" : "NULL") +
                                  " FROM process p WHERE world IS NOT NULL AND rank IS NOT NULL AND"
                                  " EXISTS (SELECT 1 FROM event_chunk c WHERE c.process = p.id)"
                                  " ORDER BY world, rank, id");
  for (bool more = rows.first(); more; more = rows.next()) {
    processes_.push_back({ProcessKey{rows.integer(0)},
                          LeafId{static_cast<std::uint32_t>(rows.integer(1))},
                          WorldId{static_cast<std::uint32_t>(rows.integer(2))},
                          Rank{static_cast<std::uint32_t>(rows.integer(3))},
                          !rows.is_null(4) && rows.integer(4) <= 1});
  }
  sources_.resize(processes_.size());
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    sources_[i].functions = functions_of(processes_[i].leaf);
  }
}

Statement EventStream::chunks_of(ProcessIndex process) {
  return Statement(connection_, "SELECT chunk, begin_ns, id FROM event_chunk WHERE process = " +
                                    std::to_string(raw(processes_[raw(process)].key)) +
                                    " ORDER BY begin_ns");
}

std::span<const wire::Event> EventStream::decode(const Statement& chunks, ProcessIndex process) {
  const auto decoded = decoder_.decode(chunks.blob(0));
  if (decoded) return *decoded;
  const Process& of = processes_[raw(process)];
  connection_.fail(Error{Code::kCorrupt, "chunk " + std::to_string(chunks.integer(2)) +
                                             " of world " + std::to_string(raw(of.world)) +
                                             ", rank " + std::to_string(raw(of.rank)) +
                                             " is damaged: " + decoded.error().message});
  return {};
}

void EventStream::survey(ProcessIndex process,
                         const std::function<void(std::span<const wire::Event>)>& each_chunk) {
  Statement chunks = chunks_of(process);
  for (bool more = chunks.first(); more && connection_.ok(); more = chunks.next()) {
    each_chunk(decode(chunks, process));
  }
}

void EventStream::look_ahead(ProcessIndex process) {
  Source& source = sources_[raw(process)];
  if (!source.has_more) return;
  // A chunk in a damaged file may begin at any time.
  source.next_begin = source.chunks.integer(1);
  turns_.push({source.next_begin, false, raw(process)});
}

FunctionIndex EventStream::function_of(ProcessIndex process, const wire::Event& event) const {
  const auto& table = *sources_[raw(process)].functions;
  const std::size_t id = raw(event.function);
  return id < table.size() ? table[id] : FunctionIndex{};
}

void EventStream::fill(Cursor& cursor, std::span<const wire::Event> events) {
  bool is_in_order = true;
  Nanos latest = std::numeric_limits<Nanos>::min();
  for (const wire::Event& event : events) {
    constexpr std::uint8_t kMatters = wire::kEventSend | wire::kEventReceive | wire::kEventNumbered;
    const CallRole role = functions_[raw(function_of(cursor.process, event))].role;
    if ((event.flags & kMatters) == 0 && !may_wait(role) && role != CallRole::kPost) continue;
    is_in_order = is_in_order && event.end_ns >= latest;
    latest = event.end_ns;
    cursor.events.push_back(event);
  }
  // The rings of several threads are one after another in a chunk.
  if (!is_in_order) std::ranges::stable_sort(cursor.events, {}, &wire::Event::end_ns);
  cursor.earliest.resize(cursor.events.size());
  Nanos earliest = std::numeric_limits<Nanos>::max();
  for (std::size_t i = cursor.events.size(); i-- > 0;) {
    earliest = std::min(earliest, cursor.events[i].begin_ns);
    cursor.earliest[i] = earliest;
  }
}

void EventStream::open_chunk(ProcessIndex process) {
  Source& source = sources_[raw(process)];
  const std::span<const wire::Event> events = decode(source.chunks, process);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(cursors_.size()));
    cursors_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  Cursor& cursor = cursors_[number];
  cursor.process = process;
  cursor.at = 0;
  cursor.events.clear();
  fill(cursor, events);
  source.has_more = source.chunks.next();
  look_ahead(process);
  if (cursor.events.empty()) return;
  free_.pop_back();
  source.open.push_back(number);
  turns_.push({cursor.events.front().end_ns, true, number});
}

void EventStream::close(std::uint32_t cursor) {
  std::erase(sources_[raw(cursors_[cursor].process)].open, cursor);
  free_.push_back(cursor);
}

bool EventStream::next(Item& item) {
  if (!has_begun_) {
    has_begun_ = true;
    for (std::uint32_t i = 0; i < processes_.size(); ++i) {
      sources_[i].chunks = chunks_of(ProcessIndex{i});
      sources_[i].has_more = sources_[i].chunks.first();
      look_ahead(ProcessIndex{i});
    }
  }
  if (has_current_) {
    Cursor& cursor = cursors_[current_];
    if (++cursor.at == cursor.events.size()) {
      close(current_);
      has_current_ = false;
    } else if (const Nanos at = cursor.events[cursor.at].end_ns;
               !turns_.empty() && turns_.top().at <= at) {
      turns_.push({at, true, current_});
      has_current_ = false;
    }
  }
  while (!has_current_) {
    if (turns_.empty() || !connection_.ok()) return false;
    const Turn turn = turns_.top();
    turns_.pop();
    if (turn.is_open) {
      current_ = turn.number;
      has_current_ = true;
    } else {
      open_chunk(ProcessIndex{turn.number});
    }
  }
  const Cursor& cursor = cursors_[current_];
  const wire::Event& event = cursor.events[cursor.at];
  item = {cursor.process, function_of(cursor.process, event), &event};
  return true;
}

Nanos EventStream::horizon(ProcessIndex process) const {
  const Source& source = sources_[raw(process)];
  Nanos begin = source.has_more ? source.next_begin : std::numeric_limits<Nanos>::max();
  for (const std::uint32_t number : source.open) {
    const Cursor& cursor = cursors_[number];
    // The current event has been given out.
    const std::size_t next = cursor.at + (has_current_ && number == current_ ? 1 : 0);
    if (next < cursor.events.size()) begin = std::min(begin, cursor.earliest[next]);
  }
  return begin;
}

}  // namespace xylem::storage
