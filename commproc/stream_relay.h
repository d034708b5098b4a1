#pragma once

// The streams of tools at an inner node. It reduces waves on the way up, keeps recent multicasts,
// and cuts multicasts for leaves.

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

/// Does no I/O: it takes the time, the leaves and packets, and returns the packets to send. Not
/// thread-safe.
class StreamRelay {
 public:
  explicit StreamRelay(StreamRelayOptions options)
      : options_(std::move(options)), recent_(options_.recent) {}

  /// Sets the open streams. The next take_ready() returns the waiting waves of streams that are no
  /// longer open. Returns the streams in which this node cannot take part; it forwards their
  /// packets unchanged.
  std::vector<wire::StreamRefused> open(const std::vector<wire::StreamSpec>& streams);

  /// Sets the leaves below that still send. A run's stream (number from wire::kFirstStoredStream
  /// on) waits for the leaves that have sent on it before. A tool's stream waits for all leaves of
  /// the stream.
  void set_expected(const IntervalSet& leaves);

  /// Adds a packet from below. It may be of any stream except the monitor's own.
  void add(wire::Packet packet, Nanos now);
  /// The packets to send up now.
  std::vector<wire::Packet> take_ready(Nanos now);
  /// The next time at which a wave times out; a very late time if no wave waits.
  Nanos next_deadline() const;
  /// Returns everything that waits.
  std::vector<wire::Packet> flush();

  /// Keeps a multicast that is sent down now; drops the oldest if necessary. Returns false if it
  /// was sent down before and must not be sent again.
  bool keep(const wire::Multicast& multicast);
  /// The recent multicasts, for children that attach later.
  const overlay::RecentMulticasts& recent() const { return recent_; }
  /// Cuts a multicast for leaves that are our children; nullopt if its stream is not open. Borrows
  /// the multicast. Valid until the next open().
  std::optional<filters::MulticastCut> cut(const wire::Multicast& whole) const;
  /// Returns the report for the front end that a share failed here. Returns it only for the first
  /// failure of each stream.
  std::optional<wire::StreamRefused> narrowing_failed(StreamId stream, const Error& why);

 private:
  struct Stream {
    explicit Stream(wire::StreamSpec its) : spec(std::move(its)) {}
    wire::StreamSpec spec;
    std::optional<filters::StreamReducer> reducer;  // None: packets are forwarded unchanged.
    filters::NodeNarrowing narrowing{std::shared_ptr<const filters::Narrowing>()};
    bool failure_is_told = false;
    IntervalSet senders;  // For a run's stream: leaves that have sent on it.
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
