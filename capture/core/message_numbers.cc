// A program sends many messages on few channels, so a look-up must find a channel in a few
// nanoseconds: usually by a guess, else by one hash, one place of the index and one channel.
// Channels never move, so other threads may count in them while the index grows.

#include "capture/core/message_numbers_internal.h"
#include "capture/core/system_internal.h"

namespace xylem::capture {

// Static, because MPI's functions have no argument for state, and all threads of a process send and
// receive on the same channels.
constinit MessageNumbers message_numbers{};

namespace {

std::uint32_t hash_of(const ChannelKey& key) {
  const std::uint64_t ends = std::uint64_t{key.comm} << 32 | static_cast<std::uint32_t>(key.peer);
  std::uint64_t hash = ends * 0x9e3779b97f4a7c15u;
  hash = (hash ^ hash >> 29 ^ static_cast<std::uint32_t>(key.tag)) * 0xff51afd7ed558ccdu;
  return static_cast<std::uint32_t>(hash >> 32);
}

// A counter that several threads may increase only if `shared`. Returns its former value.
template <class Number>
Number increase(std::atomic<Number>& counter, bool shared) {
  if (shared) return counter.fetch_add(1, std::memory_order_relaxed);
  const Number before = counter.load(std::memory_order_relaxed);
  counter.store(before + 1, std::memory_order_relaxed);
  return before;
}

bool fits(const ChannelKey& wanted, const ChannelKey& channel) {
  return wanted.comm == channel.comm && (wanted.peer < 0 || wanted.peer == channel.peer) &&
         (wanted.tag == kNoTag || wanted.tag == channel.tag);
}

bool is_wildcard(const ChannelKey& wanted) { return wanted.peer < 0 || wanted.tag == kNoTag; }

// The slab that has channel `number`. Slab 0 has `first_slab` channels, each further slab twice as
// many as the one before.
std::uint32_t slab_of(std::uint32_t number, std::uint32_t first_slab) {
  return 31 - static_cast<std::uint32_t>(__builtin_clz(number / first_slab + 1));
}

}  // namespace

// ---- channels ----

MessageNumbers::Channel* MessageNumbers::channel(std::uint32_t number) noexcept {
  const std::uint32_t slab = slab_of(number, kFirstSlab);
  const std::uint32_t first = kFirstSlab * ((1u << slab) - 1);
  return (slab == 0 ? first_slab_ : slabs_[slab]) + (number - first);
}

MessageNumbers::Channel* MessageNumbers::search(const ChannelKey& key) noexcept {
  const Index* index = index_.load(std::memory_order_acquire);
  const std::uint32_t mask = index == nullptr ? kFirstIndex - 1 : index->mask;
  std::atomic<std::uint32_t>* places = index == nullptr ? first_places_ : index->places;
  for (std::uint32_t place = hash_of(key);; ++place) {
    const std::uint32_t entry = places[place & mask].load(std::memory_order_acquire);
    if (entry == 0) return nullptr;
    Channel* const found = channel(entry - 1);
    if (found->key == key) return found;
  }
}

MessageNumbers::Channel* MessageNumbers::find_or_add(const ChannelKey& key, bool shared) noexcept {
  Channel* found = search(key);
  if (found != nullptr) return found;
  if (!shared) {
    found = add(key);
  } else if (const BoundedLock lock(locked_); lock) {
    found = search(key);  // Another thread may have added it.
    if (found == nullptr) found = add(key);
  }
  if (found == nullptr) give_up();
  return found;
}

MessageNumbers::Channel* MessageNumbers::find(const ChannelKey& key, bool shared,
                                              Direction direction) noexcept {
  Channel* const found = find_or_add(key, shared);
  if (shared || found == nullptr) return found;
  Channel*& last = direction == kSent ? last_sent_ : last_received_;
  if (last != nullptr) last->next[direction] = found;
  last = found;
  return found;
}

MessageNumbers::Channel* MessageNumbers::add(const ChannelKey& key) noexcept {
  const std::uint32_t number = channels_.load(std::memory_order_relaxed);
  if (number >= kMaxChannels || !has_room(number)) return nullptr;
  Channel* const fresh = channel(number);
  fresh->key = key;
  channels_.store(number + 1, std::memory_order_relaxed);
  Index* index = index_.load(std::memory_order_relaxed);
  put(index == nullptr ? first_places_ : index->places,
      index == nullptr ? kFirstIndex - 1 : index->mask, key, number);
  return fresh;
}

// Makes the slab of channel `number`, and an index of which at most half will be in use.
bool MessageNumbers::has_room(std::uint32_t number) noexcept {
  const std::uint32_t slab = slab_of(number, kFirstSlab);
  if (slab > 0 && slabs_[slab] == nullptr) {
    slabs_[slab] =
        static_cast<Channel*>(take_memory((std::size_t{kFirstSlab} << slab) * sizeof(Channel)));
    if (slabs_[slab] == nullptr) return false;
  }
  const Index* index = index_.load(std::memory_order_relaxed);
  const std::uint32_t places = index == nullptr ? kFirstIndex : index->mask + 1;
  return number < places / 2 || grow_index(places * 2);
}

bool MessageNumbers::grow_index(std::uint32_t places) noexcept {
  Index& larger = indexes_[31 - static_cast<std::uint32_t>(__builtin_clz(places / kFirstIndex))];
  larger.mask = places - 1;
  larger.places = static_cast<std::atomic<std::uint32_t>*>(
      take_memory(std::size_t{places} * sizeof(std::atomic<std::uint32_t>)));
  if (larger.places == nullptr) return false;
  const std::uint32_t count = channels_.load(std::memory_order_relaxed);
  for (std::uint32_t number = 0; number < count; ++number) {
    put(larger.places, larger.mask, channel(number)->key, number);
  }
  // The former index stays: another thread may be reading it.
  index_.store(&larger, std::memory_order_release);
  return true;
}

void MessageNumbers::put(std::atomic<std::uint32_t>* places, std::uint32_t mask,
                         const ChannelKey& key, std::uint32_t number) noexcept {
  std::uint32_t place = hash_of(key);
  while (places[place & mask].load(std::memory_order_relaxed) != 0) ++place;
  places[place & mask].store(number + 1, std::memory_order_release);
}

// ---- sends ----

MessageNumber MessageNumbers::look_up_send(ChannelKey key, bool shared) noexcept {
  if (has_given_up()) return {};
  Channel* const at = find(key, shared, kSent);
  if (at == nullptr) return {};
  return {increase(at->sent, shared), true};
}

// ---- receives ----

// Times of posts matter only to wildcards that are pending.
std::uint64_t MessageNumbers::next_post(bool shared) noexcept {
  const bool is_needed = care_.load(std::memory_order_acquire) >= kOneWildcard;
  return is_needed ? increase(posts_, shared) + 1 : 0;
}

PostedReceive MessageNumbers::look_up_post(ChannelKey wanted, bool shared) noexcept {
  if (has_given_up()) return {};
  if (is_wildcard(wanted)) return post_wildcard(wanted, shared);
  Channel* const at = find(wanted, shared, kReceived);
  if (at == nullptr) return {};
  const std::uint64_t now = next_post(shared);
  PostedReceive posted{take_number(*at, now, shared), PostedReceive::State::kNumbered};
  if (has_earlier_wildcard(wanted, now)) posted.state = PostedReceive::State::kUncertain;
  return posted;
}

PostedReceive MessageNumbers::post_wildcard(const ChannelKey& wanted, bool shared) noexcept {
  const std::uint64_t now = increase(posts_, shared) + 1;
  PostedReceive posted{kMaxWildcards, PostedReceive::State::kWildcard};
  for (std::uint32_t place = 0; place < kMaxWildcards; ++place) {
    std::uint64_t free = 0;
    Wildcard& wildcard = wildcards_[place];
    if (wildcard.post.load(std::memory_order_relaxed) != 0 ||
        !wildcard.post.compare_exchange_strong(free, kClaimed, std::memory_order_acquire)) {
      continue;
    }
    wildcard.fill(wanted);
    wildcard.post.store(now, std::memory_order_release);
    posted.number = place;
    std::uint32_t used = used_wildcards_.load(std::memory_order_relaxed);
    while (used <= place && !used_wildcards_.compare_exchange_weak(used, place + 1)) {
    }
    break;
  }
  if (posted.number == kMaxWildcards) surplus_wildcards_.fetch_add(1, std::memory_order_relaxed);
  care_.fetch_add(kOneWildcard, std::memory_order_release);
  return posted;
}

MessageNumber MessageNumbers::look_up_completed(PostedReceive& posted, ChannelKey key,
                                                bool shared) noexcept {
  const PostedReceive::State state = posted.state;
  if (state == PostedReceive::State::kNone) return {};
  if (state == PostedReceive::State::kWildcard) return complete_wildcard(posted, key, shared);
  posted.state = PostedReceive::State::kNone;
  if (state == PostedReceive::State::kUncertain || has_given_up()) return {};
  const Channel* const at = search(key);
  if (at == nullptr || at->is_uncertain.load(std::memory_order_relaxed) != 0) return {};
  return {posted.number, true};
}

MessageNumber MessageNumbers::complete_wildcard(PostedReceive& posted, const ChannelKey& key,
                                                bool shared) noexcept {
  const std::uint64_t post = release_wildcard(posted);
  if (has_given_up()) return {};
  Channel* const at = find(key, shared, kReceived);
  if (at == nullptr) return {};
  const bool is_late = at->last_post.load(std::memory_order_relaxed) > post;
  const std::uint32_t number = take_number(*at, post, shared);
  if (post == 0 || is_late || has_earlier_wildcard(key, post) ||
      at->is_uncertain.load(std::memory_order_relaxed) != 0) {
    return {};
  }
  return {number, true};
}

// Returns when the wildcard was posted; 0 if this is not known.
std::uint64_t MessageNumbers::release_wildcard(PostedReceive& posted) noexcept {
  posted.state = PostedReceive::State::kNone;
  care_.fetch_sub(kOneWildcard, std::memory_order_relaxed);
  if (posted.number == kMaxWildcards) {
    surplus_wildcards_.fetch_sub(1, std::memory_order_relaxed);
    return 0;
  }
  return wildcards_[posted.number].post.exchange(0, std::memory_order_release);
}

MessageNumber MessageNumbers::look_up_received(ChannelKey key, bool shared) noexcept {
  if (has_given_up()) return {};
  Channel* const at = find(key, shared, kReceived);
  if (at == nullptr) return {};
  const std::uint64_t now = next_post(shared);
  const std::uint32_t number = take_number(*at, now, shared);
  const bool is_known =
      at->is_uncertain.load(std::memory_order_relaxed) == 0 && !has_earlier_wildcard(key, now);
  return is_known ? MessageNumber{number, true} : MessageNumber{};
}

void MessageNumbers::cancel(PostedReceive& posted, const ChannelKey& wanted) noexcept {
  const PostedReceive::State state = posted.state;
  if (state == PostedReceive::State::kNone) return;
  if (state == PostedReceive::State::kWildcard) {
    release_wildcard(posted);
    return;
  }
  posted.state = PostedReceive::State::kNone;
  Channel* const at = search(wanted);
  std::uint32_t after = posted.number + 1;
  if (at != nullptr && !at->received.compare_exchange_strong(after, posted.number)) {
    at->is_uncertain.store(1, std::memory_order_relaxed);
    care_.fetch_or(kUncertain, std::memory_order_relaxed);
  }
}

void MessageNumbers::forget(PostedReceive& posted) noexcept {
  if (posted.state == PostedReceive::State::kWildcard) {
    release_wildcard(posted);
    give_up();
  }
  posted.state = PostedReceive::State::kNone;
}

std::uint32_t MessageNumbers::take_number(Channel& at, std::uint64_t post, bool shared) noexcept {
  std::uint64_t last = at.last_post.load(std::memory_order_relaxed);
  if (!shared) {
    if (last < post) at.last_post.store(post, std::memory_order_relaxed);
  } else {
    while (last < post && !at.last_post.compare_exchange_weak(last, post)) {
    }
  }
  return increase(at.received, shared);
}

bool MessageNumbers::has_earlier_wildcard(const ChannelKey& key,
                                          std::uint64_t post) const noexcept {
  if (care_.load(std::memory_order_acquire) < kOneWildcard) return false;
  if (surplus_wildcards_.load(std::memory_order_relaxed) != 0) return true;
  const std::uint32_t used = used_wildcards_.load(std::memory_order_relaxed);
  for (std::uint32_t place = 0; place < used; ++place) {
    const Wildcard& wildcard = wildcards_[place];
    const std::uint64_t at = wildcard.post.load(std::memory_order_acquire);
    if (at == 0 || at >= post) continue;
    const bool may_fit = fits(wildcard.wanted(), key);
    // A wildcard that completes at this moment counts as pending.
    if (may_fit || wildcard.post.load(std::memory_order_relaxed) != at) return true;
  }
  return false;
}

}  // namespace xylem::capture
