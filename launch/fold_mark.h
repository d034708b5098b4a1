#pragma once

// In whose plugin the front end is.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::launch {

/// A word of memory that the front end shares with the process that keeps it alive: the stream
/// whose plugin is being called. A plugin that crashes takes the front end along, and each
/// successor that is sent the same wave again; by this word it is known which one it was. One
/// thread writes.
class FoldMark {
 public:
  /// Fails with kExhausted when there is no memory or descriptor.
  static Result<FoldMark> make();
  /// That of another process, by its descriptor. Fails with kInvalidArgument when it is none.
  static Result<FoldMark> of(UniqueFd memory);

  int fd() const { return memory_.get(); }

  /// Around each call of a plugin, and while it is loaded: two stores.
  void enter(StreamId stream) { word_->store(raw(stream), std::memory_order_relaxed); }
  void leave() { word_->store(0, std::memory_order_relaxed); }

  /// Where the writer was when it died, or none; forgets it.
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
