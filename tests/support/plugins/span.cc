// A plugin as its author writes it: how far apart the values of all leaves lie, and multicasts for
// every other leaf. And one that misbehaves in each step, as its parameter says.

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "filters/plugin_adapter.h"

#ifndef XYLEM_SPAN_SCALE
#define XYLEM_SPAN_SCALE 1  // Another version of the same plugin has another.
#endif

namespace {

using namespace xylem;
using wire::Fields;

// Takes field 1, int64; gives field 1, int64: the greatest less the least.
class Span final : public filters::Aggregation {
 public:
  static Result<std::unique_ptr<Span>> create(const Fields& parameters) {
    if (!parameters.empty()) return unexpected(Code::kInvalidArgument, "span takes no parameters");
    return std::make_unique<Span>();
  }

  Result<Fields> lift(LeafId, const Fields& sent) const override {
    const auto value = sent.get<std::int64_t>(1);
    if (!value) return unexpected(value.error());
    return Fields{{1, *value}, {2, *value}};
  }

  Result<void> merge(Fields& state, const Fields& other) const override {
    for (const auto number : {wire::FieldNumber{1}, wire::FieldNumber{2}}) {
      const auto mine = state.get<std::int64_t>(number), theirs = other.get<std::int64_t>(number);
      if (!mine || !theirs) return unexpected(Code::kInvalidArgument, "no state of span");
      state.set(number, number == 1 ? std::min(*mine, *theirs) : std::max(*mine, *theirs));
    }
    return {};
  }

  Result<Fields> finish(Fields state) const override {
    const auto least = state.get<std::int64_t>(1), greatest = state.get<std::int64_t>(2);
    if (!least || !greatest) return unexpected(Code::kInvalidArgument, "no state of span");
    return Fields{{1, XYLEM_SPAN_SCALE * (*greatest - *least)}};
  }
};

// Leaves at even places get what was sent, with their place: field 100, uint64, position; 101,
// uint64, how many. Takes anything but a field 13; no leaf but the first takes a field 14.
class Alternate final : public filters::Narrowing {
 public:
  static Result<std::unique_ptr<Alternate>> create(const Fields& parameters) {
    if (!parameters.empty()) return unexpected(Code::kInvalidArgument, "no parameters");
    return std::make_unique<Alternate>();
  }

  Result<std::optional<Fields>> narrow(const filters::Place& place,
                                       const Fields& sent) const override {
    if (sent.find(13) != nullptr) throw std::runtime_error("thrown by narrow");
    if (sent.find(14) != nullptr && place.position > 0) {
      return unexpected(Code::kInvalidArgument, "field 14 is for the first alone");
    }
    if (place.position % 2 != 0) return std::optional<Fields>();
    Fields part = sent;
    part.set(100, static_cast<std::uint64_t>(place.position));
    part.set(101, static_cast<std::uint64_t>(place.count));
    return std::optional(std::move(part));
  }
};

// A sum of field 1, int64, that ends its process when it comes to two.
class Brittle final : public filters::Aggregation {
 public:
  static Result<std::unique_ptr<Brittle>> create(const Fields&) {
    return std::make_unique<Brittle>();
  }
  Result<Fields> lift(LeafId, const Fields& sent) const override {
    const auto value = sent.get<std::int64_t>(1);
    if (!value) return unexpected(value.error());
    return Fields{{1, *value}};
  }
  Result<void> merge(Fields& state, const Fields& other) const override {
    state.set(1, *state.get<std::int64_t>(1) + *other.get<std::int64_t>(1));
    return {};
  }
  Result<Fields> finish(Fields state) const override {
    if (*state.get<std::int64_t>(1) >= 2) std::abort();
    return state;
  }
};

class Misbehaving final : public filters::Aggregation {
 public:
  static Result<std::unique_ptr<Misbehaving>> create(const Fields& parameters) {
    if (parameters.find(1) != nullptr) throw std::runtime_error("thrown by create");
    return std::make_unique<Misbehaving>();
  }
  Result<Fields> lift(LeafId, const Fields&) const override {
    throw std::runtime_error("thrown by lift");
  }
  Result<void> merge(Fields&, const Fields&) const override {
    return unexpected(Code::kInternal, "merge has a bad day");
  }
  Result<Fields> finish(Fields) const override { throw 7; }
};

}  // namespace

XYLEM_PLUGIN(filters::plugged<Span>("span"), filters::plugged<Alternate>("alternate"),
             filters::plugged<Brittle>("brittle"), filters::plugged<Misbehaving>("misbehaving"));
