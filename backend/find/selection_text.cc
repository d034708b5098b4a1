#include "backend/find/selection_text.h"

#include <charconv>
#include <string_view>
#include <utility>

namespace xylem::backend {
namespace {

bool read_number(std::string_view text, std::uint32_t& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

bool read_rank(std::string_view text, Rank& rank) {
  std::uint32_t number = 0;
  if (!read_number(text, number)) return false;
  rank = Rank{number};
  return true;
}

bool read_listed(std::string_view text, RankSelection& selection) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const auto colon = item.find(':');
    Rank rank{};
    std::uint32_t pid = 0;
    if (colon == std::string_view::npos || !read_rank(item.substr(0, colon), rank) ||
        !read_number(item.substr(colon + 1), pid) || pid == 0) {
      return false;
    }
    selection.listed[pid] = rank;
  }
  return true;
}

}  // namespace

std::vector<std::string> to_words(const RankSelection& selection) {
  std::vector<std::string> words;
  const auto add = [&words](const char* name, const std::string& value) {
    if (!value.empty()) words.push_back(std::string(name) + "=" + value);
  };
  add("match", selection.match);
  add("job", selection.slurm_job);
  add("step", selection.slurm_step);
  add("port", selection.control_port);
  add("world", selection.world);
  if (selection.size != 0) add("size", std::to_string(selection.size));
  std::string listed;
  for (const auto& [pid, rank] : selection.listed) {
    listed += (listed.empty() ? "" : ",") + std::to_string(raw(rank)) + ":" + std::to_string(pid);
  }
  add("listed", listed);
  if (selection.is_named) add("named", "yes");
  return words;
}

Result<RankSelection> parse_selection(const std::vector<std::string>& words) {
  RankSelection selection;
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    bool good = !value.empty();
    if (name == "match") {
      selection.match = value;
    } else if (name == "job") {
      selection.slurm_job = value;
    } else if (name == "step") {
      selection.slurm_step = value;
    } else if (name == "port") {
      selection.control_port = value;
    } else if (name == "world") {
      selection.world = value;
    } else if (name == "size") {
      good = read_number(value, selection.size);
    } else if (name == "listed") {
      good = good && read_listed(value, selection);
    } else if (name == "named") {
      selection.is_named = good = value == "yes";
    } else {
      good = false;
    }
    if (!good) {
      return unexpected(Code::kInvalidArgument, "'" + word + "' is not a valid search for ranks");
    }
  }
  return selection;
}

}  // namespace xylem::backend
