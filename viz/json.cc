#include "viz/json.h"

#include <algorithm>
#include <cmath>

namespace xylem::viz {

void Json::separate() {
  if (!is_first_) text_ += ',';
  is_first_ = false;
}

void Json::key(std::string_view name) {
  separate();
  append_quoted(name);
  text_ += ':';
  is_first_ = true;  // Its value follows without a comma.
}

void Json::open(char bracket) {
  separate();
  text_ += bracket;
  is_first_ = true;
}

void Json::close(char bracket) {
  text_ += bracket;
  is_first_ = false;
}

// Most texts are names in ASCII, a hundred thousand of them in a large answer.
void Json::append_quoted(std::string_view text) {
  const bool is_plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
  if (!is_plain) {
    text_ += storage::to_json(storage::Value(std::string(text)));
    return;
  }
  text_ += '"';
  text_ += text;
  text_ += '"';
}

void Json::value(std::string_view text) {
  separate();
  append_quoted(text);
}

void Json::value(double number) {
  if (!std::isfinite(number)) return put("null");
  char digits[32];
  put({digits, std::to_chars(digits, std::end(digits), number).ptr});
}

void Json::put(std::string_view text) {
  separate();
  text_ += text;
}

}  // namespace xylem::viz
