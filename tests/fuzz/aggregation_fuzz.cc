// States of aggregations, and what users send up and down, from a peer that has the key and lies.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "filters/aggregation.h"
#include "filters/narrowing.h"
#include "wire/waves.h"

using namespace xylem;

namespace {

constexpr const char* kBuiltIns[] = {"sum",     "min",       "max",           "count",
                                     "moments", "histogram", "concatenation", "quantiles",
                                     "top",     "classes",   "matrix"};

void expect_reason(const Error& error) {
  CHECK(error.code == Code::kInvalidArgument && !error.message.empty());
}

void take(const filters::Aggregation& filter, const wire::Fields& input) {
  // As what a user sent: what is taken is a state, which can be finished.
  auto lifted = filter.lift(LeafId{1}, input);
  if (lifted) {
    CHECK(filter.finish(*lifted));
  } else {
    expect_reason(lifted.error());
  }
  // As a state: what is taken stays one.
  if (auto finished = filter.finish(input); !finished) expect_reason(finished.error());
  wire::Fields state = input;
  if (const auto merged = filter.merge(state, input); !merged) expect_reason(merged.error());
  if (!lifted) return;
  state = *lifted;
  if (filter.merge(state, input)) CHECK(filter.finish(state));
  state = input;
  if (filter.merge(state, *lifted)) CHECK(filter.finish(state));
}

// As its parameters, and as what is cut: no part is longer than it was.
void narrow(const wire::Fields& input) {
  constexpr std::size_t kLeaves = 3;
  for (const wire::Fields& parameters : {wire::Fields(), input}) {
    const auto scatter = filters::make_narrowing("scatter", parameters);
    if (!scatter) {
      expect_reason(scatter.error());
      continue;
    }
    for (std::size_t position = 0; position < kLeaves; ++position) {
      const auto part = (*scatter)->narrow({LeafId{1}, position, kLeaves}, input);
      if (!part) {
        expect_reason(part.error());
      } else {
        CHECK((*part)->size() == input.size() && (*part)->bytes() <= input.bytes());
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = wire::decode_fields(std::as_bytes(std::span(bytes, size)));
  if (!input) return 0;
  for (const char* name : kBuiltIns) {
    const auto filter = filters::make_aggregation(name, {});
    CHECK(filter);
    take(**filter, *input);
  }
  narrow(*input);
  return 0;
}
