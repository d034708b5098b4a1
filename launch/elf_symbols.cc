#include "launch/elf_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace xylem::launch {
namespace {

Unexpected bad(const char* why) {
  return unexpected(Code::kCorrupt, std::string("not a readable ELF file: ") + why);
}

// A copy of what stands at `offset`; none beyond the end.
template <typename T>
std::optional<T> part_at(std::span<const std::byte> file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T part;
  std::memcpy(&part, file.data() + offset, sizeof part);
  return part;
}

std::optional<std::span<const std::byte>> range_at(std::span<const std::byte> file,
                                                   std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || file.size() - offset < size) return std::nullopt;
  return file.subspan(offset, size);
}

// Returns the text that begins at `at`; empty if it does not end within the table.
std::string_view text_at(std::span<const std::byte> table, std::uint64_t at) {
  if (at >= table.size()) return {};
  const char* begin = reinterpret_cast<const char*>(table.data()) + at;
  const void* end = std::memchr(begin, 0, table.size() - at);
  if (end == nullptr) return {};
  return {begin, static_cast<std::size_t>(static_cast<const char*>(end) - begin)};
}

Result<void> read_table(std::span<const std::byte> file, const Elf64_Ehdr& header,
                        const Elf64_Shdr& section, const std::vector<std::string_view>& names,
                        ElfSymbols& symbols) {
  if (section.sh_link >= header.e_shnum) return bad("symbols without names");
  const auto strings = part_at<Elf64_Shdr>(
      file, header.e_shoff + std::uint64_t{section.sh_link} * sizeof(Elf64_Shdr));
  const auto table = range_at(file, section.sh_offset, section.sh_size);
  if (!strings || !table) return bad("symbols beyond the end");
  const auto texts = range_at(file, strings->sh_offset, strings->sh_size);
  if (!texts) return bad("names beyond the end");
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = part_at<Elf64_Sym>(*table, at);
    if (!symbol || symbol->st_shndx == SHN_UNDEF || symbol->st_name == 0) continue;
    const std::string_view name = text_at(*texts, symbol->st_name);
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    symbols.address.emplace(name, symbol->st_value);
  }
  return {};
}

}  // namespace

Result<ElfSymbols> find_symbols(std::span<const std::byte> file,
                                const std::vector<std::string_view>& names) {
  const auto header = part_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return bad("no ELF header");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return bad("not of 64 bits, little end first");
  }
  const bool sizes =
      header->e_shentsize == sizeof(Elf64_Shdr) && header->e_phentsize == sizeof(Elf64_Phdr);
  if (!sizes || header->e_shoff > file.size() || header->e_phoff > file.size()) {
    return bad("its tables are nowhere");
  }
  ElfSymbols symbols;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = part_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return bad("its segments end early");
    if (segment->p_type != PT_LOAD || segment->p_offset != 0) continue;
    symbols.first = segment->p_vaddr;
    break;
  }
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = part_at<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return bad("its sections end early");
    if (section->sh_type != SHT_DYNSYM && section->sh_type != SHT_SYMTAB) continue;
    if (auto read = read_table(file, *header, *section, names, symbols); !read) {
      return unexpected(std::move(read.error()));
    }
  }
  return symbols;
}

}  // namespace xylem::launch
