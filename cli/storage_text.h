#pragma once

// What `xylem predict` says about storage: accesses to files and their parts, and sums.

#include <string>
#include <vector>

#include "base/result.h"
#include "predict/disk/storage.h"
#include "predict/replay/machine.h"
#include "viz/json.h"

namespace xylem {

/// "RANK,PATH,OFFSET,BYTES". Only OFFSET and BYTES may not contain commas.
struct NamedAccess {
  std::uint32_t rank = 0;
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool is_write = false;
};

/// Fails with kInvalidArgument and a sentence if the text is something else.
Result<NamedAccess> parse_access(const std::string& text, bool is_write);

/// Simulates the accesses one after the other, and prints the parts of their times, as text or as
/// one object. Files are numbered in the order in which their names come first. Fails as
/// access_files() does.
Result<std::string> answer_accesses(const std::vector<NamedAccess>& accesses,
                                    const predict::Machine& machine, predict::Model model,
                                    const std::string& model_name, bool json);

/// Some lines about the accesses of a program. "" if there were none.
std::string storage_text(const predict::StorageTotals& of);

/// The member "storage". Nothing if there were no accesses.
void write_storage(viz::Json& json, const predict::StorageTotals& of);

}  // namespace xylem
