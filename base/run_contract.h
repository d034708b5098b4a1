#pragma once

// Names and numbers that the processes of a run share: the run's folder on a host, environment
// variables, and the first descriptors of an agent. The capture library uses this header in the
// application's process, so the header needs no library.

#include <cstddef>
#include <cstdint>

namespace xylem {

/// Beginning of the path of a run's folder on a host. The path is /dev/shm/xylem-USER-RUN, and for
/// a simulated host /dev/shm/xylem-USER-RUN-HOST. USER is the *effective* user id, because this id
/// decides who may connect to a process. The folder's mode is 0700.
constexpr char kRunFolders[] = "/dev/shm/xylem-";
constexpr std::size_t kRunIdDigits = 16;
/// Size of a path: kRunFolders, a user id, two hyphens, a run id and the final zero.
constexpr std::size_t kRunFolderBytes = sizeof kRunFolders + 10 + 2 + kRunIdDigits;

/// Writes the folder's path without -HOST, and a final zero, to `into`. Returns `into`, which must
/// have space for kRunFolderBytes bytes. A `run` longer than kRunIdDigits is cut. If `run` is
/// empty, the result is the common prefix of all of this user's runs.
inline const char* write_run_folder(char* into, std::uint32_t user, const char* run) noexcept {
  char* at = into;
  for (const char* from = kRunFolders; *from != 0;) *at++ = *from++;
  char digits[10];
  std::size_t count = 0;
  do digits[count++] = static_cast<char>('0' + user % 10);
  while ((user /= 10) != 0);
  while (count > 0) *at++ = digits[--count];
  *at++ = '-';
  for (std::size_t i = 0; i < kRunIdDigits && run[i] != 0; ++i) *at++ = run[i];
  *at = 0;
  return into;
}

/// Names of the files in a run's folder.
constexpr const char* kAgentSocketName = "agent";  ///< The guard listens here (SOCK_STREAM).
constexpr const char* kAgentLockName = "lock";     ///< Locked with flock() while an agent starts or
                                                   ///< ends.

/// Environment variables that `xylem run` passes through launchers to the processes of the job.
constexpr const char* kEnvAddress = "XYLEM_ADDRESS";  ///< host:port[,host:port] of the front end.
constexpr const char* kEnvRun = "XYLEM_RUN";          ///< Run id: kRunIdDigits hexadecimal digits.
constexpr const char* kEnvKey = "XYLEM_KEY";          ///< 64 hexadecimal digits; removed by a rank.
constexpr const char* kEnvTls = "XYLEM_TLS";          ///< "on" or "off".
constexpr const char* kEnvBackend = "XYLEM_BACKEND";  ///< Absolute path of xylem-backend.
constexpr const char* kEnvSample =
    "XYLEM_SAMPLE";  ///< "none" or FUNCTION=N[,FUNCTION=N]; FUNCTION may end in *.
constexpr const char* kEnvRing = "XYLEM_RING";  ///< Records per ring, a power of two.
/// Number of hosts to simulate on this host.
constexpr const char* kEnvTestSize = "XYLEM_TEST_SIZE";
/// Random text that a launcher chooses for each world.
constexpr const char* kEnvWorld = "XYLEM_WORLD";

/// Additional environment variables of a new xylem-backend.
constexpr const char* kEnvFolder = "XYLEM_FOLDER";  ///< The run's folder on this host.
constexpr const char* kEnvHost = "XYLEM_HOST";      ///< The name to show for this host.
constexpr const char* kEnvLogLevel = "XYLEM_LOG_LEVEL";
constexpr const char* kEnvLogFile = "XYLEM_LOG_FILE";

/// Additional environment variable of the back ends of a tool (frontend/tree.h).
constexpr const char* kEnvCommproc = "XYLEM_COMMPROC";  ///< Path of xylem-commproc.

/// Descriptors of a new xylem-backend: the listening agent socket, and a pipe from which it reads
/// the key (64 hexadecimal digits).
constexpr int kBackendListenFd = 3;
constexpr int kBackendKeyFd = 4;

}  // namespace xylem
