#pragma once

// Holds a run's file for a scope.

#include "base/result.h"
#include "storage/read/query.h"

namespace xylem::storage {

/// While it lives, all queries see one commit (RunFile::hold()). Borrows the file.
class Held {
 public:
  explicit Held(RunFile& run) : run_(run), held_(run.hold()) {}
  ~Held() {
    if (held_) run_.release();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  /// Why the file could not be held, if so.
  const Result<void>& result() const { return held_; }

 private:
  RunFile& run_;
  Result<void> held_;
};

}  // namespace xylem::storage
