#pragma once

// What a service measures with, as services.h sees it: the host's own numbers, those of processes,
// or a program.

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

/// A sample without its place in the run.
struct Reading {
  Nanos at_ns = 0;    ///< Monotonic, of this host.
  Nanos span_ns = 0;  ///< Since the reading before; 0 with the first.
  std::vector<wire::SeriesEntry> entries;
};

/// One thread. Nothing blocks. Order: begin() each time a sample is due, then take() at once and
/// whenever on_readable() or the time of next_due() has come, until it gives the reading or says
/// that there is none.
class SeriesSource {
 public:
  virtual ~SeriesSource() = default;

  /// A sample is due. Still busy with the one before: that one goes on, and this one is not taken.
  virtual void begin(overlay::Network& network, Nanos now) = 0;
  /// What has become of it; nullopt: nothing (yet).
  virtual std::optional<Reading> take(overlay::Network& network, Nanos now) = 0;
  /// Names of the numbers of the last reading. Changes when what is measured changes.
  virtual const wire::SeriesLayout& layout() const = 0;

  /// A watched descriptor; false when it is not of this source.
  virtual bool on_readable(overlay::Network&, int, Nanos) { return false; }
  /// When take() has something to do without being asked; 0: not before something happens.
  virtual Nanos next_due() const { return 0; }
  /// Ends what runs.
  virtual void stop(overlay::Network&) {}
};

/// `entries` of the layout `from` as those of the layout `to`, by name. What `from` has not is not
/// known, what `to` has not is left out.
std::vector<wire::SeriesEntry> under_names_of(const wire::SeriesLayout& to,
                                              const wire::SeriesLayout& from,
                                              const std::vector<wire::SeriesEntry>& entries);

/// Numbers of one subject, put in order by name; what they are called is kept from one readout to
/// the next, so that it costs a comparison.
///
///   readout.begin(layout);
///   readout.counter("cpu", "0", ".user", "%", 1, ticks);
///   readout.end();  // `layout` is what has been named, and may be another one than before
///
/// Where the names have changed, the counters that were there before still have their growth.
class Readout {
 public:
  void begin(wire::SeriesLayout& layout);
  /// As it is. Its name is the three parts together.
  void gauge(std::string_view prefix, std::string_view label, std::string_view suffix,
             std::string_view unit, double scale, double number) {
    name(prefix, label, suffix, unit, scale, false);
    numbers_.push_back(number);
  }
  /// Grows; becomes what it has grown by since the readout before. Not known in the first one, and
  /// after it has shrunk.
  void counter(std::string_view prefix, std::string_view label, std::string_view suffix,
               std::string_view unit, double scale, double number);
  /// Once more the `count` rows that stood from `first` on in the readout before, by name, of which
  /// nothing is known in this one. Between the rows before and behind them, as they were.
  void unknown(std::size_t first, std::size_t count);
  void end();

  /// So many rows so far.
  std::size_t size() const { return numbers_.size(); }
  std::vector<double>& numbers() { return numbers_; }

 private:
  void name(std::string_view prefix, std::string_view label, std::string_view suffix,
            std::string_view unit, double scale, bool per_second);
  void replace_rows();
  double count_before() const;

  wire::SeriesLayout* layout_ = nullptr;
  std::vector<double> numbers_;
  std::vector<double> before_, counted_;  // Counters by position; NaN: none.

  // Rows that other names have taken the places of, in this readout: all from this position on.
  bool changed_ = false;
  std::size_t replaced_from_ = 0;
  std::vector<wire::MetricRow> replaced_;
  std::map<std::string, double, std::less<>> replaced_counts_;
};

}  // namespace xylem::backend
