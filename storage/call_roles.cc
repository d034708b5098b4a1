#include "storage/call_roles.h"

#include <algorithm>
#include <iterator>

namespace xylem::storage {
namespace {

struct NamedRole {
  std::string_view function;
  CallRole role;
};
constexpr NamedRole kRoles[] = {
    {"MPI_Irecv", CallRole::kPost},
    {"MPI_Imrecv", CallRole::kPost},
    {"MPI_Start", CallRole::kPost},
    {"MPI_Startall", CallRole::kPost},
    {"MPI_Request_free", CallRole::kFree},
    {"MPI_Send", CallRole::kBlockingSend},
    {"MPI_Ssend", CallRole::kBlockingSend},
    {"MPI_Rsend", CallRole::kBlockingSend},
    {"MPI_Recv", CallRole::kBlockingReceive},
    {"MPI_Mrecv", CallRole::kBlockingReceive},
    {"MPI_Sendrecv", CallRole::kSendReceive},
    {"MPI_Sendrecv_replace", CallRole::kSendReceive},
    {"MPI_Wait", CallRole::kWait},
    {"MPI_Waitall", CallRole::kWaitSeveral},
    {"MPI_Waitany", CallRole::kWaitSeveral},
    {"MPI_Waitsome", CallRole::kWaitSeveral},
    {"MPI_Probe", CallRole::kProbe},
    {"MPI_Mprobe", CallRole::kProbe},
    {"MPI_Barrier", CallRole::kSynchronising},
    {"MPI_Allreduce", CallRole::kSynchronising},
    {"MPI_Allgather", CallRole::kSynchronising},
    {"MPI_Allgatherv", CallRole::kSynchronising},
    {"MPI_Alltoall", CallRole::kSynchronising},
    {"MPI_Alltoallv", CallRole::kSynchronising},
    {"MPI_Alltoallw", CallRole::kSynchronising},
    {"MPI_Reduce_scatter", CallRole::kSynchronising},
    {"MPI_Reduce_scatter_block", CallRole::kSynchronising},
    {"MPI_Bcast", CallRole::kFromRoot},
    {"MPI_Scatter", CallRole::kFromRoot},
    {"MPI_Scatterv", CallRole::kFromRoot},
    {"MPI_Reduce", CallRole::kToRoot},
    {"MPI_Gather", CallRole::kToRoot},
    {"MPI_Gatherv", CallRole::kToRoot},
};

}  // namespace

CallRole role_of(std::string_view function, std::string_view function_class) {
  if (function.ends_with("_c")) function.remove_suffix(2);
  const auto* const known = std::ranges::find(kRoles, function, &NamedRole::function);
  if (known != std::end(kRoles)) return known->role;
  if (function_class != "collective") return CallRole::kOther;
  const bool blocks = !function.starts_with("MPI_I") && !function.ends_with("_init");
  return blocks ? CallRole::kNotAnalysed : CallRole::kOtherCollective;
}

}  // namespace xylem::storage
