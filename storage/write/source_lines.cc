#include "storage/write/source_lines.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include "base/unique_fd.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {
namespace {

struct EndDwfl {
  void operator()(Dwfl* session) const noexcept { ::dwfl_end(session); }
};

// libdw also reads compressed files, of any size.
bool is_elf(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  std::array<char, SELFMAG> head{};
  return ::read(fd.get(), head.data(), head.size()) == SELFMAG &&
         std::string_view(head.data(), head.size()) == ELFMAG;
}

struct Place {
  std::optional<std::string> function, file;
  std::optional<std::int64_t> line;
};

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// The demangler also takes codes of types: `f` would become `float`.
std::string demangled(const char* symbol) {
  if (!std::string_view(symbol).starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 && name ? name.get() : symbol;
}

/// The debugging information of one program or library, as if it was loaded at address 0.
class DebugFile {
 public:
  /// Returns false if the file is not ELF or cannot be read.
  bool open(const std::string& path) {
    if (!is_elf(path)) return false;
    session_.reset(::dwfl_begin(&kCallbacks));
    if (!session_) return false;
    ::dwfl_report_begin(session_.get());
    module_ = ::dwfl_report_elf(session_.get(), path.c_str(), path.c_str(), -1, 0, true);
    ::dwfl_report_end(session_.get(), nullptr, nullptr);
    return module_ != nullptr;
  }

  /// In hexadecimal digits; empty if there is none.
  std::string build_id() const {
    GElf_Addr bias = 0;
    if (::dwfl_module_getelf(module_, &bias) == nullptr) return {};
    const unsigned char* bytes = nullptr;
    GElf_Addr at = 0;
    const int size = ::dwfl_module_build_id(module_, &bytes, &at);
    return size > 0 ? hexadecimal(bytes, static_cast<std::size_t>(size)) : std::string();
  }

  Place place_of(std::uint64_t address) {
    Place place;
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = ::dwfl_module_addrdie(module_, address, &bias);
    if (unit == nullptr) unit = unit_by_ranges(address, bias);
    if (unit != nullptr) find_line(*unit, address - bias, place);
    if (unit != nullptr) place.function = function_in(*unit, address - bias);
    const char* const symbol = place.function ? nullptr : ::dwfl_module_addrname(module_, address);
    if (symbol != nullptr) place.function = demangled(symbol);
    return place;
  }

 private:
  /// A range of addresses of a unit, without the bias.
  struct Range {
    Dwarf_Addr begin = 0, end = 0;
    Dwarf_Die* unit = nullptr;
    Dwarf_Addr bias = 0;
  };

  /// clang writes no table of addresses (.debug_aranges), and libdw before 0.191 needs it.
  Dwarf_Die* unit_by_ranges(std::uint64_t address, Dwarf_Addr& bias) {
    if (!has_ranges_) read_ranges();
    const auto after = std::upper_bound(
        ranges_.begin(), ranges_.end(), address,
        [](std::uint64_t at, const Range& range) { return at < range.begin + range.bias; });
    if (after == ranges_.begin()) return nullptr;
    const Range& range = *std::prev(after);
    if (address >= range.end + range.bias) return nullptr;
    bias = range.bias;
    return range.unit;
  }

  void read_ranges() {
    has_ranges_ = true;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = nullptr;
         (unit = ::dwfl_module_nextcu(module_, unit, &bias)) != nullptr;) {
      Range range{0, 0, unit, bias};
      Dwarf_Addr base = 0;
      for (std::ptrdiff_t at = 0;
           (at = ::dwarf_ranges(unit, at, &base, &range.begin, &range.end)) > 0;) {
        ranges_.push_back(range);
      }
    }
    std::ranges::sort(ranges_, {}, [](const Range& range) { return range.begin + range.bias; });
  }

  static void find_line(Dwarf_Die& unit, Dwarf_Addr address, Place& place) {
    Dwarf_Line* const line = ::dwarf_getsrc_die(&unit, address);
    int number = 0;
    const char* const file = line == nullptr ? nullptr : ::dwarf_linesrc(line, nullptr, nullptr);
    if (file == nullptr || ::dwarf_lineno(line, &number) != 0 || number <= 0) return;
    place.file = file;
    place.line = number;
    Dwarf_Attribute memory;
    const char* const folder = ::dwarf_formstring(::dwarf_attr(&unit, DW_AT_comp_dir, &memory));
    if (file[0] != '/' && folder != nullptr) place.file = std::string(folder) + "/" + file;
  }

  /// The innermost function whose source has the call, also if it is inlined.
  static std::optional<std::string> function_in(Dwarf_Die& unit, Dwarf_Addr address) {
    // ::dwarf_getscopes does not find functions that are inlined from a module of Fortran.
    std::optional<std::string> name;
    std::optional<Dwarf_Die> within = unit;
    while (within) {
      within = part_with(*within, address, 0);
      if (!within || ::dwarf_tag(&*within) == DW_TAG_lexical_block) continue;
      if (const char* const known = name_of(*within)) name = demangled(known);
    }
    return name;
  }

  /// The function or block directly in `whole` that contains the address. Looks into types and
  /// modules.
  static std::optional<Dwarf_Die> part_with(Dwarf_Die& whole, Dwarf_Addr address, unsigned depth) {
    constexpr unsigned kMaxDepth = 64;
    Dwarf_Die part;
    if (depth > kMaxDepth || ::dwarf_child(&whole, &part) != 0) return std::nullopt;
    do {
      switch (::dwarf_tag(&part)) {
        case DW_TAG_subprogram:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_lexical_block:
          if (::dwarf_haspc(&part, address) > 0) return part;
          break;
        case DW_TAG_module:
        case DW_TAG_namespace:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
          if (const auto found = part_with(part, address, depth + 1)) return found;
          break;
        default:
          break;
      }
    } while (::dwarf_siblingof(&part, &part) == 0);
    return inner_procedure(whole, address, depth);
  }

  /// A procedure of Fortran that is inside another one, but not within its addresses.
  static std::optional<Dwarf_Die> inner_procedure(Dwarf_Die& whole, Dwarf_Addr address,
                                                  unsigned depth) {
    Dwarf_Die part;
    if (::dwarf_child(&whole, &part) != 0) return std::nullopt;
    do {
      if (::dwarf_tag(&part) != DW_TAG_subprogram) continue;
      if (const auto found = part_with(part, address, depth + 1)) return found;
    } while (::dwarf_siblingof(&part, &part) == 0);
    return std::nullopt;
  }

  /// The name for linkers, which has namespace and parameters, or the plain name.
  static const char* name_of(Dwarf_Die& die) {
    Dwarf_Attribute memory;
    for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
      Dwarf_Attribute* const name = ::dwarf_attr_integrate(&die, kind, &memory);
      if (name != nullptr) return ::dwarf_formstring(name);
    }
    return ::dwarf_diename(&die);
  }

