#include "filters/narrowing.h"

#include "filters/scatter.h"

namespace xylem::filters {

Result<std::shared_ptr<const Narrowing>> make_narrowing(const std::string& name,
                                                        const wire::Fields& parameters) {
  if (name == "scatter") return make_scatter(parameters);
  return unexpected(Code::kNotFound, "there is no narrowing \"" + name +
                                         "\"; built in is scatter; others come from shared "
                                         "objects");
}

}  // namespace xylem::filters
