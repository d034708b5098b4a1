// Call sites: the table `callsite`, the column `event.callsite`, the table `callsite_total`, and
// the source lines that are found in this program's own debugging information.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>
#include <fstream>

#include "storage/write/source_lines.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"
#include "wire/chunk.h"

namespace xylem::storage {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr CallSiteId kSolver{7};
constexpr CallSiteId kHalo{0xffff'ffff'ffff'fff0};  // Negative in SQLite.

class CallSiteTest : public StoredRun {
 protected:
  void define(const std::vector<wire::CallSiteRow>& sites) {
    wire::ProcessRow row = process_row(1, 0, 1, 1);
    row.definitions.call_sites = sites;
    put(registration_packet(7, {row}, wave_++));
  }
  static wire::CallSiteRow row_of(CallSiteId site, const std::string& object,
                                  std::uint64_t offset) {
    return {site, object, {}, offset};
  }
  /// Commits, then finds lines as a process beside the store does.
  ResolvedSites resolve(const std::vector<PathChange>& changes = {}) {
    EXPECT_TRUE(store_->commit());
    const auto resolved = resolve_call_sites(path_, changes);
    EXPECT_TRUE(resolved) << resolved.error().message;
    return resolved ? *resolved : ResolvedSites{};
  }

  std::uint64_t wave_ = 0;
};

TEST_F(CallSiteTest, HasOneRowHoweverOftenItIsDefined) {
  wire::CallSiteRow solver = row_of(kSolver, "/bin/solver", 0x1234);
  solver.build_id = {std::byte{0xab}, std::byte{0x01}};
  define({solver, row_of(kHalo, "/lib/libhalo.so", 16)});
  define({solver});
  EXPECT_EQ(ask("SELECT id, site, object, build_id, offset, function, file, line FROM callsite"),
            "1|7|/bin/solver|ab01|4660|NULL|NULL|NULL\n"
            "2|-16|/lib/libhalo.so|NULL|16|NULL|NULL|NULL\n");
}

TEST_F(CallSiteTest, IsStoredOfAProcessWithoutARankToo) {
  wire::ProcessRow row = process_row(1, 0, 1, 1);
  row.initialised = false;
  row.definitions.call_sites = {row_of(kSolver, "/bin/solver", 1)};
  put(registration_packet(7, {row}, wave_++));
  EXPECT_EQ(ask("SELECT count(*) FROM callsite"), "1\n");
}

TEST_F(CallSiteTest, EventsNameItByItsKey) {
  std::vector<wire::Event> events(3);
  events[0].site = kHalo;
  events[1].site = kSolver;
  events[2].site = CallSiteId{999};  // The agent that defined it was lost.
  for (wire::Event& event : events) event.end_ns = event.begin_ns = &event - events.data();
  define({row_of(kSolver, "/bin/solver", 1)});
  put(chunk_packet(7, 1, 0, events));
  EXPECT_EQ(ask("SELECT begin_ns, callsite FROM event ORDER BY 1"), "0|NULL\n1|1\n2|NULL\n");
  define({row_of(kHalo, "/lib/libhalo.so", 16)});
  EXPECT_EQ(ask("SELECT begin_ns, callsite FROM event ORDER BY 1"), "0|2\n1|1\n2|NULL\n");
}

TEST_F(CallSiteTest, TotalsCountCallsTimesAndPayloadOfEachFunction) {
  define({row_of(kSolver, "/bin/solver", 1), row_of(kHalo, "/lib/libhalo.so", 16)});
  const auto call = [](CallSiteId site, std::uint16_t function, Nanos begin, Nanos end,
                       std::uint64_t bytes) {
    wire::Event event;
    event.site = site;
    event.function = FunctionId{function};
    event.begin_ns = begin;
    event.end_ns = end;
    event.bytes = bytes;
    return event;
  };
  std::vector<wire::Event> events = {call(kSolver, 1, 0, 10, 100), call(kSolver, 1, 20, 50, 1),
                                     call(kSolver, 2, 60, 61, 0),  call(kHalo, 2, 70, 80, 5),
                                     call(kHalo, 2, 70, 80, 7),    call(kHalo, 2, 70, 80, 1000),
                                     call({}, 1, 90, 91, 0)};
  events[3].calls = 4;  // One of four was timed.
  events[3].flags = wire::kEventEstimated;
  events[4].kind = events[5].kind = wire::kKindCompletion;
  events[4].calls = events[5].calls = 0;
  events[4].flags = wire::kEventReceive;
  events[5].flags = wire::kEventBlock;
  put(chunk_packet(7, 1, 0, events));
  EXPECT_EQ(ask("SELECT world, rank, callsite, function, calls, time_ns, max_ns, bytes, estimated"
                " FROM callsite_total ORDER BY callsite, function"),
            "0|0|NULL|MPI_Recv|1|1|1|0|0\n"
            "0|0|1|MPI_Recv|2|40|30|101|0\n"
            "0|0|1|function 2|1|1|1|0|0\n"
            "0|0|2|function 2|4|40|10|12|1\n");
}

// ---- source lines ----

[[gnu::noinline]] std::uint64_t call_address() {
  return reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1;
}

struct KnownCall {
  std::uint64_t address;
  int line;
};
[[gnu::noinline]] KnownCall call_in_a_function() { return {call_address(), __LINE__}; }
[[gnu::always_inline]] inline KnownCall call_in_an_inlined_function() {
  return {call_address(), __LINE__};
}

/// Where this program is loaded.
std::uint64_t own_base() {
  std::uint64_t base = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        *static_cast<std::uint64_t*>(into) = info->dlpi_addr;
        return 1;  // The program is the first one.
      },
      &base);
  return base;
}

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

