#include "filters/plugin.h"

#include <dlfcn.h>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "filters/aggregation.h"
#include "filters/narrowing.h"
#include "filters/plugin_copy.h"
#include "filters/plugin_trial_internal.h"
#include "wire/message.h"
#include "wire/waves.h"

namespace xylem::filters {

namespace {

// The first version with narrowings.
constexpr std::uint32_t kAbiOfNarrowings = 2;

// A loaded copy of a plugin. It is unloaded together with the last filter that was made from it.
class Library {
 public:
  static Result<std::shared_ptr<const Library>> load(const std::string& path,
                                                     const Sha256& announced) {
    auto copy = copy_plugin(path, &announced);
    if (!copy) return unexpected(std::move(copy.error()));
    const std::string name = name_of_copy(copy->get());
    if (auto good = try_loading(name); !good) {
      return plugin_refused(good.error().code, path, good.error().message);
    }
    auto handle = open_copy(name);
    if (!handle) return plugin_refused(handle.error().code, path, handle.error().message);
    // make_shared cannot call the private constructor.
    std::shared_ptr<Library> library(new Library(path, name, std::move(*copy), *handle));
    if (auto good = library->check(); !good) return unexpected(std::move(good.error()));
    return std::shared_ptr<const Library>(std::move(library));
  }

