// A k-way merge. The heap has an entry for each open chunk, by its next event, and one for the next
// chunk of each process, by its begin: no event of it is earlier. The chunk whose turn it is stays
// at the root, so that its next turn costs one pass down the heap instead of a pop and a push. A
// chunk is decoded into the vector of its cursor, so its events are never copied.

#include "storage/read/event_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/read/event_functions_internal.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {
namespace {

/// An entry of the heap. Of entries with the same time, chunks that are not open come first, then
/// the order is that of processes, and of the rows of their chunks.
struct Turn {
  Nanos at = 0;
  std::uint64_t tie = 0;
  std::uint32_t cursor = 0;  ///< kNotOpen: the next chunk of the process.
  std::uint32_t process = 0;
};
constexpr std::uint32_t kNotOpen = 0xffffffff;

std::uint64_t tie_of(bool is_open, std::uint32_t process, std::int64_t chunk) {
  return std::uint64_t{is_open} << 63 | std::uint64_t{process & 0x7fffffff} << 32 |
         (static_cast<std::uint64_t>(chunk) & 0xffffffff);
}

/// Without branches: which of two entries is first cannot be predicted.
bool is_before(const Turn& a, const Turn& b) {
  return static_cast<bool>(static_cast<int>(a.at < b.at) |
                           (static_cast<int>(a.at == b.at) & static_cast<int>(a.tie < b.tie)));
}
bool is_after(const Turn& a, const Turn& b) { return is_before(b, a); }

/// Sorts events by their begins, and keeps the order of those that begin together. The records of
/// several threads are one after another in a chunk, each in order: so sorted runs are merged.
class RunSort {
 public:
  void sort(std::vector<wire::Event>& events) {
    runs_.assign(1, 0);
    for (std::size_t i = 1; i < events.size(); ++i) {
      if (events[i].begin_ns < events[i - 1].begin_ns) runs_.push_back(i);
    }
    runs_.push_back(events.size());
    while (runs_.size() > 2) merge_pairs(events);
  }

 private:
  void merge_pairs(std::vector<wire::Event>& events) {
    spare_.resize(events.size());
    const auto at = [](auto& of, std::size_t i) {
      return of.begin() + static_cast<std::ptrdiff_t>(i);
    };
    std::vector<std::size_t> merged;
    for (std::size_t i = 0; i + 1 < runs_.size(); i += 2) {
      const std::size_t first = runs_[i], middle = runs_[i + 1];
      const std::size_t end = i + 2 < runs_.size() ? runs_[i + 2] : middle;
      std::ranges::merge(at(events, first), at(events, middle), at(events, middle), at(events, end),
                         at(spare_, first), {}, &wire::Event::begin_ns, &wire::Event::begin_ns);
      merged.push_back(first);
    }
    merged.push_back(events.size());
    runs_ = std::move(merged);
    events.swap(spare_);
  }
  std::vector<std::size_t> runs_;  // Their begins, and the end.
  std::vector<wire::Event> spare_;
};

struct Source {
  Statement chunks;  // Stands at the first chunk that is not opened yet.
  bool has_more = false;
  Nanos next_begin = 0;
  std::vector<std::uint32_t> open;  // Cursors.
  const std::vector<FunctionIndex>* table = nullptr;
};

struct Cursor {
  std::uint32_t process = 0;
  std::vector<wire::Event> events;  // In the order of their begins.
  std::size_t at = 0;
};

}  // namespace

struct EventReader::State {
  State(Connection& of, const EventQuery& selected) : connection(of), query(selected) {}

  void read_processes();
  Statement chunks_of(std::uint32_t process, const std::string& condition);
  std::string condition_of_times() const;
  bool decode(const Statement& chunks, std::uint32_t process, std::vector<wire::Event>& events);
  void prepare(std::uint32_t process, std::vector<wire::Event>& events);
  void begin();
  void push_next_chunk(std::uint32_t process);
  void open_chunk(std::uint32_t process);
  void close(std::uint32_t cursor);

  void push(const Turn& turn) {
    turns.push_back(turn);
    std::ranges::push_heap(turns, is_after);
  }
  void pop_root() {
    std::ranges::pop_heap(turns, is_after);
    turns.pop_back();
  }
  /// The root has a later time now.
  void sink_root();
  /// The earliest time of all entries except the root.
  Nanos second() const;

  Connection& connection;
  EventQuery query;
  EventFunctions functions;
  std::vector<Process> processes;
  std::vector<Source> sources;  // By process.
  wire::ChunkDecoder decoder;
  RunSort run_sort;
  std::vector<Cursor> cursors;
  std::vector<std::uint32_t> free;
  std::vector<Turn> turns;
  std::optional<std::uint32_t> current;  // The cursor whose turn it is: it is at the root.
  bool has_begun = false;
};

