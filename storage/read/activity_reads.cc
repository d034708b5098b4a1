#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/saturating.h"
#include "storage/read/activity_reads_internal.h"
#include "storage/read/run_view_internal.h"

namespace xylem::storage {
namespace {

/// The ranks of a world from the end of the first MPI_Init to the begin of the last MPI_Finalize,
/// in at most this many slices, and in rows of one or more ranks.
constexpr std::uint64_t kMaxSlices = 200, kMaxSliceRows = 1024;
/// The slowest rank is named if it is above the mean by this part of a slice.
constexpr double kClearlySlowest = 0.1;

/// What the slices of a grid of time in MPI have in common.
SliceActivity slices_of(WorldId world, const RankGrid& grid,
                        const std::vector<std::uint64_t>& threads) {
  SliceActivity sums;
  sums.world = world;
  sums.slice_ns = grid.slot_ns;
  for (std::uint64_t slice = 0; slice < grid.columns; ++slice) {
    double most = 0, all = 0;
    std::size_t slowest = 0;
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      const std::size_t cell = row * grid.columns + slice;
      const std::uint64_t mpi = std::min(grid.cells[cell], grid.watched[cell]);
      const double useful = static_cast<double>(grid.watched[cell] - mpi) /
                            static_cast<double>(std::max<std::uint64_t>(threads[row], 1));
      all += useful * static_cast<double>(grid.rows[row].ranks);
      if (useful <= most) continue;
      most = useful;
      slowest = row;
    }
    const double mean = all / static_cast<double>(std::max<std::uint64_t>(grid.world_size, 1));
    sums.max_useful_ns += most;
    sums.mean_useful_ns += mean;
    if (most - mean < kClearlySlowest * static_cast<double>(grid.slot_ns)) continue;
    const RankGroup group{Rank{static_cast<std::uint32_t>(grid.rows[slowest].first_rank)},
                          grid.rows[slowest].ranks};
    if (!sums.slowest.empty() && sums.slowest.back() == group) continue;
    if (sums.slowest.size() == kSlowestShown) {
      sums.has_more = true;
    } else {
      sums.slowest.push_back(group);
    }
  }
  return sums;
}

/// The time of a world from the first begin to the last end of a rank.
std::pair<Nanos, Nanos> time_of_ranks(const Activity& activity, WorldId world) {
  Nanos begin_ns = std::numeric_limits<Nanos>::max(), end_ns = 0;
  for (const RankActivity& rank : activity.ranks) {
    if (rank.world != world) continue;
    begin_ns = std::min(begin_ns, rank.begin_ns);
    end_ns = std::max(end_ns, rank.end_ns);
  }
  return {begin_ns, end_ns};
}

/// Limits of what is read for turns. Chunks are read whole: this is room for two full chunks of
/// each rank, so that some range can be read if the chunks of a rank follow each other.
constexpr std::uint64_t kMaxTurnRanks = 64, kMaxTurnEvents = 1'000'000;
/// A shorter part of the run does not speak for the run: ranges are halved at most this often.
constexpr int kMaxHalvings = 10;

struct Interval {
  Nanos begin_ns = 0, end_ns = 0;
};

/// Adds up how many ranks compute at a time. `calls` has the calls of each rank, in any order; they
/// may overlap. A rank computes from its begin to its end, within the range, except in its calls.
class Turns {
 public:
  void add(Rank rank, const Interval& range, std::vector<Interval> calls) {
    std::ranges::sort(calls, {}, &Interval::begin_ns);
    Nanos from = range.begin_ns;
    for (const Interval& call : calls) {
      compute(rank, from, std::min(call.begin_ns, range.end_ns));
      from = std::max(from, call.end_ns);
    }
    compute(rank, from, range.end_ns);
  }

