#pragma once

// LogGPS: a network as six numbers. A message of s bytes occupies the sender's processor for
// o + (s-1)O and its NIC for g + (s-1)G. It arrives o + L after the send has started. The
// receiver's processor then takes o + max((s-1)O, (s-1)G), its NIC g + (s-1)G. Messages of more
// than S bytes wait for their receive (rendezvous).
//
// T. Hoefler, T. Schneider, A. Lumsdaine: LogGOPSim - simulating large-scale applications in the
// LogGOPS model, HPDC 2010.
//
// Time is counted in ticks, so that every sum is exact. A tick is the largest of 1 ns, 0.1 ns, ...,
// 0.000001 ns of which all parameters are whole multiples.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace xylem::predict {

/// A time as a whole number of femtoseconds, 10^-6 ns.
enum class Femtoseconds : std::uint64_t {};

/// Maximum value of a parameter: 1000 s.
constexpr Femtoseconds kMaxParameter{1'000'000'000'000'000'000};

/// Reads nanoseconds as a decimal number, for example "2500" or "0.18". Fails with kInvalidArgument
/// on anything else, on more than six digits after the point, and above kMaxParameter.
Result<Femtoseconds> parse_nanoseconds(std::string_view text);

/// The parameters. The names in parentheses are those of the literature.
struct LogGps {
  Femtoseconds latency{};            ///< Time on the wire (L).
  Femtoseconds overhead{};           ///< Processor time to start or take a message (o).
  Femtoseconds gap{};                ///< NIC time per message (g).
  Femtoseconds gap_per_byte{};       ///< NIC time per further byte (G).
  Femtoseconds overhead_per_byte{};  ///< Processor time per further byte (O).
  std::uint64_t eager_bytes = 0;     ///< Maximum size of a message that needs no receive (S).

  bool operator==(const LogGps&) const = default;
};

/// A time in units of LogGpsCosts.
using Ticks = std::uint64_t;

/// No clock of a replay may reach this time. Costs are limited to it, so sums of a time and a cost
/// do not overflow.
constexpr Ticks kMaxTicks = Ticks{1} << 62;

/// What a message costs, in ticks. A value type. A cost that would exceed kMaxTicks is kMaxTicks.
class LogGpsCosts {
 public:
  /// No parameter is above kMaxParameter. A tick also divides `others`, times of the same replay.
  explicit LogGpsCosts(const LogGps& parameters, std::span<const Femtoseconds> others = {});

  Ticks ticks_per_ns() const { return ticks_per_ns_; }
  /// A parameter, or one of the others, in ticks.
  Ticks ticks(Femtoseconds time) const;
  Ticks from_ns(std::uint64_t ns) const;
  /// Rounds to the nearest nanosecond, halves up.
  std::uint64_t to_ns(Ticks ticks) const { return (ticks + ticks_per_ns_ / 2) / ticks_per_ns_; }

  bool is_eager(std::uint64_t bytes) const { return bytes <= eager_bytes_; }
  /// From the start of a send until its message arrives.
  Ticks flight() const { return flight_; }
  Ticks overhead() const { return overhead_; }
  Ticks latency() const { return flight_ - overhead_; }
  Ticks send_cpu(std::uint64_t bytes) const { return cost(overhead_, overhead_per_byte_, bytes); }
  Ticks nic(std::uint64_t bytes) const { return cost(gap_, gap_per_byte_, bytes); }
  Ticks receive_cpu(std::uint64_t bytes) const { return cost(overhead_, receive_per_byte_, bytes); }

 private:
  static Ticks cost(Ticks first, Ticks per_byte, std::uint64_t bytes) {
    Ticks more = 0;
    const bool is_huge = __builtin_mul_overflow(bytes > 0 ? bytes - 1 : 0, per_byte, &more);
    return is_huge || more > kMaxTicks - first ? kMaxTicks : first + more;
  }

  Ticks ticks_per_ns_ = 1;
  Ticks flight_ = 0, overhead_ = 0, gap_ = 0, gap_per_byte_ = 0, overhead_per_byte_ = 0;
  Ticks receive_per_byte_ = 0;
  std::uint64_t eager_bytes_ = 0;
};

}  // namespace xylem::predict
