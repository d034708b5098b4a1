// Chrome's trace event format:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
//
// The order of events in the file does not matter there. So a message is written when its second
// half has been read. Process and thread numbers begin with 1, because Perfetto takes 0 for the
// idle process.

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/saturating.h"
#include "exports/export_internal.h"
#include "storage/read/held.h"
#include "storage/read/matched_events.h"
#include "storage/read/region_spans.h"

namespace xylem::exports {
namespace {

using storage::EventReader;
using storage::MessageHalf;
using storage::ProcessIndex;

class ChromeWriter final : public storage::MessageSink {
 public:
  ChromeWriter(EventReader& reader, std::ostream& out, Exported& exported)
      : reader_(reader), text_(out), exported_(exported) {}

  void begin() {
    text_.add("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
    const auto& processes = reader_.processes();
    const auto names = names_of(processes);
    for (std::uint32_t i = 0; i < processes.size(); ++i) {
      const std::string& host = processes[i].host;
      const std::string name = host.empty() ? names[i] : names[i] + " (" + host + ")";
      start_event("M", ProcessIndex{i});
      text_.add(",\"name\":\"process_name\",\"args\":{\"name\":").add(storage::to_json(name));
      text_.add("}}");
      start_event("M", ProcessIndex{i});
      text_.add(",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":").number(i).add("}}");
    }
  }
  void end() { text_.add("\n]}\n"); }

  /// Returns false if the stream has failed.
  bool write(const EventReader::Item& item) {
    const wire::Event& event = *item.event;
    count(event, exported_);
    Span& newest = newest_call_of(item.process, event.thread);
    const Span span{event.begin_ns, end_of(event)};
    const bool is_completion = event.kind == wire::kKindCompletion;
    if (is_completion && span == newest) return true;
    if (!is_completion) newest = span;
    start_event("X", item.process);
    place(event.thread, span.begin);
    // A completion without its call. An arrow needs a slice that is not empty.
    const Nanos shortest = is_completion ? 1 : std::numeric_limits<Nanos>::min();
    const Nanos duration = std::max(shortest, saturating_subtract(span.end, span.begin));
    text_.add(",\"dur\":").decimal(duration, 3);
    text_.add(",\"cat\":\"").add(wire::event_kind_name(event)).add("\",\"name\":");
    text_.add(quoted(item)).add(",\"args\":{\"bytes\":").number(event.bytes);
    if (event.peer != wire::kNoPeer) text_.add(",\"peer\":").number(event.peer);
    if (event.tag != wire::kNoTag) text_.add(",\"tag\":").number(event.tag);
    if (event.comm != wire::kNoComm) text_.add(",\"comm\":").number(raw(event.comm));
    text_.add(",\"result\":").number(event.result);
    if (event.calls > 1) text_.add(",\"calls\":").number(event.calls);
    if ((event.flags & wire::kEventEstimated) != 0) text_.add(",\"estimated\":true");
    text_.add("}}");
    return text_.end_line();
  }

  /// A region that a thread has visited. One without an end is open to the right.
  void write(ProcessIndex process, const storage::RegionSpan& span, std::string_view name) {
    if (!span.begin_ns) return;
    newest_call_of(process, span.thread);  // Names the thread.
    if (span.depth < 0) return write_level(process, span, name);
    start_event(span.end_ns ? "X" : "B", process);
    place(span.thread, *span.begin_ns);
    if (span.end_ns) {
      const Nanos duration = saturating_subtract(*span.end_ns, *span.begin_ns);
      text_.add(",\"dur\":").decimal(std::max<Nanos>(0, duration), 3);
    }
    text_.add(",\"cat\":\"region\",\"name\":").add(storage::to_json(std::string(name))).add("}");
    text_.end_line();
  }

  /// A level of MPI_Pcontrol may overlap regions, so it has a track of its own.
  void write_level(ProcessIndex process, const storage::RegionSpan& span, std::string_view name) {
    const std::string quoted_name = storage::to_json(std::string(name));
    for (const bool begins : {true, false}) {
      const auto at = begins ? span.begin_ns : span.end_ns;
      if (!at) continue;
      start_event(begins ? "b" : "e", process);
      place(span.thread, *at);
      text_.add(",\"id\":").number(raw(span.thread) + 1);
      text_.add(",\"cat\":\"region\",\"name\":").add(quoted_name).add("}");
      text_.end_line();
    }
  }