  TurnActivity take(WorldId world) {
    TurnActivity sums;
    sums.world = world;
    std::ranges::sort(changes_, {}, &Change::at_ns);
    std::map<Rank, Nanos> alone;
    std::int64_t computing = 0, ranks = 0;  // If one rank computes, the sum of ranks is its number.
    Nanos last_ns = 0;
    for (const Change& change : changes_) {
      const Nanos length = saturating_subtract(change.at_ns, last_ns);
      if (computing > 0) sums.computing_ns = saturating_add(sums.computing_ns, length);
      if (computing == 1) {
        Nanos& time_ns = alone[Rank{static_cast<std::uint32_t>(ranks)}];
        time_ns = saturating_add(time_ns, length);
      }
      last_ns = change.at_ns;
      computing += change.step;
      ranks += change.step * std::int64_t{raw(change.rank)};
    }
    for (const auto& [rank, time_ns] : alone) {
      sums.alone_ns = saturating_add(sums.alone_ns, time_ns);
      sums.longest_alone_ns = std::max(sums.longest_alone_ns, time_ns);
    }
    return sums;
  }

 private:
  struct Change {
    Nanos at_ns = 0;
    Rank rank{};
    std::int64_t step = 0;
  };
  void compute(Rank rank, Nanos begin_ns, Nanos end_ns) {
    if (begin_ns >= end_ns) return;
    changes_.push_back({begin_ns, rank, 1});
    changes_.push_back({end_ns, rank, -1});
  }
  std::vector<Change> changes_;
};

/// What a chunk spans, and its number of events.
struct ChunkSpan {
  Interval time;
  std::uint64_t events = 0;
};

/// The events of the chunks that a query for calls within the range opens.
std::uint64_t events_to_read(const std::vector<ChunkSpan>& chunks, const Interval& range) {
  std::uint64_t events = 0;
  for (const ChunkSpan& chunk : chunks) {
    const bool meets = chunk.time.end_ns >= range.begin_ns && chunk.time.begin_ns <= range.end_ns;
    if (meets) events = saturating_add(events, chunk.events);
  }
  return events;
}

/// The whole time, or the longest range in its middle that is cheap enough to read. The range is
/// chosen by the chunks in it, because the rate of events may change a lot. nullopt: there is none.
std::optional<Interval> range_of_turns(const std::vector<ChunkSpan>& chunks, const Interval& all) {
  Nanos half = saturating_subtract(all.end_ns, all.begin_ns) / 2;
  const Nanos middle = saturating_add(all.begin_ns, half);
  Interval range = all;
  for (int halvings = 0; events_to_read(chunks, range) > kMaxTurnEvents; ++halvings) {
    if (halvings == kMaxHalvings) return {};
    half /= 2;
    range = {saturating_subtract(middle, half), saturating_add(middle, half)};
  }
  return range;
}

}  // namespace

void read_messages(Inquiry& inquiry, Activity& activity) {
  struct Place {
    WorldId world{};
    Rank rank{};
    LeafId leaf{};
  };
  std::unordered_map<ProcessKey, Place> sources;
  std::map<std::pair<WorldId, Rank>, LeafId> leaves;
  inquiry.scan(
      "SELECT id, world, rank, leaf FROM process WHERE world IS NOT NULL AND rank IS NOT NULL",
      [&](std::span<const Value> row) {
        const Place place{id_of<WorldId>(row[1]), id_of<Rank>(row[2]), id_of<LeafId>(row[3])};
        sources[id_of<ProcessKey>(row[0])] = place;
        leaves[{place.world, place.rank}] = place.leaf;
      });
  std::map<WorldId, MessageActivity> sums;
  inquiry.scan("SELECT process, destination, messages, bytes FROM matrix_sum",
               [&](std::span<const Value> row) {
                 const auto source = sources.find(id_of<ProcessKey>(row[0]));
                 if (source == sources.end()) return;
                 const Place& place = source->second;
                 const std::uint64_t bytes = count_of(row[3]);
                 MessageActivity& sum = sums[place.world];
                 sum.world = place.world;
                 sum.messages = saturating_add(sum.messages, count_of(row[2]));
                 sum.bytes = saturating_add(sum.bytes, bytes);
                 const auto destination = id_of<Rank>(row[1]);
                 const auto leaf = leaves.find({place.world, destination});
                 if (leaf == leaves.end() || leaf->second == place.leaf) return;
                 sum.bytes_between_hosts = saturating_add(sum.bytes_between_hosts, bytes);
                 if (bytes <= sum.pair_bytes) return;
                 sum.source = place.rank;
                 sum.destination = destination;
                 sum.pair_bytes = bytes;
               });
  for (const auto& [world, sum] : sums) activity.messages.push_back(sum);
}

