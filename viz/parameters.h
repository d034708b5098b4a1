#pragma once

// Parses a request's target: a path, and parameters by name.
//
//   auto target = Target::parse("/api/v1/ranks?value=wait&begin_ns=0");
//   target->path();                     // "/api/v1/ranks"
//   target->count("columns", 600);      // 600: it is not there

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace xylem::viz {

/// Maximum size of a target; enough for an SQL query.
constexpr std::size_t kMaxTargetBytes = 12u << 10;

/// A target, decoded. The caller reads each parameter with its expected type. fault() reports the
/// first one that is wrong or was not read, so that a mistyped name is an error.
class Target {
 public:
  /// Fails with kInvalidArgument on an invalid path, invalid percent-encoding, zero bytes, and a
  /// parameter that occurs twice.
  static Result<Target> parse(std::string_view target);

  const std::string& path() const { return path_; }

  /// A parameter, or nothing.
  std::optional<std::string> text(const std::string& name);
  /// A whole number from 0; `otherwise` if the parameter is missing.
  std::uint64_t count(const std::string& name, std::uint64_t otherwise);
  std::optional<std::uint64_t> count(const std::string& name);
  /// The number of a world or a host: of 32 bits.
  std::optional<std::uint32_t> id(const std::string& name);
  /// A time in ns, which may be negative.
  std::optional<Nanos> nanos(const std::string& name);
  /// "0", "1", "false" or "true"; false when it is not there.
  bool flag(const std::string& name);
  /// The index of the value in `choices`, separated by '|'; the first if the parameter is missing.
  std::size_t choice(const std::string& name, std::string_view choices);

  /// The first parameter that could not be read, or else one that nobody asked for.
  std::optional<Error> fault() const;

  /// The target without one of its parameters, as it was sent otherwise.
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
