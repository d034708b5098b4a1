#pragma once

// The files of the web page, bundled and compressed when xylem was built (viz/page/).

#include <span>
#include <string_view>

namespace xylem::viz {

struct PageFile {
  std::string_view path;  ///< Path in the URL. "/" is the page itself; it uses the other files.
  std::string_view type;
  /// True if every change of the contents also changes the path. Then browsers may cache the file
  /// for ever.
  bool keeps;
  std::string_view gzip;
};

/// Returns all files of the page; empty if xylem was built without the page (XYLEM_PAGE=OFF).
std::span<const PageFile> page_files();

}  // namespace xylem::viz
