#include "backend/agent/call_sites.h"

#include <algorithm>
#include <utility>

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

}  // namespace

CallSites::Range CallSites::overlapping(const MappedCode& code) {
  auto first = code_.upper_bound(code.begin);
  if (first != code_.begin() && std::prev(first)->second.end > code.begin) --first;
  return {first, code_.lower_bound(code.end)};
}

void CallSites::add(MappedCode code) {
  const Range old = overlapping(code);
  if (old.first != old.second) {
    if (std::next(old.first) == old.second && old.first->second == code) return;
    code_.erase(old.first, old.second);
    // What is known of these addresses is no longer true.
    by_address_.clear();
    recent_.assign(kRecent, Known{});
  }
  if (code_.size() < kMaxMapped) code_.emplace(code.begin, std::move(code));
}

void CallSites::begin_chunk(bool may_find) {
  ++chunk_;
  may_find_ = may_find;
}

const MappedCode* CallSites::code_at(std::uint64_t address) const {
  const auto after = code_.upper_bound(address);
  if (after == code_.begin()) return nullptr;
  const MappedCode& code = std::prev(after)->second;
  return address < code.end ? &code : nullptr;
}

// The process knows better what it has said itself: after exec() the maps are those of another
// program.
void CallSites::look(std::uint64_t address) {
  auto code = read_mapped_code(pid_, start_time_, address);
  if (!code) return;
  const Range old = overlapping(*code);
  if (old.first == old.second) add(*std::move(code));
}

CallSiteId CallSites::find(std::uint64_t return_address) {
  if (return_address == 0) return {};
  const auto known = by_address_.find(return_address);
  if (known != by_address_.end()) return known->second;
  if (!may_find_ || sites_ >= kMaxSites) return {};
  const std::uint64_t call_address = return_address - 1;
  const MappedCode* code = code_at(call_address);
  if (code == nullptr && chunk_ >= next_look_) {
    look(call_address);
    code = code_at(call_address);
    between_looks_ = code != nullptr ? 1 : std::min(2 * between_looks_, kMaxChunksBetweenLooks);
    next_look_ = chunk_ + between_looks_;
  }
  if (code == nullptr) return {};
  const CallSiteId site = make(*code, call_address);
  by_address_.emplace(return_address, site);
  return site;
}

CallSiteId CallSites::make(const MappedCode& code, std::uint64_t call_address) {
  wire::CallSiteRow row;
  row.object = printable(code.path).substr(0, kMaxPath);
  row.build_id = code.build_id;
  row.offset = call_address - code.base;
  row.site = id_of(row);
  ++sites_;
  found_.push_back(row);
  return row.site;
}

}  // namespace xylem::backend
