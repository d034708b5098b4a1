#include "backend/agent/call_sites.h"

#include <algorithm>
#include <utility>

#include "backend/find/proc_table.h"
#include "base/fnv.h"
#include "base/printable_text.h"

namespace xylem::backend {
namespace {

CallSiteId id_of(const wire::CallSiteRow& row) {
  Fnv1a hash;
  if (row.build_id.empty()) {
    for (const char c : row.object) hash.add(static_cast<std::uint8_t>(c));
  }
  for (const std::byte byte : row.build_id) hash.add(static_cast<std::uint8_t>(byte));
  for (unsigned shift = 0; shift < 64; shift += 8) {
    hash.add(static_cast<std::uint8_t>(row.offset >> shift));
  }
  return CallSiteId{std::max<std::uint64_t>(hash.value(), 1)};
}

bool overlap(const MappedCode& a, const MappedCode& b) {
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace

void CallSites::add(MappedCode code) {
  const bool is_known = std::any_of(mapped_.begin(), mapped_.end(),
                                    [&](const Mapped& each) { return each.code == code; });
  if (is_known) return;
  if (std::erase_if(mapped_, [&](const Mapped& each) { return overlap(each.code, code); }) != 0) {
    // What is known of these addresses is no longer true.
    by_address_.clear();
    recent_.assign(kRecent, Known{});
  }
  mapped_.push_back({std::move(code), std::nullopt});
}

CallSites::Mapped* CallSites::mapped_at(std::uint64_t address) {
  const auto holds = [address](const Mapped& each) {
    return each.code.begin <= address && address < each.code.end;
  };
  auto found = std::find_if(mapped_.begin(), mapped_.end(), holds);
  if (found == mapped_.end() && may_look_) {
    may_look_ = false;
    for (MappedCode& code : read_mapped_code(pid_, start_time_)) add(std::move(code));
    found = std::find_if(mapped_.begin(), mapped_.end(), holds);
  }
  return found == mapped_.end() ? nullptr : &*found;
}

CallSiteId CallSites::find(std::uint64_t return_address) {
  if (return_address == 0) return {};
  const auto known = by_address_.find(return_address);
  if (known != by_address_.end()) return known->second;
  if (by_address_.size() >= kMaxSites) return {};
  const CallSiteId site = make(return_address - 1);
  if (site != CallSiteId{}) by_address_.emplace(return_address, site);
  return site;
}

// The path is that of the process, which may have another root folder.
ObjectFile CallSites::read(const std::string& path) const {
  if (start_time_of(pid_) == start_time_) {
    ObjectFile file = read_object_file("/proc/" + std::to_string(pid_) + "/root" + path);
    if (!file.parts.empty()) return file;
  }
  return read_object_file(path);
}

CallSiteId CallSites::make(std::uint64_t call_address) {
  Mapped* const mapped = mapped_at(call_address);
  if (mapped == nullptr) return {};
  if (!mapped->file) mapped->file = read(mapped->code.path);
  wire::CallSiteRow row;
  row.object = printable(mapped->code.path);
  row.build_id = mapped->file->build_id;
  row.offset = mapped->file->address_of(call_address - mapped->code.begin + mapped->code.offset);
  row.site = id_of(row);
  found_.push_back(row);
  return row.site;
}

}  // namespace xylem::backend
