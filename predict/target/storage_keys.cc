#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/nearest_word.h"
#include "base/quoted.h"
#include "predict/target/storage_keys_internal.h"
#include "predict/target/values_internal.h"

namespace xylem::predict {
namespace {

constexpr std::uint32_t kMaxStorageNodes = std::uint32_t{1} << 20;
constexpr std::uint64_t kMinPageBytes = 512, kMaxPageBytes = std::uint64_t{1} << 30;
/// Each access may read so much ahead.
constexpr std::uint64_t kMaxReadAheadBytes = std::uint64_t{1} << 30;
/// PageCache numbers its pages with 32 bits.
constexpr std::uint64_t kMaxCachedPages = std::uint64_t{1} << 31;

using Value = const std::string&;

std::string store_size(Value value, std::uint64_t& size) {
  const auto read = parse_size(value);
  if (!read) return not_possible(value, "a number of bytes such as 65536 or \"64k\"");
  size = static_cast<std::uint64_t>(*read);
  return "";
}

std::string store_ahead(Value value, std::uint64_t& size) {
  if (std::string fault = store_size(value, size); !fault.empty()) return fault;
  return size <= kMaxReadAheadBytes
             ? ""
             : not_possible(value, "a number of bytes up to 1073741824 such as 131072");
}

std::string store_page(Value value, StorageOptions& to) {
  const std::string fault = store_size(value, to.page_bytes);
  return fault.empty() && to.page_bytes >= kMinPageBytes && to.page_bytes <= kMaxPageBytes &&
                 std::has_single_bit(to.page_bytes)
             ? ""
             : not_possible(value, "a power of two from 512 to 1073741824 such as 4096");
}

std::string store_nodes(Value value, StorageOptions& to) {
  std::string fault = store_count(value, to.nodes);
  if (!fault.empty() || to.nodes <= kMaxStorageNodes) return fault;
  return not_possible(value, "a whole number from 1 to 1048576 such as 4");
}

std::string store_attached(Value value, StorageOptions& to) {
  if (value == "last" && to.attached.empty()) return "";
  std::uint32_t node = 0;
  if (!read_number(value, node)) {
    return not_possible(value, "\"last\", or a list of nodes such as [14, 15]");
  }
  to.attached.push_back(node);
  return "";
}

template <typename Choice>
std::string store_choice(Value value, std::array<const char*, 2> names, Choice& choice) {
  const auto found = std::ranges::find(names, value);
  if (found == names.end()) {
    return quoted(value) + " is not possible; write \"" + names[0] + "\" or \"" + names[1] + "\"";
  }
  choice = static_cast<Choice>(found - names.begin());
  return "";
}

/// When a key must be there, and when it may be.
enum class Need : std::uint8_t {
  kAlways,
  kMayBe,
  kWithTopology,     ///< May be there only with a topology.
  kWithPages,        ///< May be there only with a page cache or a buffer.
  kWithCache,        ///< Must be there with a page cache, and only then.
  kMayBeWithCache,   ///< May be there only with a page cache.
  kWithReadAhead,    ///< Must be there if storage.read_ahead is "sequential", and only then.
  kMayBeWithBuffer,  ///< May be there only with a buffer.
};

struct Key {
  const char* name;
  Need need;
  std::string (*store)(Value, StorageOptions&);
};

constexpr std::array kKeys = {
    Key{"storage.nodes", Need::kAlways, store_nodes},
    Key{"storage.attached", Need::kWithTopology, store_attached},
    Key{"storage.stripe_bytes", Need::kAlways,
        [](Value it, StorageOptions& to) { return store_size(it, to.stripe_bytes); }},
    Key{"storage.page_bytes", Need::kWithPages, store_page},
    Key{"storage.page_cache_bytes", Need::kMayBe,
        [](Value it, StorageOptions& to) { return store_size(it, to.page_cache_bytes); }},
    Key{"storage.read_ahead", Need::kWithCache,
        [](Value it, StorageOptions& to) {
          return store_choice(it, {"sequential", "none"}, to.read_ahead);
        }},
    Key{"storage.read_ahead_bytes", Need::kWithReadAhead,
        [](Value it, StorageOptions& to) { return store_ahead(it, to.read_ahead_bytes); }},
    Key{"storage.write", Need::kWithCache,
        [](Value it, StorageOptions& to) {
          return store_choice(it, {"back", "through"}, to.write);
        }},
    Key{"storage.copy_per_byte_ns", Need::kMayBeWithCache,
        [](Value it, StorageOptions& to) { return store_time(it, to.copy_per_byte); }},
    Key{"storage.connection", Need::kMayBe,
        [](Value it, StorageOptions& to) {
          return store_choice(it, {"kept", "per_request"}, to.connection);
        }},
    Key{"storage.request_ns", Need::kMayBe,
        [](Value it, StorageOptions& to) { return store_time(it, to.request); }},
    Key{"storage.buffer_bytes", Need::kMayBe,
        [](Value it, StorageOptions& to) { return store_size(it, to.buffer_bytes); }},
    Key{"storage.buffer_read_ahead_bytes", Need::kMayBeWithBuffer,
        [](Value it, StorageOptions& to) { return store_ahead(it, to.buffer_read_ahead_bytes); }},
    Key{"storage.disk_read_ns", Need::kAlways,
        [](Value it, StorageOptions& to) { return store_time(it, to.disk_read); }},
    Key{"storage.disk_write_ns", Need::kAlways,
        [](Value it, StorageOptions& to) { return store_time(it, to.disk_write); }},
    Key{"storage.disk_bandwidth_bytes_per_ns", Need::kAlways,
        [](Value it, StorageOptions& to) { return store_bandwidth(it, to.disk_per_byte); }},
};

class StorageChecker {
 public:
  StorageChecker(const StorageOptions& storage, const std::map<std::string, int>& lines)
      : storage_(storage), lines_(lines) {}

