#pragma once

// The sentence in which a run ends.

#include <string>

#include "frontend/session.h"

namespace xylem {

/// For example: "4 ranks on 1 host: 1,204,113 calls captured = 1,204,113 stored + 0 lost, complete;
/// demo.db". Says so when no MPI process was seen, what is missing when something is, and when the
/// store could not take the account.
std::string account_sentence(const frontend::SessionOutcome& outcome, const std::string& store);

/// Prints it to standard error, behind "xylem: ".
void print_account_line(const frontend::SessionOutcome& outcome, const std::string& store);

}  // namespace xylem
