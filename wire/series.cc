// A sample as bytes:
//
//   sample  := version:byte at:zigzag span:varint slice:varint layout:u64 captured:varint
//              entries:varint { lane:varint numbers:varint { token } }
//   token   := count << 2            so many zeros
//            | zigzag << 2 | 1       an integer
//            | count << 2 | 2        so many that are not known
//            | 3 u64                 the bits of a double
//
// All but `u64` are varints.

#include "wire/series.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/fnv.h"
#include "wire/columns_internal.h"

namespace xylem::wire {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kZeros = 0, kInteger = 1, kUnknown = 2, kDouble = 3;
// Integers up to here are exact in a double.
constexpr double kExact = 9007199254740992.0;

void append_numbers(Bytes& out, const std::vector<double>& numbers) {
  for (std::size_t i = 0; i < numbers.size();) {
    const double number = numbers[i];
    const bool unknown = std::isnan(number);
    if (unknown || number == 0) {
      std::size_t end = i + 1;
      while (end < numbers.size() && (unknown ? std::isnan(numbers[end]) : numbers[end] == 0)) {
        ++end;
      }
      internal::append_varint(out, (end - i) << 2 | (unknown ? kUnknown : kZeros));
      i = end;
      continue;
    }
    ++i;
    if (std::abs(number) <= kExact && std::trunc(number) == number) {
      const auto integer = static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
      internal::append_varint(out, internal::zigzag(integer) << 2 | kInteger);
    } else {
      internal::append_varint(out, kDouble);
      internal::append_u64(out, std::bit_cast<std::uint64_t>(number));
    }
  }
}

bool read_numbers(internal::ColumnReader& in, std::vector<double>& numbers, std::size_t count) {
  while (numbers.size() < count) {
    const std::uint64_t token = in.varint();
    if (in.failed()) return false;
    const std::uint64_t value = token >> 2;
    const std::uint64_t kind = token & 3;
    if (kind == kInteger) {
      const double number =
          static_cast<double>(static_cast<std::int64_t>(internal::unzigzag(value)));
      numbers.push_back(number);
    } else if (kind == kDouble) {
      if (value != 0) return in.fail("a number in it has an unknown form");
      numbers.push_back(std::bit_cast<double>(in.u64()));
    } else {
      if (value == 0 || value > count - numbers.size()) {
        return in.fail("it holds more numbers than it says");
      }
      numbers.insert(numbers.end(), value,
                     kind == kZeros ? 0.0 : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return !in.failed();
}

bool read_entries(internal::ColumnReader& in, std::vector<SeriesEntry>& entries) {
  const std::uint64_t count = in.varint();
  // An empty one takes two bytes here, and a row in the store.
  if (count > kMaxSeriesEntries) return in.fail("it holds too many entries");
  std::size_t room = kMaxSeriesNumbers;
  std::uint64_t least_lane = 0;
  for (std::uint64_t i = 0; i < count && !in.failed(); ++i) {
    SeriesEntry entry;
    const std::uint64_t lane = in.varint();
    const std::uint64_t numbers = in.varint();
    if (lane > std::numeric_limits<std::uint32_t>::max()) return in.fail("a lane in it is none");
    if (!in.failed() && lane < least_lane) return in.fail("its lanes do not rise");
    least_lane = lane + 1;
    if (numbers > room) return in.fail("it holds too many numbers");
    room -= numbers;
    entry.lane = Lane{static_cast<std::uint32_t>(lane)};
    if (!read_numbers(in, entry.numbers, numbers)) return false;
    entries.push_back(std::move(entry));
  }
  return !in.failed();
}

}  // namespace

bool is_service_name(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= 32 && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

std::uint64_t key_of(const SeriesLayout& layout) {
  Fnv1a hash;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash.add(static_cast<std::uint8_t>(c));
    hash.add(0xff);  // In no text of UTF-8.
  };
  add(layout.service);
  for (const MetricRow& row : layout.rows) {
    add(row.name);
    add(row.unit);
    const auto bits = std::bit_cast<std::uint64_t>(row.scale);
    for (int i = 0; i < 8; ++i) hash.add(static_cast<std::uint8_t>(bits >> (8 * i)));
    hash.add(row.per_second ? 1 : 0);
  }
  return hash.value();
}

Bytes encode(const SeriesSample& sample) {
  Bytes out;
  internal::append_varint(out, kVersion);
  internal::append_varint(out, internal::zigzag(static_cast<std::uint64_t>(sample.at_ns)));
  internal::append_varint(out, static_cast<std::uint64_t>(std::max<Nanos>(0, sample.span_ns)));
  internal::append_varint(out, sample.slice);
  internal::append_u64(out, sample.layout);
  internal::append_varint(out, sample.captured);
  internal::append_varint(out, sample.entries.size());
  for (const SeriesEntry& entry : sample.entries) {
    internal::append_varint(out, raw(entry.lane));
    internal::append_varint(out, entry.numbers.size());
    append_numbers(out, entry.numbers);
  }
  return out;
}

Result<SeriesSample> decode_series(std::span<const std::byte> payload) {
  internal::ColumnReader in;
  in.open(payload);
  SeriesSample sample;
  if (in.varint() != kVersion && !in.failed()) in.fail("its version is not known");
  sample.at_ns = static_cast<Nanos>(internal::unzigzag(in.varint()));
  const std::uint64_t span = in.varint();
  sample.slice = in.varint();
  sample.layout = in.u64();
  sample.captured = in.varint();
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<Nanos>::max());
  if (!in.failed() && (span > kMax || sample.captured > kMax || sample.slice > kMax)) {
    in.fail("a number in its head is too large");
  }
  sample.span_ns = static_cast<Nanos>(span);
  if (!in.failed()) read_entries(in, sample.entries);
  if (!in.failed() && in.left() != 0) in.fail("something follows its end");
  if (in.failed()) return unexpected(Code::kCorrupt, std::string("not a sample: ") + in.trouble());
  return sample;
}

}  // namespace xylem::wire
