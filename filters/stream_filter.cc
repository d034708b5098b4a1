#include "filters/stream_filter.h"

#include "wire/waves.h"

namespace xylem::filters {

namespace {

Result<wire::Fields> read_parameters(const wire::Bytes& parameters) {
  if (parameters.empty()) return wire::Fields();
  return wire::decode_fields(parameters);
}

}  // namespace

Result<std::shared_ptr<const Aggregation>> aggregation_of(const wire::StreamSpec& spec) {
  if (spec.aggregation.empty()) return std::shared_ptr<const Aggregation>();
  const auto parameters = read_parameters(spec.parameters);
  if (!parameters) return unexpected(parameters.error());
  if (spec.plugin.empty()) return make_aggregation(spec.aggregation, *parameters);
  return load_aggregation(spec.plugin, spec.plugin_sha256, spec.aggregation, *parameters);
}

NodeNarrowing narrowing_of(const wire::StreamSpec& spec) {
  if (spec.narrowing.empty()) return std::shared_ptr<const Narrowing>();
  const auto parameters = read_parameters(spec.narrowing_parameters);
  if (!parameters) return unexpected(parameters.error());
  if (spec.narrowing_plugin.empty()) return make_narrowing(spec.narrowing, *parameters);
  return load_narrowing(spec.narrowing_plugin, spec.narrowing_sha256, spec.narrowing, *parameters);
}

ReducerOptions reducer_options(const wire::StreamSpec& spec) {
  ReducerOptions options;
  options.synchronisation = spec.synchronisation;
  options.time_out = spec.time_out_ns;
  return options;
}

}  // namespace xylem::filters
