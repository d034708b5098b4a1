#include "storage/read/run_summary.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/saturating.h"
#include "base/unique_fd.h"
#include "storage/read/query.h"
#include "storage/schema_internal.h"

namespace xylem::storage {
namespace {

namespace fs = std::filesystem;

constexpr Nanos kAnswerDeadline = 5 * kSecond;

Code code_of(const std::error_code& error) {
  if (error == std::errc::no_such_file_or_directory) return Code::kNotFound;
  if (error == std::errc::permission_denied) return Code::kPermissionDenied;
  return Code::kInvalidArgument;
}

}  // namespace

Result<std::vector<std::string>> find_run_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const std::string name = entry->path().filename().string();
    if (!entry->is_regular_file(ignored) || name.find(kReplacedMark) != std::string::npos) {
      continue;
    }
    const UniqueFd fd(::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (is_run_file(fd.get())) files.push_back(entry->path().string());
  }
  if (error) return unexpected(code_of(error), folder + ": " + error.message());
  std::ranges::sort(files);
  return files;
}

Result<RunSummary> summarize_run(const std::string& path) {
  auto run = RunFile::open(path);
  if (!run) return unexpected(std::move(run.error()));
  (*run)->set_deadline(deadline_in(kAnswerDeadline));
  const auto rows = (*run)->rows(
      "SELECT run_id, command, user, host, started_ns, ended_ns, exit_code,"
      " (SELECT count(*) FROM rank), (SELECT count(*) FROM host) FROM run LIMIT 1");
  if (!rows) return unexpected(rows.error());
  if (rows->empty()) return unexpected(Code::kCorrupt, path + ": it has no run");
  const std::vector<Value>& row = rows->front();
  RunSummary summary;
  summary.run_id = text_of(row[0]);
  summary.command = text_of(row[1]);
  summary.user = text_of(row[2]);
  summary.host = text_of(row[3]);
  summary.started_realtime_ns = time_of(row[4]);
  if (row[5].index() != 0) summary.elapsed_ns = time_of(row[5]) - time_of(row[4]);
  if (row[6].index() != 0) summary.exit_code = saturating_cast<int>(real_of(row[6]));
  summary.ranks = static_cast<std::uint64_t>(integer_of(row[7]));
  summary.hosts = static_cast<std::uint64_t>(integer_of(row[8]));
  return summary;
}

}  // namespace xylem::storage
