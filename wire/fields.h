#pragma once

// The values that tools and programs send through a tree. Each value has a number and a type. A
// reader finds a field by its number and checks its type. A reader skips the numbers that it does
// not know, so formats can grow.
//
//   Fields sent{{1, std::int64_t{42}}, {2, std::vector<double>{0.5, 0.25}}};
//   const Result<std::int64_t> answer = sent.get<std::int64_t>(1);

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace xylem::wire {

/// Writers and readers agree on the meaning of each number. A number never changes its meaning; a
/// new meaning needs a new number.
using FieldNumber = std::uint16_t;

/// A string is a sequence of bytes in any encoding; it may contain zeros. Reading never converts a
/// type: a value sent as int64 is read as int64.
using FieldValue =
    std::variant<std::int64_t, std::uint64_t, double, std::string, std::vector<std::byte>,
                 std::vector<std::int64_t>, std::vector<std::uint64_t>, std::vector<double>,
                 std::vector<std::string>>;

/// "int64", "uint64", "float64", "string", "bytes", "array of int64", ... "array of string".
std::string_view type_name(const FieldValue& value);

/// The fields of one wave, in ascending order of their numbers. Each number occurs at most once.
/// Fields is a value type and not thread-safe. Needs 48 bytes of memory per field, plus the
/// contents of strings and arrays.
class Fields {
 public:
  Fields() = default;
  /// If a number occurs twice, the later value counts.
  Fields(std::initializer_list<std::pair<FieldNumber, FieldValue>> fields);

  /// Sets the value of a number. Adds the field if it is missing. Calls in ascending order of
  /// numbers are cheapest.
  Fields& set(FieldNumber number, FieldValue value);

  /// Returns a copy of the value. Fails with kNotFound if there is no field with this number. Fails
  /// with kInvalidArgument if the field has another type; the message names the number and both
  /// types.
  template <typename T>
  Result<T> get(FieldNumber number) const;

  /// Returns nullptr if there is no field with this number. The pointer is valid until the next
  /// set(), reserve() or assignment.
  const FieldValue* find(FieldNumber number) const;
  FieldValue* find(FieldNumber number);

  /// Returns nullptr if there is no field with this number, or if the field has another type.
  template <typename T>
  const T* find_as(FieldNumber number) const {
    const FieldValue* value = find(number);
    return value == nullptr ? nullptr : std::get_if<T>(value);
  }

  /// Reserves memory for `count` fields.
  void reserve(std::size_t count) { fields_.reserve(count); }

  /// Pairs of number and value, in ascending order of the numbers.
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }

  /// The exact size of these fields in a packet, for callers that limit a packet's size.
  std::size_t bytes() const;

  /// True if numbers, types and values are equal. Floating-point values are compared with ==, so
  /// fields that contain a NaN are not equal to themselves.
  bool operator==(const Fields&) const = default;

 private:
  std::vector<std::pair<FieldNumber, FieldValue>> fields_;
};

// The errors of get(). `wanted` is any value of the requested type.
Unexpected no_such_field(FieldNumber number, const FieldValue& wanted);
Unexpected other_type(FieldNumber number, const FieldValue& found, const FieldValue& wanted);

template <typename T>
Result<T> Fields::get(FieldNumber number) const {
  const FieldValue* value = find(number);
  if (value == nullptr) return no_such_field(number, FieldValue(T{}));
  const T* typed = std::get_if<T>(value);
  if (typed == nullptr) return other_type(number, *value, FieldValue(T{}));
  return *typed;
}

}  // namespace xylem::wire
