// Programs whose error handlers and callbacks do not return to MPI.
//
//   unharmed_errors HOW

#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

#include <stdexcept>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "unharmed.h"

namespace {

constexpr int kTimes = 50;

void handle_errors_by(MPI_Comm_errhandler_function* by) {
  MPI_Errhandler handler;
  COUNTED(MPI_Comm_create_errhandler(by, &handler));
  COUNTED(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
  COUNTED(MPI_Errhandler_free(&handler));
}

// To a rank that is not there.
void send_wrongly() {
  int number = 1;
  COUNTED(MPI_Send(&number, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD));
}

void throwing(MPI_Comm*, int*, ...) { throw std::runtime_error("an error of MPI"); }

void exceptions() {
  begin();
  handle_errors_by(&throwing);
  int caught = 0;
  for (int i = 0; i < kTimes; ++i) {
    try {
      send_wrongly();
    } catch (const std::runtime_error&) {
      ++caught;
    }
    (void)COUNTED(MPI_Wtime());
  }
  tell("caught", caught);
  exchange(10);
  finish();
}

// In several threads, one of which is left for good by its exception.
void* throw_in_thread(void*) {
  for (int i = 0; i < kTimes; ++i) {
    try {
      send_wrongly();
    } catch (const std::runtime_error&) {
    }
    (void)COUNTED(MPI_Wtime());
  }
  try {
    send_wrongly();
  } catch (const std::runtime_error&) {
    return nullptr;
  }
  return nullptr;
}

void exceptions_in_threads() {
  begin();
  handle_errors_by(&throwing);
  for (int round = 0; round < 6; ++round) {  // One at a time: MPI_THREAD_SERIALIZED is enough.
    pthread_t thread;
    pthread_create(&thread, nullptr, &throw_in_thread, nullptr);
    pthread_join(thread, nullptr);
  }
  exchange(10);
  finish();
}

jmp_buf before_call;
void jumping(MPI_Comm*, int*, ...) { longjmp(before_call, 1); }

void jumps() {
  begin();
  handle_errors_by(&jumping);
  static int jumped = 0;
  for (static int i = 0; i < kTimes; ++i) {
    if (setjmp(before_call) == 0) {
      send_wrongly();
    } else {
      ++jumped;
    }
    (void)COUNTED(MPI_Wtime());
  }
  tell("jumped", jumped);
  exchange(10);
  finish();
}

// From ever other depths of the stack: what was left lies above and below what comes next.
[[gnu::noinline]] void send_wrongly_from(int depth) {
  volatile char room[512];
  room[0] = static_cast<char>(depth);
  if (depth > 0) {
    send_wrongly_from(depth - 1);
  } else {
    send_wrongly();
  }
  room[1] = room[0];
}

[[gnu::noinline]] void read_clock_from(int depth) {
  volatile char room[512];
  room[0] = static_cast<char>(depth);
  if (depth > 0) {
    read_clock_from(depth - 1);
  } else {
    (void)COUNTED(MPI_Wtime());
  }
  room[1] = room[0];
}

void deep_exceptions() {
  begin();
  handle_errors_by(&throwing);
  for (int i = 0; i < kTimes; ++i) {
    try {
      send_wrongly_from(i * 7 % 23);
    } catch (const std::runtime_error&) {
    }
    read_clock_from(i * 5 % 23);
  }
  exchange(10);
  finish();
}

// Fibres: the handler leaves its call by a switch to another stack and never comes back.
ucontext_t main_stack, fibre;
char fibre_memory[1 << 18];
int fibres_ended;
void leaving_fibre(MPI_Comm*, int*, ...) {
  ++fibres_ended;
  setcontext(&main_stack);
}

void fibre_body() {
  (void)COUNTED(MPI_Wtime());
  send_wrongly();
}

void fibres() {
  begin();
  handle_errors_by(&leaving_fibre);
  for (static int i = 0; i < kTimes; ++i) {
    getcontext(&fibre);
    fibre.uc_stack.ss_sp = fibre_memory;
    fibre.uc_stack.ss_size = sizeof fibre_memory;
    fibre.uc_link = nullptr;
    makecontext(&fibre, &fibre_body, 0);
    swapcontext(&main_stack, &fibre);
    (void)COUNTED(MPI_Wtime());
  }
  tell("fibres ended", fibres_ended);
  exchange(10);
  finish();
}

// A handler ends its thread.
void ending_thread(MPI_Comm*, int*, ...) { pthread_exit(nullptr); }
void* end_in_call(void*) {
  (void)COUNTED(MPI_Wtime());
  send_wrongly();
  return nullptr;
}

void thread_exits() {
  begin();
  handle_errors_by(&ending_thread);
  for (int i = 0; i < kTimes * 2; ++i) {  // More than there are rings.
    pthread_t thread;
    pthread_create(&thread, nullptr, &end_in_call, nullptr);
    pthread_join(thread, nullptr);
  }
  exchange(10);
  finish();
}

// A user's operator that throws out of MPI_Reduce_local, and a copy function out of MPI_Comm_dup.
void throwing_operator(void*, void*, int*, MPI_Datatype*) {
  throw std::runtime_error("an operator");
}
int throwing_copy(MPI_Comm, int, void*, void*, void*, int*) { throw std::runtime_error("a copy"); }

void callbacks() {
  begin();
  MPI_Op op;
  int given = 1, got = 2, caught = 0;
  COUNTED(MPI_Op_create(&throwing_operator, 1, &op));
  for (int i = 0; i < kTimes; ++i) {
    try {
      COUNTED(MPI_Reduce_local(&given, &got, 1, MPI_INT, op));
    } catch (const std::runtime_error&) {
      ++caught;
    }
  }
  COUNTED(MPI_Op_free(&op));
  tell("caught", caught);
  exchange(10);
  finish();
}

// A handler that returns, and calls MPI itself.
void calling(MPI_Comm*, int* code, ...) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  COUNTED(MPI_Error_string(*code, text, &length));  // The program's, though inside another call.
}

void returning() {
  begin();
  handle_errors_by(&calling);
  for (int i = 0; i < kTimes; ++i) send_wrongly();
  exchange(10);
  finish();
}

}  // namespace

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  open_counts();
  if (IS("exceptions"))
    exceptions();
  else if (IS("exceptions-in-threads"))
    exceptions_in_threads();
  else if (IS("deep-exceptions"))
    deep_exceptions();
  else if (IS("jumps"))
    jumps();
  else if (IS("fibres"))
    fibres();
  else if (IS("thread-exits"))
    thread_exits();
  else if (IS("callbacks"))
    callbacks();
  else if (IS("returning"))
    returning();
  else
    return 2;
  return 0;
}
