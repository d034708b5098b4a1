#include "filters/aggregation.h"

#include "filters/classes.h"
#include "filters/concatenation.h"
#include "filters/elementwise.h"
#include "filters/histogram.h"
#include "filters/matrix.h"
#include "filters/moments.h"
#include "filters/quantiles.h"
#include "filters/top.h"

namespace xylem::filters {

namespace {

struct BuiltIn {
  std::string_view name;
  Result<std::shared_ptr<const Aggregation>> (*make)(const wire::Fields& parameters);
};

constexpr BuiltIn kBuiltIns[] = {
    {"sum", make_sum},
    {"min", make_min},
    {"max", make_max},
    {"count", make_count},
    {"moments", make_moments},
    {"concatenation", make_concatenation},
    {"histogram", make_histogram},
    {"quantiles", make_quantiles},
    {"top", make_top},
    {"classes", make_classes},
    {"matrix", make_matrix},
};

}  // namespace

Result<std::shared_ptr<const Aggregation>> make_aggregation(const std::string& name,
                                                            const wire::Fields& parameters) {
  std::string known;
  for (const BuiltIn& built_in : kBuiltIns) {
    if (built_in.name == name) return built_in.make(parameters);
    known += (known.empty() ? "" : ", ") + std::string(built_in.name);
  }
  return unexpected(Code::kNotFound, "there is no aggregation \"" + name + "\"; built in are " +
                                         known + "; others come from shared objects");
}

}  // namespace xylem::filters
