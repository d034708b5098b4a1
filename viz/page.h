#pragma once

// The files of the web page, bundled and compressed when xylem was built (viz/page/).

#include <span>
#include <string_view>

namespace xylem::viz {

struct PageFile {
  std::string_view path;  ///< "/" is the page itself, which refers to the other files.
  std::string_view type;
  bool keeps;  ///< True if the path changes with the contents. Then browsers may cache the file for
               ///< ever.
  std::string_view gzip;
};

/// All files of the page; empty if xylem was built without it (XYLEM_PAGE=OFF).
std::span<const PageFile> page_files();

}  // namespace xylem::viz
