// Aggregations from shared objects: one that works, and all that are refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "filters/aggregation.h"
#include "filters/narrowing.h"
#include "filters/plugin_copy.h"
#include "tests/support/any_tree.h"

namespace xylem::filters {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using wire::Fields;
using xylem::testing::any_leaves;
using xylem::testing::in_any_tree;
using xylem::testing::same_bits;
namespace fs = std::filesystem;

constexpr std::uint64_t kPluginSeed = 20240705;  // Fixed, so that a failure can be repeated.
const fs::path kPlugins = XYLEM_TEST_PLUGINS;

using Loaded = Result<std::shared_ptr<const Aggregation>>;

class Plugin : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "xylem-plugin-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A copy that only this user may write.
  std::string copy_of(const std::string& plugin, const std::string& name = "copy.so") {
    const fs::path path = folder_ / name;
    fs::copy_file(kPlugins / (plugin + ".so"), path, fs::copy_options::overwrite_existing);
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    return path.string();
  }

  static Loaded load(const std::string& path, const std::string& name,
                     const Fields& parameters = {}) {
    const auto sha256 = plugin_fingerprint(path);
    EXPECT_TRUE(sha256) << sha256.error().message;
    return load_aggregation(path, *sha256, name, parameters);
  }

  static Result<std::shared_ptr<const Narrowing>> load_narrowing_of(const std::string& path,
                                                                    const std::string& name,
                                                                    const Fields& parameters = {}) {
    const auto sha256 = plugin_fingerprint(path);
    EXPECT_TRUE(sha256) << sha256.error().message;
    return load_narrowing(path, *sha256, name, parameters);
  }

  // The sentence with which a test plugin is refused; it names the file.
  std::string fault_of(const std::string& plugin, Code code, const std::string& name = "odd") {
    const std::string path = copy_of(plugin);
    const Loaded loaded = load(path, name);
    EXPECT_FALSE(loaded);
    if (loaded) return {};
    EXPECT_EQ(loaded.error().code, code);
    EXPECT_THAT(loaded.error().message, HasSubstr("plugin " + path + ": "));
    return loaded.error().message;
  }

  fs::path folder_;
};

std::int64_t span_of_3_and_10(const Aggregation& span) {
  Fields state = *span.lift(LeafId{1}, Fields{{1, std::int64_t{3}}});
  EXPECT_TRUE(span.merge(state, *span.lift(LeafId{2}, Fields{{1, std::int64_t{10}}})));
  return *span.finish(state)->get<std::int64_t>(1);
}

void expect_refused(const Loaded& loaded, Code code, const std::string& why) {
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, code);
  EXPECT_THAT(loaded.error().message, HasSubstr(why));
}

TEST_F(Plugin, AggregatesAsABuiltInDoes) {
  std::mt19937_64 random(kPluginSeed);
  const Loaded span = load(copy_of("span"), "span");
  ASSERT_TRUE(span) << span.error().message;
  for (int trial = 0; trial < 50; ++trial) {
    SCOPED_TRACE(::testing::Message() << "seed " << kPluginSeed << ", trial " << trial);
    std::int64_t least = 1000, greatest = -1000;
    const auto sent = any_leaves(random, [&] {
      const auto value = static_cast<std::int64_t>(random() % 2000) - 1000;
      least = std::min(least, value);
      greatest = std::max(greatest, value);
      return Fields{{1, value}};
    });
    EXPECT_TRUE(same_bits(in_any_tree(**span, sent, random), Fields{{1, greatest - least}}));
  }
}

TEST_F(Plugin, SaysInItsOwnWordsWhatItDoesNotTake) {
  const std::string path = copy_of("span");
  expect_refused(load(path, "span", Fields{{1, 0.5}}), Code::kInvalidArgument,
                 "plugin " + path + ": span, create: span takes no parameters");
  const Loaded span = load(path, "span");
  ASSERT_TRUE(span);
  const auto lifted = (*span)->lift(LeafId{1}, Fields{{1, 0.5}});
  ASSERT_FALSE(lifted);
  EXPECT_EQ(lifted.error().code, Code::kInvalidArgument);
  EXPECT_THAT(lifted.error().message, HasSubstr("span, lift: field 1 is float64, not int64"));
}