  StorageFault run() {
    for (const Key& it : kKeys) {
      if (StorageFault fault = check(it); !fault.what.empty()) return fault;
    }
    return check_sizes();
  }

 private:
  bool has(const std::string& key) const { return lines_.contains(key); }

  StorageFault need(const std::string& key, const std::string& why = "") const {
    if (has(key)) return {};
    return {"storage", key + " is missing" + why + "; add it to the section [storage]"};
  }
  StorageFault only_if(bool is_possible, const std::string& key, const std::string& why) const {
    if (is_possible || !has(key)) return {};
    return {key, key + " has no effect " + why + ", or remove it"};
  }

  StorageFault check(const Key& key) const {
    const bool has_cache = storage_.page_cache_bytes > 0, has_buffer = storage_.buffer_bytes > 0;
    const bool reads_ahead = storage_.read_ahead == ReadAheadPolicy::kSequential;
    switch (key.need) {
      case Need::kAlways:
        return need(key.name);
      case Need::kMayBe:
        break;
      case Need::kWithTopology:
        return only_if(has("topology"), key.name, "without a topology; add the section [topology]");
      case Need::kWithPages:
        return only_if(has_cache || has_buffer, key.name,
                       "without page cache and buffer; give storage.page_cache_bytes or "
                       "storage.buffer_bytes");
      case Need::kWithCache:
        if (has_cache) return need(key.name, ", and there is a page cache");
        return only_if(false, key.name, "without a page cache; give storage.page_cache_bytes");
      case Need::kMayBeWithCache:
        return only_if(has_cache, key.name, "without a page cache; give storage.page_cache_bytes");
      case Need::kWithReadAhead:
        if (reads_ahead) return need(key.name, ", and storage.read_ahead is \"sequential\"");
        return only_if(false, key.name,
                       "unless storage.read_ahead is \"sequential\"; change storage.read_ahead");
      case Need::kMayBeWithBuffer:
        return only_if(has_buffer, key.name, "without a buffer; give storage.buffer_bytes");
    }
    return {};
  }

