#pragma once

// The log. A line has a constant message; the variable parts are keys with values.
//
//   log(Level::kWarn, "link lost", {{"peer", node}, {"silent_ms", 4200}});
//   -> 12:03:44.120 xylem-commproc[812] warning link lost peer=7 silent_ms=4200
//
// Levels: `error` means that a person must act. `warn` means that something works less well, for
// example because a link was lost. A process writes only a few lines at level `info`. `debug` is
// normally off. At no level does xylem log a line for each event. An error is logged once, where it
// is handled.
//
// A process has one log. It is global, because every function may need it, also in another thread.

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

/// Writes one line if `level` is at or above the configured level. Any thread may call it.
void log(Level level, std::string_view message, std::initializer_list<LogField> fields = {});

/// Sets where lines go and the lowest level that is written. Call it once, in main, before other
/// threads log. Without this call, warnings and errors go to standard error under the name "xylem".
/// An empty `file` means standard error. If the file cannot be opened, the log goes to standard
/// error. A warning says so, unless `level` is kError.
void configure_log(std::string_view program, Level level, const std::string& file = {});

/// Converts "debug", "info", "warn" or "error"; any other text gives kWarn.
Level parse_level(std::string_view name);

/// Also passes warnings and errors to `listener`, even if the configured level leaves them out of
/// the log. Use it in a process whose log file nobody reads. The listener is called on the thread
/// that logs. The listener must not log. To remove the listener, set an empty function. Objects
/// that the listener uses must live until it is removed. Call it while no other thread logs.
void set_log_listener(std::function<void(Level, std::string_view line)> listener);

/// For tests: `sink` gets every line, and the file gets none. To end this, set an empty function.
/// Call it while no other thread logs.
void set_log_sink(std::function<void(Level, std::string_view line)> sink);

}  // namespace xylem
