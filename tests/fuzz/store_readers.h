#pragma once

// Calls all code that reads a store, as the programs do, on a file with arbitrary contents.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xylem::testing {

/// Calls every reader of the store at `path`: report, query, export, tree, top, place, the page's
/// HTTP answers and the report page. Each reader may answer or refuse with a sentence. Before each
/// reader, `begins` is called with its name. The report page is written into `folder`. Only one
/// pane of a screen and only one format of a table are tried; `number` selects them.
///
/// Returns the fault of an answer, or "" if all answers are right. Faults are: a control character
/// or broken UTF-8 in text for a terminal, invalid JSON, a failure without a sentence, more text
/// than kMaxText.
std::string read_store(const std::string& path, const std::string& folder,
                       const std::vector<std::string>& tables_and_views, std::uint64_t number,
                       const std::function<void(const std::string&)>& begins);

/// Maximum size of an answer. A store of half a megabyte never needs this much.
constexpr std::size_t kMaxText = 256u << 20;

}  // namespace xylem::testing
