#pragma once

// Makes the program of one rank from operations and dependencies.
//
//   RankBuilder builder;
//   const auto work = builder.add({.amount = 1000, .kind = Kind::kCompute});
//   const auto send = builder.add({.amount = 8, .peer = 1, .kind = Kind::kSend});
//   builder.require(send, work);
//   auto built = std::move(builder).finish();

#include <cstdint>
#include <variant>
#include <vector>

#include "predict/trace/program.h"

namespace xylem::predict {

/// Why there is no program: the operation waits for itself, directly or through others.
struct Cycle {
  std::uint32_t operation;
};

/// Collects the operations of a rank. A value type; not thread-safe.
class RankBuilder {
 public:
  /// Adds an operation and returns its index: 0, 1, 2, ... At most kMaxOperations.
  std::uint32_t add(const Operation& operation);

  /// An operation that was added. What the builder sets itself, it sets later.
  Operation& at(std::uint32_t operation) { return operations_[operation]; }

  /// Adds what an operation kFile needs, and returns its `peer`.
  std::uint32_t add_access(const FileAccess& access) {
    accesses_.push_back(access);
    return static_cast<std::uint32_t>(accesses_.size() - 1);
  }

  /// `operation` starts after `required` has finished. Both have been added.
  void require(std::uint32_t operation, std::uint32_t required);

  /// `operation` starts after `required` has started (GOAL's irequires). Both have been added.
  void require_start(std::uint32_t operation, std::uint32_t required);

  std::uint32_t size() const { return static_cast<std::uint32_t>(operations_.size()); }

  /// The program, or an operation that can never start.
  std::variant<RankProgram, Cycle> finish() &&;

 private:
  struct Dependency {
    std::uint32_t required;
    Dependent dependent;
  };

  std::vector<Dependent> sort_dependents();
  bool may_have_cycle() const;

  std::vector<Operation> operations_;
  std::vector<Dependency> dependencies_;
  std::vector<FileAccess> accesses_;
};

}  // namespace xylem::predict
