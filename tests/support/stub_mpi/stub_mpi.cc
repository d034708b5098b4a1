// An MPI without messages: stub_mpi.h says what each call does. It is a shared library of its own,
// as MPIs are: the wrappers find its functions behind the program. Each has a profiling name,
// PMPI_X, and the alias MPI_X.

#include "tests/support/stub_mpi/stub_mpi.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <numeric>
#include <string_view>
#include <vector>

namespace {

constexpr int kDynamicComm = static_cast<int>(0x84000000u);
constexpr int kDynamicGroup = static_cast<int>(0x88000000u);
constexpr int kDynamicRequest = static_cast<int>(0x98000000u);
constexpr int kUndefined = -32766;
constexpr int kErrorComm = 5;
constexpr int kErrorRequest = 19;

using Ranks = std::vector<int>;  // World ranks of a communicator's or group's members.

/// Objects under handles `kind` | index. A handle that was given back is the next one to be given
/// out.
template <class T>
class Handles {
 public:
  explicit Handles(int kind) : kind_(kind) {}

  int add(T object) {
    const std::lock_guard lock(mutex_);
    int index = next_;
    if (free_.empty()) {
      ++next_;
    } else {
      index = free_.back();
      free_.pop_back();
    }
    objects_[index] = std::move(object);
    return kind_ | index;
  }

  bool find(int handle, T* into) {
    const std::lock_guard lock(mutex_);
    const auto at = objects_.find(handle & ~kind_);
    if (at == objects_.end()) return false;
    *into = at->second;
    return true;
  }

  void replace(int handle, T object) {
    const std::lock_guard lock(mutex_);
    objects_[handle & ~kind_] = std::move(object);
  }

  bool remove(int handle) {
    const std::lock_guard lock(mutex_);
    if (objects_.erase(handle & ~kind_) == 0) return false;
    free_.push_back(handle & ~kind_);
    return true;
  }

