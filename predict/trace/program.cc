#include "predict/trace/program.h"

#include <algorithm>

namespace xylem::predict {
namespace {

Unexpected not_possible(std::size_t rank, std::ptrdiff_t operation, const std::string& what,
                        const std::string& why) {
  return unexpected(Code::kInvalidArgument, "rank " + std::to_string(rank) + ", operation " +
                                                std::to_string(operation + 1) + ": " + what + ": " +
                                                why);
}

}  // namespace

std::uint64_t count_operations(const Program& program) {
  std::uint64_t operations = 0;
  for (const RankProgram& rank : program.ranks) operations += rank.operations().size();
  return operations;
}

std::uint64_t memory_of(const Program& program) {
  std::uint64_t bytes = program.ranks.size() * sizeof(RankProgram);
  for (const RankProgram& rank : program.ranks) {
    bytes += rank.operations().size_bytes() + rank.dependents().size_bytes() +
             rank.accesses().size_bytes();
  }
  return bytes;
}

Result<void> check_without_files(const Program& program, const std::string& why) {
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    if (program.ranks[rank].accesses().empty()) continue;
    const auto operations = program.ranks[rank].operations();
    const auto first = std::ranges::find(operations, Kind::kFile, &Operation::kind);
    if (first == operations.end()) continue;
    const FileAccess& access = program.ranks[rank].accesses()[first->peer];
    return not_possible(rank, first - operations.begin(),
                        std::string(access.is_write ? "write" : "read") + " of " +
                            std::to_string(first->amount) + " bytes of file " +
                            std::to_string(access.file),
                        why);
  }
  return {};
}

Result<void> check_standard_sends(const Program& program, const std::string& why) {
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const auto operations = program.ranks[rank].operations();
    const auto first = std::ranges::find_if(
        operations, [](const Operation& it) { return it.synchronous || it.buffered; });
    if (first == operations.end()) continue;
    return not_possible(rank, first - operations.begin(),
                        first->synchronous ? "synchronous send" : "buffered send", why);
  }
  return {};
}

}  // namespace xylem::predict