TEST_F(CallSiteTest, FunctionFileAndLineAreThoseOfTheSource) {
  const KnownCall plain = call_in_a_function();
  const KnownCall inlined = call_in_an_inlined_function();
  define({row_of(kSolver, own_path(), plain.address - own_base()),
          row_of(kHalo, own_path(), inlined.address - own_base())});
  const ResolvedSites resolved = resolve();
  EXPECT_EQ(resolved.sites, 2u);
  EXPECT_EQ(resolved.with_line, 2u);
  EXPECT_TRUE(resolved.unusable.empty());
  EXPECT_EQ(ask("SELECT line FROM callsite ORDER BY id"),
            std::to_string(plain.line) + "\n" + std::to_string(inlined.line) + "\n");
  EXPECT_THAT(ask("SELECT function FROM callsite WHERE id = 1"), HasSubstr("call_in_a_function"));
  EXPECT_THAT(ask("SELECT function FROM callsite WHERE id = 2"),
              HasSubstr("call_in_an_inlined_function"));
  EXPECT_THAT(ask("SELECT DISTINCT file FROM callsite"), EndsWith("/call_site_test.cc\n"));
}

TEST_F(CallSiteTest, AFileWithAnotherBuildIdIsNotUsed) {
  wire::CallSiteRow other = row_of(kSolver, own_path(), call_in_a_function().address - own_base());
  other.build_id = {std::byte{1}, std::byte{2}};
  define({other});
  const ResolvedSites resolved = resolve();
  ASSERT_EQ(resolved.unusable.size(), 1u);
  EXPECT_EQ(resolved.unusable[0].first, own_path());
  EXPECT_EQ(resolved.unusable[0].second, "has another build id");
  EXPECT_EQ(ask("SELECT function, line FROM callsite"), "NULL|NULL\n");
}

TEST_F(CallSiteTest, FilesThatAreElsewhereAreFoundThere) {
  const KnownCall call = call_in_a_function();
  const std::filesystem::path own = own_path();
  define({row_of(kSolver, "/image" + own.parent_path().string() + "/" + own.filename().string(),
                 call.address - own_base())});
  EXPECT_EQ(resolve().with_line, 0u);
  EXPECT_EQ(resolve().unusable.at(0).second, "cannot be read");
  EXPECT_EQ(resolve({{"/other", "/"}, {"/image/", "/"}}).with_line, 1u);
  EXPECT_EQ(ask("SELECT line FROM callsite"), std::to_string(call.line) + "\n");
  EXPECT_EQ(resolve().with_line, 1u) << "nothing is left to do";
}

TEST_F(CallSiteTest, FilesThatAreNoProgramsAreSkipped) {
  const std::string text = folder_.file("text");
  std::ofstream(text) << "\177ELF, but not a program\n";
  define({row_of(kSolver, text, 1), row_of(kHalo, "/dev/zero", 1),
          row_of(CallSiteId{9}, own_path(), ~0ULL)});
  const ResolvedSites resolved = resolve();
  EXPECT_EQ(resolved.sites, 3u);
  EXPECT_EQ(resolved.with_line, 0u);
  EXPECT_EQ(resolved.unusable.size(), 2u);
}

extern "C" [[gnu::noinline]] std::uint64_t f() { return call_address(); }

TEST_F(CallSiteTest, AShortNameIsNotACodeOfAType) {
  define({row_of(kSolver, own_path(), f() - own_base())});
  resolve();
  EXPECT_EQ(ask("SELECT function FROM callsite"), "f\n");
}

TEST_F(CallSiteTest, AReaderOfALiveRunDelaysNoLines) {
  const KnownCall call = call_in_a_function();
  define({row_of(kSolver, own_path(), call.address - own_base())});
  EXPECT_TRUE(store_->commit());
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run);
  ASSERT_TRUE((*run)->hold());
  EXPECT_EQ(resolve().with_line, 1u);
  (*run)->release();
}

TEST_F(CallSiteTest, OfARunThatHasEndedIsFoundToo) {
  const KnownCall call = call_in_a_function();
  define({row_of(kSolver, own_path(), call.address - own_base())});
  ASSERT_TRUE(store_->end_run(0, 1));
  const auto resolved = resolve_call_sites(path_);
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_EQ(resolved->with_line, 1u);
  store_.reset();
  const auto run = RunFile::open(path_);
  ASSERT_TRUE(run);
  const auto rows = (*run)->rows("SELECT line FROM callsite");
  ASSERT_TRUE(rows);
  EXPECT_EQ(lines_of(*rows), std::to_string(call.line) + "\n");
}

TEST_F(CallSiteTest, AKnownFunctionStaysWithoutALine) {
  define({row_of(kSolver, own_path(), ~0ULL)});
  EXPECT_TRUE(store_->commit());
  change_file(path_, "UPDATE callsite SET function = 'known'");
  EXPECT_EQ(resolve().with_line, 0u);
  EXPECT_EQ(ask("SELECT function, line FROM callsite"), "known|NULL\n");
}

TEST_F(CallSiteTest, AFileThatIsNoRunIsNamed) {
  const auto missing = resolve_call_sites("/nonexistent.db");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent.db"));
}

}  // namespace
}  // namespace xylem::storage
