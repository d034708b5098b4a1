#include "predict/synthesis/hpl.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/saturating.h"
#include "predict/collectives/schedule.h"
#include "predict/synthesis/patterns.h"
#include "predict/trace/collective_messages.h"
#include "predict/trace/sequence.h"

namespace xylem::predict {
namespace {

constexpr std::uint64_t kNumber = 8;  ///< Bytes.
constexpr std::uint64_t kMaxOrder = std::uint64_t{1} << 31;

/// How many of `count` indices belong to process `mine` of `processes`, cyclically in blocks.
std::uint64_t owned(std::uint64_t count, std::uint64_t block, std::uint64_t mine,
                    std::uint64_t processes) {
  const std::uint64_t cycle = block * processes;
  const std::uint64_t rest = count % cycle;
  const std::uint64_t before = mine * block;
  return count / cycle * block + std::min(block, rest - std::min(rest, before));
}

/// Makes the program of one process.
class HplProcess {
 public:
  HplProcess(const Hpl& hpl, std::uint32_t row, std::uint32_t column)
      : hpl_(hpl), row_(row), column_(column), panels_((hpl.order - 1) / hpl.block + 1) {
    for (std::uint32_t i = 0; i < hpl.columns; ++i) row_members_.push_back(row * hpl.columns + i);
    for (std::uint32_t i = 0; i < hpl.rows; ++i) {
      column_members_.push_back(i * hpl.columns + column);
    }
  }

  RankProgram run() && {
    for (std::uint64_t k = 0; k < panels_; ++k) {
      if (column_ == k % hpl_.columns) factorize(k);
      broadcast(k);
      update(k);
    }
    substitute();
    return std::move(sequence_).finish();
  }

 private:
  std::uint64_t begin(std::uint64_t k) const { return k * hpl_.block; }
  std::uint64_t end(std::uint64_t k) const { return std::min(hpl_.order, begin(k) + hpl_.block); }

  /// Local rows of [from, to), and local columns.
  std::uint64_t local_rows(std::uint64_t from, std::uint64_t to) const {
    return owned(to, hpl_.block, row_, hpl_.rows) - owned(from, hpl_.block, row_, hpl_.rows);
  }
  std::uint64_t local_columns(std::uint64_t from, std::uint64_t to) const {
    return owned(to, hpl_.block, column_, hpl_.columns) -
           owned(from, hpl_.block, column_, hpl_.columns);
  }

  /// Flops as floating point: a large block has more than 2^64.
  void compute(double flops) {
    const auto ns = saturating_cast<std::uint64_t>(std::round(flops * hpl_.ns_per_flop));
    if (ns > 0) sequence_.run({.amount = ns, .kind = Kind::kCompute});
  }

  Schedule in_column(Collective collective, Algorithm algorithm, std::uint64_t root,
                     std::uint64_t numbers) const {
    return of(collective, algorithm, root, numbers, hpl_.rows, row_);
  }
  static Schedule of(Collective collective, Algorithm algorithm, std::uint64_t root,
                     std::uint64_t numbers, std::uint32_t ranks, std::uint32_t rank) {
    CollectiveCall call;
    call.collective = collective;
    call.root = static_cast<std::uint32_t>(root);
    call.bytes = saturating_multiply(numbers, kNumber);
    call.element_bytes = kNumber;
    return schedule_of(call, algorithm, ranks, rank);
  }
  void append_in_column(const Schedule& schedule) {
    append_schedule(schedule, {1 + column_, hpl_.rows, column_members_}, 0, sequence_);
  }
  void append_in_row(const Schedule& schedule) {
    append_schedule(schedule, {1 + hpl_.columns + row_, hpl_.columns, row_members_}, 0, sequence_);
  }

  static double flops(std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(a) * static_cast<double>(b);
  }

  void factorize(std::uint64_t k) {
    const std::uint64_t columns = end(k) - begin(k);
    const Schedule exchange =
        in_column(Collective::kAllreduce, Algorithm::kRecursiveDoubling, 0, 2 * columns + 4);
    for (std::uint64_t i = begin(k); i < end(k); ++i) {
      append_in_column(exchange);
      compute(flops(local_rows(i + 1, hpl_.order), 1 + 2 * (end(k) - i - 1)));
    }
  }

  void broadcast(std::uint64_t k) {
    const std::uint64_t columns = end(k) - begin(k);
    const std::uint64_t numbers =
        local_rows(end(k), hpl_.order) * columns + columns * columns + columns + 1;
    append_in_row(of(Collective::kBcast, Algorithm::kChain, k % hpl_.columns, numbers, hpl_.columns,
                     column_));
  }

