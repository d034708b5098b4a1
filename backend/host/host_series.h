#pragma once

// The service `host`: measurements of the system. docs/services.md lists the metrics.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/find/proc_file.h"
#include "backend/host/series_source.h"

namespace xylem::backend {

/// Reads files of /proc and /sys. Files that are missing or unreadable at the first reading are
/// left out. This is logged once. It is not logged for missing files that only some Linux systems
/// have. If a file becomes unreadable later, its metrics stay in the layout with unknown values.
/// The layout changes when an interface, disk or processor appears or disappears. Sensors are
/// searched only in the constructor. Not thread-safe.
class HostSeries final : public SeriesSource {
 public:
  /// `root` is a prefix of /proc and /sys. In tests it is a folder of recorded files, else empty.
  explicit HostSeries(const std::string& root = "");

  void begin(overlay::Network& network, Nanos now) override;
  std::optional<Reading> take(overlay::Network& network, Nanos now) override;
  const wire::SeriesLayout& layout() const override { return layout_; }

 private:
  using Parse = void (HostSeries::*)(std::string_view text, const std::string& label);
  struct Part {
    Part(std::string path, Parse how, std::string what, bool wanted)
        : file(std::move(path)), parse(how), label(std::move(what)), expected(wanted) {}
    ProcFile file;
    Parse parse;
    std::string label;
    // True if the file should exist; then a missing file is logged.
    bool expected;
    bool left_out = false;
    std::size_t first = 0, count = 0;  // Position and number of its rows in the previous readout.
  };

  void add(const std::string& path, Parse parse, std::string label = "", bool expected = true);
  void add_cgroup(const std::string& root);
  void add_sensors(const std::string& root);
  void read(Part& part);
  void tell_left_out() const;

  void parse_stat(std::string_view text, const std::string&);
  void parse_processor(std::string_view name, std::string_view line);
  void parse_softirq(std::string_view line);
  void parse_load(std::string_view text, const std::string&);
  void parse_memory(std::string_view text, const std::string&);
  void parse_vmstat(std::string_view text, const std::string&);
  void parse_network(std::string_view text, const std::string&);
  void parse_disks(std::string_view text, const std::string&);
  void parse_pressure(std::string_view text, const std::string& resource);
  void parse_schedstat(std::string_view text, const std::string&);
  void parse_protocols(std::string_view text, const std::string&);
  void parse_cgroup(std::string_view text, const std::string&);
  void parse_cgroup_usage(std::string_view text, const std::string&);
  void parse_gauge(std::string_view text, const std::string& label);
  void parse_energy(std::string_view text, const std::string& label);

  std::vector<std::unique_ptr<Part>> parts_;
  wire::SeriesLayout layout_;
  Readout readout_;
  std::string text_;
  double ticks_per_second_;
  bool told_ = false;
  Nanos last_ns_ = 0;
  std::optional<Reading> reading_;
};

}  // namespace xylem::backend
