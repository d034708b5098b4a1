#include "wire/profile.h"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "wire/profile_internal.h"

namespace xylem::wire {

namespace {

using internal::blob;
using internal::checked_count;
using internal::process_lane;
using internal::read;
using internal::require;
using internal::write;

// Sizes of rows in version 1, which no later version goes below.
constexpr std::size_t kProfileWords = 9;
constexpr std::size_t kMatrixWords = 4;
constexpr std::size_t kWaitWords = 4;
constexpr std::size_t kUnderWayWords = 4;
constexpr std::size_t kEarlierWords = 5;
constexpr std::uint32_t kNone = 0xffffffff;
// ProfileWindow with its pointers and the tags of six lists.
constexpr std::size_t kWindowWords = 16;

constexpr unsigned kLebBits = 7;
constexpr std::uint8_t kLebMore = 0x80;

void put_leb(std::uint64_t value, Bytes& out) {
  while (value >= kLebMore) {
    out.push_back(static_cast<std::byte>((value & (kLebMore - 1)) | kLebMore));
    value >>= kLebBits;
  }
  out.push_back(static_cast<std::byte>(value));
}

// Removes one number from the front. Returns false if there is no number, or if the number has more
// than 64 bits. Also returns false if it is longer than necessary, because each value has only one
// valid form.
bool take_leb(std::span<const std::byte>& in, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += kLebBits) {
    const auto byte = std::to_integer<std::uint64_t>(in.front());
    in = in.subspan(1);
    const std::uint64_t bits = byte & (kLebMore - 1u);
    if (bits << shift >> shift != bits) return false;
    value |= bits << shift;
    if ((byte & kLebMore) == 0) return byte != 0 || shift == 0;
  }
  return false;
}

// Reads `bytes` into `histogram`. Returns nullptr on success, otherwise the error.
const char* read_histogram(std::span<const std::byte> bytes, LogHistogram& histogram) {
  std::size_t next = 0;
  while (!bytes.empty()) {
    const auto bucket = std::to_integer<std::size_t>(bytes.front());
    if (bucket >= LogHistogram::kBuckets) return "a histogram has a bucket past the last";
    if (bucket < next) return "a histogram's buckets are not ascending";
    next = bucket + 1;
    bytes = bytes.subspan(1);
    std::uint64_t count = 0;
    if (!take_leb(bytes, count)) return "a histogram ends within a number";
    if (count == 0) return "a histogram names an empty bucket";
    const std::uint64_t any_of_bucket = bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1);
    histogram.add(any_of_bucket, count);
  }
  return nullptr;
}

void write(const ProfileRow& row, schema::ProfileRow::Builder out) {
  out.setLeaf(raw(row.leaf));
  out.setLane(raw(row.lane));
  out.setFunction(raw(row.function));
  out.setEstimated(row.estimated);
  out.setCalls(row.calls);
  out.setCallsSoFar(row.calls_so_far);
  out.setTimeNs(row.time_ns);
  out.setMinNs(row.min_ns);
  out.setMaxNs(row.max_ns);
  out.setBytes(row.bytes);
  out.setHistogram(blob(std::span<const std::byte>(row.histogram.to_bytes())));
}

void write(const MatrixRow& row, schema::MatrixRow::Builder out) {
  out.setLeaf(raw(row.leaf));
  out.setLane(raw(row.lane));
  out.setDestination(raw(row.destination));
  out.setBytes(row.bytes);
  out.setMessages(row.messages);
}

void write(const WaitRow& row, schema::WaitRow::Builder out) {
  out.setLeaf(raw(row.leaf));
  out.setLane(raw(row.lane));
  out.setPeer(raw(row.peer));
  out.setTimeNs(row.time_ns);
  out.setCalls(row.calls);
}

void write(const UnderWayRow& row, schema::UnderWayRow::Builder out) {
  out.setLeaf(raw(row.leaf));
  out.setLane(raw(row.lane));
  out.setThread(raw(row.thread));
  out.setFunction(raw(row.function));
  out.setBeginNs(row.begin_ns);
  out.setPeer(row.peer ? raw(*row.peer) : kNone);
  out.setComm(row.comm ? raw(*row.comm) : kNone);
}

void write(const EarlierRow& row, schema::EarlierRow::Builder out) {
  out.setLeaf(raw(row.leaf));
  out.setLane(raw(row.lane));
  out.setFunction(raw(row.function));
  out.setEstimated(row.estimated);
  out.setBeginNs(row.begin_ns);
  out.setEndNs(row.end_ns);
  out.setTimeNs(row.time_ns);
}

template <typename T, typename Builders>
void write_all(const std::vector<T>& rows, Builders out) {
  unsigned i = 0;
  for (const T& row : rows) write(row, out[i++]);
}

void read(schema::ProfileRow::Reader in, std::size_t, ProfileRow& row) {
  row.leaf = LeafId{in.getLeaf()};
  row.lane = process_lane(in.getLane());
  row.function = FunctionId{in.getFunction()};
  row.estimated = in.getEstimated();
  row.calls = in.getCalls();
  row.calls_so_far = in.getCallsSoFar();
  row.time_ns = in.getTimeNs();
  row.min_ns = in.getMinNs();
  row.max_ns = in.getMaxNs();
  row.bytes = in.getBytes();
  const char* fault = read_histogram(blob(in.getHistogram()), row.histogram);
  require(fault == nullptr, fault);
}

void read(schema::MatrixRow::Reader in, std::size_t, MatrixRow& row) {
  row.leaf = LeafId{in.getLeaf()};
  row.lane = process_lane(in.getLane());
  row.destination = Rank{in.getDestination()};
  row.bytes = in.getBytes();
  row.messages = in.getMessages();
}

