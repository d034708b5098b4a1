#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "storage/read/run_view.h"
#include "storage/summary_internal.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kHosts = 5;
constexpr std::uint32_t kEach = 16;  // 80 processes: more than a block.
constexpr FunctionId kLate{3};

template <typename T>
T succeeded(Result<T> result) {
  if (!result) ADD_FAILURE() << result.error().message;
  return std::move(result).value();
}

/// A window of a function, as a row of the file.
struct Row {
  std::uint64_t rank = 0;
  std::string function, function_class;
  Nanos begin_ns = 0;
  std::uint64_t calls = 0, time_ns = 0, max_ns = 0, bytes = 0;
  bool estimated = false;
  wire::LogHistogram histogram;
};

class SummaryTest : public StoredRun {
 protected:
  SummaryTest() : StoredRun(facts()) {
    for (std::uint32_t leaf = 0; leaf < kHosts; ++leaf) {
      put(registration(leaf, {{kSend, "MPI_Send", 1}, {kWaitall, "MPI_Waitall", 3}}));
    }
  }

  static wire::Packet registration(std::uint32_t leaf, std::vector<wire::FunctionRow> functions) {
    wire::Registration registration;
    registration.host = "node" + std::to_string(leaf);
    registration.functions = std::move(functions);
    for (std::uint32_t lane = 1; lane <= kEach; ++lane) {
      registration.processes.push_back(
          process_row(lane, leaf * kEach + lane - 1, 1, kHosts * kEach));
    }
    return wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(leaf)},
                        wire::encode(registration));
  }

  static RunFacts facts() {
    RunFacts facts;
    facts.run_id = "run";
    facts.window_ns = kWindow;
    return facts;
  }

  /// A window with a few processes of a host. `part`: it begins within the slice.
  wire::Packet window(std::uint32_t leaf, std::uint64_t wave, Nanos begin_ns) {
    wire::ProfileWindow window;
    window.begin_ns = begin_ns;
    window.end_ns = begin_ns + kWindow / 4;
    std::set<std::pair<std::uint32_t, std::uint16_t>> chosen;
    for (std::uint64_t i = 0; i <= random_() % 4; ++i) {
      chosen.insert({static_cast<std::uint32_t>(1 + random_() % kEach),
                     static_cast<std::uint16_t>(random_() % 4)});
    }
    for (const auto& [lane, function] : chosen) {
      wire::ProfileRow row = profile_row(leaf, lane, 1 + random_() % 9, FunctionId{function});
      row.max_ns = random_() % 1'000'000;
      row.estimated = random_() % 64 == 0;
      row.histogram = {};
      row.histogram.add(random_() % 1'000'000, row.calls);
      window.rows.push_back(row);
    }
    return window_packet(wave, IntervalSet::of(leaf), window);
  }

  void write_randomly(std::uint64_t waves) {
    std::vector<wire::Packet> kept_back;
    for (std::uint64_t wave = 0; wave < waves; ++wave) {
      const Nanos slice = static_cast<Nanos>(wave) * kWindow - 100 * kWindow;  // Some before zero.
      for (std::uint32_t leaf = 0; leaf < kHosts; ++leaf) {
        const bool is_part = random_() % 8 == 0;
        wire::Packet packet = window(leaf, wave, is_part ? slice + kWindow / 2 : slice);
        const std::uint64_t fate = random_() % 64;
        if (fate == 0) {
          kept_back.push_back(packet);
        } else if (fate == 1) {
          put(tombstone_of(packet, 3));
          put(packet);  // Not stored: the tombstone was first.
        } else {
          put(packet);
          if (fate == 2) put(packet);
        }
      }
      if (random_() % 512 == 0) {
        for (const wire::Packet& packet : kept_back) put(packet);
        kept_back.clear();
      }
      if (random_() % 16 == 0) {
        ASSERT_TRUE(store_->commit());
      }
      if (random_() % 1024 == 0) resume();
    }
    ASSERT_TRUE(store_->commit());
  }

  RunView view() { return succeeded(RunView::open(path_)); }

  std::uint64_t number(const std::string& sql) {
    const auto rows = succeeded(view().file().rows(sql));
    return static_cast<std::uint64_t>(integer_of(rows[0][0]));
  }

  std::vector<Row> rows() {
    std::vector<Row> all;
    for (const auto& row : succeeded(view().file().rows(
             "SELECT p.rank, coalesce(f.name, 'function ' || w.function), f.class, w.begin_ns,"
             " w.calls, w.time_ns, w.max_ns, w.bytes, w.estimated, w.histogram FROM profile_row w"
             " JOIN process p ON p.id = w.process LEFT JOIN function f ON f.id = w.function"))) {
      const auto count = [&](std::size_t i) {
        return static_cast<std::uint64_t>(integer_of(row[i]));
      };
      all.push_back({count(0), text_of(row[1]), text_of(row[2]), integer_of(row[3]), count(4),
                     count(5), count(6), count(7), count(8) != 0,
                     succeeded(wire::LogHistogram::from_bytes(std::get<Blob>(row[9])))});
    }
    return all;
  }

  RankRange some_ranks() {
    if (random_() % 2 == 0) return {};
    const std::uint64_t first = random_() % (kHosts * kEach);
    return {WorldId{0}, first, first + random_() % (kHosts * kEach)};
  }
  TimeRange some_time(Nanos whole) {
    if (random_() % 4 == 0) return {};
    const auto at = [&] { return static_cast<Nanos>(random_()) * 64 % whole - 110 * kWindow; };
    const Nanos a = at();
    const Nanos b = random_() % 2 == 0 ? at() : a + static_cast<Nanos>(random_() % 40) * kWindow;
    return {std::min(a, b), std::max(a, b)};
  }

  std::mt19937 random_{20261122};  // Fixed, so that a failure can be repeated.
};

