#pragma once

// The sentence that says at the end of a run how much data was captured, stored and lost.

#include <string>

#include "frontend/session.h"
#include "launch/refusal.h"

namespace xylem {

/// For example: "4 ranks on 1 host: 1,204,113 calls captured = 1,204,113 stored + 0 lost, complete;
/// demo.db". The sentence also says if no process has registered, if data is missing, or if the
/// account could not be stored. Set `keeps_old` if this run has no data, so that `store` still has
/// the former run. `refusal` says whether the job's launcher has started nothing.
std::string account_sentence(const frontend::SessionOutcome& outcome, const std::string& store,
                             bool keeps_old = false, const launch::Refusal& refusal = {});

/// Prints the account sentence to standard error, after "xylem: ".
void print_account_line(const frontend::SessionOutcome& outcome, const std::string& store,
                        bool keeps_old, const launch::Refusal& refusal);

}  // namespace xylem
