#include <algorithm>

#include "filters/builtin_internal.h"

namespace xylem::filters::internal {

Unexpected refused(std::string_view filter, const std::string& why) {
  return unexpected(Code::kInvalidArgument, std::string(filter) + ": " + why);
}

Unexpected not_taken(std::string_view filter, wire::FieldNumber number,
                     const wire::FieldValue* found, std::string_view what) {
  const std::string field = "field " + std::to_string(number);
  const std::string fault = found == nullptr
                                ? "there is no " + field
                                : field + " is " + std::string(wire::type_name(*found));
  return refused(filter, fault + "; it takes " + std::string(what));
}

Result<void> only_parameters(std::string_view filter, const wire::Fields& parameters,
                             std::initializer_list<wire::FieldNumber> known) {
  for (const auto& [number, value] : parameters) {
    if (std::find(known.begin(), known.end(), number) == known.end()) {
      return refused(filter, "it has no parameter " + std::to_string(number) + "; leave it out");
    }
  }
  return {};
}

void StateReader::note(wire::FieldNumber number, const wire::FieldValue& wanted) {
  if (!fault_.empty()) return;
  fault_ = "it has no field " + std::to_string(number) + " of type " +
           std::string(wire::type_name(wanted));
}

Unexpected StateReader::error() const {
  return refused(filter_, "the received bytes are not a state of this filter: " + fault_ +
                              "; all nodes of a stream must run the same filter");
}

}  // namespace xylem::filters::internal
