#include <algorithm>
#include <iterator>
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
std::optional<CommId> comm_of(CommId comm) {
  return comm == wire::kNoComm ? std::nullopt : std::optional(comm);
}

Nanos time_of_message(const Timeline::Message& message) {
  return message.sent_ns ? *message.sent_ns : message.received_ns.value_or(0);
}

}  // namespace

void MessagePairs::take(Rank rank, const wire::Event& event, bool in_range, bool posts) {
  take_event(rank, event, in_range, posts, false);
}

void MessagePairs::take_partner(Rank rank, const wire::Event& event, bool posts) {
  take_event(rank, event, false, posts, true);
}

void MessagePairs::take_event(Rank rank, const wire::Event& event, bool in_range, bool posts,
                              bool is_partner) {
  if (posts && event.request != 0) {
    posts_.push_back({rank, event.request, {event.begin_ns, event.end_ns, event.thread}});
  }
  take_end(rank, event, true, in_range, is_partner);
  take_end(rank, event, false, in_range, is_partner);
}

void MessagePairs::take_end(Rank rank, const wire::Event& event, bool is_send, bool in_range,
                            bool is_partner) {
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
  const auto [found, is_new] = numbered_.try_emplace(key);
  if (is_new) found->second.is_of_partners = is_partner;
  End& end = is_send ? found->second.send : found->second.receive;
  end.in_range += in_range ? 1 : 0;
  if (end.count++ != 0) return;
  end.bytes = event.bytes;
  end.request = is_send ? 0 : event.request;
  end.call = {event.begin_ns, event.end_ns, event.thread};
}

std::vector<MissingEnds> MessagePairs::missing() const {
  std::map<std::pair<bool, Rank>, MissingEnds> missing;
  for (const auto& [key, ends] : numbered_) {
    if (ends.in_range() == 0 || ends.send.count + ends.receive.count != 1) continue;
    const bool has_send = ends.send.count == 1;
    const Nanos at_ns = has_send ? ends.send.call.begin_ns : ends.receive.call.end_ns;
    const Rank rank = has_send ? key.destination : key.source;
    const auto [found, is_new] = missing.try_emplace({has_send, rank});
    MissingEnds& of_rank = found->second;
    if (is_new) of_rank = {rank, !has_send, at_ns, at_ns};
    of_rank.earliest_ns = std::min(of_rank.earliest_ns, at_ns);
    of_rank.latest_ns = std::max(of_rank.latest_ns, at_ns);
  }
  std::vector<MissingEnds> list;
  list.reserve(missing.size());
  for (const auto& [key, of_rank] : missing) list.push_back(of_rank);
  return list;
}

bool MessagePairs::belongs(const Ends& ends) const {
  if (ends.in_range() != 0) return true;
  return !ends.is_of_partners && ends.is_pair() && ends.send.call.begin_ns < begin_ns_ &&
         ends.receive.call.end_ns >= end_ns_;
}

/// The call in which an end got its number, as far as it is known. `posts_` is sorted.
MessagePairs::Call MessagePairs::numbered_in(Rank rank, const End& end) const {
  if (end.request == 0) return end.call;
  // Requests are used again: the last post before the receive ended is the one.
  const auto next = std::ranges::upper_bound(
      posts_, std::tuple(rank, end.request, end.call.end_ns), {},
      [](const Post& post) { return std::tuple(post.rank, post.request, post.call.begin_ns); });
  if (next == posts_.begin()) return end.call;
  const Post& post = *std::prev(next);
  return post.rank == rank && post.request == end.request ? post.call : end.call;
}

void MessagePairs::find_ambiguous() {
  std::ranges::sort(posts_, {}, [](const Post& post) {
    return std::tuple(post.rank, post.request, post.call.begin_ns);
  });
  struct Use {
    std::pair<bool, MessageKey> side;  // The number of the key is 0.
    Call call;
    End* end;
  };
  std::vector<Use> uses;
  for (auto& [key, ends] : numbered_) {
    MessageKey channel = key;
    channel.number = 0;
    if (ends.send.count != 0) uses.push_back({{true, channel}, ends.send.call, &ends.send});
    if (ends.receive.count == 0) continue;
    const Call call = numbered_in(key.destination, ends.receive);
    uses.push_back({{false, channel}, call, &ends.receive});
  }
  std::ranges::sort(uses, {},
                    [](const Use& use) { return std::tuple(use.side, use.call.begin_ns); });
  // Calls of one thread do not overlap. So in a group of calls without a gap between them, each
  // call overlaps with one of another thread, unless all are of the same thread.
  for (auto first = uses.begin(); first != uses.end();) {
    Nanos until_ns = first->call.end_ns;
    bool has_threads = false;
    auto next = std::next(first);
    for (; next != uses.end() && next->side == first->side && next->call.begin_ns < until_ns;
         ++next) {
      until_ns = std::max(until_ns, next->call.end_ns);
      has_threads |= next->call.thread != first->call.thread;
    }
    for (; first != next; ++first) first->end->is_ambiguous = has_threads;
  }
}

void MessagePairs::finish(std::uint64_t limit, const std::function<Nanos(Rank, Rank)>& clocks_apart,
                          Timeline& timeline) {
  auto& messages = timeline.messages;
  messages = std::move(unnumbered_);
  timeline.unpaired = messages.size();
  find_ambiguous();
  for (const auto& [key, ends] : numbered_) {
    if (!belongs(ends)) continue;
    Timeline::Message message;
    message.source = key.source;
    message.destination = key.destination;
    message.bytes = std::max(ends.send.bytes, ends.receive.bytes);
    message.tag = tag_of(key.tag);
    message.comm = comm_of(key.comm);
    const Nanos sent_ns = ends.send.call.begin_ns, received_ns = ends.receive.call.end_ns;
    if (ends.is_pair()) {
      const Nanos apart = clocks_apart(key.source, key.destination);
      if (saturating_subtract(sent_ns, received_ns) > apart) {
        ++timeline.backwards;
        continue;
      }
      message.sent_ns = sent_ns;
      message.received_ns = received_ns;
      messages.push_back(message);
      continue;
    }
    timeline.unpaired += ends.in_range();
    if (ends.send.in_range != 0) {
      message.bytes = ends.send.bytes;
      message.sent_ns = sent_ns;
      messages.push_back(message);
    }
    if (ends.receive.in_range != 0) {
      message.bytes = ends.receive.bytes;
      message.sent_ns = std::nullopt;
      message.received_ns = received_ns;
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
  clear();
}

void MessagePairs::clear() {
  numbered_.clear();
  unnumbered_.clear();
  posts_.clear();
}

}  // namespace xylem::storage
