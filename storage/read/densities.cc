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

void DensitySums::add(std::size_t row, const std::string& function_class, Nanos begin_ns,
                      Nanos end_ns) {
  begin_ns = std::max(begin_ns, slots_.begin_ns);
  end_ns = std::min(end_ns, slots_.end_ns);
  if (begin_ns >= end_ns || slots_.count == 0) return;
  const std::uint64_t first = slots_.of(begin_ns), last = slots_.of(end_ns - 1);
  const auto begin_of = [this](std::uint64_t slot) {
    return slots_.begin_ns + static_cast<Nanos>(slot) * slots_.slot_ns;
  };
  const auto steps = std::span(steps_of(function_class)).subspan(row * slots_.count, slots_.count);
  // The time in slot `slot` is `ns`, until put() says otherwise for a later slot.
  Nanos before = 0;
  const auto put = [&](std::uint64_t slot, Nanos ns) {
    if (slot < steps.size()) {
      steps[slot] += static_cast<std::uint64_t>(ns) - static_cast<std::uint64_t>(before);
    }
    before = ns;
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

void DensitySums::finish(RankGrid& grid) const {
  grid.slot_ns = slots_.slot_ns;
  grid.columns = slots_.count;
  grid.cells.assign(rows_ * slots_.count, 0);
  grid.dominant.assign(rows_ * slots_.count, 0);
  std::vector<std::uint64_t> most(rows_ * slots_.count);
  for (std::size_t number = 0; number < classes_.size(); ++number) {
    grid.classes.push_back(classes_[number].name);
    std::uint64_t now = 0;
    for (std::size_t cell = 0; cell < most.size(); ++cell) {
      if (cell % slots_.count == 0) now = 0;
      now += classes_[number].steps[cell];
      grid.cells[cell] += now;
      grid.rows[cell / slots_.count].total += now;
      if (now <= most[cell]) continue;
      most[cell] = now;
      grid.dominant[cell] = static_cast<std::uint8_t>(number);
    }
  }
}

}  // namespace xylem::storage
