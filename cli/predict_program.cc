#include "cli/predict_program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/new_file.h"
#include "base/quoted.h"
#include "predict/synthesis/hpl.h"
#include "predict/synthesis/io.h"
#include "predict/synthesis/patterns.h"
#include "predict/trace/goal_text.h"
#include "predict/trace/ti_trace.h"

namespace xylem {
namespace {

constexpr std::uint64_t kBytes = 8;  ///< Without --bytes: a number.
constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::array<std::string_view, 6> kPatterns = {"hpl",      "halo3d", "ring",
                                                       "binomial", "recdbl", "io"};
/// The patterns that have rounds.
constexpr const char* kWithRounds = "ring, halo3d, binomial, recdbl and io";
constexpr std::array<std::pair<std::string_view, predict::RowSwap>, 3> kRowSwaps = {
    {{"binary-exchange", predict::RowSwap::kBinaryExchange},
     {"spread-roll", predict::RowSwap::kSpreadRoll},
     {"mix", predict::RowSwap::kMix}}};

Unexpected wrong(const std::string& what) { return unexpected(Code::kInvalidArgument, what); }

/// "" or what is wrong: an option that the pattern does not take.
std::string misplaced(const SynthesisOptions& options) {
  const bool is_hpl = options.pattern == "hpl", is_io = options.pattern == "io";
  const auto belongs = [&](const char* option, const char* to) {
    return std::string(option) + " belongs to --synthesise " + to + ", not to " + options.pattern +
           "; leave it out";
  };
  if (options.pattern.empty()) return "";
  if (options.bytes && is_hpl) return belongs("--bytes", kWithRounds);
  if (options.rounds && is_hpl) return belongs("--rounds", kWithRounds);
  if (options.compute_ns && is_hpl) return belongs("--compute-ns", kWithRounds);
  if (!options.grid.empty() && !is_hpl && options.pattern != "halo3d") {
    return belongs("--grid", "hpl and halo3d");
  }
  if (options.order && !is_hpl) return belongs("--order", "hpl");
  if (options.block && !is_hpl && !is_io) return belongs("--block", "hpl and io");
  if (options.writes && !is_io) return belongs("--writes", "io");
  if (options.shared && !is_io) return belongs("--shared", "io");
  if (options.seconds_per_flop && !is_hpl) return belongs("--seconds-per-flop", "hpl");
  if (!options.row_swap.empty() && !is_hpl) return belongs("--row-swap", "hpl");
  return "";
}

/// Numbers above 0 with "x" between them, as many as `sides`.
Result<std::vector<std::uint32_t>> parse_grid(std::string_view text, std::size_t sides) {
  std::vector<std::uint32_t> grid;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::uint32_t side = 0;
    const auto [after, failed] = std::from_chars(at, end, side);
    if (failed != std::errc{} || side == 0) break;
    grid.push_back(side);
    if (after == end && grid.size() == sides) return grid;
    if (after == end || *after != 'x') break;
    at = after + 1;
  }
  return wrong("--grid: " + xylem::quoted(text) + " is not a grid of " + std::to_string(sides) +
               " sides; write for example " + (sides == 2 ? "4x8" : "4x4x2"));
}

Result<predict::Program> make_hpl(const SynthesisOptions& options, const predict::Target& target) {
  if (!options.order) return wrong("--synthesise hpl needs --order, the order of the matrix");
  predict::Hpl hpl;
  hpl.order = *options.order;
  hpl.block = options.block.value_or(168);  // That of the experiments of SimHPC.
  std::tie(hpl.rows, hpl.columns) = predict::near_square(*options.ranks);
  if (!options.grid.empty()) {
    const auto grid = parse_grid(options.grid, 2);
    if (!grid) return unexpected(grid.error());
    hpl.rows = (*grid)[0];
    hpl.columns = (*grid)[1];
    if (std::uint64_t{hpl.rows} * hpl.columns != *options.ranks) {
      return wrong("--grid: " + xylem::quoted(options.grid) + " has " +
                   std::to_string(std::uint64_t{hpl.rows} * hpl.columns) + " processes for " +
                   std::to_string(*options.ranks) + " ranks; take a grid of as many processes");
    }
  }
  hpl.ns_per_flop = options.seconds_per_flop ? *options.seconds_per_flop * kNanosecondsPerSecond
                                             : 1 / target.flops_per_ns;
  if (options.seconds_per_flop && !std::isfinite(*options.seconds_per_flop)) {
    return wrong("--seconds-per-flop is not a number; write seconds such as 1e-9");
  }
  if (!(hpl.ns_per_flop >= 0)) return wrong("--seconds-per-flop is below 0; take 0 or more");
  if (!options.row_swap.empty()) {
    hpl.swap = std::ranges::find(kRowSwaps, options.row_swap,
                                 &std::pair<std::string_view, predict::RowSwap>::first)
                   ->second;
  }
  return predict::hpl_program(hpl);
}

Result<predict::Program> make_halo(const SynthesisOptions& options,
                                   const predict::Pattern& pattern) {
  if (options.grid.empty()) {
    return predict::halo_program(pattern, predict::near_cube(std::max(pattern.ranks, 1u)));
  }
  const auto grid = parse_grid(options.grid, 3);
  if (!grid) return unexpected(grid.error());
  return predict::halo_program(pattern, {(*grid)[0], (*grid)[1], (*grid)[2]});
}

Result<predict::Program> make_io(const SynthesisOptions& options) {
  if (!options.bytes) return wrong("--synthesise io needs --bytes, the bytes of a file");
  predict::IoPattern pattern;
  pattern.ranks = *options.ranks;
  pattern.file_bytes = *options.bytes;
  pattern.block_bytes = options.block.value_or(pattern.block_bytes);
  pattern.rounds = options.rounds.value_or(1);
  pattern.compute_ns = options.compute_ns.value_or(0);
  pattern.is_write = options.writes;
  pattern.is_shared = options.shared;
  return predict::io_program(pattern);
}

/// Writes a file that is not there before its finish(), and adds it to `files`.
Result<void> write_file(const std::string& path, std::string_view text,
                        std::vector<NewFile>& files) {
  auto file = NewFile::create(path, true);
  if (!file) return unexpected(std::move(file.error()));
  auto written = file->write(text);
  if (written) files.push_back(*std::move(file));
  return written;
}

}  // namespace

