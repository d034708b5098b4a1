#include <algorithm>
#include <map>

#include "storage/summary_internal.h"

namespace xylem::storage {
namespace {

void append(wire::Bytes& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
  out.push_back(static_cast<std::byte>(value));
}

void append(wire::Bytes& out, const SlotSums& sums) {
  append(out, sums.calls);
  append(out, sums.time_ns);
  append(out, sums.bytes);
  append(out, sums.max_ns);
  append(out, sums.histogram.counts().size() << 1 | (sums.estimated ? 1 : 0));
  for (const auto& [bucket, count] : sums.histogram.counts()) {
    append(out, bucket);
    append(out, count);
  }
}

}  // namespace

void SparseHistogram::add(std::uint8_t bucket, std::uint64_t count) {
  const auto place = std::ranges::lower_bound(counts_, bucket, {}, &Count::first);
  if (place != counts_.end() && place->first == bucket) {
    place->second += count;
  } else {
    counts_.insert(place, {bucket, count});
  }
}

void CellSums::merge(const CellSums& other) {
  calls += other.calls;
  time_ns += other.time_ns;
  wait_ns += other.wait_ns;
  bytes += other.bytes;
  if (other.max_ns > max_ns) {
    max_ns = other.max_ns;
    max_function = other.max_function;
  }
  estimated |= other.estimated;
}

void SlotSums::merge(const SlotSums& other) {
  calls += other.calls;
  time_ns += other.time_ns;
  bytes += other.bytes;
  max_ns = std::max(max_ns, other.max_ns);
  estimated |= other.estimated;
  processes |= other.processes;
  histogram.merge(other.histogram);
}

SlotSums& Summary::slot(std::uint64_t place, FunctionKey function) {
  Functions& functions = by_process_[place];
  for (auto& [key, sums] : functions) {
    if (key == function) return sums;
  }
  SlotSums& sums = functions.emplace_back(function, SlotSums{}).second;
  sums.processes = std::uint64_t{1} << place;
  return sums;
}

wire::Bytes encode_cells(const Summary& summary) {
  wire::Bytes out;
  std::uint64_t last = 0;
  std::uint64_t key = 0;
  for (const CellSums& sums : summary.cells()) {
    const std::uint64_t at = key++;
    if (sums.calls == 0 && sums.time_ns == 0 && sums.bytes == 0 && sums.max_ns == 0) continue;
    append(out, at - last);
    last = at;
    append(out, sums.time_ns);
    append(out, sums.wait_ns);
    append(out, sums.calls);
    append(out, sums.bytes);
    append(out, sums.max_ns);
    append(out, static_cast<std::uint64_t>(raw(sums.max_function)) << 1 | (sums.estimated ? 1 : 0));
  }
  return out;
}

wire::Bytes encode_functions(const Summary& summary) {
  std::map<FunctionKey, SlotSums> all;
  for (const Summary::Functions& functions : summary.by_process()) {
    for (const auto& [function, sums] : functions) all[function].merge(sums);
  }
  wire::Bytes out;
  for (const auto& [function, sums] : all) {
    append(out, static_cast<std::uint64_t>(raw(function)));
    append(out, sums);
    append(out, sums.processes);
  }
  return out;
}

wire::Bytes encode_by_process(const Summary& summary) {
  wire::Bytes out;
  std::uint64_t last = 0;
  std::uint64_t process = 0;
  for (const Summary::Functions& functions : summary.by_process()) {
    for (const auto& [function, sums] : functions) {
      append(out, process - last);
      last = process;
      append(out, static_cast<std::uint64_t>(raw(function)));
      append(out, sums);
    }
    ++process;
  }
  return out;
}

void read_slot_sums(NumberReader& in, SlotSums& sums) {
  sums.calls = in.next();
  sums.time_ns = in.next();
  sums.bytes = in.next();
  sums.max_ns = in.next();
  const std::uint64_t tail = in.next();
  sums.estimated = (tail & 1) != 0;
  sums.histogram.clear();
  const std::uint64_t counts = tail >> 1;
  if (counts > wire::LogHistogram::kBuckets) in.fail();
  for (std::uint64_t i = 0; i < counts && !in.failed(); ++i) {
    const std::uint64_t bucket = in.next();
    const std::uint64_t count = in.next();
    if (bucket >= wire::LogHistogram::kBuckets) return in.fail();
    sums.histogram.push(static_cast<std::uint8_t>(bucket), count);
  }
}

}  // namespace xylem::storage
