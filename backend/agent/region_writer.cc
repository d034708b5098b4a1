#include "backend/agent/region_writer.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace xylem::backend {
namespace {

std::uint64_t since(Nanos begin, Nanos end) {
  return static_cast<std::uint64_t>(std::max<Nanos>(0, end - begin));
}

}  // namespace

bool RegionWriter::drain(Drain& drain) {
  for (auto& [lane, process] : processes_) {
    const bool is_last = process.ended || drain.everything;
    if (!process.announced_world || process.final_counted) continue;
    if (!is_last && drain.now < process.regions_told_at + kInterval) continue;
    if (!records_.is_readable(process, drain)) continue;
    process.regions_told_at = drain.now;
    wire::Definitions news;
    for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
      for (const wire::RegionSumRow& row : sums_of(process, ring, drain)) {
        wire::RegionSumRow& told = process.told_regions[{ring, row.region}];
        if (std::exchange(told, row) != row) news.region_sums.push_back(row);
      }
    }
    if (!news.region_sums.empty() && !registrations_.announce(std::move(news), process, drain)) {
      process.told_regions.clear();  // Next time again.
      process.regions_told_at = 0;
      return false;
    }
  }
  return true;
}

std::vector<wire::RegionSumRow> RegionWriter::sums_of(const WatchedProcess& process,
                                                      std::uint32_t ring,
                                                      const Drain& drain) const {
  // The call before the regions: if it returns meanwhile, its time is missing until the next drain,
  // and never counted twice.
  const auto call = process.segment.under_way(ring);
  const auto regions = process.segment.regions(ring);
  if (!regions) return {};
  const Nanos now = process.stopped_at != 0 ? process.stopped_at : drain.now;
  std::vector<wire::RegionSumRow> rows;
  const bool is_in_call = call && regions->mpi_until < call->begin;
  for (const SegmentRegion& from : regions->all) {
    wire::RegionSumRow row{.region = from.region,
                           .thread = ThreadIndex{ring},
                           .visits = from.visits,
                           .time_ns = from.time_ns,
                           .max_ns = from.max_ns,
                           .mpi_ns = records_.duration_of(process, from.mpi_ticks),
                           .is_estimated = from.is_estimated};
    for (const Nanos begin_ns : from.open_since) {
      const std::uint64_t visit = since(begin_ns, now);
      row.time_ns += visit;
      row.max_ns = std::max(row.max_ns, visit);
      if (!is_in_call) continue;
      row.mpi_ns += since(std::max(begin_ns, records_.monotonic_of(process, call->begin)), now);
    }
    row.mpi_ns = std::min(row.mpi_ns, row.time_ns);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace xylem::backend
