#pragma once

// An aggregation in a shared object, written as a class:
//
//   class Widest final : public xylem::filters::Aggregation {
//    public:
//     static xylem::Result<std::unique_ptr<Widest>> create(const xylem::wire::Fields& parameters);
//     ... lift, merge, finish as filters/aggregation.h says ...
//   };
//
//   XYLEM_PLUGIN(xylem::filters::plugged<Widest>("widest"));
//
// Link the object with xylem::wire, and hide its own symbols (-fvisibility=hidden). Build it from
// the same sources for all hosts: every node compares its SHA-256.
//
// What a class throws becomes an error of that call, with the words of std::exception::what().

#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "filters/aggregation.h"
#include "filters/plugin.h"
#include "wire/waves.h"

namespace xylem::filters {

namespace internal {

// False when the caller has no memory.
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

// No exception crosses the border.
template <typename Call>
int guarded(xylem_output* output, const Call& call) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return give(Error{Code::kInternal, thrown.what()}, output);
  } catch (...) {
    return give(Error{Code::kInternal, "it threw what is no std::exception"}, output);
  }
}

inline const Aggregation& self_of(const void* self) {
  return *static_cast<const Aggregation*>(self);
}

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

template <typename T>
int create(xylem_input parameters, void** self, xylem_output* fault) {
  return guarded(fault, [&] {
    const auto read = fields(parameters);
    if (!read) return give(read, fault);
    auto made = T::create(*read);
    if (!made) return give(made.error(), fault);
    *self = static_cast<Aggregation*>(made->release());
    return static_cast<int>(XYLEM_OK);
  });
}

}  // namespace internal

/// T as a row of a plugin's table. `name` outlives the plugin: a literal.
template <typename T>
constexpr xylem_aggregation plugged(const char* name) {
  return {name,           internal::create<T>, internal::destroy,
          internal::lift, internal::merge,     internal::finish};
}

}  // namespace xylem::filters

/// Once in a shared object, at namespace scope: all that it holds, each by plugged<T>(NAME).
#define XYLEM_PLUGIN(...)                                                                      \
  extern "C" __attribute__((visibility("default"))) const xylem_plugin_table* xylem_plugin() { \
    static constexpr xylem_aggregation kAggregations[] = {__VA_ARGS__};                        \
    static constexpr xylem_plugin_table kTable = {                                             \
        XYLEM_PLUGIN_ABI, sizeof(kAggregations) / sizeof(kAggregations[0]), kAggregations};    \
    return &kTable;                                                                            \
  }                                                                                            \
  static_assert(true, "takes the semicolon")
