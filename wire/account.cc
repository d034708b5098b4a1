// Accounts in the payloads of windows and tombstones.

#include "wire/profile_internal.h"

namespace xylem::wire::internal {
namespace {

constexpr std::size_t kAccountWords = 17;
constexpr std::size_t kFewestAccountWords = 8;  // As written before receives were counted.
constexpr std::size_t kLossWords = 2;
constexpr std::uint16_t kNoFunction = 65535;

}  // namespace

std::size_t guess_words(const AccountRow& row) {
  return kAccountWords + 1 + row.loss_by_function.size() * kLossWords;
}

void write(const AccountRow& row, schema::AccountRow::Builder out) {
  out.setLeaf(raw(row.leaf));
  out.setLane(raw(row.lane));
  out.setCaptured(row.captured);
  out.setLost(row.lost);
  out.setEnded(row.ended);
  out.setEvents(row.events);
  out.setEventCalls(row.event_calls);
  out.setWindowed(row.windowed);
  out.setLostMessages(row.lost_messages);
  out.setLostMessageBytes(row.lost_message_bytes);
  out.setLostReceives(row.lost_receives);
  out.setLostParts(row.lost_parts);
  out.setUntrackedReceives(row.untracked_receives);
  out.setSilentSinceNs(row.silent_since_ns);
  out.setInside(row.inside ? raw(*row.inside) : kNoFunction);
  out.setStopped(row.stopped);
  out.setOutside(row.outside);
  out.setSinceNs(row.since_ns);
  out.setUntilNs(row.until_ns);
  out.setThreads(row.threads);
  auto losses = out.initLossByFunction(static_cast<unsigned>(row.loss_by_function.size()));
  unsigned i = 0;
  for (const LossRow& loss : row.loss_by_function) {
    losses[i].setFunction(raw(loss.function));
    losses[i++].setCalls(loss.calls);
  }
}

Lane process_lane(std::uint32_t lane) {
  require(lane != raw(kLeafLane), "a row is of no process");
  return Lane{lane};
}

void read(schema::AccountRow::Reader in, std::size_t size, AccountRow& row) {
  row.leaf = LeafId{in.getLeaf()};
  row.lane = process_lane(in.getLane());
  row.captured = in.getCaptured();
  row.lost = in.getLost();
  row.ended = in.getEnded();
  row.events = in.getEvents();
  row.event_calls = in.getEventCalls();
  row.windowed = in.getWindowed();
  row.lost_messages = in.getLostMessages();
  row.lost_message_bytes = in.getLostMessageBytes();
  row.lost_receives = in.getLostReceives();
  row.lost_parts = in.getLostParts();
  row.untracked_receives = in.getUntrackedReceives();
  row.silent_since_ns = in.getSilentSinceNs();
  if (in.getInside() != kNoFunction) row.inside = FunctionId{in.getInside()};
  row.stopped = in.getStopped();
  row.outside = in.getOutside();
  row.since_ns = in.getSinceNs();
  row.until_ns = in.getUntilNs();
  row.threads = in.getThreads();
  const auto losses = in.getLossByFunction();
  row.loss_by_function.reserve(checked_count(losses, kLossWords, size));
  for (const auto loss : losses) {
    row.loss_by_function.push_back({FunctionId{loss.getFunction()}, loss.getCalls()});
  }
}

std::vector<AccountRow> read_accounts(capnp::List<schema::AccountRow>::Reader in,
                                      std::size_t size) {
  std::vector<AccountRow> rows(checked_count(in, kFewestAccountWords, size));
  unsigned i = 0;
  for (AccountRow& row : rows) read(in[i++], size, row);
  return rows;
}

}  // namespace xylem::wire::internal
