// In place of the generated files, where xylem is built without node and npm.

#include "viz/page.h"

namespace xylem::viz {

std::span<const PageFile> page_files() { return {}; }

}  // namespace xylem::viz