// ---- processes and chunks ----

void EventReader::State::read_processes() {
  // Files before schema 17 do not count threads.
  const bool counts_threads =
      has_row(connection, "SELECT 1 FROM pragma_table_info('process') WHERE name = 'threads'");
  std::string sql = "SELECT p.id, p.leaf, p.world, p.rank, h.name, p.pid, ";
  sql += counts_threads ? "p.threads" : "NULL";
  sql +=
      " FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE"
      " EXISTS (SELECT 1 FROM event_chunk c WHERE c.process = p.id)";
  if (query.world) sql += " AND p.world = " + std::to_string(raw(*query.world));
  if (query.rank) sql += " AND p.rank = " + std::to_string(raw(*query.rank));
  if (query.process) sql += " AND p.id = " + std::to_string(*query.process);
  if (query.only_ranks) sql += " AND p.world IS NOT NULL AND p.rank IS NOT NULL";
  Statement rows(connection, sql + " ORDER BY p.world, p.rank, p.id");
  for (bool more = rows.first(); more; more = rows.next()) {
    Process& process = processes.emplace_back();
    process.id = rows.integer(0);
    process.leaf = LeafId{static_cast<std::uint32_t>(rows.integer(1))};
    if (!rows.is_null(2)) process.world = WorldId{static_cast<std::uint32_t>(rows.integer(2))};
    if (!rows.is_null(3)) process.rank = Rank{static_cast<std::uint32_t>(rows.integer(3))};
    process.host = rows.text(4);
    process.pid = rows.integer(5);
    process.has_one_thread = !rows.is_null(6) && rows.integer(6) <= 1;
  }
  sources.resize(processes.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    sources[i].table = functions.table_of(processes[i].leaf);
  }
}

Statement EventReader::State::chunks_of(std::uint32_t process, const std::string& condition) {
  return Statement(connection, "SELECT chunk, begin_ns, id FROM event_chunk WHERE process = " +
                                   std::to_string(processes[process].id) + condition +
                                   " ORDER BY begin_ns");
}

std::string EventReader::State::condition_of_times() const {
  const EventQuery all;
  if (query.begin_ns == all.begin_ns && query.end_ns == all.end_ns) return "";
  return " AND begin_ns < " + std::to_string(query.end_ns) +
         " AND end_ns >= " + std::to_string(query.begin_ns);
}

bool EventReader::State::decode(const Statement& chunks, std::uint32_t process,
                                std::vector<wire::Event>& events) {
  const auto decoded = decoder.decode(chunks.blob(0), events);
  if (decoded) return true;
  const auto number = [](const auto& id) {
    return id ? std::optional(std::int64_t{raw(*id)}) : std::nullopt;
  };
  const Process& of = processes[process];
  connection.fail(
      damaged_chunk(chunks.integer(2), number(of.world), number(of.rank), decoded.error()));
  events.clear();
  return false;
}

/// Leaves out what the query does not want, and sorts.
void EventReader::State::prepare(std::uint32_t process, std::vector<wire::Event>& events) {
  const bool all_times = condition_of_times().empty();
  const std::vector<FunctionIndex>& table = *sources[process].table;
  if (!all_times || query.takes != nullptr) {
    std::erase_if(events, [&](const wire::Event& event) {
      if (!all_times && (event.begin_ns < query.begin_ns || event.begin_ns >= query.end_ns)) {
        return true;
      }
      if (query.takes == nullptr) return false;
      const std::size_t id = raw(event.function);
      const FunctionIndex function = id < table.size() ? table[id] : FunctionIndex{};
      return !query.takes(event, functions.list()[raw(function)].role);
    });
  }
  run_sort.sort(events);
}

// ---- the merge ----

void EventReader::State::begin() {
  has_begun = true;
  const std::string condition = condition_of_times();
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    sources[i].chunks = chunks_of(i, condition);
    sources[i].has_more = sources[i].chunks.first();
    push_next_chunk(i);
  }
}

void EventReader::State::push_next_chunk(std::uint32_t process) {
  Source& source = sources[process];
  if (!source.has_more) return;
  source.next_begin = source.chunks.integer(1);
  push({source.next_begin, tie_of(false, process, 0), kNotOpen, process});
}

void EventReader::State::open_chunk(std::uint32_t process) {
  Source& source = sources[process];
  if (free.empty()) {
    free.push_back(static_cast<std::uint32_t>(cursors.size()));
    cursors.emplace_back();
  }
  const std::uint32_t number = free.back();
  Cursor& cursor = cursors[number];
  cursor.process = process;
  cursor.at = 0;
  if (!decode(source.chunks, process, cursor.events)) return;
  prepare(process, cursor.events);
  const std::int64_t chunk = source.chunks.integer(2);
  source.has_more = source.chunks.next();
  push_next_chunk(process);
  if (cursor.events.empty()) return;
  free.pop_back();
  source.open.push_back(number);
  push({cursor.events.front().begin_ns, tie_of(true, process, chunk), number, process});
}

