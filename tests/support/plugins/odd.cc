// Shared objects that no xylem should load, or that break the rules of filters/plugin.h: built once
// for each value of XYLEM_ODD.

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "filters/plugin.h"

#define NO_PLUGIN 1     // exports nothing
#define OTHER_ABI 2     // of the interface's next version
#define NO_MERGE 3      // lacks an entry point
#define LACKS_SYMBOL 4  // needs a function that is nowhere
#define NO_TABLE 5      // xylem_plugin() gives nothing
#define BREAKS_RULES 6  // loads; then throws across the border, gives no fields, or too much
#define CRASHES 7       // when it is loaded; only where XYLEM_TEST_CRASH is set
#define THROWS 8        // when it is loaded
#define HANGS 9         // when it is loaded
#define HANGS_THERE 10  // the same, only where XYLEM_TEST_HANG is set
#define VERSION_ONE 11  // of the interface's first version, which had no narrowings
#define NO_NARROW 12    // lacks the entry point of its narrowing

#if XYLEM_ODD == CRASHES
__attribute__((constructor)) static void crash() {
  if (std::getenv("XYLEM_TEST_CRASH") != nullptr) std::raise(SIGSEGV);
}
#elif XYLEM_ODD == HANGS || XYLEM_ODD == HANGS_THERE
__attribute__((constructor)) static void hang() {
  while (XYLEM_ODD == HANGS || std::getenv("XYLEM_TEST_HANG") != nullptr) ::pause();
}
#elif XYLEM_ODD == THROWS
static const int kThrown = []() -> int { throw std::runtime_error("while it is loaded"); }();
#endif

extern "C" {

#if XYLEM_ODD == LACKS_SYMBOL
int xylem_test_function_that_is_nowhere(void);
#endif

static int create(xylem_input, void** self, xylem_output*) {
  *self = nullptr;
  return XYLEM_OK;
}
static void destroy(void*) {}
static int lift(const void*, uint32_t leaf, xylem_input, xylem_output* output) {
  if (leaf == 1) throw std::runtime_error("across the border");
  if (leaf == 2) return XYLEM_FAILED;
  if (leaf == 3) return XYLEM_OK;  // Gave nothing.
  if (leaf == 4) return output->allocate(output, 17u << 20) == nullptr ? XYLEM_FAILED : XYLEM_OK;
  std::memset(output->allocate(output, 24), 0xff, 24);
  return XYLEM_OK;
}
static int merge(const void*, xylem_input, xylem_input, xylem_output*) { return 77; }
static int finish(const void*, xylem_input, xylem_output*) {
#if XYLEM_ODD == LACKS_SYMBOL
  return xylem_test_function_that_is_nowhere();
#else
  throw 5;
#endif
}

static int narrow(const void*, xylem_place place, xylem_input, xylem_output* output) {
  if (place.leaf == 1) throw std::runtime_error("across the border");
  if (place.leaf == 2) return XYLEM_NOTHING;
  if (place.leaf == 3) return XYLEM_OK;  // Gave nothing, but does not say so.
  output->allocate(output, 17u << 20);
  return XYLEM_INVALID_ARGUMENT;
}

#if XYLEM_ODD == VERSION_ONE
// As it was then. What lies behind it is none of the reader's business.
typedef struct {
  uint32_t abi;
  uint32_t count;
  const xylem_aggregation* aggregations;
  uint32_t rubbish_count;
  const void* rubbish;
} first_table;
__attribute__((visibility("default"))) const void* xylem_plugin(void) {
  static const xylem_aggregation kOdd = {"odd", create, destroy, lift, merge, finish};
  static const first_table kTable = {1, 1, &kOdd, 77, (const void*)narrow};
  return &kTable;
}
#elif XYLEM_ODD != NO_PLUGIN
__attribute__((visibility("default"))) const xylem_plugin_table* xylem_plugin(void) {
  static const xylem_aggregation kOdd = {
      "odd", create, destroy, lift, XYLEM_ODD == NO_MERGE ? nullptr : merge, finish};
  static const xylem_narrowing kNarrow = {"narrow", create, destroy,
                                          XYLEM_ODD == NO_NARROW ? nullptr : narrow};
  static const xylem_plugin_table kTable = {XYLEM_PLUGIN_ABI + (XYLEM_ODD == OTHER_ABI ? 1 : 0), 1,
                                            &kOdd, 1, &kNarrow};
  return XYLEM_ODD == NO_TABLE ? nullptr : &kTable;
}
#else
// Used, so that no compiler complains.
const void* xylem_test_parts[] = {(void*)create, (void*)destroy, (void*)lift,
                                  (void*)merge,  (void*)finish,  (void*)narrow};
#endif
}