TEST_F(Plugin, IsRefusedWhenThereIsNone) {
  const std::string path = (folder_ / "missing.so").string();
  expect_refused(load_aggregation(path, {}, "span", {}), Code::kNotFound,
                 "plugin " + path + ": it cannot be opened: No such file");
  const auto sha256 = plugin_fingerprint(path);
  ASSERT_FALSE(sha256);
  EXPECT_EQ(sha256.error().code, Code::kNotFound);
}

TEST_F(Plugin, IsRefusedByARelativePath) {
  const auto sha256 = plugin_fingerprint(copy_of("span"));
  ASSERT_TRUE(sha256);
  for (const auto* path : {"copy.so", "./copy.so", ""}) {
    expect_refused(load_aggregation(path, *sha256, "span", {}), Code::kPermissionDenied,
                   "not absolute");
  }
}

TEST_F(Plugin, IsRefusedWhenOthersMayWriteIt) {
  const std::string path = copy_of("span");
  const auto sha256 = plugin_fingerprint(path);
  ASSERT_TRUE(sha256);
  for (const auto who : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(path, fs::perms::owner_read | who);
    expect_refused(load_aggregation(path, *sha256, "span", {}), Code::kPermissionDenied,
                   "group or others may write it");
  }
}

TEST_F(Plugin, IsRefusedWhenItBelongsToAnother) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string path = copy_of("span");
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chown(path.c_str(), kNobody, static_cast<gid_t>(-1)), 0);
  expect_refused(load_aggregation(path, {}, "span", {}), Code::kPermissionDenied,
                 "belongs to another user");
}

TEST_F(Plugin, IsRefusedWhenItIsNoRegularFile) {
  expect_refused(load_aggregation(folder_.string(), {}, "span", {}), Code::kPermissionDenied,
                 "not a regular file");
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refused(load_aggregation(pipe, {}, "span", {}), Code::kPermissionDenied,
                 "not a regular file");
}

TEST_F(Plugin, IsRefusedWhenOneByteDiffers) {
  const std::string path = copy_of("span");
  const auto sha256 = plugin_fingerprint(path);
  ASSERT_TRUE(sha256);
  std::ofstream(path, std::ios::app) << 'x';
  expect_refused(load_aggregation(path, *sha256, "span", {}), Code::kCorrupt,
                 "copy the same file to every host");
}

TEST_F(Plugin, IsKnownByTheSha256OfItsBytes) {
  const fs::path path = folder_ / "abc";
  std::ofstream(path) << "abc";
  fs::permissions(path, fs::perms::owner_read);
  const auto sha256 = plugin_fingerprint(path.string());
  ASSERT_TRUE(sha256) << sha256.error().message;
  // FIPS 180-2, example B.1.
  EXPECT_THAT(std::vector<int>(sha256->begin(), sha256->begin() + 4),
              ::testing::ElementsAre(0xba, 0x78, 0x16, 0xbf));
}

TEST_F(Plugin, IsTheSameFromACopyWhenItsFileIsGone) {
  const std::string path = copy_of("span");
  const auto sha256 = plugin_fingerprint(path);
  const auto copy = copy_plugin(path);
  ASSERT_TRUE(copy) << copy.error().message;
  fs::remove(path);
  const std::string name = name_of_copy(copy->get());
  EXPECT_EQ(*plugin_fingerprint(name), *sha256);
  const Loaded span = load_aggregation(name, *sha256, "span", {});
  ASSERT_TRUE(span) << span.error().message;
  EXPECT_EQ(span_of_3_and_10(**span), 7);
  EXPECT_LT(::write(copy->get(), "x", 1), 0) << "nobody can change it";
}

TEST_F(Plugin, IsRefusedWhenItIsTooLarge) {
  const fs::path path = folder_ / "large.so";
  std::ofstream(path) << "";
  fs::resize_file(path, kMaxPluginBytes + 1);  // Sparse.
  fs::permissions(path, fs::perms::owner_read);
  expect_refused(load_aggregation(path.string(), {}, "span", {}), Code::kExhausted,
                 "larger than 64 MiB");
}