  StorageFault check_sizes() const {
    if (storage_.stripe_bytes == 0) {
      return {"storage.stripe_bytes",
              "storage.stripe_bytes is 0, which is not possible; write for example 1048576"};
    }
    const bool has_pages = storage_.page_cache_bytes > 0 || storage_.buffer_bytes > 0;
    for (const auto& [key, bytes] :
         {std::pair{"storage.stripe_bytes", has_pages ? storage_.stripe_bytes : 0},
          {"storage.page_cache_bytes", storage_.page_cache_bytes},
          {"storage.read_ahead_bytes", storage_.read_ahead_bytes},
          {"storage.buffer_bytes", storage_.buffer_bytes},
          {"storage.buffer_read_ahead_bytes", storage_.buffer_read_ahead_bytes}}) {
      if (bytes % storage_.page_bytes == 0) continue;
      return {key, std::string(key) + " is " + std::to_string(bytes) +
                       ", not a multiple of storage.page_bytes, " +
                       std::to_string(storage_.page_bytes) + "; change one of them"};
    }
    for (const auto& [key, bytes] :
         {std::pair{"storage.page_cache_bytes", storage_.page_cache_bytes},
          {"storage.buffer_bytes", storage_.buffer_bytes}}) {
      if (bytes / storage_.page_bytes <= kMaxCachedPages) continue;
      return {key, std::string(key) + " is more than " + std::to_string(kMaxCachedPages) +
                       " pages, the maximum; raise storage.page_bytes, or lower it"};
    }
    if (storage_.read_ahead_bytes > storage_.page_cache_bytes / 2) {
      return {"storage.read_ahead_bytes",
              "storage.read_ahead_bytes is above half of storage.page_cache_bytes; lower it, or "
              "raise the page cache"};
    }
    if (storage_.buffer_read_ahead_bytes > storage_.buffer_bytes / 2) {
      return {"storage.buffer_read_ahead_bytes",
              "storage.buffer_read_ahead_bytes is above half of storage.buffer_bytes; lower it, or "
              "raise the buffer"};
    }
    return check_attached();
  }

  StorageFault check_attached() const {
    std::vector<std::uint32_t> nodes = storage_.attached;
    if (nodes.empty()) return {};
    if (nodes.size() != storage_.nodes) {
      return {"storage.attached", "storage.attached has " + std::to_string(nodes.size()) +
                                      (nodes.size() == 1 ? " node" : " nodes") + " for " +
                                      std::to_string(storage_.nodes) +
                                      " storage nodes; name a node for each"};
    }
    std::ranges::sort(nodes);
    const auto twice = std::ranges::adjacent_find(nodes);
    if (twice == nodes.end()) return {};
    return {"storage.attached",
            "storage.attached names node " + std::to_string(*twice) + " twice; name another node"};
  }

  const StorageOptions& storage_;
  const std::map<std::string, int>& lines_;
};

}  // namespace

std::vector<std::string> storage_keys() {
  std::vector<std::string> keys;
  keys.reserve(kKeys.size());
  for (const Key& it : kKeys) keys.emplace_back(it.name);
  return keys;
}

std::string store_storage_key(const ConfigEntry& entry, StorageOptions& storage) {
  const auto key = std::ranges::find_if(kKeys, [&](const Key& it) { return entry.key == it.name; });
  if (key != kKeys.end()) {
    const std::string fault = key->store(entry.value, storage);
    return fault.empty() ? "" : entry.key + ": " + fault;
  }
  std::string all;
  std::vector<std::string> names;
  for (const Key& it : kKeys) {
    names.emplace_back(std::string_view(it.name).substr(kStorageKeys.size()));
    all += (all.empty() ? "" : ", ") + names.back();
  }
  return quoted(entry.key) + " is not a key of a target" +
         did_you_mean(entry.key.substr(kStorageKeys.size()), names) +
         "; the keys of [storage] are " + all;
}

StorageFault check_storage(const StorageOptions& storage, const std::map<std::string, int>& lines) {
  return StorageChecker(storage, lines).run();
}

}  // namespace xylem::predict
