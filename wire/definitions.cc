#include "wire/definitions.h"

#include <iterator>

#include "wire/definitions_internal.h"
#include "wire/flat_internal.h"

namespace xylem::wire {

const char* communicator_kind_name(CommunicatorKind kind) {
  static constexpr const char* kNames[] = {"intra", "inter", "cartesian", "graph",
                                           "distributed_graph"};
  return raw(kind) < std::size(kNames) ? kNames[raw(kind)] : kNames[0];
}

const char* record_shape_name(RecordShape shape) {
  static constexpr const char* kNames[] = {"counted",    "call",       "message", "start",
                                           "completion", "collective", "part"};
  return raw(shape) < std::size(kNames) ? kNames[raw(shape)] : nullptr;
}

namespace internal {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

// Sizes of the first version of these rows.
constexpr std::size_t kCommunicatorWords = 4;
constexpr std::size_t kMemberWords = 2;
constexpr std::size_t kNameWords = 2;
constexpr std::size_t kDimensionWords = 2;
constexpr std::size_t kNeighbourWords = 2;
constexpr std::size_t kNamedWords = kNameWords + 6;
constexpr std::size_t kCallSiteWords = 4;
constexpr std::size_t kDescribedSiteWords = kCallSiteWords + 16;  // With a path and a build id.
constexpr std::size_t kThreadWords = 2;
constexpr std::size_t kRecordCostWords = 1;
constexpr std::size_t kRegionWords = 2;
constexpr std::size_t kNamedRegionWords = kRegionWords + 4;
constexpr std::size_t kRegionSumWords = 6;
constexpr std::size_t kHeadWords = 24;

CommunicatorRow read(schema::CommunicatorRow::Reader in) {
  CommunicatorRow row;
  row.comm = CommId{in.getComm()};
  if (in.getParent() != kNone) row.parent = CommId{in.getParent()};
  row.group = in.getGroup();
  row.kind = CommunicatorKind{in.getKind()};
  row.size = in.getSize();
  row.second_size = in.getSecondSize();
  return row;
}

MemberRow read(schema::MemberRow::Reader in) {
  return {in.getGroup(), in.getPlace(), in.getIsSecond()};
}

CommunicatorNameRow read(schema::CommunicatorName::Reader in) {
  return {CommId{in.getComm()}, text(in.getName())};
}

DimensionRow read(schema::DimensionRow::Reader in) {
  return {CommId{in.getComm()}, in.getPosition(), in.getSize(), in.getIsPeriodic()};
}

NeighbourRow read(schema::NeighbourRow::Reader in) {
  NeighbourRow row{CommId{in.getComm()}, in.getIsSource(), in.getPosition(), {}};
  if (in.getRank() != kNone) row.rank = Rank{in.getRank()};
  return row;
}

CallSiteRow read(schema::CallSiteRow::Reader in) {
  const auto id = in.getBuildId();
  const auto* first = reinterpret_cast<const std::byte*>(id.begin());
  return {
      CallSiteId{in.getSite()}, text(in.getObject()), {first, first + id.size()}, in.getOffset()};
}

ThreadRow read(schema::ThreadRow::Reader in) {
  return {ThreadIndex{in.getThread()}, in.getOsThread(), in.getSinceNs()};
}

RecordCostRow read(schema::RecordCostRow::Reader in) {
  return {RecordShape{in.getShape()}, in.getPicoseconds()};
}

RegionRow read(schema::RegionRow::Reader in) { return {in.getRegion(), text(in.getName())}; }

RegionSumRow read(schema::RegionSumRow::Reader in) {
  return {in.getRegion(),   ThreadIndex{in.getThread()},
          in.getVisits(),   in.getTimeNs(),
          in.getMaxNs(),    in.getMpiNs(),
          in.getEstimated()};
}

void write(const CommunicatorRow& row, schema::CommunicatorRow::Builder out) {
  out.setComm(raw(row.comm));
  out.setParent(row.parent ? raw(*row.parent) : kNone);
  out.setGroup(row.group);
  out.setKind(raw(row.kind));
  out.setSize(row.size);
  out.setSecondSize(row.second_size);
}

void write(const MemberRow& row, schema::MemberRow::Builder out) {
  out.setGroup(row.group);
  out.setPlace(row.place);
  out.setIsSecond(row.is_second);
}

void write(const CommunicatorNameRow& row, schema::CommunicatorName::Builder out) {
  out.setComm(raw(row.comm));
  out.setName(text(row.name));
}

void write(const DimensionRow& row, schema::DimensionRow::Builder out) {
  out.setComm(raw(row.comm));
  out.setPosition(row.position);
  out.setSize(row.size);
  out.setIsPeriodic(row.is_periodic);
}

void write(const NeighbourRow& row, schema::NeighbourRow::Builder out) {
  out.setComm(raw(row.comm));
  out.setIsSource(row.is_source);
  out.setPosition(row.position);
  out.setRank(row.rank ? raw(*row.rank) : kNone);
}

void write(const CallSiteRow& row, schema::CallSiteRow::Builder out) {
  out.setSite(raw(row.site));
  out.setObject(text(row.object));
  out.setBuildId({reinterpret_cast<const kj::byte*>(row.build_id.data()), row.build_id.size()});
  out.setOffset(row.offset);
}

void write(const ThreadRow& row, schema::ThreadRow::Builder out) {
  out.setThread(raw(row.thread));
  out.setOsThread(row.os_thread);
  out.setSinceNs(row.since_ns);
}

void write(const RecordCostRow& row, schema::RecordCostRow::Builder out) {
  out.setShape(raw(row.shape));
  out.setPicoseconds(row.picoseconds);
}

void write(const RegionRow& row, schema::RegionRow::Builder out) {
  out.setRegion(row.region);
  out.setName(text(row.name));
}

void write(const RegionSumRow& row, schema::RegionSumRow::Builder out) {
  out.setRegion(row.region);
  out.setThread(raw(row.thread));
  out.setVisits(row.visits);
  out.setTimeNs(row.time_ns);
  out.setMaxNs(row.max_ns);
  out.setMpiNs(row.mpi_ns);
  out.setEstimated(row.is_estimated);
}

template <typename Rows, typename List>
void write_all(const Rows& rows, List out) {
  unsigned at = 0;
  for (const auto& row : rows) write(row, out[at++]);
}

template <typename Rows, typename List>
void read_all(const List& in, std::size_t words, std::size_t size, Rows& rows) {
  rows.reserve(checked_count(in, words, size));
  for (const auto row : in) rows.push_back(read(row));
}

template <typename Rows>
unsigned count(const Rows& rows) {
  return static_cast<unsigned>(rows.size());
}

}  // namespace

std::size_t definition_words(const Definitions& definitions) {
  if (definitions == Definitions{}) return 0;
  return kHeadWords + definitions.communicators.size() * kCommunicatorWords +
         definitions.members.size() * kMemberWords + definitions.names.size() * kNamedWords +
         definitions.dimensions.size() * kDimensionWords +
         definitions.neighbours.size() * kNeighbourWords +
         definitions.call_sites.size() * kDescribedSiteWords +
         definitions.threads.size() * kThreadWords +
         definitions.record_costs.size() * kRecordCostWords +
         definitions.regions.size() * kNamedRegionWords +
         definitions.region_sums.size() * kRegionSumWords;
}

void write_definitions(const Definitions& definitions, schema::Definitions::Builder out) {
  write_all(definitions.communicators, out.initCommunicators(count(definitions.communicators)));
  write_all(definitions.members, out.initMembers(count(definitions.members)));
  write_all(definitions.names, out.initNames(count(definitions.names)));
  write_all(definitions.dimensions, out.initDimensions(count(definitions.dimensions)));
  write_all(definitions.neighbours, out.initNeighbours(count(definitions.neighbours)));
  write_all(definitions.call_sites, out.initCallSites(count(definitions.call_sites)));
  write_all(definitions.threads, out.initThreads(count(definitions.threads)));
  write_all(definitions.record_costs, out.initRecordCosts(count(definitions.record_costs)));
  write_all(definitions.regions, out.initRegions(count(definitions.regions)));
  write_all(definitions.region_sums, out.initRegionSums(count(definitions.region_sums)));
  out.setLost(definitions.lost);
}

Definitions read_definitions(schema::Definitions::Reader in, std::size_t size) {
  Definitions definitions;
  read_all(in.getCommunicators(), kCommunicatorWords, size, definitions.communicators);
  read_all(in.getMembers(), kMemberWords, size, definitions.members);
  read_all(in.getNames(), kNameWords, size, definitions.names);
  read_all(in.getDimensions(), kDimensionWords, size, definitions.dimensions);
  read_all(in.getNeighbours(), kNeighbourWords, size, definitions.neighbours);
  read_all(in.getCallSites(), kCallSiteWords, size, definitions.call_sites);
  read_all(in.getThreads(), kThreadWords, size, definitions.threads);
  read_all(in.getRecordCosts(), kRecordCostWords, size, definitions.record_costs);
  read_all(in.getRegions(), kRegionWords, size, definitions.regions);
  read_all(in.getRegionSums(), kRegionSumWords, size, definitions.region_sums);
  definitions.lost = in.getLost();
  return definitions;
}

}  // namespace internal
}  // namespace xylem::wire
