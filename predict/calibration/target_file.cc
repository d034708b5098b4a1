#include "predict/calibration/target_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/ids.h"
#include "base/printable_text.h"
#include "base/quantity_text.h"

namespace xylem::predict {
namespace {

/// Whole nanoseconds, or a fraction with four digits.
std::string decimal(Femtoseconds time) {
  constexpr std::uint64_t kNs = 1'000'000;
  std::string text = std::to_string(raw(time) / kNs);
  if (raw(time) % kNs == 0) return text;
  std::string digits = std::to_string(kNs + raw(time) % kNs).substr(1);
  digits.erase(digits.find_last_not_of('0') + 1);
  return text + "." + digits;
}

std::string short_number(double value) {
  char text[32];
  // Six digits are more than any interval is worth, and no digits are lost before the point.
  const auto end =
      value >= 1000
          ? std::to_chars(text, std::end(text), std::round(value), std::chars_format::fixed, 0)
          : std::to_chars(text, std::end(text), value, std::chars_format::general, 4);
  return {text, end.ptr};
}

std::string interval(const Figure& of) {
  return short_number(of.low) + " to " + short_number(of.high);
}

std::string padded(std::string text) {
  constexpr std::size_t kWidth = 32;
  text.resize(std::max(text.size() + 1, kWidth), ' ');
  return text;
}

std::string line_of(const NamedFigure& of) {
  const std::string key(std::string_view(of.key).substr(std::string_view(of.key).find('.') + 1));
  return padded(key + " = " + of.written) + "# " + of.symbol + ": " + of.what + ". " +
         interval(of.figure) + "\n";
}

std::string eager_line(const EagerLimit& of) {
  const std::string why =
      of.waits == 0 ? "no send of up to " + count_text(of.returns) + " bytes waited"
                    : "a send of " + count_text(of.waits) + " bytes waits for its receive";
  return padded("eager_bytes = " + std::to_string(of.returns)) + "# S: " + why + "\n";
}

std::string head(const Calibration& of, const Samples& samples, const std::string& date) {
  const std::string where =
      samples.is_one_host() ? "two ranks on " + printable(samples.hosts[0])
                            : printable(samples.hosts[0]) + " and " + printable(samples.hosts[1]);
  std::string text = "# Measured by `xylem calibrate` on " + date + ", between " + where +
                     ",\n# with " + printable(samples.library) + ". " + count_text(of.rounds) +
                     " rounds. Behind each value is its 95 % interval.\n";
  for (const std::string& it : of.doubts) text += "# " + it + ".\n";
  return text;
}

std::string node_of_one_host(const std::vector<NamedFigure>& figures, std::uint32_t cores) {
  std::string text =
      "\n[node]\n"
      "count = 1                       # no network was measured: a prediction has one node\n" +
      padded("cores = " + std::to_string(std::max(cores, 2U))) +
      "# maximum number of ranks; this host has " + count_text(cores) +
      (cores == 1 ? " core" : " cores") + "\n";
  for (const NamedFigure& it : figures) {
    if (std::string_view(it.key).starts_with("node.")) text += line_of(it);
  }
  return text;
}

std::string node_of_two_hosts(std::uint32_t cores) {
  return "\n[node]\n"
         "# The memory path was not measured. To predict several ranks on a node, run `xylem "
         "calibrate` with both\n"
         "# ranks on one host, and take cores, memory_latency_ns and memory_per_byte_ns from its "
         "file.\n" +
         padded("# cores = " + std::to_string(cores)) + "# of the host of rank 0\n";
}

std::string disk_comment(const DiskFigures& of) {
  std::string text = "\n# Disk of rank 0, measured ";
  text += of.is_direct ? "without the kernel's cache (O_DIRECT):\n"
                       : "through the kernel's cache, because the file system refuses O_DIRECT:\n";
  for (const DiskFigures::Access& it : of.accesses) {
    text += "#   " + it.what + " of " + bytes_text(it.short_bytes) + ": " +
            short_number(it.latency_ns.value) + " ns, " + interval(it.latency_ns) + "\n#   " +
            it.what + " of " + bytes_text(it.long_bytes) + ": " +
            short_number(it.bytes_per_ns.value) + " bytes a nanosecond, " +
            interval(it.bytes_per_ns) + "\n";
  }
  return text;
}

}  // namespace

std::optional<DiskFigures> disk_figures(const Samples& samples) {
  DiskFigures figures;
  figures.is_direct = samples.is_direct;
  for (const auto& [what, series] : {std::pair{"read", &samples.read}, {"write", &samples.write}}) {
    if (series->empty()) continue;
    const auto& [short_bytes, short_times] = *series->begin();
    const auto& [long_bytes, long_times] = *series->rbegin();
    const Figure took = median_figure(long_times);
    const auto bytes = static_cast<double>(long_bytes);
    figures.accesses.push_back({what,
                                median_figure(short_times),
                                {bytes / took.value, bytes / took.high, bytes / took.low},
                                short_bytes,
                                long_bytes});
  }
  return figures.accesses.empty() ? std::nullopt : std::optional(figures);
}

std::vector<NamedFigure> named_figures(const Calibration& of, bool is_one_host) {
  const LogGps written = of.parameters();
  std::vector<NamedFigure> figures = {
      {"network.latency_ns", "L", "latency", of.latency, decimal(written.latency)},
      {"network.overhead_ns", "o", "time of a processor for a message", of.overhead,
       decimal(written.overhead)},
      {"network.gap_ns", "g", "time of a NIC for a message", of.gap, decimal(written.gap)},
      {"network.gap_per_byte_ns", "G", "time of a NIC for a byte", of.gap_per_byte,
       decimal(written.gap_per_byte)},
      {"network.overhead_per_byte_ns", "O", "time of a processor for a byte", of.overhead_per_byte,
       decimal(written.overhead_per_byte)}};
  if (!is_one_host) return figures;
  figures.push_back(
      {"node.memory_latency_ns", "L", "latency", of.latency, decimal(written.latency)});
  figures.push_back({"node.memory_per_byte_ns", "G", "time for a byte", of.gap_per_byte,
                     decimal(written.gap_per_byte)});
  return figures;
}

std::string target_file(const Calibration& of, const Samples& samples, const std::string& date) {
  const bool is_one_host = samples.is_one_host();
  const std::vector<NamedFigure> figures = named_figures(of, is_one_host);
  std::string text = head(of, samples, date) + "\n[network]\n";
  if (is_one_host) {
    text +=
        "# Both ranks were on one host: these are values of its memory, not of a network. To "
        "predict several nodes,\n"
        "# replace them by those of a `xylem calibrate` with the ranks on two hosts, or by those "
        "of a preset\n"
        "# (`xylem predict --print-target ib-20g`), and remove count.\n";
  }
  for (const NamedFigure& it : figures) {
    if (std::string_view(it.key).starts_with("network.")) text += line_of(it);
  }
  text += eager_line(of.eager);
  text += is_one_host ? node_of_one_host(figures, samples.cores) : node_of_two_hosts(samples.cores);
  if (const auto disk = disk_figures(samples)) text += disk_comment(*disk);
  return text;
}

}  // namespace xylem::predict
