#pragma once

// Parses the target of a request: a path, and parameters with names.
//
//   auto target = Target::parse("/api/v1/ranks?value=wait&begin_ns=0");
//   target->path();                     // "/api/v1/ranks"
//   target->count("columns", 600);      // 600, the default, since the parameter is missing

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace xylem::viz {

/// Maximum size of a target in bytes. It is large enough for an SQL query.
constexpr std::size_t kMaxTargetBytes = 12u << 10;

/// A decoded target. The caller reads each parameter that it knows, with the expected type. Then
/// fault() reports a parameter that has a wrong value or was not read. So a mistyped name is an
/// error. Not thread-safe.
class Target {
 public:
  /// Fails with kInvalidArgument if the target is longer than kMaxTargetBytes, if the path or the
  /// percent-encoding is invalid, if the target contains a control character or an encoded zero
  /// byte, or if a parameter occurs twice.
  static Result<Target> parse(std::string_view target);

  const std::string& path() const { return path_; }

  /// Returns the value of a parameter as text; nullopt if the parameter is missing. The other
  /// functions that return an optional also return nullopt for a missing parameter.
  std::optional<std::string> text(const std::string& name);
  /// Returns a whole number that is not negative; `otherwise` if the parameter is missing.
  std::uint64_t count(const std::string& name, std::uint64_t otherwise);
  std::optional<std::uint64_t> count(const std::string& name);
  /// Returns the number of a world or a host, which has 32 bits.
  std::optional<std::uint32_t> id(const std::string& name);
  /// Returns a whole number. It may be negative.
  std::optional<std::int64_t> integer(const std::string& name);
  /// Returns a time in ns. It may be negative.
  std::optional<Nanos> nanos(const std::string& name);
  /// Returns the value of a parameter that is "0", "1", "false" or "true"; false if the parameter
  /// is missing.
  bool flag(const std::string& name);
  /// Returns the index of the value in `choices` ("mpi|wait|bytes"); 0 if the parameter is missing.
  std::size_t choice(const std::string& name, std::string_view choices);

  /// Returns an error for the first parameter with a wrong value. If there is none, returns an
  /// error for a parameter that the caller has not read. If all parameters were read, returns
  /// nullopt.
  std::optional<Error> fault() const;

  /// Returns the target without the parameter `name`. The rest is unchanged.
  static std::string without(std::string_view target, std::string_view name);

 private:
  struct Parameter {
    std::string value;
    bool is_read = false;
  };
  template <typename Number>
  std::optional<Number> number(const std::string& name, const char* what);
  void fail(const std::string& sentence);

  std::string path_;
  std::map<std::string, Parameter> parameters_;
  std::optional<Error> fault_;
};

}  // namespace xylem::viz
