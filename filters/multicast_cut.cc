#include "filters/multicast_cut.h"

#include <utility>

#include "base/check.h"
#include "wire/message.h"
#include "wire/waves.h"

namespace xylem::filters {
namespace {

// Space in a frame for everything except the payload.
constexpr std::size_t kFrameHead = 1024;

}  // namespace

std::optional<wire::Multicast> MulticastCut::for_leaf(LeafId leaf) {
  CHECK(whole_.share == wire::MulticastShare::kWhole);
  if (!whole_.leaves.empty() && !whole_.leaves.contains(raw(leaf))) return std::nullopt;
  const bool narrows = !narrowing_ || *narrowing_ != nullptr;
  if (!narrows && whole_.to.empty()) return whole_;
  wire::Multicast share{whole_.stream, whole_.number, IntervalSet::of(raw(leaf)), {}};
  share.share = wire::MulticastShare::kNothing;
  if (!whole_.to.contains(raw(leaf))) return share;
  if (!narrows) {
    share.share = wire::MulticastShare::kPart;
    share.payload = whole_.payload;
    return share;
  }
  auto part = narrow(leaf);
  if (part && *part && (*part)->bytes() > wire::kMaxFrameBytes - kFrameHead) {
    part = unexpected(Code::kInvalidArgument, "the packet for one leaf has " +
                                                  std::to_string((*part)->bytes()) +
                                                  " bytes and is larger than a frame");
  }
  if (!part) {
    share.share = wire::MulticastShare::kFailed;
    failure_ = std::move(part.error());
  } else if (*part) {
    share.share = wire::MulticastShare::kPart;
    share.payload = wire::encode_fields(**part);
  }
  return share;
}

Result<std::optional<wire::Fields>> MulticastCut::narrow(LeafId leaf) {
  if (!narrowing_) return unexpected(narrowing_.error());
  if (!sent_) sent_.emplace(wire::decode_fields(whole_.payload));
  if (!*sent_) return unexpected(sent_->error());
  const Place place{leaf, static_cast<std::size_t>(whole_.to.count_below(raw(leaf))),
                    static_cast<std::size_t>(whole_.to.count())};
  return (*narrowing_)->narrow(place, **sent_);
}

}  // namespace xylem::filters
