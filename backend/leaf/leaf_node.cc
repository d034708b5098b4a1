#include "backend/leaf/leaf_node.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "filters/stream_filter.h"
#include "wire/tombstone.h"
#include "wire/waves.h"

namespace xylem::backend {
namespace {

// Maximum number of gaps of a stream that are repeated. Older gaps are not repeated.
constexpr std::size_t kMaxGaps = 256;

// True for the request that a node sends to its subtree when it has lost its parent.
bool asks_for_everything(const wire::Message& message) {
  const auto* it = std::get_if<wire::Acknowledgement>(&message);
  return it != nullptr && std::any_of(it->resend.begin(), it->resend.end(), [](const auto& id) {
           return id.stream == wire::kEveryStream;
         });
}

// Returns the aggregation. Fails if this host cannot load the narrowing: nodes above narrow for
// this leaf, but a communication process may be started on this host later.
Result<std::shared_ptr<const filters::Aggregation>> filters_of(const wire::StreamSpec& spec) {
  auto aggregation = filters::aggregation_of(spec);
  if (!aggregation) return aggregation;
  if (const auto narrowing = filters::narrowing_of(spec); !narrowing) {
    return unexpected(narrowing.error());
  }
  return aggregation;
}

// A leaf that has put nothing for this time returns the journal's freed memory.
constexpr Nanos kQuiet = 1 * kSecond;

}  // namespace

LeafNode::LeafNode(LeafNodeOptions options, Journal& journal, ProcessStarter& starter,
                   LeafOwner& owner)
    : options_(std::move(options)),
      owner_(owner),
      journal_(journal),
      delivery_({.front_end = options_.front_end,
                 .role = options_.role,
                 .host_key = options_.host.host_key,
                 .report = [this] { return options_.host; },
                 .outbox = options_.outbox},
                journal),
      comm_processes_(starter) {}

void LeafNode::on_start(overlay::Network& network, Nanos now) {
  network_ = &network;
  delivery_.start(network, now);
  delivery_.connect(now);
  schedule(now);
}

void LeafNode::on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) {
  delivery_.on_link_up(link, peer, now);
  schedule(now);
}

void LeafNode::on_connect_failed(NodeId, const Error& why, Nanos now) {
  delivery_.on_connect_failed(why, now);
  // Asking again with the same key would not help.
  if (!joined_ && why.code == Code::kPermissionDenied) {
    key_refused_ = true;
    end(why.message);
  }
  schedule(now);
}

void LeafNode::on_link_down(overlay::LinkId link, const Error& why, Nanos now) {
  delivery_.on_link_down(link, why, now);
  schedule(now);
}

void LeafNode::on_message(overlay::LinkId, wire::Message message, Nanos now) {
  if (const auto* multicast = std::get_if<wire::Multicast>(&message)) {
    take_multicast(*multicast);
    return schedule(now);
  }
  if (const auto* order = std::get_if<wire::StartCommProcess>(&message)) {
    if (auto report = comm_processes_.start(*order, *network_)) {
      delivery_.send_up(*std::move(report));
    }
    return schedule(now);
  }
  switch (delivery_.on_message(message, now)) {
    case Delivery::News::kAcknowledged:
      if (asks_for_everything(message)) repeat_gaps();
      owner_.on_room();
      end_when_done(now);
      break;
    case Delivery::News::kControl:
    case Delivery::News::kPlace:
      take_control();
      end_when_done(now);
      break;
    case Delivery::News::kNotOurs:
    case Delivery::News::kNothing:
      break;
  }
  schedule(now);
}

// Streams list leaf ids, so they are handled only when this leaf has its id.
void LeafNode::take_control() {
  const auto& control = delivery_.control();
  if (delivery_.leaf() == wire::kNoLeaf || !control) return;
  const bool was_there = std::exchange(joined_, true);
  if (!was_there) owner_.on_joined(delivery_.leaf());
  if (control->version > streams_version_) {
    streams_version_ = control->version;
    std::map<StreamId, LeafStreamState> former = std::exchange(streams_, {});
    std::vector<LeafStreamState> open;
    for (const wire::StreamSpec& spec : control->streams) {
      if (!spec.leaves.empty() && !spec.leaves.contains(raw(delivery_.leaf()))) continue;
      auto known = former.find(spec.id);
      LeafStreamState state{spec, known == former.end() ? nullptr : known->second.aggregation};
      if (known == former.end()) {
        auto aggregation = filters_of(spec);
        if (!aggregation) {
          delivery_.send_up(wire::StreamRefused{spec.id, delivery_.node(), options_.host.name,
                                                std::move(aggregation.error().message)});
          continue;
        }
        state.aggregation = *std::move(aggregation);
        // Multicasts that were sent before this leaf joined are not for it.
        if (was_there) last_multicast_.try_emplace(spec.id, 0);
      }
      open.push_back(streams_.emplace(spec.id, std::move(state)).first->second);
    }
    const auto is_closed = [this](const auto& entry) { return !streams_.contains(entry.first); };
    std::erase_if(last_multicast_, is_closed);
    std::erase_if(gaps_, is_closed);
    owner_.on_streams(std::move(open));
  }
  delivery_.send_up(wire::StreamsTaken{streams_version_});
  if (control->finish && !std::exchange(finish_told_, true)) owner_.on_finish();
}