void read(schema::WaitRow::Reader in, std::size_t, WaitRow& row) {
  row.leaf = LeafId{in.getLeaf()};
  row.lane = process_lane(in.getLane());
  row.peer = Rank{in.getPeer()};
  row.time_ns = in.getTimeNs();
  row.calls = in.getCalls();
}

void read(schema::UnderWayRow::Reader in, std::size_t, UnderWayRow& row) {
  row.leaf = LeafId{in.getLeaf()};
  row.lane = process_lane(in.getLane());
  row.thread = ThreadIndex{in.getThread()};
  row.function = FunctionId{in.getFunction()};
  row.begin_ns = in.getBeginNs();
  if (in.getPeer() != kNone) row.peer = Rank{in.getPeer()};
  if (in.getComm() != kNone) row.comm = CommId{in.getComm()};
}

void read(schema::EarlierRow::Reader in, std::size_t, EarlierRow& row) {
  row.leaf = LeafId{in.getLeaf()};
  row.lane = process_lane(in.getLane());
  row.function = FunctionId{in.getFunction()};
  row.estimated = in.getEstimated();
  row.begin_ns = in.getBeginNs();
  row.end_ns = in.getEndNs();
  row.time_ns = in.getTimeNs();
  require(row.begin_ns <= row.end_ns, "an earlier window ends before it begins");
}

template <typename T, typename Readers>
void read_all(Readers in, std::size_t words, std::size_t size, std::vector<T>& rows) {
  rows.resize(checked_count(in, words, size));
  unsigned i = 0;
  for (T& row : rows) read(in[i++], size, row);
}

ProfileWindow read(schema::ProfileWindow::Reader in, std::size_t size) {
  ProfileWindow window;
  window.begin_ns = in.getBeginNs();
  window.end_ns = in.getEndNs();
  require(window.begin_ns <= window.end_ns, "a window ends before it begins");
  read_all(in.getRows(), kProfileWords, size, window.rows);
  read_all(in.getMatrix(), kMatrixWords, size, window.matrix);
  window.accounts = internal::read_accounts(in.getAccounts(), size);
  read_all(in.getWaits(), kWaitWords, size, window.waits);
  read_all(in.getUnderWay(), kUnderWayWords, size, window.under_way);
  read_all(in.getEarlier(), kEarlierWords, size, window.earlier);
  return window;
}

// A histogram of one window has a few buckets with small counts.
constexpr std::size_t kUsualHistogramWords = 3;

std::size_t guess_words(const ProfileWindow& window) {
  std::size_t words = kWindowWords + window.rows.size() * (kProfileWords + kUsualHistogramWords) +
                      window.matrix.size() * kMatrixWords + window.waits.size() * kWaitWords +
                      window.under_way.size() * kUnderWayWords +
                      window.earlier.size() * kEarlierWords;
  for (const AccountRow& row : window.accounts) words += internal::guess_words(row);
  return words;
}

}  // namespace

void LogHistogram::merge(const LogHistogram& other) {
  for (std::size_t b = 0; b < kBuckets; ++b) counts_[b] += other.counts_[b];
}

std::uint64_t LogHistogram::total() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts_) sum += count;
  return sum;
}

std::uint64_t LogHistogram::quantile_bound(double q) const {
  CHECK(q >= 0 && q <= 1);
  const std::uint64_t all = total();
  if (all == 0) return 0;
  // The number of values at or below the quantile. The product is a double on purpose: 0.9 as a
  // double is slightly more than nine tenths, but the product is rounded. So 0.9 of ten values is
  // the ninth value.
  const double rank = std::ceil(q * static_cast<double>(all));
  std::uint64_t left = all;
  if (rank < static_cast<double>(all)) left = rank < 1 ? 1 : static_cast<std::uint64_t>(rank);
  std::size_t b = 0;
  while (left > counts_[b]) left -= counts_[b++];
  if (b == 0) return 0;
  return b + 1 == kBuckets ? std::numeric_limits<std::uint64_t>::max() : std::uint64_t{1} << b;
}

Bytes LogHistogram::to_bytes() const {
  Bytes bytes;
  for (std::size_t b = 0; b < kBuckets; ++b) {
    if (counts_[b] == 0) continue;
    bytes.push_back(static_cast<std::byte>(b));
    put_leb(counts_[b], bytes);
  }
  return bytes;
}

Result<LogHistogram> LogHistogram::from_bytes(std::span<const std::byte> bytes) {
  LogHistogram histogram;
  if (const char* fault = read_histogram(bytes, histogram); fault != nullptr) {
    return internal::corrupt("a histogram", bytes.size(), fault);
  }
  return histogram;
}

Bytes encode(const ProfileWindow& window) {
  return internal::encode_flat<schema::ProfileWindow>(
      0, guess_words(window), [&](schema::ProfileWindow::Builder out) {
        out.setBeginNs(window.begin_ns);
        out.setEndNs(window.end_ns);
        write_all(window.rows, out.initRows(static_cast<unsigned>(window.rows.size())));
        write_all(window.matrix, out.initMatrix(static_cast<unsigned>(window.matrix.size())));
        write_all(window.accounts, out.initAccounts(static_cast<unsigned>(window.accounts.size())));
        write_all(window.waits, out.initWaits(static_cast<unsigned>(window.waits.size())));
        write_all(window.under_way,
                  out.initUnderWay(static_cast<unsigned>(window.under_way.size())));
        write_all(window.earlier, out.initEarlier(static_cast<unsigned>(window.earlier.size())));
      });
}

Result<ProfileWindow> decode_profile_window(std::span<const std::byte> payload) {
  return internal::decode_flat<schema::ProfileWindow>(
      "a window", payload,
      [&](schema::ProfileWindow::Reader in) { return read(in, payload.size()); });
}

}  // namespace xylem::wire