 private:
  const int kind_;
  std::mutex mutex_;
  std::map<int, T> objects_;
  std::vector<int> free_;
  int next_ = 1;
};

struct Request {
  bool receives = false;
  bool tested = false;
  MPI_Status status = {};
};

std::atomic<int> is_initialised{0};

// Never destroyed: a thread of the program may still call while the process ends.
Handles<Ranks>& comms() {
  static auto& all = *new Handles<Ranks>(kDynamicComm);
  return all;
}
Handles<Ranks>& groups() {
  static auto& all = *new Handles<Ranks>(kDynamicGroup);
  return all;
}
Handles<Request>& requests() {
  static auto& all = *new Handles<Request>(kDynamicRequest);
  return all;
}

bool members_of(MPI_Comm comm, Ranks* into) {
  if (comm == MPI_COMM_SELF) {
    *into = {0};
    return true;
  }
  if (comm != MPI_COMM_WORLD) return comms().find(comm, into);
  into->resize(kStubWorldSize);
  std::iota(into->begin(), into->end(), 0);
  return true;
}

int size_of(MPI_Datatype datatype) { return datatype >> 8 & 0xff; }

MPI_Status arrived(int count, MPI_Datatype datatype, int source, int tag, const Ranks& members) {
  MPI_Status status = {};
  status.count_lo = count * size_of(datatype);
  status.MPI_SOURCE = source == MPI_ANY_SOURCE ? static_cast<int>(members.size()) - 1 : source;
  status.MPI_TAG = tag == MPI_ANY_TAG ? kStubTag : tag;
  return status;
}

void give(const MPI_Status& status, MPI_Status* into) {
  if (into != MPI_STATUS_IGNORE) *into = status;
}

MPI_Status* element(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

int complete(MPI_Request* handle, MPI_Status* status) {
  MPI_Status empty = {};
  empty.MPI_SOURCE = MPI_ANY_SOURCE;
  empty.MPI_TAG = MPI_ANY_TAG;
  Request request;
  if (*handle == MPI_REQUEST_NULL) {
    give(empty, status);
    return MPI_SUCCESS;
  }
  if (!requests().find(*handle, &request)) return kErrorRequest;
  give(request.receives ? request.status : empty, status);
  // As in a real MPI: the handle may be another thread's before this call has returned.
  requests().remove(*handle);
  *handle = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

}  // namespace

#define STUB(returns, name, parameters)                                       \
  extern "C" returns P##name parameters;                                      \
  extern "C" __attribute__((weak, alias("P" #name))) returns name parameters; \
  extern "C" returns P##name parameters

STUB(int, MPI_Init, (int*, char***)) {
  is_initialised = 1;
  return MPI_SUCCESS;
}
STUB(int, MPI_Init_thread, (int*, char***, int, int* provided)) {
  is_initialised = 1;
  *provided = MPI_THREAD_MULTIPLE;
  return MPI_SUCCESS;
}
STUB(int, MPI_Finalize, ()) { return MPI_SUCCESS; }
STUB(int, MPI_Initialized, (int* flag)) {
  *flag = is_initialised;
  return MPI_SUCCESS;
}
STUB(int, MPI_Finalized, (int* flag)) {
  *flag = 0;
  return MPI_SUCCESS;
}
STUB(int, MPI_Query_thread, (int* provided)) {
  *provided = MPI_THREAD_MULTIPLE;
  return MPI_SUCCESS;
}
STUB(int, MPI_Get_library_version, (char* version, int* length)) {
  constexpr std::string_view kVersion = "MPICH Version: stub";
  std::memcpy(version, kVersion.data(), kVersion.size() + 1);
  *length = static_cast<int>(kVersion.size());
  return MPI_SUCCESS;
}
STUB(double, MPI_Wtime, ()) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
STUB(double, MPI_Wtick, ()) { return 1e-9; }
STUB(int, MPI_Type_size, (MPI_Datatype datatype, int* size)) {
  *size = size_of(datatype);
  return MPI_SUCCESS;
}

STUB(int, MPI_Send, (const void*, int, MPI_Datatype, int, int, MPI_Comm)) { return MPI_SUCCESS; }
STUB(int, MPI_Recv,
     (void*, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
      MPI_Status* status)) {
  Ranks members;
  if (!members_of(comm, &members)) return kErrorComm;
  give(arrived(count, datatype, source, tag, members), status);
  return MPI_SUCCESS;
}
STUB(int, MPI_Sendrecv,
     (const void*, int, MPI_Datatype, int, int, void* recvbuf, int recvcount, MPI_Datatype recvtype,
      int source, int recvtag, MPI_Comm comm, MPI_Status* status)) {
  return PMPI_Recv(recvbuf, recvcount, recvtype, source, recvtag, comm, status);
}
STUB(int, MPI_Isend, (const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request* request)) {
  *request = requests().add(Request{});
  return MPI_SUCCESS;
}
STUB(int, MPI_Irecv,
     (void*, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
      MPI_Request* request)) {
  Ranks members;
  if (!members_of(comm, &members)) return kErrorComm;
  *request = requests().add(Request{true, false, arrived(count, datatype, source, tag, members)});
  return MPI_SUCCESS;
}
STUB(int, MPI_Iprobe, (int, int, MPI_Comm, int* flag, MPI_Status*)) {
  *flag = 0;
  return MPI_SUCCESS;
}

STUB(int, MPI_Wait, (MPI_Request * request, MPI_Status* status)) {
  return complete(request, status);
}
STUB(int, MPI_Test, (MPI_Request * handle, int* flag, MPI_Status* status)) {
  Request request;
  *flag = 0;
  if (*handle != MPI_REQUEST_NULL) {
    if (!requests().find(*handle, &request)) return kErrorRequest;
    if (!request.tested) {
      request.tested = true;
      requests().replace(*handle, request);
      return MPI_SUCCESS;
    }
  }
  *flag = 1;
  return complete(handle, status);
}
STUB(int, MPI_Waitall, (int count, MPI_Request* handles, MPI_Status* statuses)) {
  for (int i = 0; i < count; ++i) {
    if (const int error = complete(handles + i, element(statuses, i))) return error;
  }
  return MPI_SUCCESS;
}
STUB(int, MPI_Waitany, (int count, MPI_Request* handles, int* index, MPI_Status* status)) {
  for (int i = count - 1; i >= 0; --i) {
    if (handles[i] == MPI_REQUEST_NULL) continue;
    *index = i;
    return complete(handles + i, status);
  }
  *index = kUndefined;
  return MPI_SUCCESS;
}
// Every second one of those that are left.
STUB(int, MPI_Waitsome,
     (int count, MPI_Request* handles, int* completed, int* indices, MPI_Status* statuses)) {
  int seen = 0, done = 0;
  for (int i = 0; i < count; ++i) {
    if (handles[i] == MPI_REQUEST_NULL || seen++ % 2 != 0) continue;
    if (const int error = complete(handles + i, element(statuses, done))) return error;
    indices[done++] = i;
  }
  *completed = seen == 0 ? kUndefined : done;
  return MPI_SUCCESS;
}

STUB(int, MPI_Barrier, (MPI_Comm)) { return MPI_SUCCESS; }
STUB(int, MPI_Bcast, (void*, int, MPI_Datatype, int, MPI_Comm)) { return MPI_SUCCESS; }
STUB(int, MPI_Reduce, (const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm)) {
  return MPI_SUCCESS;
}
// By public names, as some layers of real MPIs do.
STUB(int, MPI_Allreduce,
     (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
      MPI_Comm comm)) {
  const int error = MPI_Reduce(sendbuf, recvbuf, count, datatype, op, 0, comm);
  return error != MPI_SUCCESS ? error : MPI_Bcast(recvbuf, count, datatype, 0, comm);
}

STUB(int, MPI_Comm_rank, (MPI_Comm, int* rank)) {
  *rank = 0;
  return MPI_SUCCESS;
}
STUB(int, MPI_Comm_size, (MPI_Comm comm, int* size)) {
  Ranks members;
  if (!members_of(comm, &members)) return kErrorComm;
  *size = static_cast<int>(members.size());
  return MPI_SUCCESS;
}
STUB(int, MPI_Comm_test_inter, (MPI_Comm, int* flag)) {
  *flag = 0;
  return MPI_SUCCESS;
}
STUB(int, MPI_Topo_test, (MPI_Comm, int* topology)) {
  *topology = kUndefined;
  return MPI_SUCCESS;
}
STUB(int, MPI_Comm_dup, (MPI_Comm comm, MPI_Comm* made)) {
  Ranks members;
  if (!members_of(comm, &members)) return kErrorComm;
  *made = comms().add(std::move(members));
  return MPI_SUCCESS;
}
STUB(int, MPI_Comm_split, (MPI_Comm comm, int color, int, MPI_Comm* made)) {
  Ranks members;
  if (!members_of(comm, &members) || color < 0) return kErrorComm;
  if (static_cast<std::size_t>(color) + 1 >= members.size()) return kErrorComm;
  *made = comms().add(Ranks{members[0], members[static_cast<std::size_t>(color) + 1]});
  return MPI_SUCCESS;
}
STUB(int, MPI_Comm_free, (MPI_Comm * comm)) {
  if (!comms().remove(*comm)) return kErrorComm;
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

extern "C" {
void (*stub_group_callback)() = nullptr;
}
STUB(int, MPI_Comm_group, (MPI_Comm comm, MPI_Group* group)) {
  if (stub_group_callback != nullptr) stub_group_callback();
  Ranks members;
  if (!members_of(comm, &members)) return kErrorComm;
  *group = groups().add(std::move(members));
  return MPI_SUCCESS;
}
STUB(int, MPI_Group_size, (MPI_Group group, int* size)) {
  Ranks members;
  if (!groups().find(group, &members)) return kErrorComm;
  *size = static_cast<int>(members.size());
  return MPI_SUCCESS;
}
STUB(int, MPI_Group_translate_ranks,
     (MPI_Group from, int count, const int* ranks, MPI_Group to, int* into)) {
  Ranks from_members, to_members;
  if (!groups().find(from, &from_members) || !groups().find(to, &to_members)) return kErrorComm;
  for (int i = 0; i < count; ++i) {
    const int wanted = from_members.at(static_cast<std::size_t>(ranks[i]));
    const auto at = std::find(to_members.begin(), to_members.end(), wanted);
    into[i] = at == to_members.end() ? kUndefined : static_cast<int>(at - to_members.begin());
  }
  return MPI_SUCCESS;
}
STUB(int, MPI_Group_free, (MPI_Group * group)) {
  groups().remove(*group);
  *group = 0;
  return MPI_SUCCESS;
}
