#include "frontend/stream_fold.h"

#include <map>
#include <utility>

#include "filters/stream_filter.h"

namespace xylem::frontend {
namespace {

struct Folded {
  std::shared_ptr<const filters::Aggregation>
      aggregation;  // Shared, as aggregation_of() returns it.
  bool is_plugin = false;
};

class AggregationFold final : public storage::StreamFold {
 public:
  using Streams = std::map<StreamId, Folded>;
  AggregationFold(Streams streams, std::shared_ptr<launch::FoldMark> mark)
      : streams_(std::move(streams)), mark_(std::move(mark)) {}

  bool merges(StreamId stream) const override { return find(stream) != nullptr; }
  bool merge(StreamId stream, wire::Fields& state, const wire::Fields& other) const override {
    const Folded* folded = find(stream);
    if (folded == nullptr) return false;
    const Marked marked(*this, *folded, stream);
    return folded->aggregation->merge(state, other).has_value();
  }
  std::optional<wire::Fields> finish(StreamId stream, const wire::Fields& state) const override {
    const Folded* folded = find(stream);
    if (folded == nullptr) return state;
    const Marked marked(*this, *folded, stream);
    auto finished = folded->aggregation->finish(state);
    if (!finished) return std::nullopt;
    return *std::move(finished);
  }

 private:
  // Built-in aggregations do not crash, so only plugins are marked.
  class Marked {
   public:
    Marked(const AggregationFold& fold, const Folded& folded, StreamId stream)
        : mark_(folded.is_plugin ? fold.mark_.get() : nullptr) {
      if (mark_ != nullptr) mark_->enter(stream);
    }
    ~Marked() {
      if (mark_ != nullptr) mark_->leave();
    }
    Marked(const Marked&) = delete;
    Marked& operator=(const Marked&) = delete;

   private:
    launch::FoldMark* mark_;
  };

  const Folded* find(StreamId stream) const {
    const auto it = streams_.find(stream);
    return it == streams_.end() ? nullptr : &it->second;
  }

  Streams streams_;
  std::shared_ptr<launch::FoldMark> mark_;  // Shared with the loading of plugins.
};

const char* to_text(wire::Synchronisation synchronisation) {
  switch (synchronisation) {
    case wire::Synchronisation::kWaitForAll:
      return "wait_for_all";
    case wire::Synchronisation::kTimeOut:
      return "time_out";
    case wire::Synchronisation::kAsItComes:
      return "as_it_comes";
  }
  return "";
}

}  // namespace

Result<std::shared_ptr<const storage::StreamFold>> make_stream_fold(
    const std::vector<wire::StreamSpec>& streams, std::shared_ptr<launch::FoldMark> mark) {
  AggregationFold::Streams folded;
  for (const wire::StreamSpec& spec : streams) {
    const bool is_marked = mark != nullptr && !spec.plugin.empty();
    if (is_marked) mark->enter(spec.id);
    auto aggregation = filters::aggregation_of(spec);
    if (is_marked) mark->leave();
    if (!aggregation) return unexpected(std::move(aggregation.error()));
    if (*aggregation == nullptr) continue;
    folded.emplace(spec.id, Folded{*std::move(aggregation), !spec.plugin.empty()});
  }
  std::shared_ptr<const storage::StreamFold> fold =
      std::make_shared<AggregationFold>(std::move(folded), std::move(mark));
  return fold;
}

std::vector<storage::StreamFacts> stream_facts(const std::vector<wire::StreamSpec>& streams) {
  std::vector<storage::StreamFacts> facts;
  facts.reserve(streams.size());
  for (const wire::StreamSpec& spec : streams) {
    facts.push_back({spec.id, spec.name, spec.aggregation, to_text(spec.synchronisation)});
  }
  return facts;
}

}  // namespace xylem::frontend
