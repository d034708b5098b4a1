#include "exports/trace_export.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/quantity_text.h"
#include "exports/export_internal.h"
#include "storage/read/held.h"

namespace xylem::exports {
namespace {

using storage::integer_of;
using storage::text_of;

/// A sentence names this many ranks or hosts at most.
constexpr std::size_t kMaxNamed = 8;

struct Loss {
  std::uint64_t lost = 0;
  std::vector<std::string> of;  // Ranks and hosts.
};

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMaxNamed) text += " and " + count_text(names.size() - kMaxNamed) + " more";
  return text;
}

/// What the rows of a part of the view `loss` count.
const char* counted_by(const std::string& part) {
  return part == "message"                     ? " sends lost: "
         : part == "receive"                   ? " receives lost: "
         : part == "part" || part == "request" ? " parts of calls lost: "
                                               : " calls lost: ";
}

Result<void> add_losses(storage::RunFile& run, std::vector<std::string>& sentences) {
  const auto rows = run.rows(
      "SELECT part, reason, world, rank, host, sum(coalesce(messages, calls, 0)) FROM loss"
      " WHERE part IN ('ring', 'message', 'receive', 'request', 'part', 'chunk', 'host', 'rank')"
      " GROUP BY part, reason, world, rank, host ORDER BY part, reason, world, rank, host");
  if (!rows) return unexpected(rows.error());
  std::set<std::int64_t> worlds;
  for (const auto& row : *rows) {
    if (row[2].index() != 0) worlds.insert(integer_of(row[2]));
  }
  std::map<std::pair<std::string, std::string>, Loss> losses;  // By part and reason.
  for (const auto& row : *rows) {
    Loss& loss = losses[{text_of(row[0]), text_of(row[1])}];
    loss.lost += static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer_of(row[5])));
    std::string name = row[3].index() == 0 ? "host " + text_of(row[4])
                                           : "rank " + std::to_string(integer_of(row[3]));
    if (worlds.size() > 1 && row[2].index() != 0) {
      name = "world " + std::to_string(integer_of(row[2])) + " " + name;
    }
    loss.of.push_back(std::move(name));
  }
  for (const auto& [what, loss] : losses) {
    const std::string lost = loss.lost == 0 ? "" : count_text(loss.lost) + counted_by(what.first);
    sentences.push_back(names_text(loss.of) + ": " + lost + what.second);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> missing_in_trace(storage::RunFile& run) {
  const storage::Held held(run);
  if (!held.result()) return unexpected(held.result().error());
  const auto rows = run.rows(
      "SELECT max(detail), max(ended_ns) IS NULL, EXISTS(SELECT 1 FROM event_chunk) FROM run");
  if (!rows) return unexpected(rows.error());
  const auto& row = rows->at(0);
  const bool is_in_progress = integer_of(row[1]) != 0;
  if (integer_of(row[2]) == 0) {
    const bool is_trace = text_of(row[0]) == "trace";
    return unexpected(Code::kInvalidArgument,
                      run.path() + (is_trace ? ": no call of this run is stored"
                                             : ": has no trace, only sums; record single calls with"
                                               " `xylem run --detail trace -- COMMAND`"));
  }
  std::vector<std::string> sentences;
  if (auto read = add_losses(run, sentences); !read) return unexpected(read.error());
  if (is_in_progress) {
    sentences.emplace_back("the end of the run is not stored: the export has what is stored now");
  }
  return sentences;
}

TextPieces& TextPieces::decimal(Nanos ns, unsigned decimals) {
  std::uint64_t unit = 1;
  for (unsigned i = 0; i < decimals; ++i) unit *= 10;
  if (ns < 0) add("-");
  const auto value = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  number(value / unit).add(".");
  for (std::uint64_t rest = value % unit, at = unit / 10; at != 0; at /= 10) {
    text_ += static_cast<char>('0' + rest / at);
    rest %= at;
  }
  return *this;
}

std::vector<std::string> names_of(const std::vector<storage::EventReader::Process>& processes) {
  std::set<WorldId> worlds;
  for (const auto& process : processes) {
    if (process.world) worlds.insert(*process.world);
  }
  std::vector<std::string> names;
  for (const auto& process : processes) {
    if (!process.rank) {
      names.push_back("process " + std::to_string(process.pid));
      continue;
    }
    const std::string world = worlds.size() > 1 && process.world
                                  ? "world " + std::to_string(raw(*process.world)) + " "
                                  : "";
    names.push_back(world + "rank " + std::to_string(raw(*process.rank)));
  }
  return names;
}

}  // namespace xylem::exports