bool is_within(const Row& row, const RankRange& ranks, const Scope& scope) {
  return row.rank >= ranks.first_rank.value_or(0) && row.rank < ranks.end_rank.value_or(1000) &&
         row.begin_ns >= scope.begin_ns && row.begin_ns < scope.end_ns;
}

std::uint64_t amount_of(const Row& row, RankValue value) {
  switch (value) {
    case RankValue::kMpi:
      return row.time_ns;
    case RankValue::kWait:
      for (const char* waits : {"MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Waitall"}) {
        if (row.function == waits) return row.time_ns;
      }
      return 0;
    case RankValue::kBytes:
      return row.bytes;
    case RankValue::kCalls:
      return row.calls;
  }
  return 0;
}

void expect_grid(const RankGrid& grid, const RankGridQuery& query, const std::vector<Row>& rows) {
  std::vector<std::uint64_t> expected(grid.cells.size());
  for (const Row& row : rows) {
    if (!is_within(row, query.ranks, grid.scope)) continue;
    const std::uint64_t at =
        (row.rank - query.ranks.first_rank.value_or(0)) / grid.rows.front().ranks;
    const auto slot =
        static_cast<std::uint64_t>((row.begin_ns - grid.scope.begin_ns) / grid.slot_ns);
    expected.at(at * grid.columns + slot) += amount_of(row, query.value);
  }
  EXPECT_EQ(grid.cells, expected);
}

void expect_functions(const FunctionTable& table, const FunctionQuery& query,
                      const std::vector<Row>& rows) {
  struct Sums {
    std::uint64_t calls = 0, time_ns = 0, bytes = 0, max_ns = 0;
    bool estimated = false;
    std::set<std::uint64_t> ranks;
    std::map<std::uint64_t, std::uint64_t> series;
    wire::LogHistogram histogram;
  };
  std::map<std::string, Sums> expected;
  for (const Row& row : rows) {
    if (!is_within(row, query.ranks, table.scope)) continue;
    Sums& sums = expected[row.function];
    sums.calls += row.calls;
    sums.time_ns += row.time_ns;
    sums.bytes += row.bytes;
    sums.max_ns = std::max(sums.max_ns, row.max_ns);
    sums.estimated |= row.estimated;
    sums.ranks.insert(row.rank);
    sums.histogram.merge(row.histogram);
    if (query.series != 0) {
      sums.series[static_cast<std::uint64_t>((row.begin_ns - table.scope.begin_ns) /
                                             table.slot_ns)] += row.time_ns;
    }
  }
  ASSERT_EQ(table.functions.size(), expected.size());
  for (const FunctionTable::Function& function : table.functions) {
    SCOPED_TRACE(function.name);
    const Sums& sums = expected[function.name];
    EXPECT_EQ(function.calls, sums.calls);
    EXPECT_EQ(function.time_ns, sums.time_ns);
    EXPECT_EQ(function.bytes, sums.bytes);
    EXPECT_EQ(function.max_ns, sums.max_ns);
    EXPECT_EQ(function.estimated, sums.estimated);
    EXPECT_EQ(function.ranks, sums.ranks.size());
    for (std::size_t slot = 0; slot < function.series_ns.size(); ++slot) {
      const auto at = sums.series.find(slot);
      EXPECT_EQ(function.series_ns[slot], at == sums.series.end() ? 0 : at->second) << slot;
    }
    for (const auto& [below, calls] : function.distribution) {
      EXPECT_EQ(calls, sums.histogram.count(wire::LogHistogram::bucket_of(below - 1))) << below;
    }
    if (query.distribution) {
      std::uint64_t in_all = 0;
      for (const auto& [below, calls] : function.distribution) in_all += calls;
      EXPECT_EQ(in_all, sums.histogram.total());
    }
  }
}

