#pragma once

// Writes JSON, piece by piece, into a string.
//
//   Json json;
//   json.object([&] {
//     json.field("rank", 3);
//     json.array("calls", calls, [&](const Call& call) { json.value(call.name); });
//   });

#include <charconv>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "storage/read/query.h"

namespace xylem::viz {

/// Writes one JSON value. The output is valid JSON if the calls are nested like the parts of the
/// value; this is not checked. Commas and quotes are added. Invalid UTF-8 becomes U+FFFD. NaN and
/// infinities become null. Functions with a `name` write a member of an object, the others write an
/// element of an array or the whole value. Not thread-safe.
class Json {
 public:
  /// Writes an object. `inside` must write its members.
  template <typename Inside>
  void object(Inside inside) {
    open('{');
    inside();
    close('}');
  }
  template <typename Inside>
  void object(std::string_view name, Inside inside) {
    key(name);
    object(inside);
  }
  /// Writes an array. `each` must write one value for each element.
  template <typename Range, typename Each>
  void array(std::string_view name, const Range& range, Each each) {
    key(name);
    open('[');
    for (const auto& element : range) each(element);
    close(']');
  }
  /// Writes an array that is an element of another array.
  template <typename Range, typename Each>
  void array(const Range& range, Each each) {
    open('[');
    for (const auto& element : range) each(element);
    close(']');
  }

  /// Writes a member. `value_of` has any type that value() takes.
  template <typename Value>
  void field(std::string_view name, const Value& value_of) {
    key(name);
    value(value_of);
  }

  // Each value() writes a value without a name.

  void value(bool value) { put(value ? "true" : "false"); }
  template <std::integral Number>
  void value(Number number) {
    char digits[24];
    put({digits, std::to_chars(digits, std::end(digits), number).ptr});
  }
  /// Uses the fewest digits from which the same number can be read; null if it is not finite.
  void value(double number);
  /// Writes a string in quotes.
  void value(std::string_view text);
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(const char* text) { value(std::string_view(text)); }
  /// Writes a value of a query, see storage::to_json().
  void value(const storage::Value& cell) { put(storage::to_json(cell)); }
  /// Writes an id as its number.
  template <typename Id>
  requires std::is_enum_v<Id>
  void value(Id id) { value(static_cast<std::underlying_type_t<Id>>(id)); }
  /// Writes null for nullopt.
  template <typename Value>
  void value(const std::optional<Value>& maybe) {
    if (maybe) {
      value(*maybe);
    } else {
      put("null");
    }
  }

  /// Inserts text that is already JSON: one whole value. This is not checked.
  void written(std::string_view json) { put(json); }
  void written(std::string_view name, std::string_view json) {
    key(name);
    put(json);
  }

  /// Returns the output. Call it once, at the end.
  std::string take() { return std::move(text_); }

 private:
  void key(std::string_view name);
  void open(char bracket);
  void close(char bracket);
  void put(std::string_view text);
  void separate();
  void append_quoted(std::string_view text);

  std::string text_;
  /// True if the next element is the first one after a bracket: then no comma is written.
  bool is_first_ = true;
};

}  // namespace xylem::viz
