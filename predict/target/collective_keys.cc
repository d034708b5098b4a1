#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/nearest_word.h"
#include "base/quoted.h"
#include "predict/network/loggps.h"
#include "predict/target/collective_keys_internal.h"

namespace xylem::predict {
namespace {

constexpr std::string_view kChoice = "choice";
constexpr std::string_view kReduce = "reduce_ns_per_byte";

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& it : words) text += (text.empty() ? "" : ", ") + it;
  return text;
}

std::string store_choice(const ConfigEntry& entry, CollectiveModel& model) {
  if (entry.value == "mpich") {
    model.choice.set_library(MpiLibrary::kMpich);
  } else if (entry.value == "openmpi") {
    model.choice.set_library(MpiLibrary::kOpenMpi);
  } else {
    return entry.key + ": " + quoted(entry.value) +
           " is not an MPI library that is known; write \"mpich\" or \"openmpi\"";
  }
  return "";
}

std::string store_reduce(const ConfigEntry& entry, CollectiveModel& model) {
  const auto value = parse_nanoseconds(entry.value);
  if (!value) return entry.key + ": " + value.error().message;
  const auto fs = static_cast<std::uint64_t>(*value);
  if (fs > kMaxReduceFsPerByte) {
    return entry.key + ": " + quoted(entry.value) + " is above the maximum of 1000000 ns";
  }
  model.reduce_fs_per_byte = fs;
  return "";
}

std::string store_algorithm(const ConfigEntry& entry, Collective collective,
                            CollectiveModel& model) {
  std::vector<std::string> names;
  for (const Algorithm it : algorithms_for(collective)) {
    names.emplace_back(name_of(it));
    if (names.back() != entry.value) continue;
    model.choice.fix(collective, it);
    return "";
  }
  return entry.key + ": " + quoted(entry.value) + " is not an algorithm for it" +
         did_you_mean(entry.value, names) + "; the algorithms are " + listed(names);
}

}  // namespace

std::vector<std::string> collective_keys() {
  std::vector<std::string> keys{std::string(kChoice), std::string(kReduce)};
  for (std::size_t i = 0; i < kCollectives; ++i) {
    keys.emplace_back(name_of(static_cast<Collective>(i)));
  }
  return keys;
}

std::string store_collective_key(const ConfigEntry& entry, CollectiveModel& model) {
  const std::string_view key = std::string_view(entry.key).substr(kCollectiveKeys.size());
  if (key == kChoice) return store_choice(entry, model);
  if (key == kReduce) return store_reduce(entry, model);
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (key == name_of(collective)) return store_algorithm(entry, collective, model);
  }
  const std::vector<std::string> keys = collective_keys();
  return quoted(entry.key) + " is not a key of a target" + did_you_mean(std::string(key), keys) +
         "; the keys of [collectives] are " + listed(keys);
}

}  // namespace xylem::predict
