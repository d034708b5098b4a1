#include "filters/stream_filter.h"

#include "wire/waves.h"

namespace xylem::filters {

Result<std::shared_ptr<const Aggregation>> aggregation_of(const wire::StreamSpec& spec) {
  if (spec.aggregation.empty()) return std::shared_ptr<const Aggregation>();
  wire::Fields parameters;
  if (!spec.parameters.empty()) {
    auto read = wire::decode_fields(spec.parameters);
    if (!read) return unexpected(std::move(read.error()));
    parameters = *std::move(read);
  }
  if (spec.plugin.empty()) return make_aggregation(spec.aggregation, parameters);
  return load_aggregation(spec.plugin, spec.plugin_sha256, spec.aggregation, parameters);
}

ReducerOptions reducer_options(const wire::StreamSpec& spec) {
  ReducerOptions options;
  options.synchronisation = spec.synchronisation;
  options.time_out = spec.time_out_ns;
  return options;
}

}  // namespace xylem::filters
