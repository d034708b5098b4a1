#include "backend/agent/call_sites.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backend/find/object_file.h"
#include "backend/find/proc_table.h"

namespace xylem::backend {
namespace {

std::uint32_t own_pid() { return static_cast<std::uint32_t>(::getpid()); }
std::uint64_t code() { return reinterpret_cast<std::uintptr_t>(&code) + 1; }

/// The process 1 with a wrong start time: its /proc is not read.
CallSites of_an_ended_process() { return {1, 0}; }

TEST(CallSites, AreFoundInThisProcessByItsMaps) {
  CallSites sites(own_pid(), start_time_of(own_pid()));
  const CallSiteId site = sites.site_of(code());
  ASSERT_EQ(sites.found().size(), 1u);
  const wire::CallSiteRow row = sites.found()[0];
  EXPECT_EQ(row.site, site);
  EXPECT_NE(site, CallSiteId{});
  EXPECT_EQ(row.object, std::filesystem::read_symlink("/proc/self/exe"));
  EXPECT_EQ(row.build_id, read_object_file("/proc/self/exe").build_id);
  EXPECT_EQ(sites.site_of(code()), site);
  EXPECT_EQ(sites.found().size(), 1u) << "known already";
}

TEST(CallSites, AreTheSameInEveryProcess) {
  CallSites one(own_pid(), start_time_of(own_pid()));
  CallSites other = of_an_ended_process();
  static_cast<void>(one.site_of(code()));
  const wire::CallSiteRow row = one.found().at(0);
  // As if the other one had the same file elsewhere. This program's code is loaded where the file
  // says, apart from one constant.
  const auto its_own = read_mapped_code(own_pid(), start_time_of(own_pid()), code());
  ASSERT_TRUE(its_own);
  constexpr std::uint64_t kElsewhere = 0x70000000;
  MappedCode moved = *its_own;
  moved.begin = kElsewhere;
  moved.end = kElsewhere + (its_own->end - its_own->begin);
  moved.base += kElsewhere - its_own->begin;
  other.add(moved);
  EXPECT_EQ(other.site_of(code() - its_own->begin + kElsewhere), row.site);
  EXPECT_EQ(other.found().at(0), row);
}

TEST(CallSites, OfALibraryThatIsLoadedLaterAreFoundByLookingAgain) {
  CallSites sites(own_pid(), start_time_of(own_pid()));
  EXPECT_EQ(sites.site_of(0x10), CallSiteId{}) << "in no file";
  void* const library = ::dlopen("libanl.so.1", RTLD_NOW);  // A part of glibc.
  ASSERT_NE(library, nullptr) << ::dlerror();
  std::ifstream maps("/proc/self/maps");
  std::stringstream text;
  text << maps.rdbuf();
  std::uint64_t address = 0;
  std::string path;
  for (const MapsLine& each : maps_lines_in(text.str())) {
    if (each.path.find("libanl") == std::string::npos) continue;
    address = each.begin + 1;
    path = each.path;
  }
  ASSERT_NE(address, 0u);
  EXPECT_EQ(sites.site_of(address), CallSiteId{}) << "the maps were read for this chunk";
  for (int chunk = 0; chunk < 4; ++chunk) sites.begin_chunk(true);
  EXPECT_NE(sites.site_of(address), CallSiteId{});
  EXPECT_EQ(sites.found().back().object, path);
  ::dlclose(library);
}

TEST(CallSites, WithoutAFileHaveNoId) {
  CallSites sites = of_an_ended_process();
  EXPECT_EQ(sites.site_of(0), CallSiteId{});
  EXPECT_EQ(sites.site_of(code()), CallSiteId{});
  EXPECT_TRUE(sites.found().empty());
}

TEST(CallSites, AreAddressesInTheFile) {
  CallSites sites = of_an_ended_process();
  sites.add({0x1000, 0x2000, 0xb00, {std::byte{7}}, "/a\x1b[2J"});
  EXPECT_NE(sites.site_of(0x1001), CallSiteId{});
  EXPECT_EQ(sites.found().at(0).offset, 0x500u);
  EXPECT_EQ(sites.found().at(0).build_id, std::vector{std::byte{7}});
  EXPECT_EQ(sites.found().at(0).object, "/a\\x1b[2J");
  EXPECT_EQ(sites.site_of(0x1000), CallSiteId{}) << "its call would be before the code";
  EXPECT_NE(sites.site_of(0x2000), CallSiteId{}) << "its call is the last instruction";
}

TEST(CallSites, FollowAFileThatReplacesAnother) {
  CallSites sites = of_an_ended_process();
  sites.add({0x1000, 0x3000, 0, {}, "/first"});
  const CallSiteId first = sites.site_of(0x1100);
  sites.add({0x1000, 0x3000, 0, {}, "/first"});
  EXPECT_EQ(sites.site_of(0x1100), first);
  EXPECT_EQ(sites.found().size(), 1u) << "the same file again changes nothing";
  sites.add({0x800, 0x1001, 0, {}, "/second"});
  EXPECT_EQ(sites.site_of(0x1100), CallSiteId{}) << "the first one is gone";
  EXPECT_NE(sites.site_of(0x900), CallSiteId{});
  EXPECT_EQ(sites.found().back().object, "/second");
}

TEST(CallSites, AreNotSoughtInTheMapsOverWhatTheProcessSays) {
  CallSites sites(own_pid(), start_time_of(own_pid()));
  sites.add({code() - 0x1000, code() + 0x1000, 0, {}, "/said"});
  sites.begin_chunk(true);
  static_cast<void>(sites.site_of(code() + 0x1001));  // Not said. The same file is there.
  static_cast<void>(sites.site_of(code()));
  EXPECT_EQ(sites.found().at(0).object, "/said");
}

TEST(CallSites, AreNotFoundWithoutRoomAndAreFoundLater) {
  CallSites sites = of_an_ended_process();
  sites.add({0x1000, 0x2000, 0, {}, "/file"});
  sites.begin_chunk(false);
  EXPECT_EQ(sites.site_of(0x1100), CallSiteId{});
  sites.begin_chunk(true);
  EXPECT_NE(sites.site_of(0x1100), CallSiteId{});
  sites.begin_chunk(false);
  EXPECT_NE(sites.site_of(0x1100), CallSiteId{});
}

TEST(CallSites, AreLimited) {
  CallSites sites = of_an_ended_process();
  sites.add({0x1000, 0x1000 + 4 * CallSites::kMaxSites, 0, {}, "/large"});
  for (std::size_t i = 1; i <= CallSites::kMaxSites; ++i) {
    ASSERT_NE(sites.site_of(0x1000 + i), CallSiteId{}) << i;
  }
  EXPECT_EQ(sites.site_of(0x1000 + CallSites::kMaxSites + 1), CallSiteId{});
  EXPECT_NE(sites.site_of(0x1001), CallSiteId{}) << "those that are known stay known";
  EXPECT_EQ(sites.found().size(), CallSites::kMaxSites);
  sites.add({0x1000, 0x1000 + 4 * CallSites::kMaxSites, 1, {}, "/other"});
  EXPECT_EQ(sites.site_of(0x1001), CallSiteId{}) << "a replaced file frees no room";
}

TEST(CallSites, AreOfALimitedNumberOfFiles) {
  CallSites sites = of_an_ended_process();
  for (std::uint64_t i = 1; i <= CallSites::kMaxMapped + 1; ++i) {
    sites.add({0x1000 * i, 0x1000 * (i + 1), 0, {}, std::string(2 * CallSites::kMaxPath, 'p')});
  }
  EXPECT_NE(sites.site_of(0x1000 * CallSites::kMaxMapped + 1), CallSiteId{});
  EXPECT_EQ(sites.found().at(0).object.size(), CallSites::kMaxPath);
  EXPECT_EQ(sites.site_of(0x1000 * (CallSites::kMaxMapped + 1) + 1), CallSiteId{});
}

}  // namespace
}  // namespace xylem::backend
