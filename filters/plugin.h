#ifndef XYLEM_FILTERS_PLUGIN_H_
#define XYLEM_FILTERS_PLUGIN_H_

/* Aggregations and narrowings in a shared object: what such an object exports, in C.
 *
 * C++ authors write a class and one line (filters/plugin_adapter.h) and need not read on.
 *
 * A plugin exports one function, xylem_plugin(), which returns what it holds. Fields cross this
 * border as the bytes that wire/waves.h makes of them (one flat Cap'n Proto message of the schema
 * wire/fields.capnp), so nothing of C++ crosses it: compiler, standard library and version may
 * differ.
 *
 * Rules for every function here:
 * - It may be called by any thread, several at once. It neither blocks nor forks nor changes the
 *   process (signals, locale, environment): it runs within an event loop.
 * - What it is given belongs to the caller and is gone when it returns.
 * - What it gives it writes into memory that it gets from output->allocate, once: fields when it
 *   returns XYLEM_OK; else a sentence for people, in UTF-8, without a zero at its end, or nothing.
 * - It lets no exception escape. (Those that do are caught and become an error, where the C++
 *   run-time libraries of both sides are one.) One that crashes takes the process with it; but
 *   every node first loads it, and calls xylem_plugin(), in a child process, and refuses one that
 *   crashes, throws or takes longer than a second and a half there.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when this file changes in a way that an older reader would misunderstand.
 *   1  aggregations
 *   2  narrowings as well
 * A plugin of an older version is loaded for what that version had; one of a later version is
 * refused. */
#define XYLEM_PLUGIN_ABI 2

enum {
  XYLEM_OK = 0,
  XYLEM_INVALID_ARGUMENT = 1, /* What it was given is not what it takes. */
  XYLEM_FAILED = 2,           /* Anything else. Other values mean the same. */
  XYLEM_NOTHING = 3           /* Only from narrow(): nothing for that leaf; no result is given. */
};

/* Bytes of the caller, aligned to 8. */
typedef struct xylem_input {
  const uint8_t* bytes;
  size_t size;
} xylem_input;

/* Where a result goes. */
typedef struct xylem_output {
  /* Memory for a result of `size` bytes, aligned to 8, or NULL when there is none (then return
   * XYLEM_FAILED). It belongs to the caller. The result of the last call counts. */
  uint8_t* (*allocate)(struct xylem_output* self, size_t size);
} xylem_output;

/* One aggregation: the functions of filters/aggregation.h, which says what they mean. All are
 * there. `self` is what create() made. Leaves are numbers. */
typedef struct xylem_aggregation {
  const char* name; /* Ends with a zero; lives as long as the plugin. */

  /* Makes an aggregation with these parameters (fields) and puts it into *self. On failure *self
   * stays as it was. */
  int (*create)(xylem_input parameters, void** self, xylem_output* fault);
  void (*destroy)(void* self);

  int (*lift)(const void* self, uint32_t leaf, xylem_input sent, xylem_output* state);
  int (*merge)(const void* self, xylem_input state, xylem_input other, xylem_output* merged);
  int (*finish)(const void* self, xylem_input state, xylem_output* result);
} xylem_aggregation;

/* A leaf among those for whom a multicast is. */
typedef struct xylem_place {
  uint32_t leaf;
  uint64_t position; /* From 0, in the order of leaf ids. */
  uint64_t count;    /* Of these leaves. */
} xylem_place;

/* One narrowing: the function of filters/narrowing.h. All are there; create and destroy as above.
 */
typedef struct xylem_narrowing {
  const char* name;
  int (*create)(xylem_input parameters, void** self, xylem_output* fault);
  void (*destroy)(void* self);

  int (*narrow)(const void* self, xylem_place place, xylem_input sent, xylem_output* part);
} xylem_narrowing;

/* What a plugin holds. Members stay where they are in all versions; new ones go to the end, and are
 * read only where `abi` says that they are there. */
typedef struct xylem_plugin_table {
  uint32_t abi;   /* XYLEM_PLUGIN_ABI */
  uint32_t count; /* of aggregations */
  const xylem_aggregation* aggregations;
  /* From version 2 on. */
  uint32_t narrowing_count;
  const xylem_narrowing* narrowings;
} xylem_plugin_table;

/* The name of the one symbol, and its type. The table lives as long as the plugin. */
#define XYLEM_PLUGIN_SYMBOL "xylem_plugin"
typedef const xylem_plugin_table* (*xylem_plugin_function)(void);

#ifdef __cplusplus
}
#endif

#endif /* XYLEM_FILTERS_PLUGIN_H_ */
