#pragma once

// The times that the program xylem-calibrate measures, and the lines in which it reports them.
//
// A line is "xylem-calibrate: WORD VALUES". Launchers may put words before it, and other programs
// may print lines between. Times are whole nanoseconds.
//
//   library PATH             the MPI library
//   hosts NAME NAME          of rank 0 and rank 1
//   cores N                  of the host of rank 0
//   eager RETURNS WAITS      see EagerLimit
//   one BYTES NS             a round trip: one message and its answer
//   many BYTES NS            the same with kTrain messages before the answer
//   send BYTES NS            MPI_Send
//   receive BYTES NS         MPI_Recv of a message that has arrived
//   read BYTES NS            of a disk
//   write BYTES NS           of a disk
//   direct 0|1               whether these accesses passed by the kernel's cache
//   progress DONE ROUNDS
//   error SENTENCE           there will be no end
//   end

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem::predict {

/// How each line begins.
constexpr std::string_view kReportMark = "xylem-calibrate: ";

/// The number of messages behind `many`.
constexpr unsigned kTrain = 16;

/// Sends of up to `returns` bytes return without a receive, and sends of `waits` bytes wait for it.
/// `waits` is 0 if all sends that were tried returned.
struct EagerLimit {
  std::uint64_t returns = 0, waits = 0;
  bool operator==(const EagerLimit&) const = default;
};

/// For each number of bytes the times of all repetitions, in the order in which they were measured.
using Series = std::map<std::uint64_t, std::vector<double>>;

struct Samples {
  std::string library;
  std::array<std::string, 2> hosts;
  std::uint32_t cores = 1;
  EagerLimit eager;
  Series one, many, send, receive;  ///< ns
  Series read, write;               ///< ns. Empty without a disk.
  bool is_direct = false;

  bool is_one_host() const { return hosts[0] == hosts[1]; }
};

/// Collects the lines of one measurement. A value type.
class SampleReader {
 public:
  /// Reads a line, without its end. Returns false if the line is not one of the report: then it is
  /// something that another program said.
  ///
  /// Fails with kUnavailable and the program's sentence if the line reports an error. Fails with
  /// kCorrupt on a line with the mark that cannot be read, and if there are more than kMaxSamples.
  Result<bool> take(std::string_view line);

  bool has_ended() const { return has_ended_; }
  /// Of the rounds, in percent.
  unsigned progress() const { return progress_; }
  const Samples& samples() const { return samples_; }

  static constexpr std::size_t kMaxSamples = 10'000'000;

 private:
  Result<bool> take_words(std::string_view word, std::string_view values);

  Samples samples_;
  std::size_t count_ = 0;
  unsigned progress_ = 0;
  bool has_ended_ = false;
};

}  // namespace xylem::predict
