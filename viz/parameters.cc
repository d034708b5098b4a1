#include "viz/parameters.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/quoted.h"

namespace xylem::viz {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Returns nullopt if a percent sign is not followed by two hexadecimal digits, or if they encode a
/// zero byte.
std::optional<std::string> decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = digit_of(text[i + 1]);
      const int low = digit_of(text[i + 2]);
      if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

Unexpected wrong(const std::string& sentence) {
  return unexpected(Code::kInvalidArgument, sentence);
}

/// The next piece up to `end`, which is taken out of `rest`.
std::string_view next_piece(std::string_view& rest, char end) {
  const std::size_t at = rest.find(end);
  const std::string_view piece = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return piece;
}

}  // namespace

Result<Target> Target::parse(std::string_view target) {
  if (target.size() > kMaxTargetBytes) return wrong("the address is too long");
  // A browser would read a redirection to "//host" as another server.
  if (!target.starts_with("/") || target.starts_with("//") || target.starts_with("/\\")) {
    return wrong("the address is not a path");
  }
  if (std::ranges::any_of(target, [](char c) { return c == '\x7f' || (c >= 0 && c < ' '); })) {
    return wrong("the address has control characters");
  }
  std::string_view rest = target.substr(0, target.find('#'));
  Target parsed;
  const auto path = decoded(next_piece(rest, '?'), false);
  if (!path) return wrong("the path has an invalid percent code");
  parsed.path_ = *path;
  while (!rest.empty()) {
    std::string_view piece = next_piece(rest, '&');
    if (piece.empty()) continue;
    const auto name = decoded(next_piece(piece, '='), true);
    const auto value = decoded(piece, true);
    if (!name || !value) return wrong("a parameter has an invalid percent code");
    if (!parsed.parameters_.try_emplace(*name, Parameter{*value}).second) {
      return wrong("the parameter " + quoted(*name) + " comes twice");
    }
  }
  return parsed;
}

void Target::fail(const std::string& sentence) {
  if (!fault_) fault_ = Error{Code::kInvalidArgument, sentence};
}

std::optional<std::string> Target::text(const std::string& name) {
  const auto found = parameters_.find(name);
  if (found == parameters_.end()) return std::nullopt;
  found->second.is_read = true;
  return found->second.value;
}

template <typename Number>
std::optional<Number> Target::number(const std::string& name, const char* what) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  Number number{};
  const char* const end = given->data() + given->size();
  const auto [stop, failure] = std::from_chars(given->data(), end, number);
  if (failure == std::errc() && stop == end && !given->empty()) return number;
  fail(name + " must be " + what + ", not " + quoted(*given));
  return std::nullopt;
}

std::optional<std::uint64_t> Target::count(const std::string& name) {
  return number<std::uint64_t>(name, "a whole number from 0");
}
std::optional<std::uint32_t> Target::id(const std::string& name) {
  return number<std::uint32_t>(name, "a whole number from 0 to 4294967295");
}
std::uint64_t Target::count(const std::string& name, std::uint64_t otherwise) {
  return count(name).value_or(otherwise);
}
std::optional<std::int64_t> Target::integer(const std::string& name) {
  return number<std::int64_t>(name, "a whole number");
}

std::optional<Nanos> Target::nanos(const std::string& name) {
  return number<Nanos>(name, "a time in nanoseconds");
}

bool Target::flag(const std::string& name) {
  const auto given = text(name).value_or("0");
  if (given != "0" && given != "1" && given != "true" && given != "false") {
    fail(name + " must be 0 or 1, not " + quoted(given));
  }
  return given == "1" || given == "true";
}

std::size_t Target::choice(const std::string& name, std::string_view choices) {
  const auto given = text(name);
  if (!given) return 0;
  std::string_view rest = choices;
  for (std::size_t i = 0; !rest.empty(); ++i) {
    if (next_piece(rest, '|') == *given) return i;
  }
  fail(name + " must be one of " + std::string(choices) + ", not " + quoted(*given));
  return 0;
}

std::optional<Error> Target::fault() const {
  if (fault_) return fault_;
  for (const auto& [name, parameter] : parameters_) {
    if (!parameter.is_read) {
      return Error{Code::kInvalidArgument, "there is no parameter " + quoted(name) + " here"};
    }
  }
  return std::nullopt;
}

std::string Target::without(std::string_view target, std::string_view name) {
  std::string_view rest = target.substr(0, target.find('#'));
  std::string out(next_piece(rest, '?'));
  char between = '?';
  while (!rest.empty()) {
    const std::string_view piece = next_piece(rest, '&');
    if (piece.empty() || decoded(piece.substr(0, piece.find('=')), true) == name) continue;
    out += between;
    out += piece;
    between = '&';
  }
  return out;
}

}  // namespace xylem::viz
