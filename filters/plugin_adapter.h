#pragma once

// Aggregations and narrowings in a shared object, written as classes:
//
//   class Widest final : public xylem::filters::Aggregation {
//    public:
//     static xylem::Result<std::unique_ptr<Widest>> create(const xylem::wire::Fields& parameters);
//     ... lift(), merge() and finish() as filters/aggregation.h describes ...
//   };
//
//   class Odd final : public xylem::filters::Narrowing {
//     ... create(), and narrow() as filters/narrowing.h describes ...
//   };
//
//   XYLEM_PLUGIN(xylem::filters::plugged<Widest>("widest"), xylem::filters::plugged<Odd>("odd"));
//
// Link the shared object with xylem::filters and hide the symbols of the plugin
// (-fvisibility=hidden). All hosts must use the same file, because every node compares its SHA-256.
//
// If a function of the class throws an exception, the call fails with the text of
// std::exception::what().

#include <array>
#include <concepts>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "filters/aggregation.h"
#include "filters/narrowing.h"
#include "filters/plugin.h"
#include "wire/waves.h"

namespace xylem::filters {

namespace internal {

// Copies a result into the caller's memory. Returns false if the caller has no memory.
inline bool give(std::span<const std::byte> bytes, xylem_output* output) {
  std::uint8_t* place = output->allocate(output, bytes.size());
  if (place == nullptr) return false;
  if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
  return true;
}

inline int give(const Error& error, xylem_output* output) {
  give(std::as_bytes(std::span(error.message)), output);
  return error.code == Code::kInvalidArgument ? XYLEM_INVALID_ARGUMENT : XYLEM_FAILED;
}

inline int give(const Result<wire::Fields>& result, xylem_output* output) {
  if (!result) return give(result.error(), output);
  const wire::Bytes bytes = wire::encode_fields(*result);
  return give(bytes, output) ? XYLEM_OK : XYLEM_FAILED;
}

inline Result<wire::Fields> fields(xylem_input input) {
  return wire::decode_fields(std::as_bytes(std::span(input.bytes, input.size)));
}

// No exception crosses the C interface.
template <typename Call>
int guarded(xylem_output* output, const Call& call) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return give(Error{Code::kInternal, thrown.what()}, output);
  } catch (...) {
    return give(Error{Code::kInternal, "it threw something that is not a std::exception"}, output);
  }
}

inline const Aggregation& self_of(const void* self) {
  return *static_cast<const Aggregation*>(self);
}

// xylem owns the object between create() and destroy(); it has only a C pointer.
inline void destroy(void* self) { delete static_cast<Aggregation*>(self); }

inline int lift(const void* self, std::uint32_t leaf, xylem_input sent, xylem_output* output) {
  return guarded(output, [&] {
    const auto read = fields(sent);
    return read ? give(self_of(self).lift(LeafId{leaf}, *read), output) : give(read, output);
  });
}

inline int merge(const void* self, xylem_input state, xylem_input other, xylem_output* output) {
  return guarded(output, [&] {
    auto into = fields(state);
    if (!into) return give(into, output);
    const auto from = fields(other);
    if (!from) return give(from, output);
    const auto merged = self_of(self).merge(*into, *from);
    return merged ? give(into, output) : give(merged.error(), output);
  });
}

inline int finish(const void* self, xylem_input state, xylem_output* output) {
  return guarded(output, [&] {
    auto read = fields(state);
    return read ? give(self_of(self).finish(std::move(*read)), output) : give(read, output);
  });
}

// Like destroy(), for a narrowing.
inline void destroy_narrowing(void* self) { delete static_cast<Narrowing*>(self); }

inline int narrow(const void* self, xylem_place place, xylem_input sent, xylem_output* output) {
  return guarded(output, [&] {
    const auto read = fields(sent);
    if (!read) return give(read, output);
    const Place at{LeafId{place.leaf}, place.position, place.count};
    const auto part = static_cast<const Narrowing*>(self)->narrow(at, *read);
    if (!part) return give(part.error(), output);
    if (!*part) return static_cast<int>(XYLEM_NOTHING);
    return give(Result<wire::Fields>(**part), output);
  });
}

template <typename T, typename Base>
int create(xylem_input parameters, void** self, xylem_output* fault) {
  return guarded(fault, [&] {
    const auto read = fields(parameters);
    if (!read) return give(read, fault);
    auto made = T::create(*read);
    if (!made) return give(made.error(), fault);
    *self = static_cast<Base*>(made->release());
    return static_cast<int>(XYLEM_OK);
  });
}

// Returns the arguments of type Row as an array.
template <typename Row, typename... Rows>
constexpr auto rows_of(const Rows&... rows) {
  std::array<Row, (std::size_t{0} + ... + (std::is_same_v<Row, Rows> ? 1 : 0))> kept{};
  [[maybe_unused]] std::size_t next = 0;
  const auto keep = [&]<typename Other>([[maybe_unused]] const Other& row) {
    if constexpr (std::is_same_v<Row, Other>) kept[next++] = row;
  };
  (keep(rows), ...);
  return kept;
}

}  // namespace internal

/// Makes the entry of class T in a plugin's table. `name` must be valid while the plugin is loaded:
/// use a literal.
template <std::derived_from<Aggregation> T>
constexpr xylem_aggregation plugged(const char* name) {
  return {name,
          internal::create<T, Aggregation>,
          internal::destroy,
          internal::lift,
          internal::merge,
          internal::finish};
}
template <std::derived_from<Narrowing> T>
constexpr xylem_narrowing plugged(const char* name) {
  return {name, internal::create<T, Narrowing>, internal::destroy_narrowing, internal::narrow};
}

}  // namespace xylem::filters

/// Exports the plugin's table. Use it once in a shared object, at namespace scope, with
/// plugged<T>(NAME) for each class.
#define XYLEM_PLUGIN(...)                                                                      \
  extern "C" __attribute__((visibility("default"))) const xylem_plugin_table* xylem_plugin() { \
    static constexpr auto kAggregations =                                                      \
        ::xylem::filters::internal::rows_of<xylem_aggregation>(__VA_ARGS__);                   \
    static constexpr auto kNarrowings =                                                        \
        ::xylem::filters::internal::rows_of<xylem_narrowing>(__VA_ARGS__);                     \
    static constexpr xylem_plugin_table kTable = {XYLEM_PLUGIN_ABI, kAggregations.size(),      \
                                                  kAggregations.data(), kNarrowings.size(),    \
                                                  kNarrowings.data()};                         \
    return &kTable;                                                                            \
  }                                                                                            \
  static_assert(true, "takes the semicolon")
