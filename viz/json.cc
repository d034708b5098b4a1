#include "viz/json.h"

namespace xylem::viz {

void Json::separate() {
  if (!is_first_) text_ += ',';
  is_first_ = false;
}

void Json::key(std::string_view name) {
  separate();
  text_ += storage::to_json(storage::Value(std::string(name)));
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

void Json::put(std::string_view text) {
  separate();
  text_ += text;
}

}  // namespace xylem::viz