void read_slices(Inquiry& inquiry, Activity& activity) {
  const std::vector<WorldEfficiency> worlds = efficiencies(activity.ranks);
  if (worlds.empty() || inquiry.failure) return;
  const WorldEfficiency& world = worlds.front();
  if (world.ranks < 2 || 1 - world.communication() < FindingLimits{}.imbalance) return;
  RankGridQuery query;
  query.ranks.world = world.world;
  query.columns = kMaxSlices;
  query.rows = kMaxSliceRows;
  const auto [begin_ns, end_ns] = time_of_ranks(activity, world.world);
  query.range = {begin_ns, end_ns};
  ViewReader reader(inquiry.run());
  if (reader.window_ns <= 1) return;  // The file does not know the length of its windows.
  RankGrid grid;
  read_grid(reader, query, grid, nullptr);
  // A damaged summary of windows does not matter to other findings. Any other failure comes again
  // with the next query.
  if (!reader.ok()) return;
  std::vector<std::uint64_t> threads(grid.rows.size());
  for (const RankActivity& rank : activity.ranks) {
    if (rank.world != world.world || grid.rows.empty()) continue;
    const std::uint64_t row = raw(rank.rank) / grid.rows.front().ranks;
    if (row < threads.size()) threads[row] += rank.threads;
  }
  activity.slices.push_back(slices_of(world.world, grid, threads));
}

void read_turns(Inquiry& inquiry, Activity& activity) {
  const std::vector<WorldEfficiency> worlds = efficiencies(activity.ranks);
  if (worlds.empty() || worlds.front().ranks > kMaxTurnRanks) return;
  const WorldId world = worlds.front().world;
  if (!may_compute_in_turn(worlds.front())) return;
  // A damaged chunk does not matter to other findings. Any other failure comes again with the next
  // query.
  Inquiry reader(inquiry.run());
  const std::string of_world = " WHERE world = " + std::to_string(raw(world));
  std::vector<ChunkSpan> chunks;
  reader.scan(
      "SELECT begin_ns, end_ns, events FROM event_chunk WHERE process IN (SELECT id FROM process" +
          of_world + " AND rank IS NOT NULL)",
      [&chunks](std::span<const Value> row) {
        chunks.push_back({{time_of(row[0]), time_of(row[1])}, count_of(row[2])});
      });
  if (chunks.empty()) return;
  const auto [from_ns, to_ns] = time_of_ranks(activity, world);
  const auto range = range_of_turns(chunks, {from_ns, to_ns});
  if (!range) return;
  std::map<Rank, std::vector<Interval>> calls;
  const auto take = [&calls](std::span<const Value> row) {
    calls[id_of<Rank>(row[0])].push_back({time_of(row[1]), time_of(row[2])});
  };
  reader.scan("SELECT rank, begin_ns, end_ns FROM event" + of_world + " AND end_ns > " +
                  std::to_string(range->begin_ns) + " AND begin_ns < " +
                  std::to_string(range->end_ns),
              take);
  if (reader.has_table("under_way")) {
    reader.scan("SELECT rank, begin_ns, at_ns FROM under_way" + of_world, take);
  }
  if (reader.failure) return;
  Turns turns;
  for (const RankActivity& rank : activity.ranks) {
    if (rank.world != world) continue;
    const Interval watched = {std::max(range->begin_ns, rank.begin_ns),
                              std::min(range->end_ns, rank.end_ns)};
    turns.add(rank.rank, watched, std::move(calls[rank.rank]));
  }
  activity.turns.push_back(turns.take(world));
}

}  // namespace xylem::storage
