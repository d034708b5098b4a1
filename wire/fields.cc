#include "wire/fields.h"

#include <algorithm>

namespace xylem::wire {

namespace {

// Sizes in the schema: a list's pointer and tag, an element of type Field, a pointer to a text.
constexpr std::size_t kWord = 8;
constexpr std::size_t kPointerWords = 1;
constexpr std::size_t kTagWords = 1;
constexpr std::size_t kFieldWords = 3;

constexpr std::size_t words_of(std::size_t bytes) { return (bytes + kWord - 1) / kWord; }
// A text ends with a zero.
std::size_t text_words(const std::string& text) { return words_of(text.size() + 1); }

struct PayloadWords {
  std::size_t operator()(std::int64_t) const { return 0; }
  std::size_t operator()(std::uint64_t) const { return 0; }
  std::size_t operator()(double) const { return 0; }
  std::size_t operator()(const std::string& text) const { return text_words(text); }
  std::size_t operator()(const std::vector<std::byte>& bytes) const {
    return words_of(bytes.size());
  }
  template <typename Number>
  std::size_t operator()(const std::vector<Number>& numbers) const {
    return numbers.size();
  }
  std::size_t operator()(const std::vector<std::string>& texts) const {
    std::size_t words = texts.size() * kPointerWords;
    for (const std::string& text : texts) words += text_words(text);
    return words;
  }
};

bool number_less(const std::pair<FieldNumber, FieldValue>& field, FieldNumber number) {
  return field.first < number;
}

}  // namespace

std::string_view type_name(const FieldValue& value) {
  constexpr std::string_view kNames[] = {
      "int64",          "uint64",          "float64",          "string",         "bytes",
      "array of int64", "array of uint64", "array of float64", "array of string"};
  static_assert(std::size(kNames) == std::variant_size_v<FieldValue>);
  return kNames[value.index()];
}

Fields::Fields(std::initializer_list<std::pair<FieldNumber, FieldValue>> fields) {
  fields_.reserve(fields.size());
  for (const auto& [number, value] : fields) set(number, value);
}

Fields& Fields::set(FieldNumber number, FieldValue value) {
  if (fields_.empty() || fields_.back().first < number) {
    fields_.emplace_back(number, std::move(value));
    return *this;
  }
  const auto at = std::lower_bound(fields_.begin(), fields_.end(), number, number_less);
  if (at->first == number) {
    at->second = std::move(value);
  } else {
    fields_.emplace(at, number, std::move(value));
  }
  return *this;
}

const FieldValue* Fields::find(FieldNumber number) const {
  const auto at = std::lower_bound(fields_.begin(), fields_.end(), number, number_less);
  return at == fields_.end() || at->first != number ? nullptr : &at->second;
}

FieldValue* Fields::find(FieldNumber number) {
  return const_cast<FieldValue*>(std::as_const(*this).find(number));
}

std::size_t Fields::bytes() const {
  std::size_t words = kPointerWords;
  if (!fields_.empty()) words += kTagWords + fields_.size() * kFieldWords;
  for (const auto& [number, value] : fields_) words += std::visit(PayloadWords{}, value);
  return words * kWord;
}

Unexpected no_such_field(FieldNumber number, const FieldValue& wanted) {
  return unexpected(Code::kNotFound, "there is no field " + std::to_string(number) + " (" +
                                         std::string(type_name(wanted)) +
                                         " wanted); send it, or ask for another");
}

Unexpected other_type(FieldNumber number, const FieldValue& found, const FieldValue& wanted) {
  return unexpected(Code::kInvalidArgument, "field " + std::to_string(number) + " is " +
                                                std::string(type_name(found)) + ", not " +
                                                std::string(type_name(wanted)) +
                                                "; sender and reader must agree on its type");
}

}  // namespace xylem::wire
