#pragma once

// Keys of rows of a run's file. A damaged file may have any number as a key. The column `leaf` of
// tables has a LeafId.

#include <cstdint>

#include "base/ids.h"

namespace xylem::storage {

/// Key of the table `process`.
enum class ProcessKey : std::int64_t {};
/// Key of the table `function`.
enum class FunctionKey : std::int64_t {};

/// The key of a function. Exception: if the leaf has a row for the id in the table
/// `function_alias`, that row has the key.
constexpr FunctionKey key_of(FunctionId function) { return FunctionKey{raw(function)}; }

}  // namespace xylem::storage
