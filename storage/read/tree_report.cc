#include "storage/read/tree_report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/saturating.h"
#include "storage/read/host_value.h"
#include "storage/read/inquiry.h"

namespace xylem::storage {
namespace {

// The time over which rates are measured: long enough to smooth bursts, short enough to follow
// changes.
constexpr Nanos kRateSpan = 5 * kSecond;

/// The packets and bytes that a link has sent, summed over its samples.
struct Sent {
  std::uint64_t packets = 0, bytes = 0;
  Nanos span_ns = 0;

  // With a new parent, a link's counters begin at 0. Then only the packets since then are known.
  void take(Nanos at_ns, std::uint64_t sent_packets, std::uint64_t sent_bytes) {
    if (has_last_) {
      const bool is_new = last_packets_ > sent_packets || last_bytes_ > sent_bytes;
      packets += sent_packets - (is_new ? 0 : last_packets_);
      bytes += sent_bytes - (is_new ? 0 : last_bytes_);
      span_ns += at_ns - last_ns_;
    }
    has_last_ = true;
    last_ns_ = at_ns;
    last_packets_ = sent_packets;
    last_bytes_ = sent_bytes;
  }

 private:
  bool has_last_ = false;
  Nanos last_ns_ = 0;
  std::uint64_t last_packets_ = 0, last_bytes_ = 0;
};

NodeId node_of(const Value& value) { return id_of<NodeId>(value); }

/// Builds one report for the requested time.
class TreeReader {
 public:
  TreeReader(RunFile& run, std::optional<Nanos> at_ns)
      : run_(run), inquiry_(run), asked_ns_(at_ns) {}

  Result<TreeReport> read() {
    has_past_ = inquiry_.has_table("link_sample");
    if (!has_past_) asked_ns_.reset();
    read_run();
    read_nodes();
    read_reasons();
    read_facts();
    read_links();
    read_rates();
    find_silent();
    read_notices();
    if (inquiry_.failure) return unexpected(*std::move(inquiry_.failure));
    if (!std::ranges::any_of(report_.nodes, [](const auto& node) { return !node.parent; })) {
      return unexpected(Code::kNotFound,
                        run_.path() + ": it has no front end" +
                            (asked_ns_ ? " at that time" : "; the run ended before it had a tree"));
    }
    return std::move(report_);
  }

 private:
  std::string until() const {
    return std::to_string(asked_ns_.value_or(std::numeric_limits<Nanos>::max()));
  }

  TreeReport::Node* find(NodeId id) {
    const auto place = place_.find(id);
    return place == place_.end() ? nullptr : &report_.nodes[place->second];
  }

  void read_run() {
    for (const auto& row : inquiry_.ask("SELECT run_id, command, started_ns, ended_ns FROM run")) {
      report_.run_id = text_of(row[0]);
      report_.command = text_of(row[1]);
      report_.started_realtime_ns = time_of(row[2]);
      if (is_null(row[3])) continue;
      const Nanos lasted = time_of(row[3]) - time_of(row[2]);
      report_.has_ended = !asked_ns_ || *asked_ns_ >= lasted;
      if (report_.has_ended) report_.at_ns = lasted;
    }
  }

  void read_nodes() {
    // SQLite takes the bare columns of a max() from the row that has it.
    const std::string then =
        "(SELECT node, state, parent, level, max(rowid) FROM node_change WHERE at_ns <= " +
        until() + " GROUP BY node)";
    const std::string ranks =
        " (SELECT count(*) FROM process p WHERE p.leaf = n.leaf AND p.world IS NOT NULL)";
    const Rows rows =
        asked_ns_
            ? inquiry_.ask("SELECT n.id, n.role, n.host, t.state, t.parent, t.level," + ranks +
                           " FROM node n JOIN " + then + " t ON t.node = n.id ORDER BY n.id")
            : inquiry_.ask("SELECT id, role, host, state, parent, level," + ranks +
                           " FROM node n ORDER BY id");
    for (const auto& row : rows) {
      TreeReport::Node node;
      node.id = node_of(row[0]);
      node.role = text_of(row[1]);
      node.host = text_of(row[2]);
      node.state = text_of(row[3]);
      if (!is_null(row[4])) node.parent = node_of(row[4]);
      node.level = integer_of(row[5]);
      node.ranks = count_of(row[6]);
      place_[node.id] = report_.nodes.size();
      report_.nodes.push_back(std::move(node));
    }
  }

  // Files before schema 9 have no reasons.
  void read_reasons() {
    if (inquiry_.ask("SELECT 1 FROM pragma_table_info('node') WHERE name = 'reason'").empty()) {
      return;
    }
    for (const auto& row : inquiry_.ask("SELECT id, reason FROM node WHERE reason IS NOT NULL")) {
      if (TreeReport::Node* node = find(node_of(row[0]))) node->reason = text_of(row[1]);
    }
  }

  void read_facts() {
    const auto newest =
        newest_host_values(run_, "SELECT DISTINCT leaf FROM node WHERE leaf IS NOT NULL",
                           asked_ns_.value_or(std::numeric_limits<Nanos>::max()));
    if (!newest) {
      if (!inquiry_.failure) inquiry_.failure = newest.error();
      return;
    }
    for (const auto& row : inquiry_.ask("SELECT n.id, v.name, v.value FROM (" + *newest +
                                        ") v JOIN node n ON n.leaf = v.leaf")) {
      TreeReport::Node* node = find(node_of(row[0]));
      if (node != nullptr && !is_null(row[2])) node->facts[text_of(row[1])] = real_of(row[2]);
    }
  }

