#include "base/config.h"

// toml++ 3.3 asserts that a key follows "[", and with NDEBUG has the compiler take it for granted:
// "[=]" in a user's file would end the program, or worse. Its parser reports the error if it is
// let.
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace xylem {
namespace {

std::string where(std::string_view name, int line) {
  return std::string(name) + ":" + std::to_string(line) + ": ";
}

std::string scalar_text(const toml::node& node) {
  if (const auto text = node.value<std::string>()) return *text;
  std::ostringstream out;
  node.visit([&out](const auto& value) { out << value; });
  return out.str();
}

Result<void> flatten(const toml::table& table, const std::string& prefix, std::string_view name,
                     std::vector<ConfigEntry>& entries) {
  for (const auto& [key, node] : table) {
    const std::string full =
        prefix.empty() ? std::string(key.str()) : prefix + "." + std::string(key.str());
    const int line = static_cast<int>(node.source().begin.line);
    if (const auto* inner = node.as_table()) {
      if (auto done = flatten(*inner, full, name, entries); !done) return done;
    } else if (const auto* array = node.as_array()) {
      for (const auto& element : *array) {
        if (!element.is_value()) {
          return unexpected(Code::kInvalidArgument, where(name, line) + "'" + full +
                                                        "' holds a nested value; give plain ones");
        }
        entries.push_back({full, scalar_text(element), line});
      }
    } else {
      entries.push_back({full, scalar_text(node), line});
    }
  }
  return {};
}

struct Unit {
  std::string_view name;
  double factor;
};

// A number followed by one of the units; `bare` is the factor without a unit.
template <std::size_t N>
Result<long long> parse_quantity(std::string_view text, const Unit (&units)[N], double bare,
                                 std::string_view example) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  const std::string_view unit(end);
  double factor = unit.empty() ? bare : 0;
  for (const Unit& u : units) {
    if (unit == u.name) factor = u.factor;
  }
  const double value = number * factor;
  const bool usable =
      end != copy.c_str() && factor != 0 && std::isfinite(value) && value >= 0 && value < 9e18;
  if (!usable) {
    return unexpected(
        Code::kInvalidArgument,
        "'" + copy + "' is not understood; write for example " + std::string(example));
  }
  return std::llround(value);
}

}  // namespace

Result<std::vector<ConfigEntry>> parse_config(std::string_view text, std::string_view name) {
  std::vector<ConfigEntry> entries;
  try {
    const toml::table table = toml::parse(text, name);
    if (auto done = flatten(table, "", name, entries); !done) return unexpected(done.error());
  } catch (const toml::parse_error& e) {
    return unexpected(Code::kInvalidArgument, where(name, static_cast<int>(e.source().begin.line)) +
                                                  std::string(e.description()));
  }
  return entries;
}

Result<std::vector<ConfigEntry>> load_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return unexpected(Code::kNotFound, path + ": the configuration file cannot be read");
  }
  std::ostringstream text;
  text << file.rdbuf();
  return parse_config(text.str(), path);
}

Result<long long> parse_duration(std::string_view text) {
  static constexpr Unit kUnits[] = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                                    {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
  auto duration = parse_quantity(text, kUnits, 1, "250ms or 2s");
  const bool has_unit = !text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0;
  if (!duration || *duration == 0 || has_unit) return duration;
  const std::string number(text);
  return unexpected(Code::kInvalidArgument, "'" + number + "' has no unit; write for example " +
                                                number + "s or " + number + "ms");
}

Result<long long> parse_size(std::string_view text) {
  static constexpr Unit kUnits[] = {
      {"k", 1024}, {"K", 1024}, {"M", 1024.0 * 1024}, {"G", 1024.0 * 1024 * 1024}};
  return parse_quantity(text, kUnits, 1, "64k or 16M");
}

}  // namespace xylem
