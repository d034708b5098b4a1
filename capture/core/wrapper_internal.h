#pragma once

// The form of a generated wrapper. The wrapper of NAME, function number N, has four parts:
//
//   NAME          Exported. If capture is on, jumps to record_NAME, else to the next NAME in line.
//                 It has no stack frame and moves no argument.
//   PNAME         Exported. Like NAME, but the next function is MPI's own PNAME.
//   record_NAME   Records the call.
//   first_NAME    Looks up the next NAME, at the first call while capture is off.

/// Use it before the definition of an exported function. All other symbols of the library are
/// hidden.
#define XYLEM_WRAPPER extern "C" __attribute__((visibility("default")))

/// Use these before the definitions of the other parts. These parts are never inlined. So the
/// wrapper is only a few loads and a jump while capture is off. The section says which code calls
/// MPI (nesting.cc).
#define XYLEM_RECORDING \
  extern "C" __attribute__((noinline, visibility("hidden"), section("xylem_recording")))
#define XYLEM_FIRST extern "C" __attribute__((noinline, cold, visibility("hidden")))

// The wrapper of a function with arguments on the stack. It is written in assembly, because the
// compiler would load and store all arguments before its jumps. `offset` is the byte offset of
// entry N in real_functions.
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
