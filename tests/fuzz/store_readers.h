#pragma once

// All that reads a store, called as the programs call it, on a file that may hold anything.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xylem::testing {

/// Calls every reader of the store at `path`: report, query, tree, top, place, the page's HTTP
/// answers and the report page. Each may answer or refuse with a sentence. `begins` is told each
/// reader's name first. `folder` takes the report page. Of panes of one screen, and of forms of one
/// table, a store is read in one only: `number` says in which.
///
/// Returns what is wrong with an answer, "" when nothing is: a control character or broken UTF-8 in
/// text for a terminal, JSON that is none, a failure without a sentence, more text than kMaxText.
std::string read_store(const std::string& path, const std::string& folder,
                       const std::vector<std::string>& tables_and_views, std::uint64_t number,
                       const std::function<void(const std::string&)>& begins);

/// More than any answer over a store of half a megabyte needs.
constexpr std::size_t kMaxText = 256u << 20;

}  // namespace xylem::testing
