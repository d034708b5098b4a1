// The formats with one line for each event: text for people, CSV for programs.

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/printable_text.h"
#include "base/saturating.h"
#include "exports/export_internal.h"
#include "storage/read/held.h"

namespace xylem::exports {
namespace {

using storage::EventReader;

/// Names as they stand in the output, by the reader's text.
class WrittenNames {
 public:
  using Write = std::string (*)(const std::string& name);
  explicit WrittenNames(Write write) : write_(write) {}
  const std::string& of(EventReader& reader, const EventReader::Item& item) {
    const std::string& name = reader.function_name(item);
    const auto [place, is_new] = written_.try_emplace(&name);
    if (is_new) place->second = write_(name);
    return place->second;
  }

 private:
  Write write_;
  std::unordered_map<const std::string*, std::string> written_;  // The reader keeps its texts.
};

std::string in_text(const std::string& name) { return printable(name); }

std::string in_csv(const std::string& name) {
  if (name.find_first_of(",\"\r\n") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

void write_fields(const wire::Event& event, TextPieces& out) {
  if (event.peer != wire::kNoPeer) out.add(" peer=").number(event.peer);
  if (event.bytes != 0) out.add(" bytes=").number(event.bytes);
  if (const auto received = wire::received_bytes_of(event); received && *received != 0)
    out.add(" received=").number(*received);
  if (const auto posted = wire::posted_bytes_of(event)) out.add(" posted=").number(*posted);
  if (const char* operation = wire::operation_name(event)) out.add(" operation=").add(operation);
  if (event.tag != wire::kNoTag) out.add(" tag=").number(event.tag);
  if (event.comm != wire::kNoComm) out.add(" comm=").number(raw(event.comm));
  if ((event.flags & wire::kEventNumbered) != 0) out.add(" number=").number(event.number);
  if (event.request != 0) out.add(" request=").number(event.request);
  if (event.result != 0) out.add(" result=").number(event.result);
  if (event.calls > 1) out.add(" calls=").number(event.calls);
  if (event.cpu != wire::kNoCpu) out.add(" cpu=").number(event.cpu);
  if ((event.flags & wire::kEventEstimated) != 0) out.add(" estimated");
  if ((event.flags & wire::kEventAnySource) != 0) out.add(" any_source");
  if ((event.flags & wire::kEventAnyTag) != 0) out.add(" any_tag");
  if ((event.flags & wire::kEventInPlace) != 0) out.add(" in_place");
  if (const auto success = wire::success_of(event)) out.add(*success ? " success" : " nothing");
}

void write_csv_fields(const wire::Event& event, const std::string& function,
                      std::optional<std::int64_t> call_site, TextPieces& out) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  out.number(raw(event.thread)).add(",").number(event.begin_ns).add(",").number(event.end_ns);
  out.add(",").add(wire::event_kind_name(event)).add(",").add(function).add(",");
  if (event.peer != wire::kNoPeer) out.number(event.peer);
  out.add(",").number(std::min(event.bytes, kMax)).add(",");
  if (event.tag != wire::kNoTag) out.number(event.tag);
  out.add(",");
  if (event.comm != wire::kNoComm) out.number(raw(event.comm));
  out.add(",");
  if (event.request != 0) out.number(static_cast<std::int64_t>(event.request));
  out.add(",").number(event.result);
  out.add(",").number(event.calls).add(",");
  if ((event.flags & wire::kEventNumbered) != 0) out.number(event.number);
  out.add(",");
  if (const char* stage = wire::stage_name(event)) out.add(stage);
  out.add(",");
  if (const auto success = wire::success_of(event)) out.add(*success ? "1" : "0");
  out.add(",");
  if (const auto posted = wire::posted_bytes_of(event)) out.number(std::min(*posted, kMax));
  out.add(",");
  if (const auto received = wire::received_bytes_of(event)) out.number(std::min(*received, kMax));
  const auto flag = [&](std::uint16_t which) { out.add((event.flags & which) != 0 ? ",1" : ",0"); };
  flag(wire::kEventAnySource);
  flag(wire::kEventAnyTag);
  out.add(",");
  if (const char* operation = wire::operation_name(event)) out.add(operation);
  flag(wire::kEventInPlace);
  out.add(",");
  if (event.cpu != wire::kNoCpu) out.number(event.cpu);
  out.add(",");
  if (call_site) out.number(*call_site);
}

/// Calls `write` with each event, until it returns false.
template <typename Begin, typename Write>
Result<Exported> write_all(storage::RunFile& run, const storage::EventQuery& query, Begin begin,
                           Write write) {
  const storage::Held held(run);
  if (!held.result()) return unexpected(held.result().error());
  const auto reader = run.events(query);
  if (!reader) return unexpected(reader.error());
  Exported exported;
  exported.processes = (*reader)->processes().size();
  begin(**reader);
  EventReader::Item item;
  while ((*reader)->next(item)) {
    count(*item.event, exported);
    if (!write(**reader, item)) break;
  }
  if (auto read = (*reader)->take(); !read) return unexpected(read.error());
  return exported;
}

}  // namespace

Result<Exported> write_text(storage::RunFile& run, std::ostream& out) {
  TextPieces text(out);
  WrittenNames functions(in_text);
  std::vector<std::string> ranks;
  const auto begin = [&](const EventReader& reader) {
    ranks = names_of(reader.processes());
    text.add(
        "# begin in seconds since the run's start, duration in microseconds, rank, thread,"
        " function, then what is known of the call\n");
  };
  const auto write = [&](EventReader& reader, const EventReader::Item& item) {
    const wire::Event& event = *item.event;
    text.decimal(event.begin_ns, 9).add(" ");
    text.decimal(saturating_subtract(end_of(event), event.begin_ns), 3)
        .add(" ")
        .add(ranks[raw(item.process)]);
    text.add(" thread ").number(raw(event.thread)).add(" ");
    if (event.kind == wire::kKindCompletion) text.add(wire::event_kind_name(event)).add(" of ");
    text.add(functions.of(reader, item));
    write_fields(event, text);
    if (const auto site = reader.call_site(event.site)) text.add(" callsite=").number(*site);
    text.add("\n");
    return text.end_line();
  };
  return write_all(run, {}, begin, write);
}

Result<Exported> write_csv(storage::RunFile& run, std::ostream& out) {
  TextPieces text(out);
  WrittenNames functions(in_csv);
  const auto begin = [&](const EventReader&) {
    text.add(
        "world,rank,thread,begin_ns,end_ns,kind,function,peer,bytes,tag,comm,request,result,"
        "calls,number,stage,success,posted_bytes,received_bytes,any_source,any_tag,operation,"
        "in_place,cpu,callsite\n");
  };
  const auto write = [&](EventReader& reader, const EventReader::Item& item) {
    const EventReader::Process& process = reader.processes()[raw(item.process)];
    if (process.world) text.number(raw(*process.world));
    text.add(",");
    if (process.rank) text.number(raw(*process.rank));
    text.add(",");
    write_csv_fields(*item.event, functions.of(reader, item), reader.call_site(item.event->site),
                     text);
    text.add("\n");
    return text.end_line();
  };
  storage::EventQuery calls;
  calls.takes = [](const wire::Event& event, storage::CallRole) {
    return event.kind != wire::kKindCompletion;
  };
  return write_all(run, calls, begin, write);
}

}  // namespace xylem::exports
