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

/// A word of memory that the front end shares with the process that restarts it. The word has the
/// id of the stream whose plugin is being called. If a plugin crashes, the front end dies, and so
/// does each successor that receives the same wave again. The word then tells which plugin has
/// crashed. Only one thread may write.
class FoldMark {
 public:
  /// Fails with kExhausted when there is no memory or descriptor.
  static Result<FoldMark> make();
  /// Opens the mark of another process. Fails with kInvalidArgument when the descriptor does not
  /// belong to a mark.
  static Result<FoldMark> of(UniqueFd memory);

  int fd() const { return memory_.get(); }

  /// Call these around each call of a plugin, and around its loading. They are cheap: one store
  /// each.
  void enter(StreamId stream) { word_->store(raw(stream), std::memory_order_relaxed); }
  void leave() { word_->store(0, std::memory_order_relaxed); }

  /// Returns the stream whose plugin was being called when the writer died, if any. Resets the
  /// mark.
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
