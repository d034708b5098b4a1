// Stands for otf2_export.cc if the OTF2 library is not installed.

#include "exports/trace_export.h"

namespace xylem::exports {

bool has_otf2() { return false; }

Result<Exported> write_otf2(storage::RunFile&, const std::string&, bool) {
  return unexpected(Code::kUnavailable,
                    "this xylem was built without OTF2; install libopen-trace-format2-dev, and"
                    " build xylem again");
}

}  // namespace xylem::exports
