// Code for launchers, into which this library is preloaded too. Each launcher draws an identity for
// the worlds that it starts (world_internal.h).
//
// Open MPI's launcher needs more to pass variables to other hosts. `xylem run` lists the variables
// that ranks need in OMPI_MCA_mca_base_env_list, which works for an mpirun inside a script. But
// Open MPI 4 refuses to start if there is this variable and also `-x`. And the option
// `--mca mca_base_env_list` replaces the variable. So this code runs before the launcher's main():
//   with -x                        it moves the list to OMPI_MCA_mca_base_env_list_internal. `-x`
//                                  fills this variable too, and works together with it
//   with --mca mca_base_env_list   it appends the list to the option's value
// It adds XYLEM_WORLD to the list, because this variable does not exist yet when `xylem run` writes
// the list. It changes nothing else in the launcher.

#include <stdlib.h>
#include <string.h>

#include "base/run_contract.h"
#include "capture/core/ring.h"
#include "capture/core/text_internal.h"
#include "capture/core/world_internal.h"

namespace xylem::capture {
namespace {

constexpr const char* kList = "OMPI_MCA_mca_base_env_list";
constexpr const char* kInternalList = "OMPI_MCA_mca_base_env_list_internal";
constexpr const char* kParameter = "mca_base_env_list";

bool is_open_mpi_launcher() {
  char path[kPathBytes];
  read_program("/proc/self/exe", path);
  const char* name = strrchr(path, '/');
  return name != nullptr &&
         strcmp(name + 1, "orterun") == 0;  // mpirun and mpiexec are links to it.
}

using List = Text<4096>;

void pass_variables_on(int count, char** arguments) {
  const char* named = getenv(kList);
  if (named == nullptr || !is_open_mpi_launcher()) return;
  // Static, because it is large and the stack is the launcher's.
  static List wanted;
  wanted.add(named).add(';').add(kEnvWorld);
  if (!wanted.fits()) return;
  bool by_option = false;
  for (int i = 1; i < count; ++i) {
    by_option = by_option || strcmp(arguments[i], "-x") == 0 || strcmp(arguments[i], "--x") == 0;
    if (i + 1 < count && strcmp(arguments[i], kParameter) == 0) {
      static List both;  // Static, because `arguments` points into it until the program ends.
      both.add(arguments[i + 1]).add(';').add(wanted.c_str());
      if (both.fits()) arguments[i + 1] = both.begin();
      return;
    }
  }
  setenv(by_option ? kInternalList : kList, wanted.c_str(), by_option ? 0 : 1);
  if (by_option) unsetenv(kList);
}

// The C library passes the program's own argument array to constructors.
__attribute__((constructor)) void prepare_launcher(int count, char** arguments, char**) {
  const char* address = getenv(kEnvAddress);
  if (address == nullptr || *address == 0) return;
  draw_world_in_launcher();
  pass_variables_on(count, arguments);
}

}  // namespace
}  // namespace xylem::capture
