// What attach reads of processes that are not its own: environments, command lines, maps, programs.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backend/find/launch_ids.h"
#include "backend/find/proc_table.h"
#include "backend/find/selection_text.h"
#include "base/check.h"
#include "launch/elf_symbols.h"
#include "launch/slurm.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto ids = backend::launch_ids(text)) {
    CHECK(ids->source != nullptr && ids->job.size() < 1024);
    // One rank alone is found, whatever else its environment says.
    backend::SeenProcess process;
    process.pid = process.parent = 7;
    process.ids = ids;
    backend::RankSelection selection;
    selection.is_named = true;
    const auto found = backend::find_ranks(std::span(&process, 1), selection);
    CHECK(found.size() == 1 && found.front().rank == ids->rank &&
          found.front().size >= raw(ids->rank));
  }
  CHECK(backend::control_port(text).size() <= size);
  CHECK(backend::mpi_library_in(text).size() <= size);
  if (const auto selection = backend::parse_selection({std::string(text)})) {
    const auto words = backend::to_words(*selection);
    const auto again = backend::parse_selection(words);
    CHECK(again && backend::to_words(*again) == words);
  }
  if (const auto step = launch::step_in("12", text)) {
    CHECK(step->nodes > 0 && step->hosts.find(' ') == std::string::npos && step->hosts[0] != '-');
  }
  const auto symbols =
      launch::find_symbols(std::as_bytes(std::span(bytes, size)), {"MPIR_proctable"});
  CHECK(!symbols || symbols->address.size() <= 1);
  return 0;
}
