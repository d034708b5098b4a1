#include "cli/account_line.h"

#include <cstdint>
#include <cstdio>

#include "base/quantity_text.h"

namespace xylem {

std::string account_sentence(const frontend::SessionOutcome& outcome, const std::string& store,
                             bool keeps_old, const launch::Refusal& refusal) {
  if (!outcome.holds_something && outcome.account.empty()) {
    const std::string perhaps =
        "perhaps there is none, its MPI is linked statically, it makes no call that xylem sees, or "
        "its launcher passes no environment: see `xylem exec`";
    const std::string why = refusal.clause.empty() ? " (" + perhaps + ")"
                            : refusal.is_certain
                                ? ": " + refusal.clause
                                : " (" + refusal.clause + "; otherwise " + perhaps + ")";
    return "no MPI process has registered" + why +
           (outcome.trouble.empty() ? "" : ", and " + outcome.trouble) + "; " +
           (keeps_old ? "the run before stays in " + store : store);
  }
  std::uint64_t captured = 0, stored = 0, lost = 0;
  bool complete = !outcome.account.empty() && outcome.trouble.empty();
  for (const storage::AccountLine& line : outcome.account) {
    captured += line.captured;
    stored += line.stored;
    lost += line.lost;
    complete = complete && line.complete;
  }
  std::string text = counted(outcome.account.size(), "rank") + " on " +
                     counted(outcome.hosts, "host") + ": " + count_text(captured) +
                     " calls captured = " + count_text(stored) + " stored + " + count_text(lost) +
                     " lost, " + (complete ? "complete" : "NOT complete");
  if (!outcome.trouble.empty()) text += " (" + outcome.trouble + ")";
  if (!outcome.unstored.empty())
    text += ", but not all of this is in the store: " + outcome.unstored;
  return text + "; " + store;
}

void print_account_line(const frontend::SessionOutcome& outcome, const std::string& store,
                        bool keeps_old, const launch::Refusal& refusal) {
  std::fprintf(stderr, "xylem: %s\n", account_sentence(outcome, store, keeps_old, refusal).c_str());
}

}  // namespace xylem
