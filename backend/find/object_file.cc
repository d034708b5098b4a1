#include "backend/find/object_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>

#include "base/unique_fd.h"

namespace xylem::backend {
namespace {

constexpr std::size_t kMaxParts = 256;
constexpr std::size_t kMaxNoteBytes = 64u << 10;
constexpr std::size_t kMaxBuildIdBytes = 64;

struct EndElf {
  void operator()(Elf* elf) const noexcept { ::elf_end(elf); }
};

// A process may name any file, also one that is slow to open.
UniqueFd open_regular_file(const std::string& path, struct stat& found) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd && (::fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode))) fd = UniqueFd();
  return fd;
}

void read_notes(Elf* elf, const GElf_Phdr& part, std::vector<std::byte>& build_id) {
  if (part.p_filesz > kMaxNoteBytes) return;
  Elf_Data* const data =
      ::elf_getdata_rawchunk(elf, static_cast<std::int64_t>(part.p_offset), part.p_filesz,
                             part.p_align == sizeof(std::uint64_t) ? ELF_T_NHDR8 : ELF_T_NHDR);
  if (data == nullptr) return;
  GElf_Nhdr note{};
  std::size_t name = 0;
  std::size_t content = 0;
  for (std::size_t at = 0; (at = ::gelf_getnote(data, at, &note, &name, &content)) != 0;) {
    const auto* const bytes = static_cast<const std::byte*>(data->d_buf);
    constexpr std::string_view kOwner("GNU\0", 4);
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != kOwner.size()) continue;
    if (std::string_view(reinterpret_cast<const char*>(bytes + name), kOwner.size()) != kOwner)
      continue;
    if (note.n_descsz > kMaxBuildIdBytes) continue;
    build_id.assign(bytes + content, bytes + content + note.n_descsz);
    return;
  }
}

}  // namespace

std::optional<std::uint64_t> ObjectFile::address_of_page(std::uint64_t offset) const {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const Part& part : code) {
    const std::uint64_t begin = part.offset / kPage * kPage;
    if (offset >= begin && offset < part.offset + part.bytes)
      return part.address - part.offset + offset;
  }
  return std::nullopt;
}

ObjectFile read_object_file(const std::string& path) {
  ObjectFile file;
  static const bool kIsKnown = ::elf_version(EV_CURRENT) != EV_NONE;
  struct stat status {};
  const UniqueFd fd = open_regular_file(path, status);
  if (!kIsKnown || !fd) return file;
  // Without mapping the file: it may be truncated meanwhile.
  const std::unique_ptr<Elf, EndElf> elf(::elf_begin(fd.get(), ELF_C_READ, nullptr));
  std::size_t count = 0;
  if (!elf || ::elf_kind(elf.get()) != ELF_K_ELF || ::elf_getphdrnum(elf.get(), &count) != 0 ||
      count > kMaxParts) {
    return file;
  }
  file.inode = status.st_ino;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr part{};
    if (::gelf_getphdr(elf.get(), static_cast<int>(i), &part) == nullptr) continue;
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
      file.code.push_back({part.p_offset, part.p_filesz, part.p_vaddr});
    } else if (part.p_type == PT_NOTE && file.build_id.empty()) {
      read_notes(elf.get(), part, file.build_id);
    }
  }
  return file;
}

}  // namespace xylem::backend
