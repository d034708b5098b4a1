#include "backend/agent/silence.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "backend/find/proc_file.h"
#include "base/log.h"
#include "capture/core/ring.h"

namespace xylem::backend {
namespace {

constexpr std::size_t kMaxStatBytes = 4096;
/// Words of /proc/PID/stat between the state, which is the third, and the start time.
constexpr int kWordsBetween = 22 - 3 - 1;

}  // namespace

void Silence::look(std::uint64_t calls, Nanos now) {
  looked_ = now;
  if (calls == calls_) return;
  calls_ = calls;
  since_ = now;
  tell_at_ = now + kShortest;
}

void Silence::tell_again() { tell_at_ = std::min(tell_at_, since_ + kShortest); }

void Silence::told(Nanos now) { tell_at_ = now + std::max(kLookEvery, (now - since_) / kGrowth); }

Whereabouts whereabouts(const Segment& segment, const WindowBuilder& builder, Lane lane) {
  std::optional<FunctionId> found;
  std::uint64_t inside = 0;
  bool is_known = true;
  for (const FunctionId function : segment.function_ids()) {
    const std::uint64_t calls = segment.calls(function);
    if (calls == 0) continue;
    const std::uint64_t ended =
        segment.windowed_calls(function) + builder.calls(lane, function) + segment.lost(function);
    if (calls <= ended) continue;
    if (segment.is_sampled(function)) {  // The rest has no record, ended or not.
      is_known = is_known && segment.never_waits(function);
      continue;
    }
    inside += calls - ended;
    if (!found) found = function;
  }
  if (found && inside >= segment.rings()) return {found, false};
  return {std::nullopt, is_known && !found};
}

void tell_sudden_end(const Segment& segment, const Whereabouts& where) {
  if (segment.has_finalized()) return;
  const std::vector<wire::FunctionRow> names = segment.functions();
  if (names.empty()) return;
  const wire::ProcessRow row = segment.describe();
  const std::string rank = row.initialised ? std::to_string(raw(row.rank)) : "not known";
  std::string place = where.outside ? "outside of MPI" : "not known";
  if (where.inside && raw(*where.inside) < names.size()) place = names[raw(*where.inside)].name;
  log(Level::kError, "a rank ended without MPI_Finalize",
      {{"rank", rank}, {"pid", segment.pid()}, {"program", row.program}, {"in", place}});
}

bool is_stopped(std::uint32_t pid, std::uint64_t start_time) {
  const std::string stat = read_start("/proc/" + std::to_string(pid) + "/stat", kMaxStatBytes);
  std::string_view words = behind_name(stat);
  const std::string_view state = next_word(words);
  for (int i = 0; i < kWordsBetween; ++i) next_word(words);
  if (next_word(words) != std::to_string(start_time)) return false;
  return state == "T" || state == "t";
}

}  // namespace xylem::backend
