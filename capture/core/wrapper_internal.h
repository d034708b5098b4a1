#pragma once

// The form of a generated wrapper. One for NAME, function number N, has four parts:
//
//   NAME          exported. Capture is on: jumps to record_NAME; else to the next NAME in line. It
//                 has no stack frame and moves no argument.
//   PNAME         exported. The same for the profiling name: on to MPI's own PNAME.
//   record_NAME   records.
//   first_NAME    the first call while capture is off: looks the next NAME up.

/// Before the definition of an exported MPI function. All other symbols of the library are hidden.
#define XYLEM_WRAPPER extern "C" __attribute__((visibility("default")))

/// The other parts. Never inlined: while capture is off, the wrapper is a few loads and a jump.
#define XYLEM_RECORDING extern "C" __attribute__((noinline, visibility("hidden")))
#define XYLEM_FIRST extern "C" __attribute__((noinline, cold, visibility("hidden")))

// A function with arguments on the stack: the compiler would load and store all of them on the way
// to its jumps. `offset` is what N takes in real_functions, in bytes.
#if defined(__x86_64__)
#define XYLEM_WRAPPER_OF_MANY(name, offset, declared, passed)       \
  XYLEM_WRAPPER __attribute__((naked)) Word name declared {         \
    __asm__(                                                        \
        "movq xylem_capture_process(%rip), %rax\n\t" /* its gate */ \
        "movq (%rax), %rax\n\t"                      /* enabled */  \
        "testq %rax, %rax\n\t"                                      \
        "jz 1f\n\t"                                                 \
        "cmpl $0, (%rax)\n\t"                                       \
        "jne record_" #name                                         \
        "\n"                                                        \
        "1:\n\t"                                                    \
        "movq xylem_capture_real_functions+" #offset                \
        "(%rip), %rax\n\t"                                          \
        "testq %rax, %rax\n\t"                                      \
        "jz first_" #name                                           \
        "\n\t"                                                      \
        "jmp *%rax");                                               \
  }
#else
#define XYLEM_WRAPPER_OF_MANY(name, offset, declared, passed) \
  XYLEM_WRAPPER Word name declared {                          \
    if (is_on()) return record_##name passed;                 \
    if (!is_found(k##name)) return first_##name passed;       \
    return found(k##name, XYLEM_WORDS passed);                \
  }
#define XYLEM_WORDS(...) __VA_ARGS__
#endif
