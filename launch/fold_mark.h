#pragma once

// Marks the plugin that the front end is calling.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::launch {

/// A word of memory that the front end shares with the process that restarts it: the stream whose
/// plugin is being called. A crashing plugin also kills the front end, and each successor that
/// receives the same wave again; this word identifies the plugin. One thread writes.
class FoldMark {
 public:
  /// Fails with kExhausted when there is no memory or descriptor.
  static Result<FoldMark> make();
  /// The mark of another process, by its descriptor. Fails with kInvalidArgument when it is not a
  /// mark.
  static Result<FoldMark> of(UniqueFd memory);

  int fd() const { return memory_.get(); }

  /// Around each call of a plugin, and while it is loaded: two stores.
  void enter(StreamId stream) { word_->store(raw(stream), std::memory_order_relaxed); }
  void leave() { word_->store(0, std::memory_order_relaxed); }

  /// The stream at the writer's death, or none; resets the mark.
  std::optional<StreamId> take();

 private:
  struct Unmap {
    void operator()(std::atomic<std::uint32_t>* word) const;
  };
  using Word = std::unique_ptr<std::atomic<std::uint32_t>, Unmap>;
  FoldMark(UniqueFd memory, Word word) : memory_(std::move(memory)), word_(std::move(word)) {}

  UniqueFd memory_;
  Word word_;
};

}  // namespace xylem::launch
