#pragma once

// The user's choice of what to see in the terminal, and the keys that change it. Nothing here reads
// input or draws.

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

/// The sort order of lines. Quantities are in descending order; names, ranks and nodes in ascending
/// order.
enum class TopOrder { kTime, kCalls, kBytes, kLongest, kName, kShare, kWait, kRank, kQueue, kNode };
std::string_view name(TopOrder order);
/// The orders of a pane; the first is the default. The overview has the orders of the pane ranks.
const std::vector<TopOrder>& orders_of(TopPane pane);

struct TopChoice {
  TopPane pane = TopPane::kOverview;
  TopOrder function_order = TopOrder::kTime;
  TopOrder rank_order = TopOrder::kShare;
  TopOrder tree_order = TopOrder::kNode;
  bool is_reversed = false;
  /// Only lines that contain this text are shown; upper and lower case are the same. A number, or
  /// two numbers as in 3-7, select ranks.
  std::string filter;
  bool is_typing = false;  ///< True while the user types the filter. Then keys are letters of the
                           ///< filter.
  WorldId world{};
  bool is_recent = false;  ///< True to show only the last seconds, not the whole run.
  bool is_paused = false;
  bool shows_help = false;
  bool has_ended = false;  ///< The user has quit.
  std::size_t scroll = 0;  ///< Number of the pane's lines above the screen.

  TopOrder order() const;
};

/// A key. The code of a printable ASCII character is the character; the other keys have the codes
/// below.
enum class Key : std::uint16_t {
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
constexpr Key key(char letter) { return static_cast<Key>(static_cast<unsigned char>(letter)); }

/// Finds keys in the input from a terminal. Skips unknown sequences and non-ASCII characters.
class KeyReader {
 public:
  /// The keys that these bytes complete.
  std::vector<Key> read(std::string_view bytes);
  /// Call it after a pause in the input: a single escape byte is then the escape key.
  std::vector<Key> rest();
  /// True while the reader keeps an incomplete sequence.
  bool is_waiting() const { return !pending_.empty(); }

 private:
  std::string pending_;
};

/// The extent of the run and of the screen, which limits the choice.
struct TopExtent {
  std::size_t worlds = 1;
  std::size_t page = 10;       ///< Number of the pane's lines on the screen.
  std::size_t max_scroll = 0;  ///< Maximum of TopChoice::scroll.
};

/// The choice after a key. Any key closes the help. Otherwise unknown keys change nothing.
TopChoice pressed(const TopChoice& before, Key pressed, const TopExtent& extent);

}  // namespace xylem::viz
