#include "predict/trace/program.h"

namespace xylem::predict {

std::uint64_t count_operations(const Program& program) {
  std::uint64_t operations = 0;
  for (const RankProgram& rank : program.ranks) operations += rank.operations().size();
  return operations;
}

std::uint64_t memory_of(const Program& program) {
  std::uint64_t bytes = program.ranks.size() * sizeof(RankProgram);
  for (const RankProgram& rank : program.ranks) {
    bytes += rank.operations().size_bytes() + rank.dependents().size_bytes();
  }
  return bytes;
}

}  // namespace xylem::predict