void LeafNode::take_multicast(const wire::Multicast& multicast) {
  const auto stream = streams_.find(multicast.stream);
  if (stream == streams_.end()) return;
  if (!multicast.leaves.empty() && !multicast.leaves.contains(raw(delivery_.leaf()))) return;
  const auto [last, is_first] = last_multicast_.try_emplace(multicast.stream, multicast.number);
  if (!is_first) {
    if (multicast.number <= last->second) return;
    if (multicast.number > last->second + 1) {
      miss(multicast.stream, last->second + 1, multicast.number);
    }
    last->second = multicast.number;
  }
  // An older node without shares also sends the whole multicast.
  const bool is_whole = multicast.share == wire::MulticastShare::kWhole;
  const bool is_ours = multicast.to.empty() || multicast.to.contains(raw(delivery_.leaf()));
  if (multicast.share == wire::MulticastShare::kNothing || !is_ours) return;
  const bool is_uncut = is_whole && !stream->second.spec.narrowing.empty();
  if (is_uncut || multicast.share == wire::MulticastShare::kFailed) {
    return miss(multicast.stream, multicast.number, multicast.number + 1);
  }
  auto fields = wire::decode_fields(multicast.payload);
  if (!fields) {
    log(Level::kWarn, "a multicast cannot be read", {{"why", fields.error().message}});
  } else if (!owner_.on_multicast(multicast.stream, multicast.number, *std::move(fields))) {
    miss(multicast.stream, multicast.number, multicast.number + 1);
  }
}

void LeafNode::miss(StreamId stream, std::uint64_t first, std::uint64_t end) {
  IntervalSet& gaps = gaps_[stream];
  gaps.insert(first, end);
  if (gaps.intervals().size() > kMaxGaps) {
    const auto oldest = gaps.intervals().front();
    gaps.erase(oldest.first, oldest.end);
  }
  delivery_.send_up(wire::MulticastGap{stream, delivery_.leaf(), first, end});
}

// A node that dies may not have forwarded the reports of gaps.
void LeafNode::repeat_gaps() {
  for (const auto& [stream, gaps] : gaps_) {
    for (const auto& gap : gaps.intervals()) {
      delivery_.send_up(wire::MulticastGap{stream, delivery_.leaf(), gap.first, gap.end});
    }
  }
}

bool LeafNode::put(StreamId stream, std::uint64_t first, std::span<const wire::Fields> waves,
                   Nanos now) {
  Draft draft;
  draft.packet.id = id_of(stream, first, first + waves.size());
  draft.packet.payload = wire::encode_waves(waves);
  draft.calls = waves.size();
  return put(std::move(draft), now);
}

bool LeafNode::put_lost(StreamId stream, std::uint64_t first, std::uint64_t end, Nanos now) {
  Draft draft;
  draft.packet.id = id_of(stream, first, end);
  draft.packet.tombstone = true;
  draft.packet.payload = wire::encode(wire::Tombstone{"the leaf's journal was full", end - first});
  draft.calls = end - first;
  return put(std::move(draft), now);
}

bool LeafNode::put_account(std::uint64_t number, const wire::Fields& account, bool is_last,
                           Nanos now) {
  Draft draft;
  draft.packet.id = id_of(wire::kStreamAccountStream, number, number + 1);
  draft.packet.last = is_last;
  draft.packet.payload = wire::encode_waves({&account, 1});
  return put(std::move(draft), now);
}

wire::PacketId LeafNode::id_of(StreamId stream, std::uint64_t first, std::uint64_t end) const {
  wire::PacketId id;
  id.stream = stream;
  id.wave = first;
  id.wave_end = end;
  id.sources = IntervalSet::of(raw(delivery_.leaf()));
  return id;
}

bool LeafNode::put(Draft&& draft, Nanos now) {
  if (!journal_.append(draft)) return false;
  has_put_ = true;
  delivery_.add(std::move(draft.packet), now);
  schedule(now);
  return true;
}

void LeafNode::leave(Nanos deadline, Nanos now) {
  leave_by_ = std::max<Nanos>(1, deadline);
  end_when_done(now);
  if (network_ != nullptr) schedule(now);
}

void LeafNode::on_timer(Nanos now) {
  delivery_.on_timer(now);
  trim_when_quiet(now);
  end_when_done(now);
  schedule(now);
}

// This function is called with each report, that is, each second.
void LeafNode::trim_when_quiet(Nanos now) {
  if (now < next_look_) return;
  next_look_ = now + kQuiet;
  if (!std::exchange(has_put_, false)) journal_.trim();
}

void LeafNode::on_readable(int fd, Nanos) {
  if (auto report = comm_processes_.collect(fd, *network_)) delivery_.send_up(*std::move(report));
}

void LeafNode::end_when_done(Nanos now) {
  if (ended_ || network_ == nullptr) return;
  if (delivery_.uplink().orphan_for(now) > options_.orphan_limit) {
    end("the front end was not reached any more");
  } else if (leave_by_ != 0 && delivery_.is_done() && owner_.packets_to_put() == 0) {
    end("");
  } else if (leave_by_ != 0 && now >= leave_by_) {
    const std::size_t left = journal_.keys().size() + owner_.packets_to_put();
    end(std::to_string(left) + " packets were not acknowledged in time");
  }
}

void LeafNode::end(const std::string& why) {
  ended_ = true;
  delivery_.end(why.empty() ? "all is delivered" : why);
  network_->stop(why.empty() ? 0 : 1);
  owner_.on_closed(why);
}

void LeafNode::schedule(Nanos now) {
  if (ended_) return;
  if (delivery_.uplink().parent() != gaps_told_to_) {
    gaps_told_to_ = delivery_.uplink().parent();
    if (gaps_told_to_) repeat_gaps();
  }
  Nanos next = options_.orphan_limit > kForever - now ? kForever : now + options_.orphan_limit;
  if (const Nanos due = delivery_.next_due(); due != 0) next = std::min(next, due);
  if (leave_by_ != 0) next = std::min(next, leave_by_);
  network_->set_timer(std::max(next, now));
}

}  // namespace xylem::backend
