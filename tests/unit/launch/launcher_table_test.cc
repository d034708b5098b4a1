// Tables of real processes: this program has the variables of a launcher, and its children have
// them filled as they like.

#include "launch/launcher_table.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "launch/elf_symbols.h"

extern "C" {
struct TableEntry {
  const char* host;
  const char* program;
  int pid;
};
// NOLINTBEGIN: the names and types that debuggers look for.
TableEntry* MPIR_proctable = nullptr;
int MPIR_proctable_size = 0;
const char* totalview_jobid = nullptr;
const char* totalview_stepid = nullptr;
// NOLINTEND
}

namespace xylem::launch {
namespace {

using ::testing::HasSubstr;

/// A child that fills the table and waits to be ended.
class LauncherProcess {
 public:
  explicit LauncherProcess(const std::function<void()>& fill) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      fill();
      [[maybe_unused]] const ssize_t told = ::write(ends[1], "x", 1);
      for (;;) ::pause();
    }
    char c = 0;
    EXPECT_EQ(::read(ends[0], &c, 1), 1);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~LauncherProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Result<LauncherTable> read() const {
    return read_launcher_table(static_cast<std::uint32_t>(pid_));
  }

 private:
  pid_t pid_ = -1;
};

TableEntry entries[] = {{"node01", "/opt/app", 11}, {"node02", "/opt/app", 12}};

TEST(LauncherTable, IsReadFromARunningProcess) {
  const LauncherProcess launcher([] {
    MPIR_proctable = entries;
    MPIR_proctable_size = 2;
  });
  const auto table = launcher.read();
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->ranks.size(), 2u);
  EXPECT_EQ(table->ranks[1].host, "node02");
  EXPECT_EQ(table->ranks[1].program, "/opt/app");
  EXPECT_EQ(table->ranks[1].pid, 12u);
  EXPECT_EQ(table->slurm_job, "");
}

TEST(LauncherTable, SaysWhichJobAndStepSrunIsOf) {
  const LauncherProcess launcher([] {
    totalview_jobid = "1234";
    totalview_stepid = "0";
  });
  const auto table = launcher.read();
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->slurm_job, "1234");
  EXPECT_EQ(table->slurm_step, "0");
}

TEST(LauncherTable, TakesNothingButANumberForAJob) {
  const LauncherProcess launcher([] {
    totalview_jobid = "12;reboot";
    totalview_stepid = reinterpret_cast<const char*>(8);
  });
  const auto table = launcher.read();
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->slurm_job, "");
  EXPECT_EQ(table->slurm_step, "");
}

TEST(LauncherTable, IsEmptyBeforeRanksHaveStarted) {
  const auto table = LauncherProcess([] {}).read();
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_TRUE(table->ranks.empty());
}

TEST(LauncherTable, BelievesNoTableThatCannotBe) {
  const std::vector<std::function<void()>> lies = {
      [] { MPIR_proctable_size = -1; },
      [] { MPIR_proctable_size = 1 << 30; },
      [] {
        MPIR_proctable = reinterpret_cast<TableEntry*>(4096);
        MPIR_proctable_size = 1;
      },
      [] {
        MPIR_proctable = entries;
        MPIR_proctable_size = 200'000;  // Runs out of what is there, or into what is no text.
      },
      [] {
        static std::string endless(1 << 20, 'x');
        entries[0].host = endless.c_str();
        MPIR_proctable = entries;
        MPIR_proctable_size = 1;
      },
      [] {
        entries[0].host = "node\n01";
        MPIR_proctable = entries;
        MPIR_proctable_size = 1;
      },
      [] {
        entries[0].pid = -5;
        MPIR_proctable = entries;
        MPIR_proctable_size = 1;
      }};
  for (std::size_t i = 0; i < lies.size(); ++i) {
    const auto table = LauncherProcess(lies[i]).read();
    ASSERT_FALSE(table) << "lie " << i;
    EXPECT_EQ(table.error().code, Code::kCorrupt) << "lie " << i;
    EXPECT_THAT(table.error().message, HasSubstr("try again"));
  }
}

TEST(LauncherTable, IsNotThereInAProgramThatIsNoLauncher) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execlp("sleep", "sleep", "600", nullptr);
    ::_exit(127);
  }
  std::string program;
  while (program.find("sleep") == std::string::npos) {
    char text[256] = "";
    const ssize_t length =
        ::readlink(("/proc/" + std::to_string(child) + "/exe").c_str(), text, sizeof text - 1);
    program.assign(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  }
  const auto table = read_launcher_table(static_cast<std::uint32_t>(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, Code::kNotFound);
  EXPECT_THAT(table.error().message, HasSubstr("keeps no table of ranks"));
}

TEST(LauncherTable, SaysThatThereIsNoSuchProcess) {
  const auto table = read_launcher_table(4'000'000'000);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, Code::kNotFound);
  EXPECT_THAT(table.error().message, HasSubstr("there is no process 4000000000"));
}

// A small one: under a sanitizer this program itself has a million symbols.
std::vector<std::byte> shared_object() {
  std::ifstream file(XYLEM_TEST_PLUGINS "/breaks_rules.so", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST(ElfSymbols, AreFoundByNameAndOthersAreNot) {
  const auto symbols = find_symbols(shared_object(), {"xylem_plugin", "no_such_name"});
  ASSERT_TRUE(symbols) << symbols.error().message;
  EXPECT_EQ(symbols->address.size(), 1u);
  EXPECT_NE(symbols->address.at("xylem_plugin"), 0u);
}

TEST(ElfSymbols, AreRefusedWhereTheFileIsNoneOrEndsEarly) {
  const auto refused = [](std::span<const std::byte> bytes) {
    return !find_symbols(bytes, {"xylem_plugin"});
  };
  std::vector<std::byte> bytes = shared_object();
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused(std::vector<std::byte>(100, std::byte{7})));
  EXPECT_TRUE(refused(std::span(bytes).first(63)));
  EXPECT_TRUE(refused(std::span(bytes).first(bytes.size() / 2))) << "its sections stand at the end";
  bytes[EI_CLASS] = std::byte{ELFCLASS32};
  EXPECT_TRUE(refused(bytes));
}

TEST(ElfSymbols, OfAnyInjuredFileAreReadWithinTheFile) {
  const std::vector<std::byte> whole = shared_object();
  std::mt19937 random(20261121);  // Fixed, so that a failure can be repeated.
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  const std::size_t sections = std::size_t{header.e_shnum} * sizeof(Elf64_Shdr);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::byte> bytes = whole;
    // In the header or in the table of sections, where all offsets stand.
    for (int injury = 0; injury < 4; ++injury) {
      const std::size_t at = random() % 2 == 0 ? 16 + random() % (sizeof header - 16)
                                               : header.e_shoff + random() % sections;
      bytes[at] = static_cast<std::byte>(random());
    }
    // Nothing to expect but that it returns; the sanitizers watch.
    [[maybe_unused]] const auto symbols = find_symbols(bytes, {"xylem_plugin"});
  }
}

}  // namespace
}  // namespace xylem::launch
