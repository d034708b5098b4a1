#pragma once

// The keys of the section [storage] of a target.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "predict/disk/options.h"

namespace xylem::predict {

/// "storage.", with which these keys begin.
constexpr std::string_view kStorageKeys = "storage.";

/// The names of all keys, with kStorageKeys.
std::vector<std::string> storage_keys();

/// What is wrong: the key whose line is meant, and a sentence. An empty sentence if nothing is.
struct StorageFault {
  std::string key;
  std::string what;
};

/// Stores the value of a key that begins with kStorageKeys. "" if that was possible, else what is
/// wrong, and what to do. Only storage.attached may have several entries.
std::string store_storage_key(const ConfigEntry& entry, StorageOptions& storage);

/// Checks the keys of a section that is there against each other. `lines` has a line for each key
/// of the target, and for each section.
StorageFault check_storage(const StorageOptions& storage, const std::map<std::string, int>& lines);

}  // namespace xylem::predict
