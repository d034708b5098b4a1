#include "capture/calibrate/mpi_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "capture/core/abi_internal.h"

namespace xylem::calibrate {
namespace {

using capture::Word;

bool has_variable(std::span<const char* const> environment, std::string_view prefix) {
  for (const char* it : environment) {
    if (std::string_view(it).starts_with(prefix)) return true;
  }
  return false;
}

std::vector<const char*> own_environment() {
  std::vector<const char*> variables;
  for (char** it = ::environ; it != nullptr && *it != nullptr; ++it) variables.push_back(*it);
  return variables;
}

std::string path_of(void* function) {
  Dl_info found{};
  return ::dladdr(function, &found) != 0 && found.dli_fname != nullptr ? found.dli_fname : "";
}

}  // namespace

// Handles are passed as words, as in the wrappers of the capture library: a callee that takes an
// int ignores the upper half of the register.
struct MpiLibrary::Functions {
  void* library = nullptr;
  std::string path;
  capture::Abi abi;
  int (*init)(int*, char***) = nullptr;
  int (*finalize)() = nullptr;
  int (*comm_rank)(Word, int*) = nullptr;
  int (*comm_size)(Word, int*) = nullptr;
  int (*send)(const void*, int, Word, int, int, Word) = nullptr;
  int (*receive)(void*, int, Word, int, int, Word, Word) = nullptr;
  int (*iprobe)(int, int, Word, int*, Word) = nullptr;
  int (*isend)(const void*, int, Word, int, int, Word, void*) = nullptr;
  int (*ireceive)(void*, int, Word, int, int, Word, void*) = nullptr;
  int (*wait_all)(int, void*, Word) = nullptr;
  alignas(Word) std::array<unsigned char, kMaxRequests * sizeof(Word)> requests{};

  template <typename Function>
  bool find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
  }
  bool find_all() {
    return find(init, "MPI_Init") && find(finalize, "MPI_Finalize") &&
           find(comm_rank, "MPI_Comm_rank") && find(comm_size, "MPI_Comm_size") &&
           find(send, "MPI_Send") && find(receive, "MPI_Recv") && find(iprobe, "MPI_Iprobe") &&
           find(isend, "MPI_Isend") && find(ireceive, "MPI_Irecv") && find(wait_all, "MPI_Waitall");
  }
  void* request(int index) {
    CHECK(index >= 0 && index < kMaxRequests);
    return requests.data() + static_cast<std::size_t>(index) * abi.handle_bytes;
  }
};

std::vector<std::string> library_names(std::span<const char* const> environment) {
  const bool is_open_mpi = has_variable(environment, "OMPI_COMM_WORLD_SIZE=");
  // Hydra and `srun --mpi=pmi2` set it. `srun --mpi=pmix` and Open MPI set PMIX_RANK.
  const bool is_mpich = !is_open_mpi && has_variable(environment, "PMI_RANK=");
  const std::vector<std::string> open_mpi = {"libmpi.so.40"},
                                 mpich = {"libmpich.so.12", "libmpi.so.12"};
  std::vector<std::string> names = is_mpich ? mpich : open_mpi;
  const std::vector<std::string>& others = is_mpich ? open_mpi : mpich;
  names.emplace_back("libmpi.so");
  if (!is_open_mpi && !is_mpich) names.insert(names.end(), others.begin(), others.end());
  return names;
}

Result<MpiLibrary> MpiLibrary::load(const std::string& name) {
  const std::vector<std::string> names =
      name.empty() ? library_names(own_environment()) : std::vector<std::string>{name};
  void* library = nullptr;
  std::string why;
  for (const std::string& it : names) {
    // Open MPI loads plugins that look for its functions in the global scope.
    library = ::dlopen(it.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library != nullptr) break;
    const char* reason = ::dlerror();
    why += (why.empty() ? "" : "; ") + std::string(reason != nullptr ? reason : it.c_str());
  }
  if (library == nullptr) {
    return unexpected(Code::kNotFound,
                      "no MPI library can be loaded (" + why +
                          "); name it with --mpi LIBRARY, for example the libmpi that `ldd` shows "
                          "for an MPI program");
  }
  auto functions = std::make_unique<Functions>();
  functions->library = library;
  if (!functions->find_all()) {
    return unexpected(Code::kInvalidArgument,
                      name + ": is not an MPI library; name it with --mpi LIBRARY");
  }
  functions->path = path_of(reinterpret_cast<void*>(functions->send));
  if (::dlsym(library, "MPI_Abi_get_version") != nullptr &&
      functions->path.find("mpi_abi") != std::string::npos) {
    return unexpected(Code::kInvalidArgument,
                      functions->path +
                          ": has the ABI of MPI 5, which is not supported; name the "
                          "MPICH or Open MPI library with --mpi LIBRARY");
  }
  functions->abi = capture::find_abi(library);
  return MpiLibrary(std::move(functions));
}

MpiLibrary::MpiLibrary(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
MpiLibrary::MpiLibrary(MpiLibrary&& other) noexcept = default;
// The library stays loaded: not every MPI library can be unloaded.
MpiLibrary::~MpiLibrary() = default;

const std::string& MpiLibrary::path() const { return functions_->path; }

void MpiLibrary::init() { functions_->init(nullptr, nullptr); }
void MpiLibrary::finalize() { functions_->finalize(); }

int MpiLibrary::rank() const {
  int rank = 0;
  functions_->comm_rank(functions_->abi.comm_world, &rank);
  return rank;
}

int MpiLibrary::size() const {
  int size = 0;
  functions_->comm_size(functions_->abi.comm_world, &size);
  return size;
}

void MpiLibrary::send(const void* from, std::size_t bytes, int to, int tag) const {
  const capture::Abi& abi = functions_->abi;
  functions_->send(from, static_cast<int>(bytes), abi.byte, to, tag, abi.comm_world);
}

void MpiLibrary::receive(void* into, std::size_t bytes, int from, int tag) const {
  const capture::Abi& abi = functions_->abi;
  functions_->receive(into, static_cast<int>(bytes), abi.byte, from, tag, abi.comm_world,
                      abi.status_ignore);
}

void MpiLibrary::progress(int unused_tag) const {
  const capture::Abi& abi = functions_->abi;
  int is_there = 0;
  functions_->iprobe(abi.any_source, unused_tag, abi.comm_world, &is_there, abi.status_ignore);
}

void MpiLibrary::start_send(const void* from, std::size_t bytes, int to, int tag, int index) {
  const capture::Abi& abi = functions_->abi;
  functions_->isend(from, static_cast<int>(bytes), abi.byte, to, tag, abi.comm_world,
                    functions_->request(index));
}

void MpiLibrary::start_receive(void* into, std::size_t bytes, int from, int tag, int index) {
  const capture::Abi& abi = functions_->abi;
  functions_->ireceive(into, static_cast<int>(bytes), abi.byte, from, tag, abi.comm_world,
                       functions_->request(index));
}

void MpiLibrary::wait_all(int count) {
  functions_->wait_all(count, functions_->request(0), functions_->abi.statuses_ignore);
}

}  // namespace xylem::calibrate
