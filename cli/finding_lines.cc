#include "cli/finding_lines.h"

#include <unistd.h>

#include <algorithm>

#include "base/printable_text.h"
#include "storage/read/query.h"
#include "storage/read/run_findings.h"

namespace xylem {
namespace {

constexpr std::size_t kMaxFindingLines = 3;
/// For the wait states, and then for everything.
constexpr Nanos kWaitsPatience = 3 * kSecond / 2;
constexpr Nanos kFindingsPatience = 2 * kSecond;

}  // namespace

std::string AlertLines::line(const storage::Alert& alert, Nanos now) {
  // Each line takes kPause of a budget of kAtOnce pauses.
  free_at_ns_ = std::max(free_at_ns_, now);
  if (printed_ == kMaxLines || free_at_ns_ - now > (kAtOnce - 1) * kPause) {
    ++left_out_;
    return {};
  }
  std::string text = "alert: " + alert.text;
  if (left_out_ != 0) text += " (and " + std::to_string(left_out_) + " more before)";
  if (++printed_ == kMaxLines) text += "; no more alerts are printed, the store has them";
  left_out_ = 0;
  free_at_ns_ += kPause;
  return text;
}

std::vector<std::string> finding_lines(const std::string& store) {
  auto run = storage::RunFile::open(store);
  if (!run) return {};
  const Nanos deadline = deadline_in(kFindingsPatience);
  (*run)->set_deadline(deadline_in(kWaitsPatience));
  const auto waits = (*run)->wait_states();
  (*run)->set_deadline(deadline);
  const auto found = storage::read_findings(**run, waits ? waits->get() : nullptr);
  std::vector<std::string> lines;
  if (!found) return lines;
  for (const storage::Finding& finding : found->findings) {
    if (lines.size() == kMaxFindingLines) break;
    lines.push_back(finding.text);
  }
  return lines;
}

void print_line(const std::string& text) {
  const std::string line = "xylem: " + printable(text) + '\n';
  // If nobody reads standard error any more, the line is lost, and nothing else happens.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace xylem