  static constexpr Dwfl_Callbacks kCallbacks = {
      .find_elf = ::dwfl_build_id_find_elf,
      .find_debuginfo = ::dwfl_standard_find_debuginfo,
      .section_address = ::dwfl_offline_section_address,
      .debuginfo_path = nullptr,
  };

  std::unique_ptr<Dwfl, EndDwfl> session_;
  Dwfl_Module* module_ = nullptr;
  std::vector<Range> ranges_;
  bool has_ranges_ = false;
};

std::string changed(const std::string& path, const std::vector<PathChange>& changes) {
  for (const PathChange& change : changes) {
    if (path.starts_with(change.from)) return change.to + path.substr(change.from.size());
  }
  return path;
}

constexpr int kBusyMs = 5000;

struct Site {
  std::int64_t id = 0;
  std::uint64_t offset = 0;
};

/// A program or library, and its call sites without a line.
struct Object {
  std::string path, build_id;
  std::vector<Site> sites;
};

std::vector<Object> objects_to_read(Connection& file) {
  std::vector<Object> found;
  Statement rows(file,
                 "SELECT object, ifnull(build_id, ''), id, offset FROM callsite"
                 " WHERE line IS NULL ORDER BY 1, 2");
  for (bool more = rows.first(); more; more = rows.next()) {
    const std::string path = rows.text(0);
    const std::string build_id = rows.text(1);
    if (found.empty() || found.back().path != path || found.back().build_id != build_id)
      found.push_back({path, build_id, {}});
    found.back().sites.push_back({rows.integer(2), static_cast<std::uint64_t>(rows.integer(3))});
  }
  return found;
}

// Reads the debugging information first: a writer must not keep others waiting.
void resolve(Connection& file, const Object& object, DebugFile& debug) {
  std::vector<Place> places;
  for (const Site& site : object.sites) places.push_back(debug.place_of(site.offset));
  file.execute("BEGIN IMMEDIATE");
  Statement update(file,
                   "UPDATE callsite SET function = iif(?4 IS NULL, coalesce(function, ?2), ?2), "
                   "file = ?3, line = ?4"
                   " WHERE id = ?1");
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    update.run(object.sites[i].id, place.function, place.file, place.line);
  }
  file.execute("COMMIT");
}

}  // namespace

Result<ResolvedSites> resolve_call_sites(const std::string& run_file,
                                         const std::vector<PathChange>& changes) {
  Connection file;
  if (auto opened = file.open(run_file, SQLITE_OPEN_READWRITE, run_file); !opened)
    return unexpected(opened.error());
  sqlite3_busy_timeout(file.handle(), kBusyMs);
  ResolvedSites resolved;
  if (!has_row(file, "SELECT 1 FROM sqlite_schema WHERE name = 'callsite'")) {
    if (auto read = file.take(); !read) return unexpected(read.error());
    return resolved;
  }
  for (const Object& object : objects_to_read(file)) {
    DebugFile debug;
    if (!debug.open(changed(object.path, changes))) {
      resolved.unusable.emplace_back(object.path, "cannot be read");
    } else if (!object.build_id.empty() && debug.build_id() != object.build_id) {
      resolved.unusable.emplace_back(object.path, "has another build id");
    } else {
      resolve(file, object, debug);
    }
  }
  Statement counts(file, "SELECT count(*), count(line) FROM callsite");
  if (counts.first()) {
    resolved.sites = static_cast<std::size_t>(counts.integer(0));
    resolved.with_line = static_cast<std::size_t>(counts.integer(1));
  }
  counts.reset();
  if (auto done = file.take(); !done) return unexpected(done.error());
  return resolved;
}

}  // namespace xylem::storage