TEST_F(Plugin, IsRefusedWhenItIsNoSharedObject) {
  const fs::path path = folder_ / "text.so";
  std::ofstream(path) << "not a shared object";
  fs::permissions(path, fs::perms::owner_read);
  expect_refused(load(path.string(), "span"), Code::kCorrupt, "it cannot be loaded");
}

TEST_F(Plugin, IsRefusedWhenItExportsNoPlugin) {
  EXPECT_THAT(fault_of("no_plugin", Code::kCorrupt), HasSubstr("exports no xylem_plugin"));
  EXPECT_THAT(fault_of("no_table", Code::kCorrupt), HasSubstr("xylem_plugin() failed"));
}

TEST_F(Plugin, IsRefusedWhenItIsOfAnotherVersion) {
  EXPECT_THAT(fault_of("other_abi", Code::kCorrupt),
              HasSubstr("built for version 3 of the plugin interface, this xylem has version 2"));
}

TEST_F(Plugin, OfTheFirstVersionIsLoadedForItsAggregationsAlone) {
  const std::string path = copy_of("version_one");
  EXPECT_TRUE(load(path, "odd"));
  const auto narrowing = load_narrowing_of(path, "narrow");
  ASSERT_FALSE(narrowing);
  EXPECT_EQ(narrowing.error().code, Code::kNotFound);
  EXPECT_THAT(narrowing.error().message,
              AllOf(HasSubstr("plugin " + path + ": it has no narrowing \"narrow\"; it has none"),
                    HasSubstr("built for a version of the plugin interface that had none")));
}

TEST_F(Plugin, NarrowsByPlaceAndMayGiveNothing) {
  const auto alternate = load_narrowing_of(copy_of("span"), "alternate");
  ASSERT_TRUE(alternate) << alternate.error().message;
  const auto first = (*alternate)->narrow({LeafId{7}, 2, 5}, Fields{{1, std::int64_t{3}}});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(**first,
            (Fields{{1, std::int64_t{3}}, {100, std::uint64_t{2}}, {101, std::uint64_t{5}}}));
  const auto second = (*alternate)->narrow({LeafId{8}, 3, 5}, {});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(*second);
}

