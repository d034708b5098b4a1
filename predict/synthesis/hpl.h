#pragma once

// High-Performance Linpack as a program: LU factorization with partial pivoting of the N x (N + 1)
// matrix [A b], in blocks of NB, cyclically on P x Q processes; then the solution of U x = y. As in
// HPL 2.3 without look-ahead, after its description ("HPL algorithm" and "HPL scalability
// analysis", www.netlib.org/hpl, and the page of HPL_pdfact).
//
// Panel k has jb columns from column j = k NB on; it belongs to process column k mod Q, its
// diagonal block to process row k mod P. For each panel:
//
// 1. Factorization, by the process column of the panel. For each of its columns: the P processes
//    find the pivot and exchange its row, 2 jb + 4 numbers, in log2 P exchanges (recursive
//    doubling); then a rank-1 update: with m rows below and c columns to the right, m (1 + 2 c)
//    flops.
// 2. Broadcast of the panel along each process row, from process to process (increasing ring). A
//    process row with r of the rows below the panel sends r jb + jb^2 + jb + 1 numbers.
// 3. Row swaps of the trailing columns, in each process column, which has n of them: jb n numbers.
//    Binary exchange: log2 P exchanges of all. Spread-roll: a binomial scatter from the process row
//    of the panel, then a ring; parts of jb n / P. (In HPL, rows of the panel also move to the
//    places of the pivots in these messages. Those bytes are not there.)
// 4. Update: jb (jb - 1) n flops for the triangle, which every process of a column does, and
//    2 m n jb for m local rows.
//
// Then, for each block from the last to the first: y moves to the process column of the block, if
// it is elsewhere; the process of the diagonal block solves it, jb^2 flops, and broadcasts jb
// numbers in its column, binomially; the column updates its part of y, 2 m jb flops. (HPL moves
// only a part of y, and overlaps these steps.)
//
// Numbers have 8 bytes. All flops take the same time. The flops are 2/3 N^3 + 3/2 N^2 - 7/6 N,
// which HPL counts without its last term, and (P - 1) sum over panels of jb (jb - 1) (N + 1 - j -
// jb), since every process row solves the triangle.

#include <cstdint>
#include <utility>

#include "base/result.h"
#include "predict/trace/program.h"

namespace xylem::predict {

enum class RowSwap : std::uint8_t {
  kBinaryExchange,
  kSpreadRoll,
  /// Binary exchange for at most kMixThreshold local columns, otherwise spread-roll. HPL's default.
  kMix,
};
constexpr std::uint64_t kMixThreshold = 64;

struct Hpl {
  std::uint64_t order = 1;    ///< N
  std::uint64_t block = 1;    ///< NB
  std::uint32_t rows = 1;     ///< P
  std::uint32_t columns = 1;  ///< Q
  double ns_per_flop = 1;     ///< Not negative.
  RowSwap swap = RowSwap::kMix;
};

/// P x Q for a number of ranks: as square as possible, with P at most Q.
std::pair<std::uint32_t, std::uint32_t> near_square(std::uint32_t ranks);

/// The program of P * Q ranks. Rank r is the process of row r / Q and column r mod Q.
///
/// Fails with kInvalidArgument if a number is 0 or P * Q is above kMaxRanks, if N is above 2^31,
/// and if the program would have more than kMaxSynthesised operations (patterns.h).
Result<Program> hpl_program(const Hpl& hpl);

}  // namespace xylem::predict
