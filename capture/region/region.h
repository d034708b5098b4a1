#ifndef XYLEM_REGION_H
#define XYLEM_REGION_H

/* Names the parts of a program, for xylem: two calls, which do nothing without it.
 *
 *   #include <xylem/region.h>
 *
 *   xylem_region_begin("solve");
 *   ...
 *   xylem_region_end();
 *
 * For C99 and later, and C++. There is no library to link: the functions look for xylem's capture
 * library in the process, once, and are inert if it is not there. (With a C library before glibc
 * 2.34, link with -ldl, as MPI itself does.)
 *
 * Regions may be inside each other, at most 32 deep, and belong to the thread that has begun them.
 * xylem_region_end() ends the region that this thread has begun last. A further end is ignored. A
 * thread that ends has ended its regions. Regions count from the thread's first call of MPI on,
 * usually MPI_Init; one that has begun before is not counted.
 *
 * A name is a text of up to 200 bytes that ends with a zero. Equal texts are the same region, on
 * all ranks. A thread may use 256 names; visits of further ones are not counted. A begin and an end
 * take some ten nanoseconds each while xylem watches, and about 1 ns otherwise.
 *
 * `xylem report` and the table `region_total` have the visits, the time and the time in MPI of each
 * region. Both functions may be called by any thread at any time, except in signal handlers. */

#include <dlfcn.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The function of the capture library, or null. `known` is where this source keeps what it has
 * found: its own address stands for "not there". */
static inline void* xylem_region_function_(void** known, const char* symbol) {
  void* found = __atomic_load_n(known, __ATOMIC_RELAXED);
  if (found == 0) {
    found = dlsym((void*)0, symbol);
    if (found == 0) {
      (void)dlerror(); /* The program may look for errors of its own. */
      found = (void*)known;
    }
    __atomic_store_n(known, found, __ATOMIC_RELAXED);
  }
  return found == (void*)known ? (void*)0 : found;
}

/* `site` is the place in the program, which the trace keeps. */
static inline void xylem_region_begin_at_(const char* name, const void* site) {
  static void* known;
  void* const found = xylem_region_function_(&known, "xylem_region_begin_1");
  void (*call)(const char*, const void*);
  if (found == 0) return;
  memcpy(&call, &found, sizeof call);
  call(name, site);
}

static inline void xylem_region_end_at_(const void* site) {
  static void* known;
  void* const found = xylem_region_function_(&known, "xylem_region_end_1");
  void (*call)(const void*);
  if (found == 0) return;
  memcpy(&call, &found, sizeof call);
  call(site);
}

/* Not inlined, so that the place is that of their caller. */
static __attribute__((noinline, unused)) void xylem_region_begin(const char* name) {
  xylem_region_begin_at_(name, __builtin_return_address(0));
}

static __attribute__((noinline, unused)) void xylem_region_end(void) {
  xylem_region_end_at_(__builtin_return_address(0));
}

#ifdef __cplusplus
} /* extern "C" */

namespace xylem {

/* A region that lasts as long as this object. */
class Region {
 public:
  __attribute__((noinline)) explicit Region(const char* name) {
    xylem_region_begin_at_(name, __builtin_return_address(0));
  }
  __attribute__((noinline)) ~Region() { xylem_region_end_at_(__builtin_return_address(0)); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

} /* namespace xylem */
#endif

#endif
