#pragma once

// The interface of a source of samples for services.h. The samples describe the host or processes,
// or come from a program.

#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "overlay/node.h"
#include "wire/series.h"

namespace xylem::backend {

/// A sample that has no number yet.
struct Reading {
  Nanos at_ns = 0;    ///< Time of the sample, on this host's monotonic clock.
  Nanos span_ns = 0;  ///< Time since the previous successful reading; 0 in the first.
  std::vector<wire::SeriesEntry> entries;
};

/// Not thread-safe. Nothing blocks, except stop() of ExecSeries. Call begin() each time a sample is
/// due. Then call take() immediately, after each on_readable(), and at next_due(). Stop when take()
/// returns the reading. If a sample fails, take() never returns a reading for it.
class SeriesSource {
 public:
  virtual ~SeriesSource() = default;

  /// Starts a sample. If the previous sample is still running, it continues and the new sample is
  /// skipped.
  virtual void begin(overlay::Network& network, Nanos now) = 0;
  /// Returns the reading; nullopt if the reading is not ready or the sample has failed.
  virtual std::optional<Reading> take(overlay::Network& network, Nanos now) = 0;
  /// Names of the numbers in the last reading. The layout changes when the set of metrics changes.
  virtual const wire::SeriesLayout& layout() const = 0;

  /// Call it when a watched descriptor is readable. Returns false when the descriptor belongs to
  /// another object.
  virtual bool on_readable(overlay::Network&, int, Nanos) { return false; }
  /// When to call take() without an event; 0: not scheduled.
  virtual Nanos next_due() const { return 0; }
  /// Ends a running sample.
  virtual void stop(overlay::Network&) {}
};

/// Converts `entries` from the layout `from` to the layout `to`, by name. Metrics that are only in
/// `to` get unknown values; metrics that are only in `from` are left out.
std::vector<wire::SeriesEntry> under_names_of(const wire::SeriesLayout& to,
                                              const wire::SeriesLayout& from,
                                              const std::vector<wire::SeriesEntry>& entries);

/// Collects the numbers of a host or process in the order of a layout. Names are kept from one
/// readout to the next, so that a name usually costs only a comparison.
///
///   readout.begin(layout);
///   readout.counter("cpu", "0", ".user", "%", 1, ticks);
///   readout.end();  // `layout` has the names of this readout; it may have changed
///
/// If names change, counters with unchanged names still give their growth. Not thread-safe.
class Readout {
 public:
  void begin(wire::SeriesLayout& layout);
  /// Adds a number. Its name is the concatenation of the three parts.
  void gauge(std::string_view prefix, std::string_view label, std::string_view suffix,
             std::string_view unit, double scale, double number) {
    name(prefix, label, suffix, unit, scale, false);
    numbers_.push_back(number);
  }
  /// Adds the growth of a number since the previous readout. The growth is unknown in the first
  /// readout, and when the number has decreased.
  void counter(std::string_view prefix, std::string_view label, std::string_view suffix,
               std::string_view unit, double scale, double number);
  /// Repeats the names of `count` rows of the previous readout, from `first` on, with unknown
  /// values. Call it at the place of these rows in the layout.
  void unknown(std::size_t first, std::size_t count);
  void end();

  /// The number of rows so far.
  std::size_t size() const { return numbers_.size(); }
  std::vector<double>& numbers() { return numbers_; }

 private:
  void name(std::string_view prefix, std::string_view label, std::string_view suffix,
            std::string_view unit, double scale, bool per_second);
  void replace_rows();
  double count_before() const;

  wire::SeriesLayout* layout_ = nullptr;
  std::vector<double> numbers_;
  // Counter values by position: `before_` of the previous readout, `counted_` of this readout. NaN:
  // the number is not a counter.
  std::vector<double> before_, counted_;

  // A name may differ from the name in the previous readout. Then the previous rows from this
  // position on are saved in the following members.
  bool changed_ = false;
  std::size_t replaced_from_ = 0;
  std::vector<wire::MetricRow> replaced_;
  std::map<std::string, double, std::less<>> replaced_counts_;
};

}  // namespace xylem::backend
