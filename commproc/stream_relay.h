#pragma once

// Handles the streams of tools and of runs at an inner node. It reduces waves on the way up, keeps
// recent multicasts, and cuts multicasts for leaves.

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

/// Does no I/O: the caller passes the time, the leaves and the packets, and gets the packets to
/// send. Not thread-safe.
class StreamRelay {
 public:
  explicit StreamRelay(StreamRelayOptions options)
      : options_(std::move(options)), recent_(options_.recent) {}

  /// Sets the open streams. The next take_ready() returns the waiting waves of streams that are no
  /// longer open. open() returns a refusal for each new stream whose aggregation or narrowing
  /// cannot be made here. Without the aggregation, the node forwards the packets of the stream
  /// unchanged. Without the narrowing, leaves directly below miss the stream's multicasts.
  std::vector<wire::StreamRefused> open(const std::vector<wire::StreamSpec>& streams);

  /// Sets the leaves below that still send. A stream of the run's configuration
  /// (wire::kFirstStoredStream) waits for those leaves that have already sent on this stream. Any
  /// other stream waits for all leaves of the stream.
  void set_expected(const IntervalSet& leaves);

  /// Adds a packet from below, of any stream except the monitor's own streams.
  void add(wire::Packet packet, Nanos now);
  /// Returns the packets to send up now.
  std::vector<wire::Packet> take_ready(Nanos now);
  /// Returns the next time at which a wave times out; the largest possible time if no wave waits.
  Nanos next_deadline() const;
  /// Returns all waiting waves as packets.
  std::vector<wire::Packet> flush();

  /// Keeps a multicast that is sent down now, and drops the oldest multicasts if necessary. Returns
  /// false if this multicast was sent down before; then it must not be sent again. If the stream is
  /// not open, keeps nothing and returns true.
  bool keep(const wire::Multicast& multicast);
  /// The recent multicasts, for children that attach later.
  const overlay::RecentMulticasts& recent() const { return recent_; }
  /// Returns an object that cuts a multicast for the leaves directly below this node; nullopt if
  /// the stream is not open. The object borrows `whole`, and is valid until the next open().
  std::optional<filters::MulticastCut> cut(const wire::Multicast& whole) const;
  /// Returns the report by which the front end learns that this node could not make a share.
  /// Returns nullopt if a share of the same stream has failed before.
  std::optional<wire::StreamRefused> narrowing_failed(StreamId stream, const Error& why);

 private:
  struct Stream {
    explicit Stream(wire::StreamSpec its) : spec(std::move(its)) {}
    wire::StreamSpec spec;
    std::optional<filters::StreamReducer> reducer;  // If empty, packets are forwarded unchanged.
    filters::NodeNarrowing narrowing{std::shared_ptr<const filters::Narrowing>()};
    bool failure_is_told = false;
    IntervalSet senders;  // Leaves that have sent on this stream; used for the run's streams.
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
