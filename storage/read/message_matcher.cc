#include "storage/read/message_matcher.h"

#include <algorithm>

#include "base/saturating.h"

namespace xylem::storage {

MessageKey MessageMatcher::key_of(const MessageHalf& half) {
  return {half.world, half.comm, half.source, half.destination, half.tag, half.number};
}

ProcessIndex MessageMatcher::add_process(WorldId world, Rank rank) {
  const auto index = static_cast<ProcessIndex>(processes_.size());
  Process& process = processes_.emplace_back();
  process.world = world;
  process.rank = rank;
  by_rank_[both(raw(world), raw(rank))] = index;
  return index;
}

std::optional<ProcessIndex> MessageMatcher::find(WorldId world, Rank rank) const {
  const auto found = by_rank_.find(both(raw(world), raw(rank)));
  return found == by_rank_.end() ? std::nullopt : std::optional(found->second);
}

void MessageMatcher::add(ProcessIndex index, const wire::Event& event, bool posts,
                         std::uint64_t call) {
  Process& process = processes_[raw(index)];
  const bool is_send = sends(event), is_receive = receives(event);
  if (posts && !is_send && !is_receive && event.request != 0) {
    if (process.posts.size() >= kMaxPosts) process.posts.clear();
    process.posts[event.request] = {event.begin_ns, event.end_ns, event.thread};
    return;
  }
  if (!is_send && !is_receive) {
    // A receive that was cancelled, or a receive from MPI_PROC_NULL.
    if ((event.flags & wire::kEventCompletes) != 0) process.posts.erase(event.request);
    return;
  }
  MessageHalf half;
  half.begin_ns = event.begin_ns;
  half.end_ns = event.end_ns;
  half.bytes = event.bytes;
  half.call = call;
  half.process = index;
  half.world = process.world;
  half.comm = event.comm;
  half.tag = event.tag;
  half.number = event.number;
  half.thread = half.posting_thread = event.thread;
  half.function = event.function;
  half.is_send = is_send;
  half.is_numbered = (event.flags & wire::kEventNumbered) != 0;
  const Rank peer{static_cast<std::uint32_t>(event.peer)};
  half.source = is_send ? process.rank : peer;
  half.destination = is_send ? peer : process.rank;
  Post numbered_in{event.begin_ns, event.end_ns, event.thread};
  const bool is_blocking = event.request == 0 && (event.flags & wire::kEventCompletes) == 0;
  if (is_receive && is_blocking) {
    half.posted_ns = event.begin_ns;
  } else if (is_receive) {
    const auto post = process.posts.find(event.request);
    if (post != process.posts.end()) {
      // A request of a later post with the same value belongs to another message.
      if (post->second.begin_ns <= event.end_ns) {
        numbered_in = post->second;
        half.posted_ns = numbered_in.begin_ns;
        half.posting_thread = numbered_in.thread;
      }
      process.posts.erase(post);
    }
  }
  take(process, half, numbered_in);
}

void MessageMatcher::take(Process& process, const MessageHalf& half, const Post& numbered_in) {
  if (!half.is_numbered) return sink_.unmatched(half, Unmatched::kNoNumber);
  if (process.has_threads) {
    hold(process, half, numbered_in);
  } else {
    match(half, false);
  }
}

// A half can only overlap with one that is still held: it began before the other one's end, so the
// promise that releases the other one has not been given.
void MessageMatcher::hold(Process& process, const MessageHalf& half, const Post& numbered_in) {
  Held fresh{half, numbered_in.begin_ns, numbered_in.end_ns, numbered_in.thread, false};
  for (const std::uint32_t neighbour : {half.number - 1, half.number + 1}) {
    MessageHalf other = half;
    other.number = neighbour;
    const auto found = process.held.find({half.is_send, key_of(other)});
    if (found == process.held.end() || found->second.thread == fresh.thread) continue;
    if (found->second.begin_ns >= fresh.end_ns || fresh.begin_ns >= found->second.end_ns) continue;
    found->second.is_ambiguous = fresh.is_ambiguous = true;
  }
  const auto [place, is_new] = process.held.try_emplace({half.is_send, key_of(half)}, fresh);
  if (!is_new) sink_.unmatched(half, Unmatched::kAmbiguous);
}

void MessageMatcher::release(Process& process, Nanos before) {
  for (auto held = process.held.begin(); held != process.held.end();) {
    if (held->second.end_ns > before || held->second.half.end_ns > before) {
      ++held;
      continue;
    }
    match(held->second.half, held->second.is_ambiguous);
    held = process.held.erase(held);
  }
}

void MessageMatcher::match(const MessageHalf& half, bool is_ambiguous) {
  const MessageKey key = key_of(half);
  const auto [place, is_first] = kept_.try_emplace(key, Kept{half, is_ambiguous});
  if (is_first) {
    if (half.is_send) return;
    if (const auto source = find(half.world, half.source)) {
      processes_[raw(*source)].awaited.push_back({key, half.end_ns});
    }
    return;
  }
  const Kept& other = place->second;
  // Two halves of the same side with one number: one of them is not what it says.
  if (other.half.is_send == half.is_send) return sink_.unmatched(half, Unmatched::kAmbiguous);
  if (is_ambiguous || other.is_ambiguous) {
    sink_.unmatched(other.half, Unmatched::kAmbiguous);
    sink_.unmatched(half, Unmatched::kAmbiguous);
  } else if (half.is_send) {
    sink_.pair(half, other.half);
  } else {
    sink_.pair(other.half, half);
  }
  kept_.erase(place);
}

void MessageMatcher::promise(ProcessIndex index, Nanos begin) {
  Process& process = processes_[raw(index)];
  process.promised = std::max(process.promised, begin);
  if (process.has_threads) release(process, process.promised);
  give_up(process);
}

// The send of a received message began before the receive ended, but for the clocks' errors.
void MessageMatcher::give_up(Process& process) {
  while (!process.awaited.empty()) {
    const Awaited& oldest = process.awaited.front();
    const auto kept = kept_.find(oldest.key);
    // A receive that was paired may have been followed by a half with the same key.
    const bool is_awaited = kept != kept_.end() && !kept->second.half.is_send &&
                            kept->second.half.end_ns == oldest.end_ns;
    if (is_awaited && saturating_add(oldest.end_ns, kClockSlack) >= process.promised) return;
    if (is_awaited && !process.held.contains({true, oldest.key})) {
      sink_.unmatched(kept->second.half,
                      kept->second.is_ambiguous ? Unmatched::kAmbiguous : Unmatched::kNotSent);
      kept_.erase(kept);
    }
    process.awaited.pop_front();
  }
}

void MessageMatcher::finish() {
  for (Process& process : processes_) {
    release(process, std::numeric_limits<Nanos>::max());
    process.posts.clear();
    process.awaited.clear();
  }
  // In an order that does not depend on hashes.
  std::vector<std::pair<MessageKey, Kept>> rest(kept_.begin(), kept_.end());
  std::ranges::sort(rest, {}, &std::pair<MessageKey, Kept>::first);
  kept_.clear();
  for (const auto& [key, kept] : rest) {
    sink_.unmatched(kept.half, kept.is_ambiguous   ? Unmatched::kAmbiguous
                               : kept.half.is_send ? Unmatched::kNotReceived
                                                   : Unmatched::kNotSent);
  }
}

bool MessageMatcher::has_posted(ProcessIndex process, Nanos begin, Nanos end) const {
  const auto& posts = processes_[raw(process)].posts;
  return std::ranges::any_of(posts, [&](const auto& post) {
    return post.second.begin_ns >= begin && post.second.begin_ns <= end;
  });
}

std::size_t MessageMatcher::in_flight() const {
  std::size_t sum = kept_.size();
  for (const Process& process : processes_) sum += process.posts.size() + process.held.size();
  return sum;
}

}  // namespace xylem::storage
