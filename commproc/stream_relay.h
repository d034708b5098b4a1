#pragma once

// The streams of tools at an inner node: reduces waves on the way up, keeps recent multicasts, and
// cuts multicasts for leaves.

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

/// Pure: takes the time, the leaves and packets; returns the packets to send. Not thread-safe.
class StreamRelay {
 public:
  explicit StreamRelay(StreamRelayOptions options)
      : options_(std::move(options)), recent_(options_.recent) {}

  /// Sets the open streams. Waiting waves of a stream that is no longer open are returned by the
  /// next take_ready(). Returns the streams in which this node cannot take part: their packets are
  /// passed on unchanged.
  std::vector<wire::StreamRefused> open(const std::vector<wire::StreamSpec>& streams);

  /// Sets the leaves below that still send. A run's stream (from wire::kFirstStoredStream on) waits
  /// for those that have sent on it before, a tool's stream for all that take part.
  void set_expected(const IntervalSet& leaves);

  /// A packet from below, of any stream but the monitor's.
  void add(wire::Packet packet, Nanos now);
  /// The packets to send up now.
  std::vector<wire::Packet> take_ready(Nanos now);
  /// The next time at which a wave times out; a very late time if none waits.
  Nanos next_deadline() const;
  /// Releases everything that waits.
  std::vector<wire::Packet> flush();

  /// Keeps a multicast that goes down, dropping the oldest if necessary. False if it was sent down
  /// before and must not be sent again.
  bool keep(const wire::Multicast& multicast);
  /// The recent multicasts, for children that attach later.
  const overlay::RecentMulticasts& recent() const { return recent_; }
  /// Cuts a multicast for leaves that are our children; nothing if its stream is not open. Borrows
  /// the multicast; valid until the next open().
  std::optional<filters::MulticastCut> cut(const wire::Multicast& whole) const;
  /// The report for the front end that a share failed here; only for the first failure of each
  /// stream.
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
