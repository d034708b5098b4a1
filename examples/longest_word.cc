// An aggregation in a shared object: the longest word of all leaves. If several words are longest,
// the result is the first of these in the order of bytes. So it does not depend on the shape of the
// tree.

#include <xylem/filters/plugin_adapter.h>

#include <memory>
#include <string>
#include <utility>

namespace {

using xylem::LeafId;
using xylem::Result;
using xylem::wire::Fields;

constexpr xylem::wire::FieldNumber kWord = 1;

class LongestWord final : public xylem::filters::Aggregation {
 public:
  static Result<std::unique_ptr<LongestWord>> create(const Fields&) {
    return std::make_unique<LongestWord>();
  }

  // Runs at the leaf. If the field is not a string, send() fails.
  Result<Fields> lift(LeafId, const Fields& sent) const override {
    auto word = sent.get<std::string>(kWord);
    if (!word) return xylem::unexpected(word.error());
    return Fields{{kWord, *std::move(word)}};
  }

  // Runs at every communication process and at the root.
  Result<void> merge(Fields& state, const Fields& other) const override {
    const auto mine = state.get<std::string>(kWord);
    const auto theirs = other.get<std::string>(kWord);
    if (!mine || !theirs) {
      return xylem::unexpected(xylem::Code::kInvalidArgument, "longest_word: not a state");
    }
    const bool is_longer = theirs->size() > mine->size();
    if (is_longer || (theirs->size() == mine->size() && *theirs < *mine)) {
      state.set(kWord, *theirs);
    }
    return {};
  }

  // Runs at the root.
  Result<Fields> finish(Fields state) const override { return state; }
};

}  // namespace

XYLEM_PLUGIN(xylem::filters::plugged<LongestWord>("longest_word"));
