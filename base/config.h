#pragma once

// Reads a configuration file (TOML) as a flat list of keys with their line numbers, sorted by key
// in each table. Components keep their options in their own structs; `cli/` reports unknown keys.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem {

/// A key with one value. For example, the line `a.b = "x"` becomes {"a.b", "x", 3} if it is the
/// third line. Numbers and booleans are converted to text. An array becomes several entries with
/// the same key. A section without keys becomes an entry without a value.
struct ConfigEntry {
  std::string key;
  std::string value;
  int line;
};

/// Reads TOML text. `name` is the file's name in error messages. Fails with kInvalidArgument and
/// "NAME:LINE: why" on a syntax error or a duplicate key. Also fails on an empty array, and on an
/// array that contains arrays or tables.
Result<std::vector<ConfigEntry>> parse_config(std::string_view text, std::string_view name);

/// Reads a file. Fails if read_text_file() (text_file.h) or parse_config() fails. Fails with
/// kInvalidArgument if the file has more than kMaxTextBytes.
Result<std::vector<ConfigEntry>> load_config(const std::string& path);

/// Converts a duration to nanoseconds, for example "200ms" or "1.5s". The units are ns, us, ms, s,
/// m and h. Only 0 needs no unit. The number is decimal, without a sign. Fails with
/// kInvalidArgument on anything else and on overflow.
Result<long long> parse_duration(std::string_view text);

/// The inverse of parse_duration: "2s", "250ms". Uses the largest unit that gives a whole number,
/// but no unit above seconds.
std::string print_duration(long long ns);

/// Returns `text` as a TOML string, in double quotes.
std::string print_text(std::string_view text);

/// Converts "64k", "1M", "2G" or a number without a unit to bytes (powers of 1024). The number is
/// decimal, without a sign. Fails with kInvalidArgument on anything else and on overflow.
Result<long long> parse_size(std::string_view text);

}  // namespace xylem