TEST_F(Plugin, SaysInItsOwnWordsWhatItDoesNotNarrow) {
  const std::string path = copy_of("span");
  const auto alternate = load_narrowing_of(path, "alternate");
  ASSERT_TRUE(alternate) << alternate.error().message;
  const auto refused = (*alternate)->narrow({LeafId{8}, 1, 2}, Fields{{14, 0.5}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(refused.error().message,
            "plugin " + path + ": alternate, narrow: field 14 is for the first alone");
  const auto thrown = (*alternate)->narrow({LeafId{8}, 1, 2}, Fields{{13, 0.5}});
  ASSERT_FALSE(thrown);
  EXPECT_THAT(thrown.error().message, HasSubstr("alternate, narrow: thrown by narrow"));
  const auto parameters = load_narrowing_of(path, "alternate", Fields{{1, 0.5}});
  ASSERT_FALSE(parameters);
  EXPECT_THAT(parameters.error().message, HasSubstr("alternate, create: no parameters"));
}

TEST_F(Plugin, LacksANarrowingOfAnAggregationsName) {
  const auto narrowing = load_narrowing_of(copy_of("span"), "span");
  ASSERT_FALSE(narrowing);
  EXPECT_EQ(narrowing.error().code, Code::kNotFound);
  EXPECT_THAT(narrowing.error().message,
              HasSubstr("it has no narrowing \"span\"; it has alternate"));
  const Loaded aggregation = load(copy_of("span"), "alternate");
  ASSERT_FALSE(aggregation);
  EXPECT_THAT(aggregation.error().message,
              HasSubstr("it has no aggregation \"alternate\"; it has span, brittle, misbehaving"));
}

TEST_F(Plugin, WhoseNarrowingBreaksTheRulesFailsTheCall) {
  const auto odd = load_narrowing_of(copy_of("breaks_rules"), "narrow");
  ASSERT_TRUE(odd) << odd.error().message;
  const auto fault_for = [&](std::uint32_t leaf) {
    const auto part = (*odd)->narrow({LeafId{leaf}, 0, 1}, {});
    EXPECT_FALSE(part) << leaf;
    return part ? "" : part.error().message;
  };
  EXPECT_THAT(fault_for(1), HasSubstr("narrow: it threw: across the border"));
  EXPECT_THAT(fault_for(3), HasSubstr("narrow gave no fields"));
  EXPECT_THAT(fault_for(4), HasSubstr("narrow: it failed and does not say why"));
  const auto nothing = (*odd)->narrow({LeafId{2}, 0, 1}, {});
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_FALSE(*nothing);
}

TEST_F(Plugin, IsRefusedWhenAnEntryPointIsMissing) {
  EXPECT_THAT(fault_of("no_narrow", Code::kCorrupt),
              HasSubstr("entry point of its narrowing narrow is missing"));
  EXPECT_THAT(fault_of("no_merge", Code::kCorrupt),
              HasSubstr("entry point of its aggregation odd is missing"));
}

TEST_F(Plugin, IsRefusedWhenItLacksASymbol) {
  EXPECT_THAT(fault_of("lacks_symbol", Code::kCorrupt),
              HasSubstr("xylem_test_function_that_is_nowhere"));
}

TEST_F(Plugin, IsRefusedWhenItCrashesThrowsOrHangsAtLoad) {
  ASSERT_EQ(::setenv("XYLEM_TEST_CRASH", "1", 1), 0);
  EXPECT_THAT(fault_of("crashes", Code::kCorrupt),
              HasSubstr("it crashes when it is loaded: Segmentation fault"));
  // A leaf's own thread blocks signals.
  sigset_t all, before;
  ::sigfillset(&all);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &all, &before), 0);
  EXPECT_THAT(fault_of("crashes", Code::kCorrupt),
              HasSubstr("it crashes when it is loaded: Segmentation fault"));
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  ASSERT_EQ(::unsetenv("XYLEM_TEST_CRASH"), 0);
  const Loaded loaded = load(copy_of("crashes"), "odd");
  EXPECT_TRUE(loaded) << loaded.error().message;
  // Whether what is thrown gets out of the dynamic linker is the linker's affair.
  EXPECT_THAT(fault_of("throws", Code::kCorrupt),
              AnyOf(HasSubstr("it throws an exception when it is loaded"),
                    HasSubstr("it crashes when it is loaded: Aborted")));
  EXPECT_THAT(fault_of("hangs", Code::kCorrupt), HasSubstr("it does not return"));
}

// In a program under the thread sanitizer, a child of fork() may wait forever for a lock of the
// sanitizer that another thread had. Then the trial reports that the plugin does not return.
#if defined(__SANITIZE_THREAD__)
constexpr int kTries = 5;
#else
constexpr int kTries = 1;
#endif

// Leaves of one process load it at the same time: a child that is to try it must not find the
// dynamic linker taken.
TEST_F(Plugin, IsTakenByManyThreadsAtOnce) {
  const std::string path = copy_of("span");
  std::vector<std::string> faults(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& fault : faults) {
      threads.emplace_back([&fault, &path] {
        for (int i = 0; i < 25 && fault.empty(); ++i) {
          for (int left = kTries; left > 0; --left) {
            const Loaded loaded = load(path, "span");
            fault = loaded ? "" : loaded.error().message;
            if (fault.find("it does not return") == std::string::npos) break;
          }
        }
      });
    }
  }
  EXPECT_THAT(faults, ::testing::Each(std::string()));
}

TEST_F(Plugin, IsRefusedWhenItLacksTheName) {
  EXPECT_THAT(fault_of("span", Code::kNotFound, "spam"),
              HasSubstr("no aggregation \"spam\"; it has span, brittle, misbehaving"));
}

