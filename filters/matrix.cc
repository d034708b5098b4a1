#include "filters/matrix.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "filters/builtin_internal.h"

namespace xylem::filters {

namespace {

using internal::refused;
using Numbers = std::vector<std::uint64_t>;

constexpr std::string_view kName = "matrix";

template <typename T>
struct Cell {
  std::uint64_t row, column;
  T value;

  bool operator<(const Cell& other) const {
    return std::pair(row, column) < std::pair(other.row, other.column);
  }
};

template <typename T>
wire::Fields to_state(const std::vector<Cell<T>>& cells) {
  Numbers rows, columns;
  std::vector<T> values;
  rows.reserve(cells.size());
  columns.reserve(cells.size());
  values.reserve(cells.size());
  for (const Cell<T>& cell : cells) {
    rows.push_back(cell.row);
    columns.push_back(cell.column);
    values.push_back(cell.value);
  }
  return wire::Fields{{matrix::kRows, std::move(rows)},
                      {matrix::kColumns, std::move(columns)},
                      {matrix::kValues, std::move(values)}};
}

// Sorts the cells and adds up the values of equal cells.
template <typename T>
void tidy(std::vector<Cell<T>>& cells) {
  if (!std::is_sorted(cells.begin(), cells.end())) std::stable_sort(cells.begin(), cells.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (kept > 0 && !(cells[kept - 1] < cells[i])) {
      cells[kept - 1].value = internal::add(cells[kept - 1].value, cells[i].value);
    } else {
      cells[kept++] = cells[i];
    }
  }
  cells.resize(kept);
}

// Returns the entries unchanged. `fields` is a state or a user's fields; only the order of entries
// differs.
template <typename T>
Result<std::vector<Cell<T>>> read_cells(const wire::Fields& fields) {
  const auto* rows = fields.find_as<Numbers>(matrix::kRows);
  const auto* columns = fields.find_as<Numbers>(matrix::kColumns);
  const auto& values = *fields.find_as<std::vector<T>>(matrix::kValues);
  if (rows == nullptr || columns == nullptr || rows->size() != values.size() ||
      columns->size() != values.size()) {
    return refused(kName,
                   "it takes rows (field 1) and columns (field 2) as arrays of uint64, as "
                   "long as that of the values (field 3)");
  }
  std::vector<Cell<T>> cells(values.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = {(*rows)[i], (*columns)[i], internal::canonical(values[i])};
  }
  return cells;
}

// Calls `use` with a value of the type of the values. Fails if this type is not allowed.
template <typename Use>
auto with_type(const wire::Fields& fields, const Use& use) -> decltype(use(std::int64_t{})) {
  const wire::FieldValue* values = fields.find(matrix::kValues);
  if (values != nullptr) {
    if (std::holds_alternative<std::vector<std::int64_t>>(*values)) return use(std::int64_t{});
    if (std::holds_alternative<std::vector<std::uint64_t>>(*values)) return use(std::uint64_t{});
    if (std::holds_alternative<std::vector<double>>(*values)) return use(double{});
  }
  return internal::not_taken(kName, matrix::kValues, values,
                             "an array of int64, uint64 or float64");
}

class Matrix final : public Aggregation {
 public:
  Result<wire::Fields> lift(LeafId, const wire::Fields& sent) const override {
    return with_type(sent, [&]<typename T>(T) -> Result<wire::Fields> {
      auto cells = read_cells<T>(sent);
      if (!cells) return unexpected(std::move(cells.error()));
      tidy(*cells);
      return to_state(*cells);
    });
  }

  Result<void> merge(wire::Fields& state, const wire::Fields& other) const override {
    return with_type(state, [&]<typename T>(T) -> Result<void> {
      if (other.find_as<std::vector<T>>(matrix::kValues) == nullptr) {
        return refused(kName, "leaves sent values (field 3) of different types; they must agree");
      }
      auto cells = read_cells<T>(state);
      if (!cells) return unexpected(std::move(cells.error()));
      const auto more = read_cells<T>(other);
      if (!more) return unexpected(more.error());
      const auto middle = static_cast<std::ptrdiff_t>(cells->size());
      cells->insert(cells->end(), more->begin(), more->end());
      std::inplace_merge(cells->begin(), cells->begin() + middle, cells->end());
      tidy(*cells);
      state = to_state(*cells);
      return {};
    });
  }

  Result<wire::Fields> finish(wire::Fields state) const override { return lift({}, state); }
};

}  // namespace

Result<std::shared_ptr<const Aggregation>> make_matrix(const wire::Fields& parameters) {
  if (auto known = internal::only_parameters(kName, parameters, {}); !known) {
    return unexpected(std::move(known.error()));
  }
  return std::shared_ptr<const Aggregation>(std::make_shared<Matrix>());
}

}  // namespace xylem::filters
