#include "backend/agent/region_writer.h"

#include <algorithm>
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
    if (!is_last && !registrations_.has_room_for_definitions()) continue;
    if (!records_.is_readable(process, drain)) continue;
    ToldRegions now;
    bool is_all = true;
    wire::Definitions news;
    for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
      is_all = add_sums(process, ring, drain, now) && is_all;
    }
    for (const auto& [key, sum] : now) {
      const auto told = process.told_regions.find(key);
      if (told == process.told_regions.end() || told->second.row != sum.row)
        news.region_sums.push_back(sum.row);
    }
    if (!news.region_sums.empty() && !registrations_.announce(std::move(news), process, drain))
      return false;
    if (!is_all) continue;  // Soon again: a thread has changed them too quickly.
    process.regions_told_at = drain.now;
    process.told_regions = std::move(now);
  }
  return true;
}

bool RegionWriter::add_sums(const WatchedProcess& process, std::uint32_t ring, const Drain& drain,
                            ToldRegions& into) const {
  // The call before the regions: if it returns meanwhile, its time is missing until the next drain,
  // and never counted twice.
  const auto call = process.segment.under_way(ring);
  const auto regions = process.segment.regions(ring);
  if (!regions) return false;
  const Nanos now = process.stopped_at != 0 ? process.stopped_at : drain.now;
  const bool is_in_call = call && regions->mpi_until < call->begin;
  const Nanos call_begin = is_in_call ? records_.monotonic_of(process, call->begin) : now;
  const auto put = [&](const wire::RegionSumRow& row, std::uint64_t mpi_ticks) {
    into[{ring, row.region}] = {row, mpi_ticks};
  };
  for (const SegmentRegion& from : regions->all) {
    wire::RegionSumRow row{.region = from.region,
                           .thread = ThreadIndex{ring},
                           .visits = from.visits,
                           .time_ns = from.time_ns,
                           .max_ns = from.max_ns,
                           .mpi_ns = records_.duration_of(process, from.mpi_ticks),
                           .is_estimated = from.is_estimated};
    // The rate of the ticks is known better and better. Time that has been told does not change.
    const auto told = process.told_regions.find({ring, from.region});
    if (told != process.told_regions.end() && told->second.mpi_ticks == from.mpi_ticks)
      row.mpi_ns = told->second.row.mpi_ns;
    for (const Nanos begin_ns : from.open_since) {
      const std::uint64_t visit = since(begin_ns, now);
      row.time_ns += visit;
      row.max_ns = std::max(row.max_ns, visit);
      // A region that the program names in a callback of MPI has no time in MPI of its own.
      if (is_in_call && begin_ns <= call_begin) row.mpi_ns += since(call_begin, now);
    }
    row.mpi_ns = std::min(row.mpi_ns, row.time_ns);
    // With time of a call that has not returned, the next row is computed anew.
    put(row, is_in_call && !from.open_since.empty() ? ~from.mpi_ticks : from.mpi_ticks);
  }
  const auto tell_count = [&](std::uint64_t region, std::uint64_t count) {
    if (count != 0) put({.region = region, .thread = ThreadIndex{ring}, .visits = count}, 0);
  };
  tell_count(wire::kUncountedVisits, regions->dropped);
  tell_count(wire::kLostRegionEvents, regions->lost_records);
  return true;
}

}  // namespace xylem::backend
