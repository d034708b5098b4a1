#include "cli/storage_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>

#include "base/clock.h"
#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "base/quoted.h"
#include "base/saturating.h"
#include "predict/replay/files.h"
#include "viz/reply.h"
#include "viz/text_columns.h"

namespace xylem {
namespace {

using predict::AccessReport;

/// The parts of an access with their names in JSON and for people.
struct AccessPart {
  const char* name;
  const char* what;
  predict::Ticks AccessReport::*time;
};

constexpr AccessPart kParts[] = {
    {"connection_ns", "connection", &AccessReport::connection},
    {"request_ns", "request", &AccessReport::request},
    {"storage_node_ns", "storage node", &AccessReport::storage_node},
    {"disk_ns", "  of it disk array", &AccessReport::disk},
    {"return_ns", "return", &AccessReport::reply},
    {"copy_ns", "copy", &AccessReport::copy},
    {"total_ns", "total", &AccessReport::total},
};

template <typename Number>
bool read_whole(std::string_view text, Number& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && failed == std::errc{} && end == text.data() + text.size();
}

double exact(predict::Ticks ticks, std::uint64_t ticks_per_ns) {
  return static_cast<double>(ticks) / static_cast<double>(ticks_per_ns);
}

std::string access_text(const NamedAccess& access, const AccessReport& report,
                        std::uint64_t ticks_per_ns, const std::string& model) {
  std::string text = (access.is_write ? "write of " : "read of ") + count_text(access.bytes) +
                     " bytes at " + count_text(access.offset) + " of " + printable(access.path) +
                     ", rank " + std::to_string(access.rank) + ", model " + model + "\n  ";
  if (!access.is_write) {
    text += "page cache: " + counted(report.hit_pages, "hit") + ", " +
            count_text(report.awaited_pages) + " awaited, " + count_text(report.missed_pages) +
            " missed; ";
  }
  text += counted(report.requests, "request") + "; buffer: " + counted(report.buffer_hits, "hit") +
          ", " + count_text(report.buffer_misses) + " missed\n";
  viz::TextColumns columns({{"part"}, {"time", true}});
  for (const AccessPart& it : kParts) {
    columns.add({it.what, duration_text(
                              saturating_cast<Nanos>(exact(report.*it.time, ticks_per_ns) + 0.5))});
  }
  return text + columns.text();
}

std::string accesses_json(const std::vector<NamedAccess>& accesses,
                          const predict::AccessTimes& times, const std::string& model) {
  viz::Json json;
  std::size_t next = 0;
  json.object([&] {
    json.field("version", viz::kApiVersion);
    json.field("view", "file_accesses");
    json.field("model", model);
    json.array("accesses", times.reports, [&](const AccessReport& it) {
      const NamedAccess& access = accesses[next++];
      json.object([&] {
        json.field("rank", access.rank);
        json.field("path", access.path);
        json.field("offset", access.offset);
        json.field("bytes", access.bytes);
        json.field("write", access.is_write);
        json.field("hit_pages", it.hit_pages);
        json.field("awaited_pages", it.awaited_pages);
        json.field("missed_pages", it.missed_pages);
        json.field("requests", it.requests);
        json.field("buffer_hits", it.buffer_hits);
        json.field("buffer_misses", it.buffer_misses);
        for (const AccessPart& part : kParts) {
          json.field(part.name, exact(it.*part.time, times.ticks_per_ns));
        }
      });
    });
  });
  return json.take() + '\n';
}

}  // namespace

Result<NamedAccess> parse_access(const std::string& text, bool is_write) {
  const std::size_t first = text.find(','), last = text.rfind(',');
  const std::size_t middle = last == 0 ? std::string::npos : text.rfind(',', last - 1);
  NamedAccess access;
  access.is_write = is_write;
  const std::string_view all = text;
  if (first == std::string::npos || middle == std::string::npos || middle <= first + 1 ||
      !read_whole(all.substr(0, first), access.rank) || access.rank >= predict::kMaxRanks ||
      !read_whole(all.substr(middle + 1, last - middle - 1), access.offset) ||
      !read_whole(all.substr(last + 1), access.bytes)) {
    return unexpected(Code::kInvalidArgument,
                      "write a rank, a name, an offset and a number of bytes such as "
                      "0,data.bin,0,65536");
  }
  access.path = text.substr(first + 1, middle - first - 1);
  return access;
}

Result<std::string> answer_accesses(const std::vector<NamedAccess>& accesses,
                                    const predict::Machine& machine, predict::Model model,
                                    const std::string& model_name, bool json) {
  std::vector<std::string> paths;
  std::vector<predict::TimedAccess> timed;
  for (const NamedAccess& it : accesses) {
    const auto found = std::ranges::find(paths, it.path);
    const auto file = static_cast<std::uint32_t>(found - paths.begin());
    if (found == paths.end()) paths.push_back(it.path);
    timed.push_back({it.rank, {it.offset, file, it.is_write}, it.bytes});
  }
  const auto times = predict::access_files(machine, model, timed);
  if (!times) return unexpected(times.error());
  if (json) return accesses_json(accesses, *times, model_name);
  std::string text;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    text += access_text(accesses[i], times->reports[i], times->ticks_per_ns, model_name);
  }
  return text;
}

std::string storage_text(const predict::StorageTotals& of) {
  if (of.reads + of.writes == 0) return "";
  const std::uint64_t pages = of.hit_pages + of.awaited_pages + of.missed_pages;
  const predict::RequestTotals& requests = of.requests;
  std::string text = "files: " + counted(of.reads, "read") + " of " + bytes_text(of.read_bytes) +
                     ", " + counted(of.writes, "write") + " of " + bytes_text(of.written_bytes) +
                     "\n";
  if (pages > 0) {
    text += "  page caches: " + counted(of.hit_pages, "hit") + ", " + count_text(of.awaited_pages) +
            " awaited, " + count_text(of.missed_pages) + " missed\n";
  }
  return text + "  storage nodes: " + counted(requests.requests, "request") + ", " +
         counted(requests.connections, "connection") +
         "; buffers: " + counted(requests.buffer_hits, "hit") + ", " +
         count_text(requests.buffer_misses) +
         " missed; disk arrays: " + counted(requests.disk_reads, "read") + ", " +
         counted(requests.disk_writes, "write") + "\n";
}

void write_storage(viz::Json& json, const predict::StorageTotals& of) {
  if (of.reads + of.writes == 0) return;
  json.object("storage", [&] {
    json.field("reads", of.reads);
    json.field("writes", of.writes);
    json.field("read_bytes", of.read_bytes);
    json.field("written_bytes", of.written_bytes);
    json.field("hit_pages", of.hit_pages);
    json.field("awaited_pages", of.awaited_pages);
    json.field("missed_pages", of.missed_pages);
    json.field("requests", of.requests.requests);
    json.field("connections", of.requests.connections);
    json.field("buffer_hits", of.requests.buffer_hits);
    json.field("buffer_misses", of.requests.buffer_misses);
    json.field("disk_reads", of.requests.disk_reads);
    json.field("disk_writes", of.requests.disk_writes);
  });
}

}  // namespace xylem