void EventReader::State::close(std::uint32_t cursor) {
  std::erase(sources[cursors[cursor].process].open, cursor);
  free.push_back(cursor);
}

void EventReader::State::sink_root() {
  const Turn turn = turns.front();
  const std::size_t size = turns.size();
  std::size_t hole = 0;
  for (std::size_t child = 1; child < size; child = 2 * hole + 1) {
    if (child + 1 < size)
      child += static_cast<std::size_t>(is_before(turns[child + 1], turns[child]));
    if (is_before(turn, turns[child])) break;
    turns[hole] = turns[child];
    hole = child;
  }
  turns[hole] = turn;
}

Nanos EventReader::State::second() const {
  Nanos at = std::numeric_limits<Nanos>::max();
  for (std::size_t i = 1; i < std::min<std::size_t>(turns.size(), 3); ++i) {
    at = std::min(at, turns[i].at);
  }
  return at;
}

bool EventReader::advance() {
  State& state = *state_;
  if (!state.has_begun) state.begin();
  if (state.current) {
    Cursor& cursor = state.cursors[*state.current];
    cursor.at = static_cast<std::size_t>(at_ - cursor.events.data());
    if (at_ == end_) {
      state.close(*state.current);
      state.pop_root();
    } else {
      state.turns.front().at = at_->begin_ns;
      state.sink_root();
    }
    state.current.reset();
  }
  while (!state.turns.empty() && state.connection.ok() && state.turns.front().cursor == kNotOpen) {
    const std::uint32_t process = state.turns.front().process;
    state.pop_root();
    state.open_chunk(process);
  }
  if (state.turns.empty() || !state.connection.ok()) {
    at_ = end_ = nullptr;
    state.turns.clear();
    return false;
  }
  state.current = state.turns.front().cursor;
  const Cursor& cursor = state.cursors[*state.current];
  at_ = cursor.events.data() + cursor.at;
  end_ = cursor.events.data() + cursor.events.size();
  __builtin_prefetch(at_ + 2);  // Of the next turn. Other chunks have theirs in between.
  limit_ns_ = state.second();
  process_ = ProcessIndex{cursor.process};
  table_ = *state.sources[cursor.process].table;
  return true;
}

Nanos EventReader::horizon(ProcessIndex process) const {
  const Source& source = state_->sources[raw(process)];
  Nanos begin = source.has_more ? source.next_begin : std::numeric_limits<Nanos>::max();
  for (const std::uint32_t number : source.open) {
    const Cursor& cursor = state_->cursors[number];
    const bool is_current = number == state_->current;
    if (is_current && at_ == end_) continue;
    begin = std::min(begin, is_current ? at_->begin_ns : cursor.events[cursor.at].begin_ns);
  }
  return begin;
}

// ---- the interface ----

EventReader::EventReader(Connection& connection, const EventQuery& query)
    : wants_regions_(query.regions), state_(std::make_unique<State>(connection, query)) {
  state_->functions.refresh(connection);
  state_->read_processes();
}
EventReader::~EventReader() = default;

const std::vector<EventReader::Process>& EventReader::processes() const {
  return state_->processes;
}
const std::deque<WaitFunction>& EventReader::functions() const { return state_->functions.list(); }

const std::string& EventReader::function_name(const Item& item) {
  return state_->functions.name(state_->processes[raw(item.process)].leaf, item.event->function);
}

std::optional<std::int64_t> EventReader::call_site(CallSiteId site) const {
  return state_->functions.call_site(site);
}

EventReader::Surveyed EventReader::survey(ProcessIndex process) {
  Surveyed found;
  std::optional<ThreadIndex> thread;
  CommId latest = wire::kNoComm;
  Statement chunks = state_->chunks_of(raw(process), "");
  std::vector<wire::Event> events;
  for (bool more = chunks.first(); more; more = chunks.next()) {
    if (!state_->decode(chunks, raw(process), events)) break;
    for (const wire::Event& event : events) {
      if (thread.value_or(event.thread) != event.thread) found.has_one_thread = false;
      thread = event.thread;
      if (event.comm == wire::kNoComm || event.comm == latest) continue;
      latest = event.comm;
      found.comms.insert(latest);
    }
  }
  found.has_one_thread = found.has_one_thread || processes()[raw(process)].has_one_thread;
  return found;
}

Result<void> EventReader::take() { return state_->connection.take(); }

}  // namespace xylem::storage