  void read_links() {
    const Rows rows = asked_ns_
                          ? inquiry_.ask(
                                "SELECT node, max(at_ns), queue_bytes, round_trip_ns, 0, NULL FROM"
                                " link_sample WHERE at_ns <= " +
                                until() + " GROUP BY node")
                          : inquiry_.ask(
                                "SELECT node, at_ns, queue_bytes, round_trip_ns, refused, transport"
                                " FROM link");
    Nanos newest = 0;
    for (const auto& row : rows) {
      newest = std::max(newest, time_of(row[1]));
      TreeReport::Node* node = find(node_of(row[0]));
      if (node == nullptr) continue;
      TreeReport::Link link;
      link.at_ns = time_of(row[1]);
      link.queue_bytes = count_of(row[2]);
      if (integer_of(row[3]) > 0) link.round_trip_ns = time_of(row[3]);
      link.refused = count_of(row[4]);
      link.transport = text_of(row[5]);
      node->link = std::move(link);
    }
    if (!report_.has_ended) report_.at_ns = asked_ns_.value_or(newest);
  }

  // In a large tree, samples are further apart. The span has at least the last two samples of a
  // node.
  void read_rates() {
    if (!has_past_) return;
    const bool whole = report_.has_ended && !asked_ns_;
    const Nanos span = std::max(kRateSpan, 3 * sample_interval());
    const Nanos from = whole ? 0 : saturating_subtract(report_.at_ns, span);
    // The view link_rate says the same, but opens all samples of the run whatever is asked of it.
    std::map<NodeId, Sent> sent;
    inquiry_.scan(
        "SELECT n.id, s.at_ns, s.sent_packets, s.sent_bytes FROM node n CROSS JOIN link_sample s"
        " ON s.node = n.id AND s.at_ns >= coalesce((SELECT max(at_ns) FROM link_sample p WHERE"
        " p.node = n.id AND p.at_ns <= " +
            std::to_string(from) + "), " + std::to_string(from) + ") AND s.at_ns <= " + until() +
            " ORDER BY n.id, s.at_ns",
        [&](std::span<const Value> row) {
          sent[node_of(row[0])].take(time_of(row[1]), count_of(row[2]), count_of(row[3]));
        });
    for (const auto& [id, in_all] : sent) {
      const auto seconds = static_cast<double>(in_all.span_ns) / kSecond;
      TreeReport::Node* node = find(id);
      if (node == nullptr || !node->link || seconds <= 0) continue;
      node->link->packets_per_s = static_cast<double>(in_all.packets) / seconds;
      node->link->bytes_per_s = static_cast<double>(in_all.bytes) / seconds;
    }
  }

  // Of the samples that are kept; see docs/storage-schema.md.
  Nanos sample_interval() const {
    return static_cast<Nanos>(report_.nodes.size()) * (kSecond / 100);
  }

  // The front end's own reports are the clock: when it stands still itself, nobody else is to
  // blame.
  void find_silent() {
    const TreeReport::Node* front_end = find(kFrontEndNode);
    if (report_.has_ended || front_end == nullptr || !front_end->link) return;
    const Nanos now = front_end->link->at_ns;
    const Nanos limit = kSilentAfter + (asked_ns_ ? 2 * sample_interval() : 0);
    for (TreeReport::Node& node : report_.nodes) {
      if (node.state != "attached" || !node.link) continue;
      const Nanos silent = now - node.link->at_ns;
      if (silent >= limit) node.silent_ns = silent;
    }
  }

  void read_notices() {
    if (!inquiry_.has_table("notice")) return;
    std::map<std::vector<std::string>, std::size_t> alike;
    for (const auto& row : inquiry_.ask(
             "SELECT role, level, text, host, count(*), total(dropped) FROM notice WHERE at_ns "
             "<= " +
             until() + " GROUP BY role, level, text, host ORDER BY level, min(at_ns), host")) {
      const std::vector<std::string> line = {text_of(row[0]), text_of(row[1]), text_of(row[2])};
      const auto [place, is_new] = alike.try_emplace(line, report_.notices.size());
      if (is_new) report_.notices.push_back({line[0], line[1], line[2], {}, 0});
      TreeReport::Notice& notice = report_.notices[place->second];
      notice.hosts.push_back(text_of(row[3]));
      notice.times += count_of(row[4]);
      report_.notices_dropped += count_of(row[5]);
    }
    for (TreeReport::Notice& notice : report_.notices) std::ranges::sort(notice.hosts);
  }

  RunFile& run_;
  Inquiry inquiry_;
  std::optional<Nanos> asked_ns_;
  bool has_past_ = false;
  TreeReport report_;
  std::map<NodeId, std::size_t> place_;
};

}  // namespace

Result<TreeReport> make_tree_report(RunFile& run, std::optional<Nanos> at_ns) {
  return TreeReader(run, at_ns).read();
}

}  // namespace xylem::storage
