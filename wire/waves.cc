#include "wire/waves.h"

#include <capnp/any.h>
#include <capnp/message.h>

#include <bit>
#include <cstring>
#include <utility>

#include "fields.capnp.h"
#include "wire/flat_internal.h"

namespace xylem::wire {

namespace {

using internal::blob;
using internal::require;
using internal::text;

static_assert(std::endian::native == std::endian::little, "arrays are copied as they are");

// The sizes that elements have in version 1, which no later version goes below.
constexpr std::size_t kFieldWords = 3;
constexpr std::size_t kFieldsWords = 1;
constexpr std::size_t kTextWords = 1;
constexpr std::size_t kRootWords = 1;

// A list of numbers has the same bytes in the segment as in a vector. Copying element by element
// with Cap'n Proto takes four times as long.
template <typename List, typename Number>
void copy_in(const std::vector<Number>& numbers, List out) {
  if (numbers.empty()) return;
  const auto place = capnp::toAny(out.asReader()).getRawBytes();
  CHECK(place.size() == numbers.size() * sizeof(Number));
  std::memcpy(const_cast<kj::byte*>(place.begin()), numbers.data(), place.size());
}

template <typename Number, typename List>
std::vector<Number> copy_out(List in) {
  const auto raw = capnp::toAny(in).getRawBytes();
  // False if the message has a list of structs instead of a list of numbers. Cap'n Proto allows
  // this; we do not.
  require(raw.size() == in.size() * sizeof(Number), "an array has the wrong length");
  std::vector<Number> numbers(in.size());
  if (!numbers.empty()) std::memcpy(numbers.data(), raw.begin(), raw.size());
  return numbers;
}

struct Write {
  schema::Field::Builder out;

  void operator()(std::int64_t value) { out.setInt64(value); }
  void operator()(std::uint64_t value) { out.setUint64(value); }
  void operator()(double value) { out.setFloat64(value); }
  void operator()(const std::string& value) { out.setString(text(value)); }
  void operator()(const std::vector<std::byte>& value) { out.setBytes(blob(value)); }
  void operator()(const std::vector<std::int64_t>& values) {
    copy_in(values, out.initInt64s(size(values)));
  }
  void operator()(const std::vector<std::uint64_t>& values) {
    copy_in(values, out.initUint64s(size(values)));
  }
  void operator()(const std::vector<double>& values) {
    copy_in(values, out.initFloat64s(size(values)));
  }
  void operator()(const std::vector<std::string>& values) {
    auto texts = out.initStrings(size(values));
    unsigned i = 0;
    for (const std::string& value : values) texts.set(i++, text(value));
  }

  template <typename T>
  static unsigned size(const std::vector<T>& values) {
    return static_cast<unsigned>(values.size());
  }
};

void write(const Fields& fields, schema::Fields::Builder out) {
  if (fields.empty()) return;
  auto list = out.initFields(static_cast<unsigned>(fields.size()));
  unsigned i = 0;
  for (const auto& [number, value] : fields) {
    auto field = list[i++];
    field.setNumber(number);
    std::visit(Write{field}, value);
  }
}

// In a forged payload, many pointers may point to the same list, and each would be copied. So the
// size of all lists together must not exceed the size of the payload.
class Room {
 public:
  explicit Room(std::size_t bytes) : words_(bytes / sizeof(capnp::word)) {}

  template <typename List>
  std::size_t take(const List& list, std::size_t words) {
    const std::size_t wanted = list.size() * words;
    require(wanted <= words_, "its lists are longer than it");
    words_ -= wanted;
    return list.size();
  }

 private:
  std::size_t words_;
};

FieldValue read(schema::Field::Reader in, Room& room) {
  switch (in.which()) {
    case schema::Field::INT64:
      return in.getInt64();
    case schema::Field::UINT64:
      return in.getUint64();
    case schema::Field::FLOAT64:
      return in.getFloat64();
    case schema::Field::STRING:
      return text(in.getString());
    case schema::Field::BYTES: {
      const auto bytes = blob(in.getBytes());
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    }
    case schema::Field::INT64S:
      return copy_out<std::int64_t>(in.getInt64s());
    case schema::Field::UINT64S:
      return copy_out<std::uint64_t>(in.getUint64s());
    case schema::Field::FLOAT64S:
      return copy_out<double>(in.getFloat64s());
    case schema::Field::STRINGS: {
      const auto texts = in.getStrings();
      std::vector<std::string> values;
      values.reserve(room.take(texts, kTextWords));
      for (const auto value : texts) values.push_back(text(value));
      return values;
    }
  }
  require(false, "a field is of a type that this version does not know");
  return {};
}

void read(schema::Fields::Reader in, Room& room, Fields& fields) {
  const auto list = in.getFields();
  fields.reserve(room.take(list, kFieldWords));
  int before = -1;
  for (const auto field : list) {
    require(field.getNumber() > before, "its fields are not in order of their numbers");
    before = field.getNumber();
    fields.set(field.getNumber(), read(field, room));
  }
}

}  // namespace

Bytes encode_waves(std::span<const Fields> waves) {
  std::size_t bytes = kWavesHeadBytes;
  for (const Fields& fields : waves) bytes += fields.bytes();
  return internal::encode_flat<schema::Waves>(
      0, bytes / sizeof(capnp::word), [&](schema::Waves::Builder out) {
        auto list = out.initWaves(static_cast<unsigned>(waves.size()));
        unsigned i = 0;
        for (const Fields& fields : waves) write(fields, list[i++]);
      });
}

Result<std::vector<Fields>> decode_waves(std::span<const std::byte> payload, std::size_t expected) {
  return internal::decode_flat<schema::Waves>(
      "a payload of waves", payload, [&](schema::Waves::Reader in) {
        Room room(payload.size());
        const auto list = in.getWaves();
        const std::size_t count = room.take(list, kFieldsWords);
        if (count != expected) {
          throw internal::Malformed{"it holds " + std::to_string(count) + " waves and not " +
                                    std::to_string(expected)};
        }
        std::vector<Fields> waves(count);
        unsigned i = 0;
        for (Fields& fields : waves) read(list[i++], room, fields);
        return waves;
      });
}

Bytes encode_fields(const Fields& fields) {
  return internal::encode_flat<schema::Fields>(
      0, kRootWords + fields.bytes() / sizeof(capnp::word),
      [&](schema::Fields::Builder out) { write(fields, out); });
}

Result<Fields> decode_fields(std::span<const std::byte> bytes) {
  return internal::decode_flat<schema::Fields>("fields", bytes, [&](schema::Fields::Reader in) {
    Room room(bytes.size());
    Fields fields;
    read(in, room, fields);
    return fields;
  });
}

}  // namespace xylem::wire
