#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/saturating.h"
#include "storage/read/message_pairs_internal.h"

namespace xylem::storage {
namespace {

std::optional<std::int64_t> tag_of(std::int32_t tag) {
  return tag == wire::kNoTag ? std::nullopt : std::optional<std::int64_t>(tag);
}
std::optional<std::int64_t> comm_of(std::uint32_t comm) {
  return comm == wire::kNoComm ? std::nullopt : std::optional<std::int64_t>(comm);
}

Nanos time_of_message(const Timeline::Message& message) {
  return message.sent_ns ? *message.sent_ns : message.received_ns.value_or(0);
}

}  // namespace

void MessagePairs::take(Rank rank, const wire::Event& event, bool in_range) {
  take_end(rank, event, true, in_range, false);
  take_end(rank, event, false, in_range, false);
}

void MessagePairs::take_partner(Rank rank, const wire::Event& event) {
  take_end(rank, event, true, false, true);
  take_end(rank, event, false, false, true);
}

void MessagePairs::take_end(Rank rank, const wire::Event& event, bool is_send, bool in_range,
                            bool is_only_partner) {
  if (event.peer < 0) return;
  if ((event.flags & (is_send ? wire::kEventSend : wire::kEventReceive)) == 0) return;
  const Rank peer{static_cast<std::uint32_t>(event.peer)};
  const Rank source = is_send ? rank : peer;
  const Rank destination = is_send ? peer : rank;
  if ((event.flags & wire::kEventNumbered) == 0) {
    if (!in_range) return;
    Timeline::Message message;
    message.source = source;
    message.destination = destination;
    (is_send ? message.sent_ns : message.received_ns) = is_send ? event.begin_ns : event.end_ns;
    message.bytes = event.bytes;
    message.tag = tag_of(event.tag);
    message.comm = comm_of(event.comm);
    unnumbered_.push_back(message);
    return;
  }
  // All messages are of one world.
  const MessageKey key{{}, event.comm, source, destination, event.tag, event.number};
  const auto found = is_only_partner ? numbered_.find(key) : numbered_.try_emplace(key).first;
  if (found == numbered_.end()) return;
  Ends& ends = found->second;
  ends.in_range += in_range ? 1 : 0;
  if (is_send && ends.sends++ == 0) {
    ends.sent_ns = event.begin_ns;
    ends.sent_bytes = event.bytes;
  }
  if (!is_send && ends.receives++ == 0) {
    ends.received_ns = event.end_ns;
    ends.received_bytes = event.bytes;
  }
}

std::vector<MissingEnds> MessagePairs::missing() const {
  std::map<std::pair<bool, Rank>, MissingEnds> missing;
  for (const auto& [key, ends] : numbered_) {
    if (ends.in_range == 0 || ends.sends + ends.receives != 1) continue;
    const bool has_send = ends.sends == 1;
    const Nanos at_ns = has_send ? ends.sent_ns : ends.received_ns;
    const Rank rank = has_send ? key.destination : key.source;
    const auto [found, is_new] = missing.try_emplace({has_send, rank});
    MissingEnds& of_rank = found->second;
    if (is_new) of_rank = {rank, !has_send, at_ns, at_ns};
    of_rank.earliest_ns = std::min(of_rank.earliest_ns, at_ns);
    of_rank.latest_ns = std::max(of_rank.latest_ns, at_ns);
  }
  std::vector<MissingEnds> list;
  for (const auto& [key, of_rank] : missing) list.push_back(of_rank);
  return list;
}

bool MessagePairs::belongs(const Ends& ends) const {
  if (ends.in_range != 0) return true;
  return ends.sends == 1 && ends.receives == 1 && ends.sent_ns < begin_ns_ &&
         ends.received_ns >= end_ns_;
}

void MessagePairs::finish(std::uint64_t limit, const std::function<Nanos(Rank, Rank)>& clocks_apart,
                          Timeline& timeline) {
  auto& messages = timeline.messages;
  messages = std::move(unnumbered_);
  timeline.unpaired = messages.size();
  for (const auto& [key, ends] : numbered_) {
    if (!belongs(ends)) continue;
    Timeline::Message message;
    message.source = key.source;
    message.destination = key.destination;
    message.bytes = std::max(ends.sent_bytes, ends.received_bytes);
    message.tag = tag_of(key.tag);
    message.comm = comm_of(key.comm);
    if (ends.sends == 1 && ends.receives == 1) {
      const Nanos apart = clocks_apart(key.source, key.destination);
      if (saturating_subtract(ends.sent_ns, ends.received_ns) > apart) {
        ++timeline.backwards;
        continue;
      }
      message.sent_ns = ends.sent_ns;
      message.received_ns = ends.received_ns;
      messages.push_back(message);
      continue;
    }
    timeline.unpaired += ends.in_range;
    if (ends.sends != 0) {
      message.sent_ns = ends.sent_ns;
      messages.push_back(message);
    }
    if (ends.receives != 0) {
      message.sent_ns = std::nullopt;
      message.received_ns = ends.received_ns;
      messages.push_back(message);
    }
  }
  timeline.messages_in_all = messages.size();
  const auto order = [](const Timeline::Message& m) {
    return std::tuple(time_of_message(m), m.source, m.destination, m.tag, m.comm, m.received_ns);
  };
  if (messages.size() > limit) {
    std::ranges::nth_element(messages, messages.begin() + static_cast<std::ptrdiff_t>(limit),
                             [&](const Timeline::Message& a, const Timeline::Message& b) {
                               return std::tuple(b.bytes, order(a)) < std::tuple(a.bytes, order(b));
                             });
    messages.resize(limit);
  }
  std::ranges::sort(messages, {}, order);
  numbered_.clear();
}

void MessagePairs::clear() {
  numbered_.clear();
  unnumbered_.clear();
}

}  // namespace xylem::storage
