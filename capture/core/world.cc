#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/run_contract.h"
#include "capture/core/system_internal.h"
#include "capture/core/text_internal.h"
#include "capture/core/world_internal.h"

namespace xylem::capture {
namespace {

constexpr const char* kLaunchers[] = {"orterun",       "prterun", "mpiexec.hydra",
                                      "hydra_mpiexec", "mpiexec", "mpirun",
                                      "srun",          "jsrun",   "aprun"};
constexpr unsigned kDrawnBytes = 16;

// Two FNV-1a hashes with different start values: 128 bits, so two jobs of a run do not get the same
// key by chance.
class KeyHash {
 public:
  void add(const char* text) noexcept {
    for (; *text != 0; ++text) add_byte(static_cast<unsigned char>(*text));
    add_byte(0);
  }
  void write(std::uint8_t (&key)[kWorldKeyBytes]) const noexcept {
    static_assert(sizeof halves_ == kWorldKeyBytes);
    memcpy(key, halves_, sizeof halves_);
  }

 private:
  void add_byte(unsigned char byte) noexcept {
    for (std::uint64_t& half : halves_) half = (half ^ byte) * 0x100000001b3u;
  }
  std::uint64_t halves_[2] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};
};

bool add_variable(KeyHash& hash, const char* name) {
  const char* value = getenv(name);
  if (value == nullptr || *value == 0) return false;
  hash.add(value);
  return true;
}

bool read_variable(const char* name, std::uint32_t& number) {
  const char* text = getenv(name);
  return text != nullptr && read_number(&text, &number) && *text == 0;
}

// Reads the parent's process id from /proc/PID/stat. It is behind the program's name, which may
// contain any character.
std::uint32_t parent_of(std::uint32_t pid) {
  Text<64> path;
  path.add("/proc/").add_number(pid).add("/stat");
  char stat[1024];
  if (read_file(path.c_str(), stat, sizeof stat) == 0) return 0;
  const char* at = strrchr(stat, ')');
  std::uint32_t parent = 0;
  // ") S 123 ..."
  if (at == nullptr || strlen(at) < 5) return 0;
  at += 4;
  return read_number(&at, &parent) ? parent : 0;
}

// Adds the values of --control-port and --pgid of the Hydra proxy among this process's ancestors.
bool add_hydra_proxy(KeyHash& hash) {
  constexpr int kMaxAncestors = 16;
  auto pid = static_cast<std::uint32_t>(getppid());
  for (int i = 0; i < kMaxAncestors && pid > 1; ++i, pid = parent_of(pid)) {
    Text<64> path;
    path.add("/proc/").add_number(pid).add("/cmdline");
    char words[4096];
    const std::size_t length = read_file(path.c_str(), words, sizeof words);
    if (length == 0 || strstr(words, "hydra_pmi_proxy") == nullptr) continue;
    bool found = false;
    for (const char* at = words; at < words + length; at += strlen(at) + 1) {
      const char* value = at + strlen(at) + 1;
      if (value >= words + length) break;
      if (strcmp(at, "--control-port") != 0 && strcmp(at, "--pgid") != 0) continue;
      hash.add(value);
      found = true;
    }
    return found;
  }
  return false;
}

// Draws one key per process. A child of fork() is another process, so it gets its own key.
void draw(std::uint8_t (&key)[kWorldKeyBytes]) {
  static std::uint8_t drawn[kWorldKeyBytes];
  static pid_t drawn_by = 0;
  if (drawn_by != getpid()) fill_random(drawn, sizeof drawn);
  drawn_by = getpid();
  memcpy(key, drawn, sizeof drawn);
}

}  // namespace

LaunchPlace launch_place() noexcept {
  constexpr struct {
    const char* rank;
    const char* size;
  } kNames[] = {{"PMI_RANK", "PMI_SIZE"},  // Hydra and Slurm's PMI.
                {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                {"PMIX_RANK", "SLURM_NTASKS"},
                {"SLURM_PROCID", "SLURM_NTASKS"}};
  LaunchPlace place;
  for (const auto& names : kNames) {
    if (!read_variable(names.rank, place.rank)) continue;
    read_variable(names.size, place.size);
    return place;
  }
  return {};
}

void find_world_key(std::uint8_t (&key)[kWorldKeyBytes]) noexcept {
  KeyHash hash;
  const bool is_launched = launch_place().rank != kNoLaunchRank;
  const bool is_drawn = is_launched && add_variable(hash, kEnvWorld);
  const bool has_namespace = add_variable(hash, "PMIX_NAMESPACE");
  if (!is_launched && !has_namespace) return draw(key);
  if (is_drawn && getenv("PMI_SPAWNED") != nullptr) add_hydra_proxy(hash);
  if (!is_drawn && !has_namespace) {
    const bool is_step = add_variable(hash, "SLURM_JOB_ID") && add_variable(hash, "SLURM_STEP_ID");
    if (!is_step && !add_hydra_proxy(hash)) add_variable(hash, kEnvRun);
  }
  hash.write(key);
}

void read_program(const char* link, char (&path)[kPathBytes]) noexcept {
  const ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
}

bool is_launcher(const char* path) noexcept {
  const char* slash = strrchr(path, '/');
  if (slash == nullptr) return false;
  for (const char* name : kLaunchers) {
    if (strcmp(slash + 1, name) == 0) return true;
  }
  return false;
}

// A launcher may use another launcher to start its daemons on other hosts, for instance Hydra uses
// srun. The second launcher passes on the key that the first has drawn.
void draw_world_in_launcher() noexcept {
  char path[kPathBytes];
  read_program("/proc/self/exe", path);
  if (!is_launcher(path)) return;
  Text<64> parent;
  parent.add("/proc/").add_number(static_cast<std::uint32_t>(getppid())).add("/exe");
  read_program(parent.c_str(), path);
  if (getenv(kEnvWorld) != nullptr && is_launcher(path)) return;

  std::uint8_t drawn[kDrawnBytes];
  fill_random(drawn, sizeof drawn);
  Text<2 * kDrawnBytes + 1> digits;
  for (const std::uint8_t byte : drawn) {
    digits.add("0123456789abcdef"[byte >> 4]).add("0123456789abcdef"[byte & 15]);
  }
  setenv(kEnvWorld, digits.c_str(), 1);
}

}  // namespace xylem::capture
