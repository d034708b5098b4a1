#pragma once

// GOAL, the text format of LogGOPSim:
//
//   num_ranks 2
//   rank 0 {
//   l1: calc 1000 cpu 0
//   l2: send 8b to 1 tag 3 cpu 0 nic 0
//   l2 requires l1
//   }
//   rank 1 {
//   l1: recv 8b from 0 tag 3
//   l2: calc 100
//   l2 irequires l1
//   }
//
// `calc` has nanoseconds. Tag, CPU and NIC are 0 if they are left out. A receive may have the
// source or tag -1: any. `requires` waits for the end of an operation, `irequires` for its start. A
// label is optional; it is valid in its rank, after the operation. Comments are `// ...` and `/*
// ... */`.
//
// T. Hoefler, C. Siebert, A. Lumsdaine: Group operation assembly language - a flexible way to
// express collective communication, ICPP 2009.

#include <string>
#include <string_view>

#include "base/result.h"
#include "predict/trace/program.h"

namespace xylem::predict {

/// Reads a program. `name` is the file's name in error messages. Ranks may be in any order, but all
/// are there. Fails with kInvalidArgument and "NAME:LINE: what, and what to do" if the text is not
/// GOAL, if a label or rank is unknown or defined twice, and if operations wait for each other.
Result<Program> parse_goal(std::string_view text, std::string_view name);

/// Returns the program as GOAL text. Operation i has the label "l" followed by i + 1. The program
/// has no operations kFile and only standard sends, since GOAL cannot express others: see
/// check_without_files() and check_standard_sends().
std::string print_goal(const Program& program);

}  // namespace xylem::predict
