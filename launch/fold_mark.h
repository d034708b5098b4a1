#pragma once

// Remembers which plugin the front end is calling, in case the plugin crashes.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::launch {

/// A word of memory that the front end shares with the process that restarts front ends. The word
/// contains the id of the stream whose plugin is being called. If a plugin crashes, the front end
/// dies. Each successor that receives the same wave also dies. The word then says which plugin has
/// crashed. Only one thread may write.
class FoldMark {
 public:
  /// Makes a mark. Fails with kExhausted if there is no memory file or descriptor, or if of()
  /// fails.
  static Result<FoldMark> make();
  /// Opens the mark of another process. Fails with kInvalidArgument if the descriptor's memory is
  /// too short or cannot be mapped.
  static Result<FoldMark> of(UniqueFd memory);

  int fd() const { return memory_.get(); }

  /// Call enter() before and leave() after each call of a plugin, and before and after loading a
  /// plugin. Both are cheap: one write to memory.
  void enter(StreamId stream) { word_->store(raw(stream), std::memory_order_relaxed); }
  void leave() { word_->store(0, std::memory_order_relaxed); }

  /// Returns the stream whose plugin was being called when the writer died; nullopt if no plugin
  /// was being called. Resets the mark.
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
