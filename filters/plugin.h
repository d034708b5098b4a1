#ifndef XYLEM_FILTERS_PLUGIN_H_
#define XYLEM_FILTERS_PLUGIN_H_

/* The C interface of a shared object with aggregations and narrowings.
 *
 * C++ authors write a class and one line (filters/plugin_adapter.h) and do not need this header.
 *
 * A plugin exports one function, xylem_plugin(). This function returns a table of the plugin's
 * aggregations and narrowings. Fields are passed as bytes: one flat Cap'n Proto message
 * (wire/waves.h, wire/fields.capnp). No C++ type is passed. So a plugin and the program may be
 * built with different compilers, standard libraries and versions.
 *
 * Rules for every function of a plugin:
 * - Several threads may call it concurrently. It often runs in an event loop, so it must not block.
 *   It must not fork, or change signals, locale or environment of the process.
 * - Its arguments belong to the caller and are valid only during the call.
 * - It gets memory for its result from one call of output->allocate. If it returns XYLEM_OK, the
 *   result is fields. Otherwise the result is an error message in UTF-8 without a final zero byte;
 *   the message may be empty.
 * - It must not throw. If both sides use the same C++ run-time library, an exception is caught and
 *   becomes an error.
 *
 * If a plugin crashes, the process that called it is lost. So every node first loads the plugin and
 * calls xylem_plugin() in a child process. The node refuses the plugin if it crashes, throws or
 * takes longer than 1.5 s in the child process.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface.
 *   1  aggregations
 *   2  aggregations and narrowings
 * A plugin of an older version can be loaded, but has only the features of that version. A plugin
 * of a later version is refused. */
#define XYLEM_PLUGIN_ABI 2

enum {
  XYLEM_OK = 0,
  XYLEM_INVALID_ARGUMENT = 1, /* An argument is invalid. */
  XYLEM_FAILED = 2,           /* Any other failure. Unlisted values mean the same. */
  XYLEM_NOTHING = 3           /* Only from narrow(), without a result: this leaf gets nothing. */
};

/* Bytes that belong to the caller. They are aligned to 8 bytes. */
typedef struct xylem_input {
  const uint8_t* bytes;
  size_t size;
} xylem_input;

/* Receives a result. */
typedef struct xylem_output {
  /* Returns memory for a result of `size` bytes, aligned to 8 bytes. Returns NULL if there is no
   * memory or if `size` is larger than a frame (16 MiB); then return XYLEM_FAILED. The memory
   * belongs to the caller. If allocate is called several times, only the memory of the last call is
   * used. */
  uint8_t* (*allocate)(struct xylem_output* self, size_t size);
} xylem_output;

/* One aggregation. filters/aggregation.h describes its functions. All pointers must be set. `self`
 * is the object that create() made. `leaf` is the number of the leaf. */
typedef struct xylem_aggregation {
  const char* name; /* Ends with a zero byte. Valid while the plugin is loaded. */

  /* Makes an aggregation with these parameters (fields) and stores it in *self. On failure it
   * leaves *self unchanged. */
  int (*create)(xylem_input parameters, void** self, xylem_output* fault);
  void (*destroy)(void* self);

  int (*lift)(const void* self, uint32_t leaf, xylem_input sent, xylem_output* state);
  int (*merge)(const void* self, xylem_input state, xylem_input other, xylem_output* merged);
  int (*finish)(const void* self, xylem_input state, xylem_output* result);
} xylem_aggregation;

/* A leaf's position among the recipients of a multicast. */
typedef struct xylem_place {
  uint32_t leaf;
  uint64_t position; /* Counted from 0 in the order of leaf ids. */
  uint64_t count;    /* Number of recipients. */
} xylem_place;

/* One narrowing. filters/narrowing.h describes narrow(). All pointers must be set. create() and
 * destroy() work as in xylem_aggregation. */
typedef struct xylem_narrowing {
  const char* name;
  int (*create)(xylem_input parameters, void** self, xylem_output* fault);
  void (*destroy)(void* self);

  int (*narrow)(const void* self, xylem_place place, xylem_input sent, xylem_output* part);
} xylem_narrowing;

/* The contents of a plugin. Members keep their positions in all versions. New members are added at
 * the end. They are read only if the version `abi` has them. */
typedef struct xylem_plugin_table {
  uint32_t abi;   /* XYLEM_PLUGIN_ABI */
  uint32_t count; /* Number of aggregations. */
  const xylem_aggregation* aggregations;
  /* From version 2 on. */
  uint32_t narrowing_count;
  const xylem_narrowing* narrowings;
} xylem_plugin_table;

/* The name of the exported symbol, and its type. The table is valid while the plugin is loaded. */
#define XYLEM_PLUGIN_SYMBOL "xylem_plugin"
typedef const xylem_plugin_table* (*xylem_plugin_function)(void);

#ifdef __cplusplus
}
#endif

#endif /* XYLEM_FILTERS_PLUGIN_H_ */
