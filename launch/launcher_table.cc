#include "launch/launcher_table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "launch/elf_symbols.h"

namespace xylem::launch {
namespace {

constexpr const char* kTable = "MPIR_proctable";
constexpr const char* kSize = "MPIR_proctable_size";
constexpr const char* kSlurmJob = "totalview_jobid";
constexpr const char* kSlurmStep = "totalview_stepid";
constexpr off_t kLargestFile = 1 << 30;
constexpr std::size_t kMaxFiles = 1000;

// The layout that the debuggers' interface defines for 64 bits.
struct Descriptor {
  std::uint64_t host;
  std::uint64_t program;
  std::int32_t pid;
  std::int32_t padding;
};
static_assert(sizeof(Descriptor) == 24);

struct MappedFile {
  std::uint64_t begin = 0;  // Where its first byte is.
  std::string path;
};

// Reads lines like "7f00-7f10 r--p 00000000 fe:01 123 /usr/lib/libx.so". Returns the files that are
// mapped from their first byte.
std::vector<MappedFile> mapped_files(const std::string& process) {
  std::vector<MappedFile> files;
  std::ifstream lines(process + "/maps");
  for (std::string line; files.size() < kMaxFiles && std::getline(lines, line);) {
    const auto slash = line.find('/');
    const auto mode = line.find(' ');
    const auto offset = mode == std::string_view::npos ? mode : line.find(' ', mode + 1);
    if (slash == std::string_view::npos || offset == std::string_view::npos) continue;
    if (line.compare(offset + 1, 9, "00000000 ") != 0) continue;
    MappedFile file;
    std::from_chars(line.data(), line.data() + mode, file.begin, 16);
    file.path = line.substr(slash);
    files.push_back(std::move(file));
  }
  return files;
}

std::optional<std::vector<std::byte>> read_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  if (found.st_size > kLargestFile) return std::nullopt;
  std::vector<std::byte> bytes(static_cast<std::size_t>(found.st_size));
  const ssize_t got = ::pread(fd.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

// Variables of the process, by name.
using Addresses = std::map<std::string, std::uint64_t>;

// The program comes first: if it has a copy of a library's variable, this copy is in use. Then come
// the libraries that are known to have the table, to save time, then all others.
std::vector<MappedFile> in_order(std::vector<MappedFile> files) {
  const auto is_likely = [](const MappedFile& file) {
    return file.path.find("libopen-rte") != std::string::npos ||
           file.path.find("libprrte") != std::string::npos;
  };
  if (files.size() > 1) std::stable_partition(files.begin() + 1, files.end(), is_likely);
  return files;
}

Addresses find_table(const std::string& process) {
  for (const MappedFile& file : in_order(mapped_files(process))) {
    const auto bytes = read_file(process + "/root" + file.path);
    if (!bytes) continue;
    auto symbols = find_symbols(*bytes, {kTable, kSize, kSlurmJob, kSlurmStep});
    if (!symbols || !symbols->address.contains(kTable) || !symbols->address.contains(kSize)) {
      continue;
    }
    Addresses found;
    for (const auto& [name, address] : symbols->address) {
      found[name] = file.begin + address - symbols->first;
    }
    return found;
  }
  return {};
}

// The memory of another process. A read returns the contents of a moment ago, or fails.
class Memory {
 public:
  explicit Memory(const std::string& process)
      : fd_(::open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC)) {}

  bool is_open() const { return static_cast<bool>(fd_); }

  template <typename T>
  std::optional<T> read(std::uint64_t address) const {
    T value;
    const ssize_t got = ::pread(fd_.get(), &value, sizeof value, static_cast<off_t>(address));
    return got == sizeof value ? std::optional(value) : std::nullopt;
  }

  // A text that ends with a zero within `most` bytes and holds nothing but printable characters.
  std::optional<std::string> text(std::uint64_t address, std::size_t max_size) const {
    std::string text;
    std::array<char, 256> piece;
    while (address != 0 && text.size() < max_size) {
      // Does not read across the end of a page, because the next page may not be mapped.
      const std::size_t room = std::min<std::size_t>(piece.size(), 4096 - address % 4096);
      const ssize_t got = ::pread(fd_.get(), piece.data(), room, static_cast<off_t>(address));
      if (got <= 0) return std::nullopt;
      for (const char c : std::string_view(piece.data(), static_cast<std::size_t>(got))) {
        if (c == 0) return text;
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
        text += c;
      }
      address += static_cast<std::uint64_t>(got);
    }
    return std::nullopt;
  }

 private:
  UniqueFd fd_;
};

std::string number_at(const Memory& memory, const Addresses& addresses, const char* name) {
  const auto at = addresses.find(name);
  const auto pointer =
      at == addresses.end() ? std::nullopt : memory.read<std::uint64_t>(at->second);
  const auto text = pointer ? memory.text(*pointer, kLongestHostName) : std::nullopt;
  const bool is_number =
      text && !text->empty() && text->find_first_not_of("0123456789") == std::string::npos;
  return is_number ? *text : "";
}

Result<LauncherTable> read_table(const Memory& memory, const Addresses& addresses,
                                 const std::string& who) {
  const auto wrong = [&who] {
    return unexpected(Code::kCorrupt, "the table of ranks in " + who +
                                          " is none: it changes at this moment, or is of another "
                                          "kind; try again, or name the hosts (--hosts)");
  };
  LauncherTable table;
  table.slurm_job = number_at(memory, addresses, kSlurmJob);
  table.slurm_step = number_at(memory, addresses, kSlurmStep);
  const auto size = memory.read<std::int32_t>(addresses.at(kSize));
  const auto begin = memory.read<std::uint64_t>(addresses.at(kTable));
  if (!size || !begin || *size < 0 || static_cast<std::uint32_t>(*size) > kMaxLauncherRanks) {
    return wrong();
  }
  if (*begin == 0) return table;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(*size); ++i) {
    const auto entry = memory.read<Descriptor>(*begin + i * sizeof(Descriptor));
    if (!entry) return wrong();
    auto host = memory.text(entry->host, kLongestHostName);
    auto program = memory.text(entry->program, kLongestProgramName);
    if (!host || host->empty() || entry->pid <= 0) return wrong();
    table.ranks.push_back(
        {*std::move(host), program.value_or(""), static_cast<std::uint32_t>(entry->pid)});
  }
  return table;
}

}  // namespace

Result<LauncherTable> read_launcher_table(std::uint32_t pid) {
  const std::string who = "process " + std::to_string(pid);
  const std::string process = "/proc/" + std::to_string(pid);
  if (::access(process.c_str(), F_OK) != 0) {
    return unexpected(Code::kNotFound, "there is no " + who + " on this host");
  }
  if (::access((process + "/maps").c_str(), R_OK) != 0 || !std::ifstream(process + "/maps")) {
    return unexpected(Code::kPermissionDenied,
                      who + " belongs to another user; you may attach to your own jobs only");
  }
  const Addresses addresses = find_table(process);
  if (addresses.empty()) {
    return unexpected(Code::kNotFound, who + " keeps no table of ranks (MPIR_proctable)");
  }
  const Memory memory(process);
  if (!memory.is_open()) {
    return unexpected(Code::kPermissionDenied,
                      "the memory of " + who + " may not be read: " + std::strerror(errno) +
                          " (another user's, or kernel.yama.ptrace_scope is not 0); name the hosts "
                          "instead (--hosts)");
  }
  return read_table(memory, addresses, who);
}

}  // namespace xylem::launch
