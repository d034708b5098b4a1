#include "frontend/stream_fold.h"

#include <map>
#include <utility>

#include "filters/stream_filter.h"

namespace xylem::frontend {
namespace {

class AggregationFold final : public storage::StreamFold {
 public:
  using Aggregations = std::map<StreamId, std::shared_ptr<const filters::Aggregation>>;
  explicit AggregationFold(Aggregations aggregations) : aggregations_(std::move(aggregations)) {}

  bool merges(StreamId stream) const override { return find(stream) != nullptr; }
  bool merge(StreamId stream, wire::Fields& state, const wire::Fields& other) const override {
    const filters::Aggregation* aggregation = find(stream);
    return aggregation != nullptr && aggregation->merge(state, other).has_value();
  }
  std::optional<wire::Fields> finish(StreamId stream, const wire::Fields& state) const override {
    const filters::Aggregation* aggregation = find(stream);
    if (aggregation == nullptr) return state;
    auto finished = aggregation->finish(state);
    if (!finished) return std::nullopt;
    return *std::move(finished);
  }

 private:
  const filters::Aggregation* find(StreamId stream) const {
    const auto it = aggregations_.find(stream);
    return it == aggregations_.end() ? nullptr : it->second.get();
  }

  Aggregations aggregations_;
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
    const std::vector<wire::StreamSpec>& streams) {
  AggregationFold::Aggregations aggregations;
  for (const wire::StreamSpec& spec : streams) {
    auto aggregation = filters::aggregation_of(spec);
    if (!aggregation) return unexpected(std::move(aggregation.error()));
    if (*aggregation != nullptr) aggregations.emplace(spec.id, *std::move(aggregation));
  }
  std::shared_ptr<const storage::StreamFold> fold =
      std::make_shared<AggregationFold>(std::move(aggregations));
  return fold;
}

std::vector<storage::StreamFacts> stream_facts(const std::vector<wire::StreamSpec>& streams) {
  std::vector<storage::StreamFacts> facts;
  for (const wire::StreamSpec& spec : streams) {
    facts.push_back({spec.id, spec.name, spec.aggregation, to_text(spec.synchronisation)});
  }
  return facts;
}

}  // namespace xylem::frontend
