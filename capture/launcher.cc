// Inside Open MPI's launcher, where this library is preloaded too.
//
// `xylem run` names the variables that ranks need in OMPI_MCA_mca_base_env_list, which works for an
// mpirun inside a script. But Open MPI 4 refuses to start when that variable meets `-x`, and lets
// `--mca mca_base_env_list` on the command line replace it. So before the launcher's main():
//   -x is there                        the list moves to OMPI_MCA_mca_base_env_list_internal, which
//                                      is what -x itself fills, and which goes with it
//   --mca mca_base_env_list is there   the list is appended to its value
// Nothing else in the launcher is touched.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/ring.h"
#include "capture/text_internal.h"

namespace xylem::capture {
namespace {

constexpr const char* kList = "OMPI_MCA_mca_base_env_list";
constexpr const char* kInternalList = "OMPI_MCA_mca_base_env_list_internal";
constexpr const char* kParameter = "mca_base_env_list";

bool is_open_mpi_launcher() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = 0;
  const char* name = strrchr(path, '/');
  return name != nullptr &&
         strcmp(name + 1, "orterun") == 0;  // mpirun and mpiexec are links to it.
}

using List = Text<4096>;

// The C library hands the program's own argument array to constructors.
__attribute__((constructor)) void pass_variables_on(int count, char** arguments, char**) {
  const char* wanted = getenv(kList);
  const char* address = getenv(kEnvAddress);
  if (wanted == nullptr || address == nullptr || *address == 0 || !is_open_mpi_launcher()) return;
  bool by_option = false;
  for (int i = 1; i < count; ++i) {
    by_option = by_option || strcmp(arguments[i], "-x") == 0 || strcmp(arguments[i], "--x") == 0;
    if (i + 1 < count && strcmp(arguments[i], kParameter) == 0) {
      static List both;
      both.add(arguments[i + 1]).add(';').add(wanted);
      if (both.fits()) arguments[i + 1] = both.begin();
      return;
    }
  }
  if (!by_option) return;
  setenv(kInternalList, wanted, 0);
  unsetenv(kList);
}

}  // namespace
}  // namespace xylem::capture
