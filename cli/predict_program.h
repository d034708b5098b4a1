#pragma once

// The programs of `xylem predict`: read, or made for sizes that nobody can run, and written.

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "predict/target/target.h"
#include "predict/trace/program.h"

namespace CLI {
class App;
}

namespace xylem {

/// A program to make, see predict/synthesis/. Which options a pattern takes: see
/// add_synthesis_options().
struct SynthesisOptions {
  std::string pattern{};  ///< "hpl", "halo3d", "ring", "binomial", "recdbl", "io", or "".
  std::optional<std::uint32_t> ranks{};
  std::optional<std::uint64_t> bytes{}, rounds{}, compute_ns{};
  std::string grid{};  ///< "4x8" or "4x4x2"; "" for the nearest to a square or cube.
  std::optional<std::uint64_t> order{}, block{};
  std::optional<double> seconds_per_flop{};
  std::string row_swap{};
  bool writes = false, shared = false;
};

/// Files to which a program is written, or "".
struct ProgramFiles {
  std::string goal{};
  /// The list file of a time-independent trace. The trace is beside it, with ".ti" after its name.
  std::string ti{};
};

/// Adds --synthesise and its options, --write-goal and --write-ti. What they refer to must outlive
/// `command`.
void add_synthesis_options(CLI::App& command, SynthesisOptions& options);
void add_program_files(CLI::App& command, ProgramFiles& files);

/// Makes a program. Flops take the time that the target gives, unless an option does.
///
/// Fails with kInvalidArgument and a sentence if an option is missing, belongs to another pattern,
/// or has no possible value.
Result<predict::Program> synthesise(const SynthesisOptions& options, const predict::Target& target);

/// Writes the files that are named. Each appears completely or not at all; an old one is replaced.
/// Fails if a file cannot be written, and if a trace cannot express the program (print_ti). Then no
/// file appears, unless the system fails while they get their names.
Result<void> write_program(const ProgramFiles& files, const predict::Program& program);

}  // namespace xylem
