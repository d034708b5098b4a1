#include "tree/host_slots.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/quoted.h"
#include "base/text_file.h"
#include "tree/host_list.h"

namespace xylem::tree {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

std::optional<std::uint32_t> count_of(std::string_view text) {
  std::uint32_t count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || count > kMaxSlots) {
    return std::nullopt;
  }
  return count;
}

std::vector<std::string_view> words_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

/// Returns the slots that a word after the host gives; nullopt if the word is another keyword.
/// Fails if no launcher has this keyword.
Result<std::optional<std::uint32_t>> slots_of(std::string_view word) {
  static constexpr std::array kSlots = {"slots", "cpus", "cpu", "count"};
  static constexpr std::array kOthers = {"max_slots", "max-slots", "slots_max",
                                         "slots-max", "binding",   "map",
                                         "ifname",    "user",      "username"};
  const std::size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  if (equals != std::string_view::npos) {
    if (std::ranges::find(kOthers, key) != kOthers.end()) return std::optional<std::uint32_t>();
    if (std::ranges::find(kSlots, key) != kSlots.end()) {
      const auto slots = count_of(word.substr(equals + 1));
      if (slots) return slots;
      return unexpected(Code::kInvalidArgument,
                        quoted(word) + " tells no number of slots; write slots=4");
    }
  }
  return unexpected(Code::kInvalidArgument,
                    quoted(word) + " is not valid in a host file; write HOST slots=N or HOST:N");
}

/// The hosts of a line, with its slots.
Result<std::vector<HostSlots>> hosts_of(const std::vector<std::string_view>& words) {
  std::string_view name = words.front();
  std::uint32_t slots = 1;
  // The user's name may contain any character, but a host's name contains no '@'.
  if (const std::size_t at = name.rfind('@'); at != std::string_view::npos) {
    name = name.substr(at + 1);
  }
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) {
    const auto told = count_of(name.substr(colon + 1));
    if (!told) {
      return unexpected(Code::kInvalidArgument,
                        quoted(name) + " tells no number of slots; write HOST:4");
    }
    slots = *told;
    name = name.substr(0, colon);
  }
  for (const std::string_view word : std::span(words).subspan(1)) {
    const auto told = slots_of(word);
    if (!told) return unexpected(told.error());
    if (*told) slots = **told;
  }
  if (name.empty()) return unexpected(Code::kInvalidArgument, "a host's name is missing");
  auto names = parse_host_list(name);
  if (!names) return unexpected(std::move(names.error()));
  std::vector<HostSlots> hosts;
  for (std::string& one : *names) hosts.push_back({std::move(one), slots});
  return hosts;
}

}  // namespace

Result<std::vector<HostSlots>> parse_host_file(std::string_view text, std::string_view source) {
  std::vector<HostSlots> hosts;
  std::unordered_map<std::string, std::size_t> places;
  std::size_t number = 1;
  const auto wrong = [&](const std::string& why) {
    return unexpected(Code::kInvalidArgument,
                      std::string(source) + ":" + std::to_string(number) + ": " + why);
  };
  if (text.size() > kMaxTextBytes) return wrong("the text is too large for a host file");
  number = 0;
  std::size_t all = 0;  // Number of names, with repetitions.
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto words = words_of(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (words.empty()) continue;
    auto named = hosts_of(words);
    if (!named) return wrong(named.error().message);
    all += named->size();
    if (all > kMaxListedHosts) return wrong("too many hosts are named");
    for (HostSlots& host : *named) {
      const auto [place, is_new] = places.try_emplace(host.name, hosts.size());
      if (is_new) {
        hosts.push_back(std::move(host));
      } else {
        std::uint32_t& slots = hosts[place->second].slots;
        slots += host.slots;
        if (slots > kMaxSlots) return wrong(quoted(host.name) + " has too many slots in all");
      }
    }
  }
  if (hosts.empty()) {
    return unexpected(Code::kInvalidArgument,
                      std::string(source) + ": no host is named; write one a line");
  }
  return hosts;
}

Result<std::vector<HostSlots>> read_host_file(const std::string& path) {
  const auto text = read_text_file(path, "host file");
  if (!text) return unexpected(text.error());
  return parse_host_file(*text, path);
}

Result<std::vector<std::uint32_t>> parse_counts(std::string_view text) {
  std::vector<std::uint32_t> counts;
  if (text.empty()) return counts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::string_view item = text.substr(at, end - at);
    const std::string_view whole = item;
    at = end + 1;
    std::uint32_t times = 1;
    if (const std::size_t open = item.find("(x"); open != std::string_view::npos) {
      const auto repeated =
          item.ends_with(')') ? count_of(item.substr(open + 2, item.size() - open - 3)) : 0;
      times = repeated.value_or(0);
      item = item.substr(0, open);
    }
    const auto count = count_of(item);
    if (!count || times == 0) {
      return unexpected(Code::kInvalidArgument,
                        quoted(whole) + " is not a count; write numbers as in 8,2,2,0 or 4(x3),2");
    }
    if (counts.size() + times > kMaxListedHosts) {
      return unexpected(Code::kInvalidArgument, quoted(whole) + " counts for too many hosts");
    }
    counts.insert(counts.end(), times, *count);
  }
  return counts;
}

Result<std::vector<HostSlots>> slurm_slots(std::string_view node_list,
                                           std::string_view tasks_per_node) {
  const auto names = parse_host_list(node_list);
  if (!names) {
    return unexpected(Code::kInvalidArgument, "SLURM_JOB_NODELIST: " + names.error().message);
  }
  auto tasks = parse_counts(tasks_per_node);
  if (!tasks) {
    return unexpected(Code::kInvalidArgument, "SLURM_TASKS_PER_NODE: " + tasks.error().message);
  }
  if (tasks->empty()) tasks->assign(names->size(), 1);
  if (tasks->size() != names->size()) {
    return unexpected(Code::kInvalidArgument,
                      "SLURM_JOB_NODELIST names " + std::to_string(names->size()) +
                          " hosts, SLURM_TASKS_PER_NODE counts for " +
                          std::to_string(tasks->size()) +
                          "; both must be of one job (salloc or sbatch sets them)");
  }
  std::vector<HostSlots> hosts;
  for (std::size_t i = 0; i < names->size(); ++i) hosts.push_back({(*names)[i], (*tasks)[i]});
  return hosts;
}

}  // namespace xylem::tree
