#include "placement/facts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/named.h"
#include "base/quoted.h"
#include "base/text_file.h"
#include "placement/host_names_internal.h"
#include "tree/host_list.h"

namespace xylem::placement {
namespace {

constexpr std::array<std::string_view, kFacts> kNames = {
    "idle", "run_queue", "memory", "network", "round_trip", "cores", "processes"};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/// Returns the columns of a line. Blanks or one comma separate columns; commas inside brackets do
/// not. Two commas with nothing between them give an empty column.
std::vector<std::string_view> columns_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> columns;
  std::size_t begin = 0;
  bool in_column = false;
  bool in_bracket = false;
  bool after_comma = false;
  for (std::size_t at = 0; at <= line.size(); ++at) {
    const char c = at < line.size() ? line[at] : ' ';
    const bool is_comma = c == ',' && !in_bracket;
    if (in_column && (is_comma || is_blank(c))) {
      columns.push_back(line.substr(begin, at - begin));
      in_column = false;
      in_bracket = false;
      after_comma = false;
    } else if (!in_column && !is_comma && !is_blank(c)) {
      begin = at;
      in_column = true;
    }
    if (in_column && (c == '[' || c == ']')) in_bracket = c == '[';
    if (!is_comma) continue;
    if (after_comma || columns.empty()) columns.emplace_back();
    after_comma = true;
  }
  if (after_comma) columns.emplace_back();
  return columns;
}

Unexpected wrong(const std::string& why) { return unexpected(Code::kInvalidArgument, why); }

Result<std::vector<Fact>> read_header(const std::vector<std::string_view>& columns) {
  if (columns.front() != "host") {
    return wrong("the first line names the columns, host first, and " + quoted(columns.front()) +
                 " is not host; write for example: host idle memory");
  }
  std::vector<Fact> facts;
  for (const std::string_view name : std::span(columns).subspan(1)) {
    const auto fact = find_fact(name);
    if (!fact) return wrong(quoted(name) + " is not a factor; they are " + list_facts());
    if (*fact == Fact::kProcesses) {
      return wrong("processes are counted, not told here; leave the column out");
    }
    if (std::ranges::find(facts, *fact) != facts.end()) {
      return wrong(quoted(name) + " is there twice; keep one column");
    }
    facts.push_back(*fact);
  }
  return facts;
}

std::string_view possible_values(Fact fact) {
  if (fact == Fact::kIdle) return "a share from 0 to 1";
  if (fact == Fact::kCores) return "a number above 0; write - for what is not known";
  return "a number from 0 on";
}

Result<FactValues> read_values(const std::vector<std::string_view>& columns,
                               const std::vector<Fact>& header) {
  if (columns.size() != header.size() + 1) {
    return wrong(std::to_string(columns.size()) + " columns where the first line names " +
                 std::to_string(header.size() + 1) + "; write - for what is not known");
  }
  FactValues facts;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string_view text = columns[i + 1];
    if (text.empty() || text == "-") continue;
    double value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
      return wrong(quoted(text) + " is not a number; write - for what is not known");
    }
    if (!is_possible(header[i], value)) {
      return wrong(quoted(text) + " cannot be " + std::string(to_text(header[i])) + ", " +
                   std::string(possible_values(header[i])));
    }
    facts.set(header[i], value);
  }
  return facts;
}

}  // namespace

std::string_view to_text(Fact fact) { return kNames[static_cast<std::size_t>(fact)]; }

std::optional<Fact> find_fact(std::string_view name) {
  return find_named(kAllFacts, to_text, name);
}

std::string list_facts() {
  std::string list;
  for (const std::string_view name : kNames) (list += list.empty() ? "" : ", ") += name;
  return list;
}

bool is_possible(Fact fact, double value) {
  if (!std::isfinite(value) || value < 0) return false;
  if (fact == Fact::kCores) return value > 0;
  return fact != Fact::kIdle || value <= 1;
}

std::uint32_t whole_cores(double cores) {
  constexpr double kMax = 4e9;
  if (!(cores > 0)) return 0;
  return std::max(1u, static_cast<std::uint32_t>(std::min(cores, kMax)));
}

std::vector<FactValues> facts_of(std::span<const tree::Host> hosts) {
  std::vector<FactValues> facts(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    facts[i].set(Fact::kProcesses, static_cast<double>(hosts[i].processes));
    if (hosts[i].cores != 0) facts[i].set(Fact::kCores, hosts[i].cores);
  }
  return facts;
}

Result<FactTable> parse_fact_table(std::string_view text, std::string_view source) {
  FactTable table{std::string(source), {}};
  std::optional<std::vector<Fact>> header;
  std::unordered_map<std::string, std::size_t> lines;
  std::size_t number = 0;
  const auto at_line = [&](const std::string& why) {
    return wrong(table.source + ":" + std::to_string(number) + ": " + why);
  };
  if (text.size() > kMaxTextBytes) return wrong(table.source + ": is too large for a table");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto columns = columns_of(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (columns.empty()) continue;
    if (!header) {
      auto read = read_header(columns);
      if (!read) return at_line(read.error().message);
      header = *std::move(read);
      continue;
    }
    const auto facts = read_values(columns, *header);
    if (!facts) return at_line(facts.error().message);
    auto hosts = tree::parse_host_list(columns.front());
    if (!hosts) return at_line(hosts.error().message);
    if (hosts->empty()) return at_line("a host's name is missing");
    if (table.rows.size() + hosts->size() > tree::kMaxListedHosts) {
      return at_line("too many hosts are named");
    }
    for (std::string& host : *hosts) {
      const auto [before, is_new] = lines.try_emplace(host, number);
      if (!is_new) {
        return at_line("host " + host + " is there already (line " +
                       std::to_string(before->second) + "); keep one of them");
      }
      table.rows.push_back({std::move(host), *facts, number});
    }
  }
  if (!header) {
    return wrong(table.source +
                 ": is empty; write a line of names, as host idle memory, and then "
                 "a line a host");
  }
  return table;
}

Result<FactTable> read_fact_table(const std::string& path) {
  const auto text = read_text_file(path, "table of hosts");
  if (!text) return unexpected(text.error());
  return parse_fact_table(*text, path);
}

Result<void> add_facts(const FactTable& table, std::span<tree::Host> hosts,
                       std::span<FactValues> facts) {
  CHECK(hosts.size() == facts.size());
  const HostNames names(hosts, "");
  bool any = false;
  for (const FactTable::Row& row : table.rows) {
    for (const HostId host : names.all_of(row.host)) {
      any = true;
      for (const Fact fact : kAllFacts) {
        if (const auto value = row.facts[fact]) facts[raw(host)].set(fact, *value);
      }
      if (const auto cores = row.facts[Fact::kCores]) {
        hosts[raw(host)].cores = whole_cores(*cores);
      }
    }
  }
  if (any || hosts.empty()) return {};
  return unexpected(Code::kNotFound, table.source + ": names none of the hosts" + names.known());
}

}  // namespace xylem::placement
