// Decodes chunks. The bytes are not trusted. A count is used only after a check that there are
// enough bytes for it, and no memory is allocated for more than kMaxChunkEvents.

#include <algorithm>
#include <limits>
#include <string>

#include "wire/chunk.h"
#include "wire/chunk_internal.h"

namespace xylem::wire {
namespace {

using internal::Clock;
using internal::ColumnReader;
using internal::Shape;

Unexpected corrupt(std::size_t size, const char* trouble) {
  return unexpected(Code::kCorrupt, "a chunk of " + std::to_string(size) +
                                        " bytes cannot be read: " + trouble +
                                        "; what it held is lost");
}

/// Leaves the reader after the summary.
ChunkSummary read_summary(ColumnReader& in, std::span<const std::byte> chunk) {
  in.open(chunk);
  if (chunk.empty()) return in.fail("it is empty"), ChunkSummary{};
  const auto version = static_cast<std::uint32_t>(chunk[0]);
  if (version < 1 || version == 3 || version > kChunkVersion) {
    return in.fail("its version is not 1, 2 or 4, so a newer xylem may have written it"),
           ChunkSummary{};
  }
  in.open(chunk.subspan(1));
  const std::uint64_t sum = in.u64();
  if (in.failed()) return {};
  if (sum != internal::checksum(chunk.subspan(1 + 8))) {
    return in.fail("its checksum is wrong"), ChunkSummary{};
  }

  ChunkSummary summary;
  const std::uint64_t events = in.varint();
  summary.calls = in.varint();
  const std::uint64_t begin = internal::unzigzag(in.varint());
  summary.begin_ns = static_cast<Nanos>(begin);
  summary.end_ns = static_cast<Nanos>(begin + in.varint());
  if (events < 1 || events > kMaxChunkEvents) {
    return in.fail("it claims no events, or more than fit"), ChunkSummary{};
  }
  summary.events = static_cast<std::uint32_t>(events);
  return summary;
}

/// Since this version, the column of requests has what a RequestOrder tells, shapes have all
/// fields, and there are processors.
constexpr std::uint32_t kNumberedRequests = 4;
/// Flags without a meaning in versions before.
constexpr std::uint16_t kFlagsOfRequests =
    kEventPosts | kEventCompletes | kEventSucceeds | kEventFindsNothing;

bool all_below(std::span<const std::uint16_t> numbers, std::size_t limit) {
  std::uint16_t largest = 0;
  for (const std::uint16_t each : numbers) largest = std::max(largest, each);
  return numbers.empty() || largest < limit;
}

}  // namespace

struct ChunkDecoder::State {
  ColumnReader in;
  internal::TimeGroups groups;
  std::vector<Shape> shapes;
  std::vector<Event> template_of;            // By shape.
  std::vector<std::uint32_t> events_of;      // By shape.
  std::vector<std::uint64_t> field;          // One field of all shapes.
  std::vector<std::uint16_t> shape_of;       // By event.
  std::vector<std::uint64_t> sites;          // The distinct call sites.
  std::vector<std::uint64_t> requests;       // By event that has one.
  std::vector<std::uint64_t> handles;        // The distinct requests. Until version 2,
  std::vector<std::uint16_t> request_of;     // and an index of each event that has one.
  std::vector<std::uint64_t> first, second;  // Told times, by place.
  internal::NumberOrder order;
  std::vector<std::uint64_t> numbers;  // By numbered event.
  std::vector<std::uint16_t> cpus;     // By event.
  std::vector<Event> events;
  std::uint32_t version = kChunkVersion;  // Of the chunk.

  /// Removes flags that have no meaning in the chunk's version.
  bool read_shapes(std::size_t event_count);
  bool read_sites();
  bool read_requests(std::size_t event_count);
  bool read_times();
  bool read_numbers();
  bool read_cpus();
  /// Makes the events; returns what they sum up to.
  ChunkSummary put_together(Nanos start);
};

bool ChunkDecoder::State::read_shapes(std::size_t event_count) {
  const std::uint64_t count = in.varint();
  if (in.failed()) return false;
  if (count < 1 || count > event_count) return in.fail("it has more shapes than events, or none");
  shapes.assign(count, Shape{});
  field.resize(count);
  const bool is_early = version < kNumberedRequests;
  const std::size_t fields = is_early ? internal::kEarlyShapeFields : internal::kShapeFields.size();
  for (const internal::ShapeField& each : std::span(internal::kShapeFields).first(fields)) {
    const bool is_flags = each.word == 4 && each.shift == 32;
    if (!in.read(std::span(field), is_early && is_flags ? 1 : each.width)) return false;
    for (std::size_t s = 0; s < count; ++s) shapes[s].word[each.word] |= field[s] << each.shift;
  }
  shape_of.resize(event_count);
  if (!in.read(std::span(shape_of))) return false;
  if (!all_below(shape_of, count)) return in.fail("an event in it has no shape");

  for (Shape& shape : shapes) {
    if (version == 1) shape.word[4] &= ~(std::uint64_t{kEventNumbered} << 32);
    if (is_early) shape.word[4] &= ~(std::uint64_t{kFlagsOfRequests} << 32);
  }
  template_of.clear();
  for (const Shape& shape : shapes) template_of.push_back(internal::event_of(shape));
  events_of.assign(count, 0);
  for (const std::uint16_t shape : shape_of) ++events_of[shape];
  return true;
}

bool ChunkDecoder::State::read_sites() {
  if (version < kNumberedRequests) return true;
  const std::uint64_t count = in.varint();
  if (in.failed()) return false;
  if (count > shapes.size()) return in.fail("it has more call sites than shapes");
  sites.resize(count);
  if (!in.read(std::span(sites), 8)) return false;
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    const std::uint16_t site = internal::site_index_of(shapes[s]);
    if (site > count) return in.fail("an event in it has no call site");
    if (site != 0) template_of[s].site = CallSiteId{sites[site - 1]};
  }
  return true;
}