  ~Library() {
    const std::lock_guard lock(linker_mutex());
    ::dlclose(handle_);
    // The linker identifies a library by the name with which it was opened. Libraries with unique
    // symbols cannot be unloaded. Their descriptor stays open, so that no other copy gets the same
    // number and thus the same name.
    if (void* still_there = ::dlopen(name_.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
      ::dlclose(still_there);
      static_cast<void>(copy_.release());  // Stays open for ever.
    }
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& path() const { return path_; }

  Result<const xylem_aggregation*> find_aggregation(const std::string& name) const {
    return find(aggregations(), "aggregation", name, "");
  }
  Result<const xylem_narrowing*> find_narrowing(const std::string& name) const {
    return find(narrowings(), "narrowing", name,
                table_->abi < kAbiOfNarrowings
                    ? "; it was built for a version of the plugin interface that had none"
                    : "");
  }

 private:
  static Result<void*> open_copy(const std::string& name) {
    const std::lock_guard lock(linker_mutex());
    void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return handle;
    return unexpected(Code::kCorrupt, std::string("it cannot be loaded: ") + ::dlerror());
  }

  Library(std::string path, std::string name, UniqueFd copy, void* handle)
      : path_(std::move(path)), name_(std::move(name)), copy_(std::move(copy)), handle_(handle) {}

  std::span<const xylem_aggregation> aggregations() const {
    return {table_->aggregations, table_->count};
  }
  std::span<const xylem_narrowing> narrowings() const {
    if (table_->abi < kAbiOfNarrowings) return {};
    return {table_->narrowings, table_->narrowing_count};
  }

  template <typename Row>
  Result<const Row*> find(std::span<const Row> rows, const std::string& kind,
                          const std::string& name, const char* remark) const {
    std::string known;
    for (const Row& row : rows) {
      if (row.name == name) return &row;
      known += (known.empty() ? "" : ", ") + std::string(row.name);
    }
    return plugin_refused(Code::kNotFound, path_,
                          "it has no " + kind + " \"" + name + "\"; it has " +
                              (known.empty() ? "none" : known) + remark);
  }

  Result<void> check() {
    const auto entry =
        reinterpret_cast<xylem_plugin_function>(::dlsym(handle_, XYLEM_PLUGIN_SYMBOL));
    if (entry == nullptr) {
      return plugin_refused(Code::kCorrupt, path_,
                            "it exports no " XYLEM_PLUGIN_SYMBOL "; it is not a plugin");
    }
    try {
      table_ = entry();
    } catch (...) {
      table_ = nullptr;
    }
    if (table_ == nullptr) {
      return plugin_refused(Code::kCorrupt, path_,
                            XYLEM_PLUGIN_SYMBOL "() failed; it is not a plugin");
    }
    if (table_->abi == 0 || table_->abi > XYLEM_PLUGIN_ABI) {
      return plugin_refused(Code::kCorrupt, path_,
                            "it was built for version " + std::to_string(table_->abi) +
                                " of the plugin interface, this xylem has version " +
                                std::to_string(XYLEM_PLUGIN_ABI) + "; build it again");
    }
    for (const xylem_aggregation& a : aggregations()) {
      if (a.name == nullptr || a.create == nullptr || a.destroy == nullptr || a.lift == nullptr ||
          a.merge == nullptr || a.finish == nullptr) {
        return lacks_entry("aggregation", a.name);
      }
    }
    for (const xylem_narrowing& n : narrowings()) {
      if (n.name == nullptr || n.create == nullptr || n.destroy == nullptr || n.narrow == nullptr) {
        return lacks_entry("narrowing", n.name);
      }
    }
    return {};
  }

  Unexpected lacks_entry(const char* kind, const char* name) const {
    return plugin_refused(Code::kCorrupt, path_,
                          std::string("an entry point of its ") + kind + " " +
                              (name == nullptr ? "without a name" : name) + " is missing");
  }

  const std::string path_;
  const std::string name_;  // For the dynamic linker.
  UniqueFd copy_;
  void* const handle_;
  const xylem_plugin_table* table_ = nullptr;
};

// The result of a plugin's function.
struct Output : xylem_output {
  Output() : xylem_output{&Output::take_place} {}

  static std::uint8_t* take_place(xylem_output* self, std::size_t size) noexcept {
    auto& place = static_cast<Output*>(self)->place;
    if (size > wire::kMaxFrameBytes) return nullptr;
    try {
      place.assign(size, std::byte{0});
    } catch (const std::bad_alloc&) {
      return nullptr;  // The plugin then returns an error.
    }
    return reinterpret_cast<std::uint8_t*>(place.data());
  }
  std::string text() const {
    return std::string(reinterpret_cast<const char*>(place.data()), place.size());
  }

  wire::Bytes place;
};

xylem_input input(const wire::Bytes& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

// An object that a plugin has made, and calls of its functions. Failures become errors.
template <typename Row>
class Made {
 public:
  Made(std::shared_ptr<const Library> library, const Row& functions)
      : library_(std::move(library)), functions_(functions) {}
  ~Made() {
    if (self_ == nullptr) return;
    try {
      functions_.destroy(self_);
    } catch (...) {
      self_ = nullptr;  // A failure in destroy() cannot be reported.
    }
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  Result<void> create(const wire::Fields& parameters) {
    const wire::Bytes given = wire::encode_fields(parameters);
    Output fault;
    const auto status =
        call("create", fault, [&] { return functions_.create(input(given), &self_, &fault); });
    if (!status) return unexpected(status.error());
    return {};
  }

  // Calls a function that returns fields.
  template <typename Function>
  Result<wire::Fields> fields(const char* step, const Function& function) const {
    Output output;
    const auto status = call(step, output, [&] { return function(self_, output); });
    if (!status) return unexpected(status.error());
    return read(step, output);
  }

  // Calls a function that may return nothing.
  template <typename Function>
  Result<std::optional<wire::Fields>> fields_or_nothing(const char* step,
                                                        const Function& function) const {
    Output output;
    const auto status = call(
        step, output, [&] { return function(self_, output); }, XYLEM_NOTHING);
    if (!status) return unexpected(status.error());
    if (*status == XYLEM_NOTHING) return std::optional<wire::Fields>();
    auto given = read(step, output);
    if (!given) return unexpected(std::move(given.error()));
    return std::optional(*std::move(given));
  }

  const Row& functions() const { return functions_; }

 private:
  // XYLEM_OK or `also_good`.
  template <typename Function>
  Result<int> call(const char* step, const Output& output, const Function& function,
                   int also_good = XYLEM_OK) const {
    const auto failed = [&](Code code, const std::string& why) {
      return plugin_refused(code, library_->path(),
                            std::string(functions_.name) + ", " + step + ": " + why);
    };
    int status = XYLEM_FAILED;
    try {
      status = function();
    } catch (const std::exception& thrown) {
      return failed(Code::kInternal, std::string("it threw: ") + thrown.what());
    } catch (...) {
      return failed(Code::kInternal, "it threw");
    }
    if (status == XYLEM_OK || status == also_good) return status;
    const std::string why = output.text();
    return failed(status == XYLEM_INVALID_ARGUMENT ? Code::kInvalidArgument : Code::kInternal,
                  why.empty() ? "it failed and does not say why" : why);
  }

  Result<wire::Fields> read(const char* step, const Output& output) const {
    auto read = wire::decode_fields(output.place);
    if (read) return read;
    return plugin_refused(
        Code::kInternal, library_->path(),
        std::string(functions_.name) + ", " + step + " gave no fields: " + read.error().message);
  }

  // Shared: the library stays loaded until its last aggregation or narrowing is destroyed.
  const std::shared_ptr<const Library> library_;
  const Row& functions_;
  void* self_ = nullptr;
};

class PluggedAggregation final : public Aggregation {
 public:
  PluggedAggregation(std::shared_ptr<const Library> library, const xylem_aggregation& functions)
      : made_(std::move(library), functions) {}
  Result<void> create(const wire::Fields& parameters) { return made_.create(parameters); }

  Result<wire::Fields> lift(LeafId leaf, const wire::Fields& sent) const override {
    const wire::Bytes given = wire::encode_fields(sent);
    return made_.fields("lift", [&](const void* self, Output& state) {
      return made_.functions().lift(self, raw(leaf), input(given), &state);
    });
  }

  Result<void> merge(wire::Fields& state, const wire::Fields& other) const override {
    const wire::Bytes into = wire::encode_fields(state), from = wire::encode_fields(other);
    auto merged = made_.fields("merge", [&](const void* self, Output& output) {
      return made_.functions().merge(self, input(into), input(from), &output);
    });
    if (!merged) return unexpected(std::move(merged.error()));
    state = std::move(*merged);
    return {};
  }

  Result<wire::Fields> finish(wire::Fields state) const override {
    const wire::Bytes given = wire::encode_fields(state);
    return made_.fields("finish", [&](const void* self, Output& result) {
      return made_.functions().finish(self, input(given), &result);
    });
  }

 private:
  Made<xylem_aggregation> made_;
};

class PluggedNarrowing final : public Narrowing {
 public:
  PluggedNarrowing(std::shared_ptr<const Library> library, const xylem_narrowing& functions)
      : made_(std::move(library), functions) {}
  Result<void> create(const wire::Fields& parameters) { return made_.create(parameters); }

  Result<std::optional<wire::Fields>> narrow(const Place& place,
                                             const wire::Fields& sent) const override {
    const wire::Bytes given = wire::encode_fields(sent);
    return made_.fields_or_nothing("narrow", [&](const void* self, Output& part) {
      return made_.functions().narrow(self, {raw(place.leaf), place.position, place.count},
                                      input(given), &part);
    });
  }

 private:
  Made<xylem_narrowing> made_;
};

}  // namespace

Result<std::shared_ptr<const Aggregation>> load_aggregation(const std::string& path,
                                                            const Sha256& sha256,
                                                            const std::string& name,
                                                            const wire::Fields& parameters) {
  auto library = Library::load(path, sha256);
  if (!library) return unexpected(std::move(library.error()));
  const auto functions = (*library)->find_aggregation(name);
  if (!functions) return unexpected(functions.error());
  auto plugged = std::make_shared<PluggedAggregation>(std::move(*library), **functions);
  if (auto made = plugged->create(parameters); !made) return unexpected(std::move(made.error()));
  return std::shared_ptr<const Aggregation>(std::move(plugged));
}

Result<std::shared_ptr<const Narrowing>> load_narrowing(const std::string& path,
                                                        const Sha256& sha256,
                                                        const std::string& name,
                                                        const wire::Fields& parameters) {
  auto library = Library::load(path, sha256);
  if (!library) return unexpected(std::move(library.error()));
  const auto functions = (*library)->find_narrowing(name);
  if (!functions) return unexpected(functions.error());
  auto plugged = std::make_shared<PluggedNarrowing>(std::move(*library), **functions);
  if (auto made = plugged->create(parameters); !made) return unexpected(std::move(made.error()));
  return std::shared_ptr<const Narrowing>(std::move(plugged));
}

}  // namespace xylem::filters
