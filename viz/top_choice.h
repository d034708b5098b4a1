#pragma once

// The user's choice of the contents of `xylem top`, and the keys that change the choice. Nothing
// here reads input or draws.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace xylem::viz {

enum class TopPane { kOverview, kFunctions, kRanks, kWaits, kTree, kNotices };
constexpr std::size_t kTopPanes = 6;
/// "overview", "functions", "ranks", "waits", "tree", "notices".
std::string_view name(TopPane pane);
std::optional<TopPane> pane_of(std::string_view name);

/// The sort order of lines. Quantities are sorted in descending order; names, ranks and nodes in
/// ascending order.
enum class TopOrder { kTime, kCalls, kBytes, kLongest, kName, kShare, kWait, kRank, kQueue, kNode };
std::string_view name(TopOrder order);
/// Returns the orders of a pane; the first is the default. The overview has the same orders as the
/// pane `ranks`. Empty if the pane has a fixed order.
const std::vector<TopOrder>& orders_of(TopPane pane);

struct TopChoice {
  TopPane pane = TopPane::kOverview;
  TopOrder function_order = TopOrder::kTime;
  TopOrder rank_order = TopOrder::kShare;
  TopOrder tree_order = TopOrder::kNode;
  bool is_reversed = false;
  /// Only lines that contain this text are shown, in upper or lower case. In the panes `ranks` and
  /// `waits`, a number, or a range such as 3-7, selects ranks; `waits` ignores any other text. The
  /// overview ignores the filter.
  std::string filter;
  /// True while the user types the filter. Then letters are added to the filter.
  bool is_typing = false;
  WorldId world{};
  bool is_recent = false;  ///< True to show only the last seconds instead of the whole run.
  bool is_paused = false;
  bool shows_help = false;
  bool has_ended = false;  ///< True if the user has quit.
  std::size_t scroll = 0;  ///< Number of the pane's lines above the screen.
};

/// A key. The code of a printable ASCII character is the character itself; the other keys have
/// these codes.
enum class TerminalKey : std::uint16_t {
  kEnter = 0x100,
  kEscape,
  kTab,
  kBackTab,
  kBackspace,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
};
constexpr TerminalKey key(char letter) {
  return static_cast<TerminalKey>(static_cast<unsigned char>(letter));
}

/// Finds keys in the input from a terminal. Skips unknown sequences and non-ASCII characters. Not
/// thread-safe.
class KeyReader {
 public:
  /// Returns the keys that are complete with these bytes.
  std::vector<TerminalKey> read(std::string_view bytes);
  /// Call it after a pause in the input. If a single escape byte is waiting, returns it as the
  /// escape key.
  std::vector<TerminalKey> rest();
  /// True while the reader keeps an incomplete sequence.
  bool is_waiting() const { return !pending_.empty(); }

 private:
  std::string pending_;
};

/// The sizes of the run and of the screen. They limit the choice.
struct TopExtent {
  std::size_t worlds = 1;
  std::size_t page = 10;       ///< Number of the pane's lines on the screen.
  std::size_t max_scroll = 0;  ///< Maximum of TopChoice::scroll.
};

/// Returns the choice after a key. Any key closes the help. If no help is shown, unknown keys
/// change nothing.
TopChoice pressed(const TopChoice& before, TerminalKey pressed, const TopExtent& extent);

}  // namespace xylem::viz