  void pair(const MessageHalf& send, const MessageHalf& receive) override {
    ++exported_.messages;
    write_half("s", send, send.begin_ns);
    text_.add(",\"args\":{\"bytes\":").number(send.bytes).add(",\"tag\":").number(send.tag);
    text_.add(",\"comm\":").number(raw(send.comm)).add("}}");
    // The end of a slice is no longer in the slice, and an arrow ends in the slice that it is in.
    write_half("f", receive,
               std::max(receive.begin_ns, saturating_subtract<Nanos>(receive.end_ns, 1)));
    text_.add(",\"bp\":\"e\"}");
    text_.end_line();
  }
  void unmatched(const MessageHalf&, storage::Unmatched) override {}

 private:
  struct Span {
    Nanos begin = 0, end = -1;
    bool operator==(const Span&) const = default;
  };

  void start_event(const char* phase, ProcessIndex process) {
    text_.add(std::exchange(is_first_, false) ? "\n" : ",\n");
    text_.add("{\"ph\":\"").add(phase).add("\",\"pid\":").number(raw(process) + 1);
  }
  void place(ThreadIndex thread, Nanos at_ns) {
    text_.add(",\"tid\":").number(raw(thread) + 1).add(",\"ts\":").decimal(at_ns, 3);
  }
  void write_half(const char* phase, const MessageHalf& half, Nanos at_ns) {
    start_event(phase, half.process);
    place(half.thread, at_ns);
    text_.add(",\"id\":").number(exported_.messages);
    text_.add(",\"cat\":\"message\",\"name\":\"message\"");
  }
  /// Also names the thread at its first call.
  Span& newest_call_of(ProcessIndex process, ThreadIndex thread) {
    const auto [place, is_new] = threads_.try_emplace({process, thread});
    if (!is_new) return place->second;
    start_event("M", process);
    text_.add(",\"tid\":").number(raw(thread) + 1);
    text_.add(",\"name\":\"thread_name\",\"args\":{\"name\":\"thread ").number(raw(thread));
    text_.add("\"}}");
    return place->second;
  }
  const std::string& quoted(const EventReader::Item& item) {
    const std::string& name = reader_.function_name(item);
    const auto [place, is_new] = quoted_.try_emplace(&name);
    if (is_new) place->second = storage::to_json(name);
    return place->second;
  }

  EventReader& reader_;
  TextPieces text_;
  Exported& exported_;
  bool is_first_ = true;
  std::map<std::pair<ProcessIndex, ThreadIndex>, Span> threads_;  // The newest call.
  std::unordered_map<const std::string*, std::string> quoted_;    // The reader keeps its texts.
};

std::map<std::uint64_t, std::string> read_region_names(storage::RunFile& run) {
  std::map<std::uint64_t, std::string> names;
  // Files before schema 24 have no regions.
  const auto rows = run.rows("SELECT id, name FROM region_name");
  if (!rows) return names;
  for (const auto& row : *rows) {
    names.emplace(static_cast<std::uint64_t>(storage::integer_of(row[0])),
                  storage::to_text(row[1]));
  }
  return names;
}

Result<void> write_regions(storage::RunFile& run, ChromeWriter& writer) {
  const auto names = read_region_names(run);
  const auto write = [&](ProcessIndex process, const storage::RegionSpan& span) {
    const auto name = names.find(span.region);
    writer.write(process, span, name == names.end() ? "region" : std::string_view(name->second));
  };
  const auto reader = run.events({.regions = true, .takes = [](const wire::Event& event, auto) {
                                    return event.kind == wire::kKindRegion;
                                  }});
  if (!reader) return unexpected(reader.error());
  std::map<ProcessIndex, storage::RegionSpans> spans;
  EventReader::Item item;
  while ((*reader)->next(item)) {
    storage::RegionSpans& of = spans[item.process];
    of.take(*item.event);
    for (const storage::RegionSpan& span : of.take_ended()) write(item.process, span);
  }
  for (const auto& [process, of] : spans) {
    for (const storage::RegionSpan& span : of.open()) write(process, span);
  }
  return (*reader)->take();
}

}  // namespace

Result<Exported> write_chrome(storage::RunFile& run, std::ostream& out) {
  const storage::Held held(run);
  if (!held.result()) return unexpected(held.result().error());
  const auto reader = run.events({});
  if (!reader) return unexpected(reader.error());
  Exported exported;
  exported.processes = (*reader)->processes().size();
  ChromeWriter writer(**reader, out, exported);
  writer.begin();
  storage::MatchedEvents events(**reader, writer);
  EventReader::Item item;
  while (events.next(item) && writer.write(item)) {
  }
  if (auto read = (*reader)->take(); !read) return unexpected(read.error());
  if (auto written = write_regions(run, writer); !written) return unexpected(written.error());
  writer.end();
  return exported;
}

}  // namespace xylem::exports
