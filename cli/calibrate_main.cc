// xylem-calibrate is what `xylem calibrate` starts in each of two ranks, with the launcher that the
// user names. It reports on standard output, in the lines of predict/calibration/samples.h.
//
//   xylem-calibrate [--mpi LIBRARY] [--disk FOLDER] --repetitions N --seconds N
//
// It measures for at most half of --seconds, and no process of it lives longer than --seconds and a
// moment. Errors are lines too: the exit code is then 0, or launchers would add their own
// sentences.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/own_process.h"
#include "base/quantity_text.h"
#include "base/this_host.h"
#include "capture/calibrate/disk.h"
#include "capture/calibrate/mpi_library.h"
#include "capture/calibrate/processor_cores.h"
#include "capture/calibrate/two_ranks.h"
#include "predict/calibration/samples.h"

namespace xylem {
namespace {

static_assert(calibrate::kManyMessages == predict::kTrain);

constexpr int kUsage = 2;
constexpr int kHostTag = 9;
using HostName = std::array<char, 256>;
/// Time after --seconds, in which xylem itself ends the launcher.
constexpr unsigned kGraceSeconds = 20;

struct Task {
  std::string mpi, disk;
  unsigned repetitions = 0, seconds = 0;
};

bool read_number(const char* text, unsigned& number) {
  const char* const end = text + std::strlen(text);
  const auto [stop, failed] = std::from_chars(text, end, number);
  return failed == std::errc{} && stop == end && number > 0;
}

bool read_task(int argc, char** argv, Task& task) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--mpi") {
      task.mpi = argv[i + 1];
    } else if (option == "--disk") {
      task.disk = argv[i + 1];
    } else if (option == "--repetitions") {
      if (!read_number(argv[i + 1], task.repetitions)) return false;
    } else if (option == "--seconds") {
      if (!read_number(argv[i + 1], task.seconds)) return false;
    } else {
      return false;
    }
  }
  return argc % 2 == 1 && task.repetitions > 0 && task.seconds > 0;
}

void report(const std::string& line) {
  std::printf("%s%s\n", std::string(predict::kReportMark).c_str(), line.c_str());
}

void report_times(const char* word, std::uint64_t bytes, Nanos took) {
  report(std::string(word) + " " + std::to_string(bytes) + " " + std::to_string(took));
}

const char* word_of(calibrate::Timing timing) {
  switch (timing) {
    case calibrate::Timing::kOne:
      return "one";
    case calibrate::Timing::kMany:
      return "many";
    case calibrate::Timing::kSend:
      return "send";
    case calibrate::Timing::kReceive:
      return "receive";
  }
  return "";
}

HostName host_name() {
  HostName name{};
  std::string text = this_host_name();
  std::ranges::replace(text, ' ', '_');
  if (text.empty()) text = "unknown";
  text.copy(name.data(), name.size() - 1);
  return name;
}

Result<void> measure_folder(const Task& task, Nanos deadline) {
  const auto is_direct = calibrate::measure_disk(
      task.disk, task.repetitions, deadline,
      [](calibrate::DiskAccess access, std::uint64_t bytes, Nanos took) {
        report_times(access == calibrate::DiskAccess::kRead ? "read" : "write", bytes, took);
      });
  if (!is_direct) return unexpected(is_direct.error());
  report(*is_direct ? "direct 1" : "direct 0");
  return {};
}

void lead(calibrate::MpiLibrary& mpi, const Task& task, Nanos deadline) {
  HostName other{};
  mpi.receive(other.data(), other.size(), 1, kHostTag);
  report("library " + mpi.path());
  report(std::string("hosts ") + host_name().data() + " " + other.data());
  report("cores " + std::to_string(calibrate::count_cores()));
  std::fflush(stdout);
  calibrate::Listener listener;
  listener.sample = [](calibrate::Timing what, std::uint64_t bytes, Nanos took) {
    report_times(word_of(what), bytes, took);
  };
  listener.eager = [](std::uint64_t returns, std::uint64_t waits) {
    report("eager " + std::to_string(returns) + " " + std::to_string(waits));
  };
  listener.progress = [](unsigned done, unsigned rounds) {
    report("progress " + std::to_string(done) + " " + std::to_string(rounds));
    std::fflush(stdout);
  };
  calibrate::measure_two_ranks(mpi, {task.repetitions, deadline}, listener);
}

/// The disk, if one is to be measured, and the last line.
void end_report(const Task& task, Nanos deadline) {
  if (!task.disk.empty()) {
    if (const auto measured = measure_folder(task, deadline); !measured) {
      return report("error " + measured.error().message);
    }
  }
  report("end");
}

std::string wrong_size(int size, const std::string& library) {
  if (size > 1) {
    return "the launcher has started " + count_text(static_cast<std::uint64_t>(size)) +
           " ranks, and two are needed; write for example mpirun -n 2";
  }
  return "each process is a world of one rank for " + library +
         "; write for example mpirun -n 2. If there were two, this is not the launcher's MPI "
         "library: "
         "name the right one with --mpi LIBRARY";
}

int run(const Task& task) {
  ::alarm(task.seconds + kGraceSeconds);
  auto mpi = calibrate::MpiLibrary::load(task.mpi);
  if (!mpi) {
    report("error " + mpi.error().message);
    return 0;
  }
  mpi->init();
  const Nanos deadline = deadline_in(Nanos{task.seconds} * kSecond / 2);
  const int rank = mpi->rank();
  if (const int size = mpi->size(); size != 2) {
    if (rank == 0) report("error " + wrong_size(size, mpi->path()));
  } else if (rank == 0) {
    lead(*mpi, task, deadline);
    end_report(task, deadline_in(Nanos{task.seconds} * kSecond / 4));
  } else {
    const HostName name = host_name();
    mpi->send(name.data(), name.size(), 0, kHostTag);
    calibrate::serve_two_ranks(*mpi);
  }
  std::fflush(stdout);
  mpi->finalize();
  return 0;
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) {
  xylem::open_standard_streams();
  xylem::Task task;
  if (!xylem::read_task(argc, argv, task)) {
    std::fputs("xylem-calibrate: `xylem calibrate` starts this program\n", stderr);
    return xylem::kUsage;
  }
  return xylem::run(task);
}
