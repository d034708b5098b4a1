#include "capture/core/sampling.h"

#include "capture/core/text_internal.h"
#include "xylem_capture_functions.h"

namespace xylem::capture {
namespace {

// Functions that programs call in a busy loop, and functions that only ask their own process: for
// clocks, ranks, sizes, handles.
constexpr const char* kThinned[] = {"MPI_Iprobe",
                                    "MPI_Improbe",
                                    "MPI_Test",
                                    "MPI_Testall",
                                    "MPI_Testany",
                                    "MPI_Testsome",
                                    "MPI_Wtime",
                                    "MPI_Wtick",
                                    "MPI_Comm_rank",
                                    "MPI_Comm_size",
                                    "MPI_Comm_group",
                                    "MPI_Comm_compare",
                                    "MPI_Comm_get_attr",
                                    "MPI_Comm_test_inter",
                                    "MPI_Group_rank",
                                    "MPI_Group_size",
                                    "MPI_Type_size*",
                                    "MPI_Type_extent",
                                    "MPI_Type_get_extent*",
                                    "MPI_Type_get_true_extent*",
                                    "MPI_Get_count*",
                                    "MPI_Get_elements*",
                                    "MPI_Get_address",
                                    "MPI_Address",
                                    "MPI_Aint_*",
                                    "MPI_Status_*",
                                    "MPI_Initialized",
                                    "MPI_Finalized",
                                    "MPI_Query_thread",
                                    "MPI_Is_thread_main",
                                    "MPI_Test_cancelled",
                                    "MPI_Request_get_status",
                                    "MPI_Cart_rank",
                                    "MPI_Cart_coords",
                                    "MPI_Cart_shift",
                                    "MPI_Topo_test"};

void set_all(std::atomic<std::uint32_t>* every, std::uint32_t number) {
  for (std::uint32_t f = 0; f < kMaxFunctions; ++f)
    every[f].store(number, std::memory_order_relaxed);
}

std::size_t length_of(const char* text) {
  std::size_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

bool begins(const char* text, std::size_t length, const char* name) {
  for (std::size_t i = 0; i < length; ++i) {
    if (text[i] != name[i]) return false;
  }
  return true;
}

bool fits(const char* name, std::size_t length, const char* function) {
  const bool prefix = length > 0 && name[length - 1] == '*';
  return prefix ? begins(name, length - 1, function) : equals(name, length, function);
}

bool set_named(const char* name, std::size_t length, std::uint32_t number,
               std::atomic<std::uint32_t>* every) {
  bool found = false;
  for (std::uint32_t f = 0; f < kFunctionCount; ++f) {
    if (!fits(name, length, function_names[f])) continue;
    every[f].store(number, std::memory_order_relaxed);
    found = true;
  }
  return found;
}

// Applies one part of the setting, up to a comma or the end. Returns false if the part is invalid.
bool set_part(const char* part, std::atomic<std::uint32_t>* every) {
  const char* text = part;
  while (*text != 0 && *text != ',' && *text != '=') ++text;
  const auto length = static_cast<std::size_t>(text - part);
  if (*text == '=') {
    std::uint32_t number = 0;
    ++text;
    const bool is_number = read_number(&text, &number) && (*text == 0 || *text == ',');
    return is_number && number != 0 && number <= kMaxRecordCalls &&
           set_named(part, length, number, every);
  }
  if (!equals(part, length, "none")) return false;
  set_all(every, 1);
  return true;
}

}  // namespace

bool never_waits(std::uint16_t function) noexcept {
  for (const char* name : kThinned) {
    if (fits(name, length_of(name), function_names[function])) return true;
  }
  return false;
}

const char* set_sampling(const char* text, std::atomic<std::uint32_t>* every) noexcept {
  set_all(every, 1);
  for (std::uint16_t f = 0; f < kFunctionCount; ++f) {
    if (never_waits(f)) every[f].store(kDefaultSampling, std::memory_order_relaxed);
  }
  const char* wrong = nullptr;
  while (text != nullptr && *text != 0) {
    if (!set_part(text, every) && wrong == nullptr) wrong = text;
    while (*text != 0 && *text != ',') ++text;
    if (*text == ',') ++text;
  }
  return wrong;
}

}  // namespace xylem::capture
