#include <elf.h>
#include <link.h>
#include <string.h>

#include <atomic>

#include "capture/core/definition_writer_internal.h"
#include "capture/core/mappings_internal.h"

namespace xylem::capture {
namespace {

std::uint64_t read_digits(const char*& at, unsigned base) {
  std::uint64_t number = 0;
  for (;; ++at) {
    const char c = *at;
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                                                  : base;
    if (digit >= base) return number;
    number = number * base + digit;
  }
}

void skip_spaces(const char*& at) {
  while (*at == ' ') ++at;
}
void skip_word(const char*& at) {
  while (*at != ' ' && *at != 0) ++at;
  skip_spaces(at);
}

// Looks for the build id in a part of loaded memory that has notes.
void read_build_id(const unsigned char* at, std::size_t bytes, MappedFile& into) {
  const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  ElfW(Nhdr) note;
  while (bytes >= sizeof note) {
    memcpy(&note, at, sizeof note);
    const std::size_t name = padded(note.n_namesz);
    const std::size_t all = sizeof note + name + padded(note.n_descsz);
    if (all > bytes) return;
    const bool is_build_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                             memcmp(at + sizeof note, "GNU", 4) == 0;
    if (is_build_id && note.n_descsz <= kMaxBuildIdBytes) {
      memcpy(into.build_id, at + sizeof note + name, note.n_descsz);
      into.build_id_bytes = note.n_descsz;
      return;
    }
    at += all;
    bytes -= all;
  }
}

// Unusual programs have notes in their file that are not loaded.
bool is_loaded(const dl_phdr_info& info, const ElfW(Phdr) & wanted) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && part.p_vaddr <= wanted.p_vaddr &&
        wanted.p_vaddr - part.p_vaddr <= part.p_filesz &&
        wanted.p_memsz <= part.p_filesz - (wanted.p_vaddr - part.p_vaddr)) {
      return true;
    }
  }
  return false;
}

// The loader knows the program without its name, and other files perhaps by a relative one.
const char* absolute_path(const char* name, std::uintptr_t address,
                          Text<kMaxDefinitionBytes>& line) {
  if (name != nullptr && name[0] == '/') return name;
  MappedRange found;
  any_mapping(line, [&](const MappedRange& range) {
    if (!range.holds(address)) return false;
    found = range;
    return true;
  });
  return found.path;
}

int define_object(dl_phdr_info* info, std::size_t, void*) {
  static Text<kMaxDefinitionBytes> line;  // A thread of the application may have a small stack.
  MappedFile file{};
  file.base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type == PT_NOTE && file.build_id_bytes == 0 && is_loaded(*info, part)) {
      read_build_id(reinterpret_cast<const unsigned char*>(info->dlpi_addr + part.p_vaddr),
                    part.p_memsz, file);
    }
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    file.begin = info->dlpi_addr + part.p_vaddr;
    file.end = file.begin + part.p_memsz;
    const char* const path = absolute_path(info->dlpi_name, file.begin, line);
    if (path[0] == '/') definitions.mapped_file(file, path);
  }
  return 0;
}

}  // namespace

MappedRange parse_mapping(const char* line) noexcept {
  constexpr unsigned kHexadecimal = 16;
  MappedRange range;
  range.begin = read_digits(line, kHexadecimal);
  if (*line == '-') ++line;
  range.end = read_digits(line, kHexadecimal);
  skip_spaces(line);
  skip_word(line);  // Permissions.
  skip_word(line);  // Offset.
  range.device = read_digits(line, kHexadecimal) << 32;
  if (*line == ':') ++line;
  range.device |= read_digits(line, kHexadecimal);
  skip_spaces(line);
  range.inode = read_digits(line, 10);
  skip_spaces(line);
  range.path = line;
  return range;
}

void define_mapped_files() noexcept {
  static std::atomic<bool> is_busy;
  if (is_busy.exchange(true)) return;
  const int before = errno;
  dl_iterate_phdr(&define_object, nullptr);
  errno = before;
  is_busy.store(false);
}

}  // namespace xylem::capture