TEST_F(SummaryTest, EveryAnswerEqualsThatOfTheWindowsHoweverTheyCame) {
  constexpr std::uint64_t kWaves = 5000;
  write_randomly(kWaves);
  const std::vector<Row> all = rows();
  // Several levels have rows; otherwise this test would prove nothing.
  ASSERT_GE(number("SELECT count(DISTINCT level) FROM window_summary"), 3u);
  RunView run = view();
  for (int trial = 0; trial < 150; ++trial) {
    const TimeRange range = some_time(static_cast<Nanos>(kWaves + 30) * kWindow);
    RankGridQuery grid{some_ranks(), range};
    grid.value = static_cast<RankValue>(random_() % 4);
    grid.columns = 1 + random_() % 700;
    grid.rows = 1 + random_() % 100;
    SCOPED_TRACE(::testing::Message()
                 << "trial " << trial << ", " << range.begin_ns.value_or(-1) << " to "
                 << range.end_ns.value_or(-1) << ", ranks " << grid.ranks.first_rank.value_or(0)
                 << " to " << grid.ranks.end_rank.value_or(0));
    const RankGrid cells = succeeded(run.ranks(grid));
    if (!cells.rows.empty()) expect_grid(cells, grid, all);
    FunctionQuery functions{grid.ranks, range};
    functions.series = random_() % 2 == 0 ? 0 : 1 + random_() % 200;
    functions.distribution = random_() % 2 == 0;
    if (!range.begin_ns && functions.series == 0) continue;  // Of the whole run: no windows.
    expect_functions(succeeded(run.functions(functions)), functions, all);
    if (HasFailure()) return;
  }
}

TEST_F(SummaryTest, TheLongestCallsAreThoseOfTheWindows) {
  write_randomly(5000);
  std::vector<std::uint64_t> expected;
  std::map<std::pair<std::uint64_t, Nanos>, std::uint64_t> by_window;
  for (const Row& row : rows()) {
    std::uint64_t& longest = by_window[{row.rank, floor_to(row.begin_ns, kWindow)}];
    longest = std::max(longest, row.max_ns);
  }
  for (const auto& [key, longest] : by_window) expected.push_back(longest);
  std::ranges::sort(expected, std::greater<>());
  expected.resize(10);
  std::vector<std::uint64_t> found;
  for (const auto& call : succeeded(view().timeline({})).longest) {
    found.push_back(call.duration_ns);
    EXPECT_EQ(by_window.at({raw(call.rank), call.begin_ns}), call.duration_ns);
  }
  EXPECT_EQ(found, expected);
}

TEST_F(SummaryTest, NothingIsMadeOfAFewWindowsAtTheEndOfAShortRun) {
  put(window(0, 0, 0));
  ASSERT_TRUE(store_->end_run(0, kSecond));
  EXPECT_EQ(number("SELECT count(*) FROM window_summary"), 0u);
}

TEST_F(SummaryTest, AFileOfAnOlderVersionIsSummedUpAsItGoesOn) {
  write_randomly(200);
  store_.reset();
  change_file(path_, back_to(9));
  const std::vector<Row> all = rows();
  expect_grid(succeeded(view().ranks({})), {}, all);

  resume();
  put(window(0, 300, 300 * kWindow));
  ASSERT_TRUE(store_->commit());
  EXPECT_GT(number("SELECT count(*) FROM window_summary"), 0u);
  expect_grid(succeeded(view().ranks({})), {}, rows());
}

TEST_F(SummaryTest, WhatWaitsIsRightWhenTheFunctionsNameComesAfterItsWindows) {
  for (std::uint64_t wave = 0; wave < 40; ++wave) {
    wire::ProfileWindow window;
    window.rows = {profile_row(0, 1, 1, kLate)};
    put(window_packet(wave, IntervalSet::of(0), window));
    ASSERT_TRUE(store_->commit());
  }
  const RankGridQuery waits{.value = RankValue::kWait};
  EXPECT_GT(number("SELECT count(*) FROM window_summary"), 0u);
  EXPECT_EQ(succeeded(view().ranks(waits)).rows[0].total, 0u);
  put(registration(1, {{kLate, "MPI_Wait", 3}}));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(succeeded(view().ranks(waits)).rows[0].total, 40'000u);
  EXPECT_GT(number("SELECT count(*) FROM window_summary"), 0u);
}

TEST_F(SummaryTest, ADamagedSummaryIsSaidAndNoAnswer) {
  write_randomly(100);
  store_.reset();
  change_file(path_, "UPDATE window_summary SET cells = x'ffff', functions = x'05ff'");
  RunView run = view();
  const auto grid = run.ranks({});
  ASSERT_FALSE(grid);
  EXPECT_EQ(grid.error().code, Code::kCorrupt);
  EXPECT_THAT(grid.error().message, HasSubstr("damaged"));
  EXPECT_FALSE(run.functions({.range = {-200 * kWindow, 200 * kWindow}}));
}

}  // namespace
}  // namespace xylem::storage
