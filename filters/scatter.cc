#include "filters/scatter.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "filters/builtin_internal.h"

namespace xylem::filters {
namespace {

constexpr std::string_view kName = "scatter";

template <typename T>
constexpr bool kIsArray = false;
template <typename T>
constexpr bool kIsArray<std::vector<T>> = !std::is_same_v<T, std::byte>;

bool is_array(const wire::FieldValue& value) {
  return std::visit([]<typename T>(const T&) { return kIsArray<T>; }, value);
}

template <typename T>
std::vector<T> part_of(const std::vector<T>& all, const Place& place) {
  const std::size_t least = all.size() / place.count, more = all.size() % place.count;
  const std::size_t first = place.position * least + std::min(place.position, more);
  const std::size_t length = least + (place.position < more ? 1 : 0);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(length)};
}

class Scatter final : public Narrowing {
 public:
  explicit Scatter(std::vector<std::uint64_t> cut) : cut_(std::move(cut)) {}

  Result<std::optional<wire::Fields>> narrow(const Place& place,
                                             const wire::Fields& sent) const override {
    for (const std::uint64_t number : cut_) {
      const auto field = static_cast<wire::FieldNumber>(number);
      const wire::FieldValue* value = sent.find(field);
      if (value == nullptr || !is_array(*value)) {
        return internal::not_taken(kName, field, value, "an array there, to be cut");
      }
    }
    wire::Fields part;
    part.reserve(sent.size());
    for (const auto& [number, value] : sent) part.set(number, part_of(number, value, place));
    return std::optional(std::move(part));
  }

 private:
  wire::FieldValue part_of(wire::FieldNumber number, const wire::FieldValue& value,
                           const Place& place) const {
    const bool is_cut = cut_.empty() || std::find(cut_.begin(), cut_.end(), number) != cut_.end();
    if (!is_cut) return value;
    return std::visit(
        [&]<typename T>(const T& held) -> wire::FieldValue {
          if constexpr (kIsArray<T>) {
            return filters::part_of(held, place);
          } else {
            return held;
          }
        },
        value);
  }

  const std::vector<std::uint64_t> cut_;  // Empty: every array.
};

}  // namespace

Result<std::shared_ptr<const Narrowing>> make_scatter(const wire::Fields& parameters) {
  if (auto known = internal::only_parameters(kName, parameters, {scatter::kCut}); !known) {
    return unexpected(std::move(known.error()));
  }
  std::vector<std::uint64_t> cut;
  if (const wire::FieldValue* given = parameters.find(scatter::kCut)) {
    const auto* numbers = std::get_if<std::vector<std::uint64_t>>(given);
    if (numbers == nullptr) {
      return internal::refused(kName, "parameter 1 is " + std::string(wire::type_name(*given)) +
                                          "; it takes an array of uint64, numbers of fields");
    }
    if (numbers->empty()) {
      return internal::refused(kName, "parameter 1 names no field; leave it out to cut all arrays");
    }
    for (const std::uint64_t number : *numbers) {
      if (number <= std::numeric_limits<wire::FieldNumber>::max()) continue;
      return internal::refused(kName, "parameter 1 names field " + std::to_string(number) +
                                          "; numbers of fields are at most 65535");
    }
    cut = *numbers;
  }
  return std::shared_ptr<const Narrowing>(std::make_shared<Scatter>(std::move(cut)));
}

}  // namespace xylem::filters