TEST_F(Plugin, MayThrow) {
  const std::string path = copy_of("span");
  expect_refused(load(path, "misbehaving", Fields{{1, 0.5}}), Code::kInternal,
                 "create: thrown by create");
  const Loaded loaded = load(path, "misbehaving");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto lifted = (*loaded)->lift(LeafId{1}, {});
  ASSERT_FALSE(lifted);
  EXPECT_EQ(lifted.error().code, Code::kInternal);
  EXPECT_THAT(lifted.error().message,
              AllOf(HasSubstr(path), HasSubstr("misbehaving, lift: thrown by lift")));
  Fields state;
  const auto merged = (*loaded)->merge(state, {});
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr("merge has a bad day"));
  const auto finished = (*loaded)->finish({});
  ASSERT_FALSE(finished);
  EXPECT_THAT(finished.error().message, HasSubstr("threw something that is not a std::exception"));
}

TEST_F(Plugin, ThatBreaksTheRulesFailsTheCall) {
  const Loaded odd = load(copy_of("breaks_rules"), "odd");
  ASSERT_TRUE(odd) << odd.error().message;
  const char* const kFaults[] = {"gave no fields",  // of leaf 0: bytes that are none
                                 "threw: across the border", "does not say why",
                                 "gave no fields",     // nothing at all
                                 "does not say why"};  // asked for more than a frame holds
  for (std::uint32_t leaf = 0; leaf < std::size(kFaults); ++leaf) {
    const auto lifted = (*odd)->lift(LeafId{leaf}, {});
    ASSERT_FALSE(lifted) << leaf;
    EXPECT_EQ(lifted.error().code, Code::kInternal);
    EXPECT_THAT(lifted.error().message, HasSubstr(kFaults[leaf]));
  }
  Fields state;
  EXPECT_FALSE((*odd)->merge(state, {}));
  const auto finished = (*odd)->finish({});
  ASSERT_FALSE(finished);
  EXPECT_THAT(finished.error().message, HasSubstr("finish: it threw"));
}

TEST_F(Plugin, RunsOnWhenItsFileIsOverwritten) {
  const std::string path = copy_of("span");
  const Loaded span = load(path, "span");
  ASSERT_TRUE(span) << span.error().message;
  std::ofstream(path, std::ios::trunc) << "something else";
  EXPECT_EQ(span_of_3_and_10(**span), 7);
}

TEST_F(Plugin, OfTwoVersionsAtOnePathRunsTheOneThatWasAskedFor) {
  const std::string path = copy_of("span");
  const Loaded before = load(path, "span");
  ASSERT_TRUE(before) << before.error().message;
  ASSERT_EQ(copy_of("span_changed"), path);
  const Loaded after = load(path, "span");
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(span_of_3_and_10(**before), 7);
  EXPECT_EQ(span_of_3_and_10(**after), 7000);
}

TEST_F(Plugin, IsTriedByAChildThatEndsWithItsParent) {
  const std::string path = copy_of("hangs");
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const pid_t node = ::fork();
  ASSERT_GE(node, 0);
  if (node == 0) {
    static_cast<void>(load(path, "odd"));
    ::_exit(0);
  }
  const std::string children =
      "/proc/" + std::to_string(node) + "/task/" + std::to_string(node) + "/children";
  pid_t tried = 0;
  const Nanos deadline = monotonic_now() + kSecond;  // Sooner than it is given up.
  while (tried == 0 && monotonic_now() < deadline) std::ifstream(children) >> tried;
  ::kill(node, SIGKILL);
  ASSERT_EQ(::waitpid(node, nullptr, 0), node);
  ASSERT_NE(tried, 0) << "nothing was tried";
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, tried, 0)));
  pollfd wait{ended.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 20'000), 1) << "it goes on";
  ::kill(tried, SIGKILL);
  EXPECT_EQ(::waitpid(tried, nullptr, 0), tried);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_F(Plugin, LeavesNoDescriptorsBehind) {
  const auto open_descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const std::string path = copy_of("breaks_rules");
  ASSERT_TRUE(load(path, "odd"));
  const auto before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(load(path, "odd"));
    ASSERT_FALSE(load(path, "even"));
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace xylem::filters
