/* A program without MPI, as an interpreter is, that loads it:
 *
 *   unharmed_loader module LIBRARY     a module that is linked with MPI, RTLD_LOCAL
 *   unharmed_loader symbols LIBMPI     MPI itself, RTLD_LOCAL; functions by dlsym from its handle
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void* find(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) fprintf(stderr, "%s\n", dlerror());
  return found;
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  void* library = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 9;
  }
  if (strcmp(arguments[1], "module") == 0) {
    void (*run)(void) = (void (*)(void))find(library, "run_module");
    if (run == NULL) return 9;
    run();
    return 0;
  }
  int (*init)(void*, void*) = (int (*)(void*, void*))find(library, "MPI_Init");
  int (*initialized)(int*) = (int (*)(int*))find(library, "MPI_Initialized");
  double (*clock)(void) = (double (*)(void))find(library, "MPI_Wtime");
  int (*finalize)(void) = (int (*)(void))find(library, "MPI_Finalize");
  int flag = 0;
  double sum = 0;
  if (init(NULL, NULL) != 0) return 9;
  initialized(&flag);
  for (int i = 0; i < 100; ++i) sum += clock();
  if (finalize() != 0 || sum < 0) return 9;
  printf("initialized %d\n", flag);
  return 0;
}
