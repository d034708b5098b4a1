#pragma once

// The sentence at the end of a run.

#include <string>

#include "frontend/session.h"

namespace xylem {

/// For example: "4 ranks on 1 host: 1,204,113 calls captured = 1,204,113 stored + 0 lost, complete;
/// demo.db". Also says if no process has registered, what is missing, and if the account could not
/// be stored. `keeps_old`: the record holds nothing, and the run before stays in `store`.
std::string account_sentence(const frontend::SessionOutcome& outcome, const std::string& store,
                             bool keeps_old = false);

/// Prints it to standard error, behind "xylem: ".
void print_account_line(const frontend::SessionOutcome& outcome, const std::string& store,
                        bool keeps_old);

}  // namespace xylem
