#pragma once

// The files of the web page, bundled and compressed when xylem was built (viz/page/).

#include <span>
#include <string_view>

namespace xylem::viz {

struct PageFile {
  std::string_view path;  ///< "/" is the page itself, which names the others.
  std::string_view type;
  bool keeps;  ///< Its path changes with its contents, so browsers may cache it for ever.
  std::string_view gzip;
};

/// All of them, or none when xylem was built without its page (XYLEM_PAGE=OFF).
std::span<const PageFile> page_files();

}  // namespace xylem::viz
