#pragma once

// The C interface of the stub MPI (stub_mpi.cc), for tests that link the capture library's wrappers
// into themselves. Handles and MPI_Status have MPICH's form, so the wrappers use MPICH's ABI.
//
// The world has kStubWorldSize ranks. This process is rank 0, and the others do not exist. A call
// never waits:
//   - A message to any rank is dropped.
//   - A receive gets a message immediately. Its source is the requested rank; for MPI_ANY_SOURCE it
//     is the last rank of the communicator. Its tag is the requested tag; for MPI_ANY_TAG it is
//     kStubTag. The message fills the buffer.
//   - A request completes at its second test, or when it is waited for. Its handle is then given
//     immediately to the next request of any thread. The handle of a freed communicator is reused
//     in the same way.
//   - MPI_Comm_dup keeps the members. MPI_Comm_split with color c makes a communicator of two
//     members: rank 0 and rank 1 + c of the parent.
// Between the program and this MPI is a tool (stub_tool.cc), which is a separate library. Its
// MPI_Wtick calls stub_tool_callback, if the program has set it, and then PMPI_Wtick.
// MPI_Comm_group calls stub_group_callback, if the program has set it. All functions may be called
// by several threads at a time. MPI_Send, MPI_Wtime and MPI_Comm_rank take no lock, so a child of
// fork() may call them.

constexpr int kStubWorldSize = 8;
constexpr int kStubTag = 17;

using MPI_Comm = int;
using MPI_Datatype = int;
using MPI_Group = int;
using MPI_Op = int;
using MPI_Request = int;

struct MPI_Status {
  int count_lo;
  int count_hi_and_cancelled;
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
};

constexpr int MPI_SUCCESS = 0;
constexpr int MPI_ANY_SOURCE = -2;
constexpr int MPI_ANY_TAG = -1;
constexpr int MPI_THREAD_MULTIPLE = 3;
constexpr MPI_Comm MPI_COMM_WORLD = 0x44000000;
constexpr MPI_Comm MPI_COMM_SELF = 0x44000001;
constexpr MPI_Comm MPI_COMM_NULL = 0x04000000;
constexpr MPI_Datatype MPI_BYTE = 0x4c00010d;
constexpr MPI_Datatype MPI_INT = 0x4c000405;
constexpr MPI_Datatype MPI_DOUBLE = 0x4c00080b;
constexpr MPI_Request MPI_REQUEST_NULL = 0x2c000000;
constexpr MPI_Op MPI_SUM = 0x58000003;
inline MPI_Status* const MPI_STATUS_IGNORE = reinterpret_cast<MPI_Status*>(1);
inline MPI_Status* const MPI_STATUSES_IGNORE = reinterpret_cast<MPI_Status*>(1);

// NOLINTBEGIN(readability-identifier-naming): MPI's names.
extern "C" {
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPI_Finalize();

int MPI_Send(const void* buffer, int count, MPI_Datatype datatype, int dest, int tag,
             MPI_Comm comm);
int MPI_Recv(void* buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status* status);
int MPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status* status);
int MPI_Isend(const void* buffer, int count, MPI_Datatype datatype, int dest, int tag,
              MPI_Comm comm, MPI_Request* request);
int MPI_Irecv(void* buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request* request);
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status);

int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Test(MPI_Request* handle, int* flag, MPI_Status* status);
int MPI_Waitall(int count, MPI_Request* handles, MPI_Status* statuses);
int MPI_Waitany(int count, MPI_Request* handles, int* index, MPI_Status* status);
int MPI_Waitsome(int count, MPI_Request* handles, int* completed, int* indices,
                 MPI_Status* statuses);

int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int MPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
               int root, MPI_Comm comm);
int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm);

int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made);
int MPI_Comm_free(MPI_Comm* comm);

double MPI_Wtime();
double MPI_Wtick();

extern void (*stub_tool_callback)();
extern void (*stub_group_callback)();
}
// NOLINTEND(readability-identifier-naming)
