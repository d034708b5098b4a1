#include "storage/read/densities_internal.h"

namespace xylem::storage {

DensitySums::DensitySums(const Slots& slots, std::size_t rows) : slots_(slots), rows_(rows) {}

std::vector<std::uint64_t>& DensitySums::steps_of(const std::string& function_class) {
  for (Class& one : classes_) {
    if (one.name == function_class) return one.steps;
  }
  // A cell knows its class by a number below 256. A run has about ten; a damaged file may have
  // more.
  constexpr std::size_t kMaxClasses = 32;
  if (classes_.size() == kMaxClasses) return classes_.back().steps;
  classes_.push_back({function_class, std::vector<std::uint64_t>(rows_ * slots_.count)});
  return classes_.back().steps;
}

void DensitySums::add(std::size_t row, const std::string& function_class, const Span& span) {
  const Nanos begin_ns = std::max(span.begin_ns, slots_.begin_ns);
  const Nanos end_ns = std::min(span.end_ns, slots_.end_ns);
  if (begin_ns >= end_ns || slots_.count == 0 || !(span.share > 0)) return;
  const std::uint64_t first = slots_.of(begin_ns), last = slots_.of(end_ns - 1);
  const auto begin_of = [this](std::uint64_t slot) {
    return slots_.begin_ns + static_cast<Nanos>(slot) * slots_.slot_ns;
  };
  const auto steps = std::span(steps_of(function_class)).subspan(row * slots_.count, slots_.count);
  // From slot `slot` on, the time in each slot is `ns`, until the next put().
  std::uint64_t before = 0;
  const auto put = [&](std::uint64_t slot, Nanos ns) {
    auto time = static_cast<std::uint64_t>(ns);
    if (span.share < 1) time = saturating_cast<std::uint64_t>(span.share * static_cast<double>(ns));
    if (slot < steps.size()) steps[slot] += time - before;
    before = time;
  };
  if (first == last) {
    put(first, end_ns - begin_ns);
  } else {
    put(first, begin_of(first + 1) - begin_ns);
    if (last > first + 1) put(first + 1, slots_.slot_ns);
    put(last, end_ns - begin_of(last));
  }
  put(last + 1, 0);
}

DensitySums::Span SampledCalls::take(const wire::Event& event, FunctionKey function) {
  const auto length = [](Nanos from, Nanos to) {
    return static_cast<std::uint64_t>(std::max<Nanos>(saturating_subtract(to, from), 0));
  };
  const auto [thread, is_first] = threads_.try_emplace(event.thread);
  Thread& in = thread->second;
  if (is_first) in.first_ns = event.begin_ns;
  const auto [newest, is_new] = in.newest.try_emplace(function, Record{in.first_ns, 0});
  Record& record = newest->second;
  const std::uint64_t duration = length(event.begin_ns, event.end_ns);
  DensitySums::Span span;
  if ((event.flags & wire::kEventEstimated) != 0 && event.calls > 1) {
    const std::uint64_t passed = length(record.end_ns, event.begin_ns);
    const std::uint64_t others = std::min(in.in_calls_ns - record.before_ns, passed);
    const std::uint64_t time =
        std::min(saturating_multiply<std::uint64_t>(duration, event.calls - 1), passed - others);
    span = {record.end_ns, event.begin_ns,
            passed == 0 ? 0 : static_cast<double>(time) / static_cast<double>(passed)};
    in.in_calls_ns += time;
  }
  in.in_calls_ns += duration;
  record = {std::max(record.end_ns, event.end_ns), in.in_calls_ns};
  return span;
}

void DensitySums::finish(RankGrid& grid) const {
  grid.slot_ns = slots_.slot_ns;
  grid.columns = slots_.count;
  grid.cells.assign(rows_ * slots_.count, 0);
  grid.dominant.assign(rows_ * slots_.count, 0);
  std::vector<std::uint64_t> max(rows_ * slots_.count);
  for (std::size_t number = 0; number < classes_.size(); ++number) {
    grid.classes.push_back(classes_[number].name);
    std::uint64_t now = 0;
    for (std::size_t cell = 0; cell < max.size(); ++cell) {
      if (cell % slots_.count == 0) now = 0;
      now += classes_[number].steps[cell];
      grid.cells[cell] += now;
      grid.rows[cell / slots_.count].total += now;
      if (now <= max[cell]) continue;
      max[cell] = now;
      grid.dominant[cell] = static_cast<std::uint8_t>(number);
    }
  }
}

}  // namespace xylem::storage