  void update(std::uint64_t k) {
    const std::uint64_t width = end(k) - begin(k);
    const std::uint64_t columns = local_columns(end(k), hpl_.order + 1);
    if (columns == 0) return;
    const bool exchange = hpl_.swap == RowSwap::kBinaryExchange ||
                          (hpl_.swap == RowSwap::kMix && columns <= kMixThreshold);
    append_in_column(exchange ? in_column(Collective::kAllreduce, Algorithm::kRecursiveDoubling, 0,
                                          width * columns)
                              : in_column(Collective::kBcast, Algorithm::kScatterRingAllgather,
                                          k % hpl_.rows, width * columns));
    compute(flops(width * (width - 1), columns) +
            2 * flops(local_rows(end(k), hpl_.order) * columns, width));
  }

  /// Solves U x = y.
  void substitute() {
    std::uint64_t holder = hpl_.order / hpl_.block % hpl_.columns;  // Of column N.
    for (std::uint64_t k = panels_; k-- > 0;) {
      const std::uint64_t owner = k % hpl_.columns;
      if (holder != owner) move(holder, owner, local_rows(0, end(k)));
      holder = owner;
      if (column_ != owner) continue;
      const std::uint64_t width = end(k) - begin(k);
      if (row_ == k % hpl_.rows) compute(flops(width, width));
      append_in_column(in_column(Collective::kBcast, Algorithm::kBinomial, k % hpl_.rows, width));
      compute(2 * flops(local_rows(0, begin(k)), width));
    }
  }

  /// Between two processes of this row.
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t numbers) {
    if (numbers == 0 || (column_ != from && column_ != to)) return;
    Message message;
    message.bytes = numbers * kNumber;
    message.peer = static_cast<std::uint32_t>(column_ == from ? to : from);
    Step step;
    (column_ == from ? step.sends : step.receives).push_back(message);
    append_in_row({step});
  }

  const Hpl& hpl_;
  const std::uint32_t row_, column_;
  const std::uint64_t panels_;
  std::vector<std::uint32_t> row_members_, column_members_;
  Sequence sequence_;
};

/// At least as many as the operations of the program.
std::uint64_t operations_of(const Hpl& hpl) {
  constexpr std::uint64_t kExchange = 3;
  const std::uint64_t ranks = std::uint64_t{hpl.rows} * hpl.columns;
  const std::uint64_t panels = (hpl.order - 1) / hpl.block + 1;
  const std::uint64_t doubling = kExchange * (std::bit_width(hpl.rows) + 1);
  const std::uint64_t roll = hpl.swap == RowSwap::kBinaryExchange ? 0 : kExchange * hpl.rows;
  const std::uint64_t factorizations = saturating_multiply(hpl.order, hpl.rows * (doubling + 1));
  const std::uint64_t others = saturating_multiply(panels * ranks, doubling + roll + 8);
  return saturating_add(factorizations, others);
}

}  // namespace

std::pair<std::uint32_t, std::uint32_t> near_square(std::uint32_t ranks) {
  std::uint32_t rows = 1;
  for (std::uint32_t i = 1; std::uint64_t{i} * i <= ranks; ++i) {
    if (ranks % i == 0) rows = i;
  }
  return {rows, ranks / rows};
}

Result<Program> hpl_program(const Hpl& hpl) {
  const auto wrong = [](const std::string& what) {
    return unexpected(Code::kInvalidArgument, what);
  };
  if (hpl.order == 0 || hpl.order > kMaxOrder || hpl.block == 0) {
    return wrong("a matrix of order " + std::to_string(hpl.order) + " in blocks of " +
                 std::to_string(hpl.block) +
                 " is not possible; take an order of 1 to 2147483648, and blocks of 1 or more");
  }
  if (hpl.rows == 0 || hpl.columns == 0 || std::uint64_t{hpl.rows} * hpl.columns > kMaxRanks ||
      !(hpl.ns_per_flop >= 0)) {
    return wrong("a grid of " + std::to_string(hpl.rows) + " x " + std::to_string(hpl.columns) +
                 " processes is not possible; take 1 to " + std::to_string(kMaxRanks) +
                 " processes");
  }
  if (operations_of(hpl) > kMaxSynthesised) {
    return wrong("the program would have more than " + std::to_string(kMaxSynthesised) +
                 " operations; take a smaller matrix, larger blocks or fewer processes");
  }
  Hpl bounded = hpl;
  bounded.block = std::min(hpl.block, hpl.order + 1);  // A larger block holds no more columns.
  Program program;
  for (std::uint32_t row = 0; row < hpl.rows; ++row) {
    for (std::uint32_t column = 0; column < hpl.columns; ++column) {
      program.ranks.push_back(HplProcess(bounded, row, column).run());
    }
  }
  return program;
}

}  // namespace xylem::predict
