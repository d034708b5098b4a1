#pragma once

// What all readers of chunks need: the function of an event, its call site, and the error for a
// damaged chunk.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "storage/read/wait_states.h"
#include "storage/sqlite_internal.h"
#include "storage/table_keys_internal.h"

namespace xylem::storage {

/// The functions of a run, and which of them an event of a leaf means: leaves may number functions
/// differently (table `function_alias`). Functions and texts stay where they are as long as this
/// object lives, also when refresh() adds some. Not thread-safe.
class EventFunctions {
 public:
  EventFunctions() { list_.emplace_back(); }

  /// Reads the functions that were added since the last call. Pointers from table_of() are then
  /// invalid.
  void refresh(Connection& connection);

  /// The first one stands for all functions that the file does not name.
  const std::deque<WaitFunction>& list() const { return list_; }
  /// The indexes into list() by FunctionId, for events of this leaf. It ends after the last id with
  /// a name; ids without a name have index 0. Valid until refresh().
  const std::vector<FunctionIndex>* table_of(LeafId leaf);
  /// The name; "function N" if the file does not name the function.
  const std::string& name(LeafId leaf, FunctionId function);
  /// The key of a call site in the table `callsite`; nullopt if it is not known.
  std::optional<std::int64_t> call_site(CallSiteId site) const;

 private:
  std::deque<WaitFunction> list_;
  std::map<FunctionKey, FunctionIndex> by_key_;
  std::map<LeafId, std::map<std::int64_t, FunctionKey>> aliases_;  // By leaf and id.
  // Leaves without functions of their own share one table; its key is nullopt.
  std::map<std::optional<LeafId>, std::vector<FunctionIndex>> tables_;
  std::map<FunctionKey, std::string> unnamed_;
  std::unordered_map<CallSiteId, std::int64_t> call_sites_;
};

/// "chunk 7 of world 0, rank 1 is damaged: ...", with the code of `why`.
Error damaged_chunk(std::int64_t chunk, std::optional<std::int64_t> world,
                    std::optional<std::int64_t> rank, const Error& why);

}  // namespace xylem::storage
