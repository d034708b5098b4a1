#include "viz/top_choice.h"

#include <algorithm>
#include <array>

namespace xylem::viz {
namespace {

constexpr std::array<std::string_view, kTopPanes> kPaneNames = {"overview", "functions", "ranks",
                                                                "waits",    "tree",      "notices"};
/// Longer filters would not fit on the screen while the user types.
constexpr std::size_t kMaxFilter = 40;

TopOrder& order_in(TopChoice& choice) {
  if (choice.pane == TopPane::kFunctions) return choice.function_order;
  return choice.pane == TopPane::kTree ? choice.tree_order : choice.rank_order;
}

void show(TopChoice& choice, std::size_t pane) {
  choice.pane = static_cast<TopPane>(pane % kTopPanes);
  choice.scroll = 0;
}

void next_order(TopChoice& choice) {
  const std::vector<TopOrder>& orders = orders_of(choice.pane);
  if (orders.empty()) return;
  TopOrder& order = order_in(choice);
  const auto at = std::find(orders.begin(), orders.end(), order);
  order = at == orders.end() || at + 1 == orders.end() ? orders.front() : *(at + 1);
  choice.scroll = 0;
}

TopChoice typed(TopChoice choice, TerminalKey pressed) {
  const auto code = static_cast<unsigned>(pressed);
  if (pressed == TerminalKey::kEnter) choice.is_typing = false;
  if (pressed == TerminalKey::kEscape) {
    choice.is_typing = false;
    choice.filter.clear();
  }
  if (pressed == TerminalKey::kBackspace && !choice.filter.empty()) choice.filter.pop_back();
  if (code >= ' ' && code < 0x7f && choice.filter.size() < kMaxFilter) {
    choice.filter += static_cast<char>(code);
  }
  choice.scroll = 0;
  return choice;
}

void scroll(TopChoice& choice, TerminalKey pressed, const TopExtent& extent) {
  const std::size_t page = std::max<std::size_t>(extent.page, 1);
  const std::size_t at = std::min(choice.scroll, extent.max_scroll);
  std::size_t to = at;
  if (pressed == TerminalKey::kDown || pressed == key('j')) to = at + 1;
  if (pressed == TerminalKey::kUp || pressed == key('k')) to = at - std::min<std::size_t>(at, 1);
  if (pressed == TerminalKey::kPageDown) to = at + page;
  if (pressed == TerminalKey::kPageUp) to = at - std::min(at, page);
  if (pressed == TerminalKey::kHome) to = 0;
  if (pressed == TerminalKey::kEnd) to = extent.max_scroll;
  choice.scroll = std::min(to, extent.max_scroll);
}

/// Returns the length of the escape sequence at the beginning of `bytes`; 0 if it is not complete.
std::size_t sequence_end(std::string_view bytes) {
  if (bytes.size() < 2) return 0;
  if (bytes[1] == 'O') return bytes.size() < 3 ? 0 : 3;
  if (bytes[1] != '[') return 1;  // An escape, and then another key.
  for (std::size_t i = 2; i < bytes.size(); ++i) {
    if (bytes[i] >= '@' && bytes[i] <= '~') return i + 1;
  }
  return 0;
}

std::optional<TerminalKey> key_of_sequence(std::string_view sequence) {
  struct Known {
    std::string_view end;
    TerminalKey key;
  };
  constexpr std::array kKnown = {
      Known{"A", TerminalKey::kUp},        Known{"B", TerminalKey::kDown},
      Known{"H", TerminalKey::kHome},      Known{"F", TerminalKey::kEnd},
      Known{"Z", TerminalKey::kBackTab},   Known{"1~", TerminalKey::kHome},
      Known{"4~", TerminalKey::kEnd},      Known{"5~", TerminalKey::kPageUp},
      Known{"6~", TerminalKey::kPageDown}, Known{"7~", TerminalKey::kHome},
      Known{"8~", TerminalKey::kEnd},
  };
  for (const Known& known : kKnown) {
    if (sequence.substr(2) == known.end) return known.key;
  }
  return std::nullopt;
}

std::optional<TerminalKey> key_of_byte(char byte) {
  if (byte == '\r' || byte == '\n') return TerminalKey::kEnter;
  if (byte == '\t') return TerminalKey::kTab;
  if (byte == '\x7f' || byte == '\b') return TerminalKey::kBackspace;
  if (byte >= ' ' && byte < 0x7f) return key(byte);
  return std::nullopt;
}

}  // namespace

std::string_view name(TopPane pane) { return kPaneNames[static_cast<std::size_t>(pane)]; }

std::optional<TopPane> pane_of(std::string_view name) {
  const auto found = std::find(kPaneNames.begin(), kPaneNames.end(), name);
  if (found == kPaneNames.end()) return std::nullopt;
  return static_cast<TopPane>(found - kPaneNames.begin());
}

std::string_view name(TopOrder order) {
  constexpr std::array<std::string_view, 10> kNames = {
      "time", "calls", "bytes", "longest", "name", "share", "wait", "rank", "queue", "node"};
  return kNames[static_cast<std::size_t>(order)];
}

const std::vector<TopOrder>& orders_of(TopPane pane) {
  static const std::vector<TopOrder> kFunctions = {
      TopOrder::kTime, TopOrder::kCalls, TopOrder::kBytes, TopOrder::kLongest, TopOrder::kName};
  static const std::vector<TopOrder> kRanks = {TopOrder::kShare, TopOrder::kWait, TopOrder::kCalls,
                                               TopOrder::kBytes, TopOrder::kRank};
  static const std::vector<TopOrder> kTree = {TopOrder::kNode, TopOrder::kQueue, TopOrder::kName};
  static const std::vector<TopOrder> kNone;
  switch (pane) {
    case TopPane::kFunctions:
      return kFunctions;
    case TopPane::kOverview:
    case TopPane::kRanks:
      return kRanks;
    case TopPane::kTree:
      return kTree;
    default:
      return kNone;
  }
}

std::vector<TerminalKey> KeyReader::read(std::string_view bytes) {
  pending_ += bytes;
  std::vector<TerminalKey> keys;
  std::string_view left = pending_;
  while (!left.empty()) {
    if (left.front() != '\x1b') {
      if (const auto found = key_of_byte(left.front())) keys.push_back(*found);
      left.remove_prefix(1);
      continue;
    }
    const std::size_t end = sequence_end(left);
    if (end == 0) break;
    if (end == 1) {
      keys.push_back(TerminalKey::kEscape);
    } else if (const auto found = key_of_sequence(left.substr(0, end))) {
      keys.push_back(*found);
    }
    left.remove_prefix(end);
  }
  // No sequence is this long, so these bytes are dropped.
  constexpr std::size_t kMaxPending = 32;
  pending_ = left.size() > kMaxPending ? "" : std::string(left);
  return keys;
}

std::vector<TerminalKey> KeyReader::rest() {
  const bool was_escape = pending_ == "\x1b";
  pending_.clear();
  return was_escape ? std::vector<TerminalKey>{TerminalKey::kEscape} : std::vector<TerminalKey>{};
}

TopChoice pressed(const TopChoice& before, TerminalKey pressed, const TopExtent& extent) {
  TopChoice choice = before;
  if (choice.is_typing) return typed(choice, pressed);
  if (choice.shows_help) {
    choice.shows_help = false;
    choice.has_ended = pressed == key('q');
    return choice;
  }
  scroll(choice, pressed, extent);
  const auto pane = static_cast<std::size_t>(choice.pane);
  if (pressed >= key('1') && pressed < key(static_cast<char>('1' + kTopPanes))) {
    show(choice, static_cast<std::size_t>(pressed) - '1');
  } else if (pressed == TerminalKey::kTab) {
    show(choice, pane + 1);
  } else if (pressed == TerminalKey::kBackTab) {
    show(choice, pane + kTopPanes - 1);
  } else if (pressed == key('s')) {
    next_order(choice);
  } else if (pressed == key('r')) {
    choice.is_reversed = !choice.is_reversed;
  } else if (pressed == key('l')) {
    choice.is_recent = !choice.is_recent;
  } else if (pressed == key('w')) {
    const std::size_t worlds = std::max<std::size_t>(extent.worlds, 1);
    choice.world = WorldId{static_cast<std::uint32_t>((raw(choice.world) + 1) % worlds)};
    choice.scroll = 0;
  } else if (pressed == key('/')) {
    choice.is_typing = true;
  } else if (pressed == TerminalKey::kEscape) {
    choice.filter.clear();
  } else if (pressed == key('p') || pressed == key(' ')) {
    choice.is_paused = !choice.is_paused;
  } else if (pressed == key('?') || pressed == key('h')) {
    choice.shows_help = true;
  } else if (pressed == key('q')) {
    choice.has_ended = true;
  }
  return choice;
}

}  // namespace xylem::viz
