#include "launch/live_runs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/run_contract.h"
#include "base/text_file.h"
#include "base/unique_fd.h"
#include "launch/front_end_process.h"

namespace xylem::launch {
namespace {

constexpr const char* kNote = "/store";
/// A person does not notice this delay.
constexpr Nanos kLook = 50 * kMillisecond;

/// `xylem run` and its front end hold a shared lock on the folder (backend::RunFolder::hold). If
/// the exclusive lock is free, both are gone. The lock is released immediately, and a folder with a
/// note is already held, so nobody is kept from holding it.
bool is_held(const std::string& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  return fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
}

}  // namespace

void note_live_run(const std::string& run, const std::string& file) {
  const std::string note = front_end_folder(run) + kNote;
  std::error_code error;
  const std::string text = std::filesystem::absolute(file, error).string();
  // Under another name first: nobody reads half of it.
  const std::string fresh = note + ".new";
  UniqueFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return;
  const bool written =
      ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      std::rename(fresh.c_str(), note.c_str()) == 0;
  if (!written) ::unlink(fresh.c_str());
}

std::vector<LiveRun> live_runs() {
  char own_folders[kRunFolderBytes];
  const std::filesystem::path start(write_run_folder(own_folders, ::geteuid(), ""));
  const std::string prefix = start.filename().string();
  constexpr std::size_t kMaxPathBytes = 4096;
  std::vector<LiveRun> runs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(start.parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    struct stat found {};
    if (!name.starts_with(prefix) || ::lstat(entry.path().c_str(), &found) != 0 ||
        !S_ISDIR(found.st_mode) || found.st_uid != ::geteuid()) {
      continue;
    }
    const std::string run =
        name.substr(prefix.size(), name.find('-', prefix.size()) - prefix.size());
    if (front_end_folder(run) != entry.path()) continue;
    const auto file = read_text_file(entry.path().string() + kNote, "note", kMaxPathBytes);
    if (file && !file->empty() && is_held(entry.path().string())) runs.push_back({run, *file});
  }
  std::ranges::sort(runs, {}, &LiveRun::id);
  return runs;
}

Result<LiveRun> find_live_run(const std::string& wanted, const std::vector<LiveRun>& runs) {
  std::vector<LiveRun> meant;
  std::string names;
  for (const LiveRun& run : runs) {
    if (!run.id.starts_with(wanted)) continue;
    meant.push_back(run);
    names += (names.empty() ? "" : ", ") + run.id + " (" + run.file + ")";
  }
  if (meant.size() == 1) return meant.front();
  if (meant.empty()) {
    return unexpected(
        Code::kNotFound,
        (wanted.empty() ? "no run of yours is" : "no run " + wanted + " is") +
            std::string(" in progress on this host; name the file of a stored run, or try"
                        " on the host where xylem run was typed"));
  }
  return unexpected(Code::kInvalidArgument, "several runs are in progress here: " + names +
                                                "; name one, as in --live " + meant.front().id);
}

Result<LiveRun> await_live_run(const std::string& wanted, Nanos patience,
                               const std::function<void()>& on_wait,
                               const std::function<std::vector<LiveRun>()>& runs) {
  const Nanos deadline = deadline_in(patience);
  for (bool is_first = true;; is_first = false) {
    auto run = find_live_run(wanted, runs());
    if (run || run.error().code != Code::kNotFound || !wanted.empty()) return run;
    if (monotonic_now() >= deadline) return run;
    if (is_first) on_wait();
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLook));
  }
}

}  // namespace xylem::launch