bool ChunkDecoder::State::read_requests(std::size_t event_count) {
  std::size_t having = 0;
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    if (internal::form_of(shapes[s]) & internal::kHasRequest) having += events_of[s];
  }
  if (version >= kNumberedRequests) {
    requests.resize(having);
    return in.read(std::span(requests), 8);
  }
  const std::uint64_t count = in.varint();
  if (in.failed()) return false;
  if (count > event_count) return in.fail("it has more requests than events");
  handles.resize(count);
  request_of.resize(having);
  if (!in.read(std::span(handles), 8) || !in.read(std::span(request_of))) return false;
  if (!all_below(request_of, count)) return in.fail("an event in it has no request");
  requests.clear();
  for (const std::uint16_t each : request_of) requests.push_back(handles[each]);
  return true;
}

bool ChunkDecoder::State::read_times() {
  groups.plan(shapes, events_of);
  first.resize(shape_of.size());
  second.resize(shape_of.size());
  std::size_t at = 0;
  for (std::size_t group = 0; group < groups.count(); ++group) {
    const std::size_t size = groups.size(group);
    if (!in.read(std::span(first).subspan(at, size), 8)) return false;
    if (!in.read(std::span(second).subspan(at, size), 8)) return false;
    at += size;
  }
  return true;
}

bool ChunkDecoder::State::read_numbers() {
  std::size_t numbered = 0;
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    if (internal::NumberOrder::is_numbered(shapes[s])) numbered += events_of[s];
  }
  numbers.resize(numbered);
  if (numbered != 0) {
    if (!in.read(std::span(numbers), 4)) return false;
    order.plan(shapes);
  }
  return true;
}

bool ChunkDecoder::State::read_cpus() {
  cpus.assign(shape_of.size(), 0);
  if (version >= kNumberedRequests && !in.read(std::span(cpus))) return false;
  return in.left() == 0 || in.fail("more bytes follow its end");
}

ChunkSummary ChunkDecoder::State::put_together(Nanos start) {
  ChunkSummary found{static_cast<std::uint32_t>(shape_of.size()), 0,
                     std::numeric_limits<Nanos>::max(), std::numeric_limits<Nanos>::min()};
  Clock clock(start);
  internal::RequestOrder request_order;
  internal::CpuOrder cpu_order;
  events.resize(shape_of.size());
  std::size_t having = 0;
  std::size_t numbered = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::uint16_t s = shape_of[i];
    const std::uint64_t form = internal::form_of(shapes[s]);
    const std::size_t place = groups.take_place(s);
    Event& event = events[i];
    event = template_of[s];
    const Clock::Times times =
        clock.understand(event.thread, form & internal::kOdd, {first[place], second[place]});
    event.begin_ns = static_cast<Nanos>(times.begin);
    event.end_ns = static_cast<Nanos>(times.end);
    event.cpu = cpu_order.understand(event.thread, cpus[i]);
    if (form & internal::kHasRequest) {
      const std::uint64_t stored = requests[having++];
      event.request =
          version >= kNumberedRequests ? request_order.understand(event, stored) : stored;
    }
    if ((event.flags & kEventNumbered) != 0) {
      event.number = order.understand(s, static_cast<std::uint32_t>(numbers[numbered++]));
    }
    found.calls += event.calls;
    found.begin_ns = std::min(found.begin_ns, event.begin_ns);
    found.end_ns = std::max(found.end_ns, event.end_ns);
  }
  return found;
}

ChunkDecoder::ChunkDecoder() : state_(std::make_unique<State>()) {}
ChunkDecoder::~ChunkDecoder() = default;
ChunkDecoder::ChunkDecoder(ChunkDecoder&&) noexcept = default;
ChunkDecoder& ChunkDecoder::operator=(ChunkDecoder&&) noexcept = default;

Result<std::span<const Event>> ChunkDecoder::decode(std::span<const std::byte> chunk) {
  State& state = *state_;
  const ChunkSummary summary = read_summary(state.in, chunk);
  if (!state.in.failed()) state.version = static_cast<std::uint32_t>(chunk[0]);
  if (!state.in.failed() && state.read_shapes(summary.events) && state.read_sites() &&
      state.read_requests(summary.events) && state.read_times() && state.read_numbers() &&
      state.read_cpus()) {
    const ChunkSummary found = state.put_together(summary.begin_ns);
    if (found == summary) return std::span<const Event>(state.events);
    state.in.fail("its summary does not agree with its events");
  }
  return corrupt(chunk.size(), state.in.trouble());
}

Result<void> ChunkDecoder::decode(std::span<const std::byte> chunk, std::vector<Event>& events) {
  state_->events.swap(events);
  const auto decoded = decode(chunk);
  state_->events.swap(events);
  if (!decoded) return unexpected(decoded.error());
  return {};
}

Result<ChunkSummary> read_chunk_summary(std::span<const std::byte> chunk) {
  ColumnReader in;
  const ChunkSummary summary = read_summary(in, chunk);
  if (in.failed()) return corrupt(chunk.size(), in.trouble());
  return summary;
}

Result<std::vector<Event>> decode_chunk(std::span<const std::byte> chunk) {
  ChunkDecoder decoder;
  const auto events = decoder.decode(chunk);
  if (!events) return unexpected(events.error());
  return std::vector<Event>(events->begin(), events->end());
}

}  // namespace xylem::wire
