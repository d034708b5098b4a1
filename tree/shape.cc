#include "tree/shape.h"

#include <charconv>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace xylem::tree {
namespace {

constexpr const char* kForms =
    "write flat, kary:K, balanced:DEPTHxFANOUT, binomial:ORDER or file:PATH";
/// 2^19 nodes stay below kMaxCommProcesses.
constexpr std::uint32_t kMaxOrder = 19;
static_assert((std::size_t{1} << kMaxOrder) <= kMaxCommProcesses);

Unexpected not_a_shape(std::string_view text, const std::string& why) {
  return unexpected(Code::kInvalidArgument, "shape '" + std::string(text) + "' " + why);
}

Unexpected too_large(const Shape& shape) {
  return not_a_shape(to_text(shape), "would need more than " + std::to_string(kMaxCommProcesses) +
                                         " communication processes; make it smaller");
}

std::optional<std::uint32_t> parse_number(std::string_view digits) {
  std::uint32_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

/// Communication processes of balanced:DEPTHxFANOUT; nullopt beyond the limit.
std::optional<std::size_t> count_balanced(std::uint32_t depth, std::uint32_t fanout) {
  std::size_t at_level = 1;
  std::size_t sum = 0;
  for (std::uint32_t level = 0; level < depth; ++level) {
    at_level *= fanout;  // Both stay below 2^32: no overflow.
    sum += at_level;
    if (sum > kMaxCommProcesses) return std::nullopt;
  }
  return sum;
}

Result<Shape> parse_balanced(std::string_view text, std::string_view sizes) {
  const std::size_t cross = sizes.find('x');
  std::optional<std::uint32_t> depth;
  std::optional<std::uint32_t> fanout;
  if (cross != std::string_view::npos) {
    depth = parse_number(sizes.substr(0, cross));
    fanout = parse_number(sizes.substr(cross + 1));
  }
  if (!depth || !fanout || *depth == 0 || *fanout == 0) {
    return not_a_shape(text, "needs two numbers from 1, levels and children; such as balanced:2x8");
  }
  Shape shape{Shape::Kind::kBalanced, *fanout, *depth, {}};
  if (!count_balanced(*depth, *fanout)) return too_large(shape);
  return shape;
}

Result<Shape> parse_binomial(std::string_view text, std::string_view digits) {
  const auto order = parse_number(digits);
  if (!order || *order == 0 || *order > kMaxOrder) {
    return not_a_shape(text, "needs an order from 1 to " + std::to_string(kMaxOrder) +
                                 "; such as binomial:4 for 16 nodes");
  }
  return Shape{Shape::Kind::kBinomial, 0, *order, {}};
}

Result<Shape> parse_kary(std::string_view text, std::string_view digits) {
  const auto fanout = parse_number(digits);
  if (!fanout || *fanout < 2) {
    return not_a_shape(text, "needs a number of children from 2; such as kary:16");
  }
  return Shape{Shape::Kind::kKary, *fanout, 0, {}};
}

/// Returns the skeleton whose levels have these sizes. The nodes of a level are divided evenly
/// among the nodes of the level above.
Skeleton from_levels(const std::vector<std::size_t>& sizes) {
  std::vector<std::uint32_t> child_counts;
  for (std::size_t level = 0; level < sizes.size(); ++level) {
    const std::size_t below = level + 1 < sizes.size() ? sizes[level + 1] : 0;
    for (std::size_t node = 0; node < sizes[level]; ++node) {
      const std::size_t extra = node < below % sizes[level] ? 1 : 0;
      child_counts.push_back(static_cast<std::uint32_t>(below / sizes[level] + extra));
    }
  }
  return Skeleton(child_counts);
}

std::size_t ceil_divide(std::size_t value, std::size_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

Result<Skeleton> grow_kary(const Shape& shape, std::size_t back_ends) {
  if (shape.fanout < 2) return not_a_shape(to_text(shape), "needs at least 2 children");
  std::vector<std::size_t> sizes;  // From the internal leaves up, without the front end.
  std::size_t sum = 0;
  for (std::size_t n = ceil_divide(back_ends, shape.fanout); n > 1;
       n = ceil_divide(n, shape.fanout)) {
    sizes.push_back(n);
    if (n > kMaxCommProcesses || (sum += n) > kMaxCommProcesses) return too_large(shape);
  }
  sizes.push_back(1);
  return from_levels({sizes.rbegin(), sizes.rend()});
}

Result<Skeleton> grow_balanced(const Shape& shape) {
  if (shape.fanout == 0 || shape.depth == 0) {
    return not_a_shape(to_text(shape), "needs at least one level and one child");
  }
  if (!count_balanced(shape.depth, shape.fanout)) return too_large(shape);
  std::vector<std::size_t> sizes{1};
  for (std::uint32_t level = 0; level < shape.depth; ++level) {
    sizes.push_back(sizes.back() * shape.fanout);
  }
  return from_levels(sizes);
}

/// A binomial tree of order n has a root with children of orders n - 1, ..., 1, 0. So a
/// breadth-first list of orders is enough: the number of children of a node is its order.
Skeleton grow_binomial(std::uint32_t order) {
  std::vector<std::uint32_t> orders{order};
  for (std::size_t node = 0; node < orders.size(); ++node) {
    for (std::uint32_t child = orders[node]; child-- > 0;) orders.push_back(child);
  }
  return Skeleton(orders);
}

/// Returns the smallest order whose 2^(order - 1) internal leaves have at most kDefaultFanout back
/// ends each.
std::uint32_t order_for(std::size_t back_ends) {
  const std::size_t wanted = ceil_divide(back_ends, kDefaultFanout);
  if (wanted <= 1) return 0;
  std::uint32_t order = 1;
  while (order <= kMaxOrder && (std::size_t{1} << (order - 1)) < wanted) ++order;
  return order;
}

}  // namespace

Result<Shape> parse_shape(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const bool bare = colon == std::string_view::npos;
  const std::string_view rest = bare ? std::string_view() : text.substr(colon + 1);

  if (text == "flat") return Shape{Shape::Kind::kFlat, 0, 0, {}};
  if (word == "kary") return bare ? Shape{} : parse_kary(text, rest);
  if (word == "balanced") return parse_balanced(text, rest);
  if (word == "binomial") {
    return bare ? Shape{Shape::Kind::kBinomial, 0, 0, {}} : parse_binomial(text, rest);
  }
  if (word == "file" && !bare) {
    if (rest.empty()) return not_a_shape(text, "names no file; write file:PATH");
    return Shape{Shape::Kind::kFile, 0, 0, std::string(rest)};
  }
  if (text.empty()) return not_a_shape(text, std::string("is empty; ") + kForms);
  std::error_code ignored;  // A path that cannot be checked counts as not existing.
  if (std::filesystem::exists(std::filesystem::path(text), ignored)) {
    return Shape{Shape::Kind::kFile, 0, 0, std::string(text)};
  }
  if (text.find_first_of("/.") != std::string_view::npos) {
    return unexpected(Code::kNotFound,
                      std::string(text) + ": no such topology file, and no shape; " + kForms);
  }
  return not_a_shape(text, std::string("is not known and no file of that name exists; ") + kForms);
}

std::string to_text(const Shape& shape) {
  switch (shape.kind) {
    case Shape::Kind::kFlat:
      return "flat";
    case Shape::Kind::kKary:
      return "kary:" + std::to_string(shape.fanout);
    case Shape::Kind::kBalanced:
      return "balanced:" + std::to_string(shape.depth) + "x" + std::to_string(shape.fanout);
    case Shape::Kind::kBinomial:
      return shape.depth == 0 ? "binomial" : "binomial:" + std::to_string(shape.depth);
    case Shape::Kind::kFile:
      break;
  }
  return "file:" + shape.path;
}

Result<Skeleton> grow(const Shape& shape, std::size_t back_ends) {
  switch (shape.kind) {
    case Shape::Kind::kFlat:
      return Skeleton();
    case Shape::Kind::kKary:
      return grow_kary(shape, back_ends);
    case Shape::Kind::kBalanced:
      return grow_balanced(shape);
    case Shape::Kind::kBinomial: {
      const std::uint32_t order = shape.depth == 0 ? order_for(back_ends) : shape.depth;
      if (order > kMaxOrder) return too_large(shape);
      return grow_binomial(order);
    }
    case Shape::Kind::kFile:
      break;
  }
  return not_a_shape(to_text(shape), "is a file, which holds a tree of its own; read it instead");
}

}  // namespace xylem::tree
