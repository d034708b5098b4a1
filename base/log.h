#pragma once

// The log: a constant message, and what varies as keys.
//
//   log(Level::kWarn, "link lost", {{"peer", node}, {"silent_ms", 4200}});
//   -> 12:03:44.120 xylem-commproc[812] warn link lost peer=7 silent_ms=4200
//
// error: a person must act; warn: degraded, going on; info: a few lines a life; debug: off.
// Nothing is logged per event. Whoever handles an error logs it, once.

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace xylem {

enum class Level { kDebug, kInfo, kWarn, kError };

/// A key and its value as text.
struct LogField {
  std::string_view key;
  std::string value;

  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  template <typename T>
  requires std::integral<T> || std::floating_point<T> LogField(std::string_view k, T v)
      : key(k), value(std::to_string(v)) {}
  template <typename T>
  requires std::is_enum_v<T> LogField(std::string_view k, T v)
      : key(k), value(std::to_string(static_cast<std::underlying_type_t<T>>(v))) {}
};

/// Writes one line, when `level` is at or above the level set. From any thread.
void log(Level level, std::string_view message, std::initializer_list<LogField> fields = {});

/// Where lines go and from which level on. Call it once, in main; the default is standard error
/// from kWarn on, under the name "xylem". An empty `file` means standard error; when the file
/// cannot be opened, standard error is used and says so.
void configure_log(std::string_view program, Level level, const std::string& file = {});

/// "debug", "info", "warn", "error"; anything else gives kWarn.
Level parse_level(std::string_view name);

/// Gets warnings and errors besides, whatever the level set, in the thread that logs them, until an
/// empty function is set: for a process whose own log nobody reads. What a listener borrows must
/// outlive that. It must not log.
void set_log_listener(std::function<void(Level, std::string_view line)> listener);

/// For tests: gets every line instead of the file, until an empty function is set.
void set_log_sink(std::function<void(Level, std::string_view line)> sink);

}  // namespace xylem