void add_synthesis_options(CLI::App& command, SynthesisOptions& options) {
  std::vector<std::string> patterns(kPatterns.begin(), kPatterns.end());
  CLI::Option* const pattern =
      command.add_option("--synthesise", options.pattern, "Make a program instead of reading one")
          ->type_name("hpl|halo3d|ring|binomial|recdbl|io")
          ->check(CLI::IsMember(patterns));
  const auto add = [&](const char* name, auto& value, const char* what, const char* type) {
    return command.add_option(name, value, what)->type_name(type)->needs(pattern);
  };
  add("--ranks", options.ranks, "Ranks of the program that is made", "N");
  add("--bytes", options.bytes,
      "Bytes of a message, of the vector of recdbl (8), or of a file of io", "N");
  add("--rounds", options.rounds, "How often a pattern other than hpl is repeated (1)", "N");
  add("--compute-ns", options.compute_ns, "Computing in each round, before messages and files (0)",
      "N");
  add("--grid", options.grid, "Processes of hpl as PxQ, points of halo3d as XxYxZ", "GRID");
  add("--order", options.order, "hpl: order of the matrix", "N");
  add("--block", options.block, "hpl: size of blocks, NB (168). io: bytes of an access (65536)",
      "N");
  const auto flag = [&](const char* name, bool& value, const char* what) {
    command.add_flag(name, value, what)->needs(pattern);
  };
  flag("--writes", options.writes, "io: write files instead of reading them");
  flag("--shared", options.shared, "io: all ranks use one file, instead of one each");
  add("--seconds-per-flop", options.seconds_per_flop,
      "hpl: time of a flop, instead of the target's speed", "S");
  std::vector<std::string> swaps;
  swaps.reserve(kRowSwaps.size());
  for (const auto& [name, swap] : kRowSwaps) swaps.emplace_back(name);
  add("--row-swap", options.row_swap, "hpl: how rows are swapped (mix)",
      "binary-exchange|spread-roll|mix")
      ->check(CLI::IsMember(swaps));
}

void add_program_files(CLI::App& command, ProgramFiles& files) {
  command.add_option("--write-goal", files.goal, "Write the program as GOAL")->type_name("FILE");
  command
      .add_option("--write-ti", files.ti,
                  "Write the program as a time-independent trace: its list file, and FILE.ti")
      ->type_name("FILE");
}

Result<predict::Program> synthesise(const SynthesisOptions& options,
                                    const predict::Target& target) {
  if (const std::string fault = misplaced(options); !fault.empty()) return wrong(fault);
  if (!options.ranks || *options.ranks == 0) {
    return wrong("--synthesise " + options.pattern + " needs --ranks, a number above 0");
  }
  if (options.pattern == "hpl") return make_hpl(options, target);
  if (options.pattern == "io") return make_io(options);
  const predict::Pattern pattern{*options.ranks, options.bytes.value_or(kBytes),
                                 options.rounds.value_or(1), options.compute_ns.value_or(0)};
  if (options.pattern == "halo3d") return make_halo(options, pattern);
  if (options.pattern == "ring") return predict::ring_program(pattern);
  if (options.pattern == "binomial") return predict::binomial_program(pattern);
  return predict::recursive_doubling_program(pattern);
}

Result<void> write_program(const ProgramFiles& files, const predict::Program& program) {
  std::vector<NewFile> parts;  // The list file is the last, so that it never names a missing trace.
  if (!files.goal.empty()) {
    const std::string why = "GOAL cannot express it; predict the program without writing it";
    auto expressible = predict::check_without_files(program, why);
    if (expressible) expressible = predict::check_standard_sends(program, why);
    if (!expressible) {
      return unexpected(expressible.error().code, files.goal + ": " + expressible.error().message);
    }
    auto written = write_file(files.goal, predict::print_goal(program), parts);
    if (!written) return written;
  }
  if (!files.ti.empty()) {
    const auto text = predict::print_ti(program);
    if (!text) {
      return unexpected(text.error().code, files.ti + ": " + text.error().message);
    }
    const std::string trace = files.ti + ".ti";
    if (auto written = write_file(trace, *text, parts); !written) return written;
    const std::string list = std::filesystem::path(trace).filename().string() + "\n";
    if (auto written = write_file(files.ti, list, parts); !written) return written;
  }
  for (NewFile& it : parts) {
    if (auto finished = it.finish(); !finished) return finished;
  }
  return {};
}

}  // namespace xylem
