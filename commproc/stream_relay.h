#pragma once

// The streams of tools at an inner node: reduces what comes up, keeps a little of what went down,
// and cuts it for leaves.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "filters/multicast_cut.h"
#include "filters/stream_reducer.h"
#include "overlay/recent_multicasts.h"
#include "wire/message.h"
#include "wire/stream.h"

namespace xylem::commproc {

struct StreamRelayOptions {
  NodeId node{};
  std::string host;
  overlay::RecentOptions recent{};  ///< Multicasts for children that attach later.
};

/// Pure: told the time, the leaves and what comes; gives what is to be sent. Not thread-safe.
class StreamRelay {
 public:
  explicit StreamRelay(StreamRelayOptions options)
      : options_(std::move(options)), recent_(options_.recent) {}

  /// The streams that are open now. Whatever waits of one that is not any more is given out by the
  /// next take_ready(). Returns those in which this node cannot take part: their packets are passed
  /// on as they are.
  std::vector<wire::StreamRefused> open(const std::vector<wire::StreamSpec>& streams);

  /// The leaves below that still send. Of them a run's stream (from wire::kFirstStoredStream on)
  /// awaits those that have sent on it before, a tool's all that take part.
  void set_expected(const IntervalSet& leaves);

  /// A packet from below, of any stream but the monitor's.
  void add(wire::Packet packet, Nanos now);
  /// What is to be sent up now.
  std::vector<wire::Packet> take_ready(Nanos now);
  /// When a wave's time is up; a very late time when none waits.
  Nanos next_deadline() const;
  /// Everything that waits.
  std::vector<wire::Packet> flush();

  /// Keeps a multicast that goes down; the oldest make room for it. False when it need not go
  /// down: it did before.
  bool keep(const wire::Multicast& multicast);
  /// What went down, for children that attach later.
  const overlay::RecentMulticasts& recent() const { return recent_; }
  /// For leaves that are children of ours; nothing when its stream is not open. Borrows the
  /// multicast; valid until the next open().
  std::optional<filters::MulticastCut> cut(const wire::Multicast& whole) const;
  /// That a share failed here, for the front end: the first time in each stream.
  std::optional<wire::StreamRefused> narrowing_failed(StreamId stream, const Error& why);

 private:
  struct Stream {
    explicit Stream(wire::StreamSpec its) : spec(std::move(its)) {}
    wire::StreamSpec spec;
    std::optional<filters::StreamReducer> reducer;  // None: packets are passed on as they are.
    filters::NodeNarrowing narrowing{std::shared_ptr<const filters::Narrowing>()};
    bool failure_is_told = false;
    IntervalSet senders;  // Of a run's stream: leaves that have sent on it.
  };
  void note_senders(Stream& stream, const IntervalSet& sources) const;
  void expect(Stream& stream) const;
  wire::StreamRefused refusal(StreamId stream, std::string reason) const;

  StreamRelayOptions options_;
  IntervalSet expected_;
  std::map<StreamId, Stream> streams_;
  std::vector<wire::Packet> ready_;
  overlay::RecentMulticasts recent_;
};

}  // namespace xylem::commproc
