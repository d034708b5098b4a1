// Files of this program, which the system's loader describes independently, and files that are
// none.

#include "backend/find/object_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend/find/mapped_code.h"
#include "backend/find/proc_table.h"

namespace xylem::backend {
namespace {

/// This program, as its loader sees it.
struct Loaded {
  std::uint64_t base = 0;
  std::vector<std::byte> build_id;
};

Loaded loaded() {
  Loaded found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        auto& result = *static_cast<Loaded*>(into);
        result.base = info->dlpi_addr;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_NOTE) continue;
          const auto* at =
              reinterpret_cast<const std::byte*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
          const auto* const end = at + info->dlpi_phdr[i].p_memsz;
          while (at < end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const auto* const content = at + sizeof note + (note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID)
              result.build_id.assign(content, content + note.n_descsz);
            at = content + (note.n_descsz + 3) / 4 * 4;
          }
        }
        return 1;  // The program is the first one.
      },
      &found);
  return found;
}

std::uint64_t address_of_code() { return reinterpret_cast<std::uintptr_t>(&address_of_code); }

std::optional<MappedCode> mapped_at(std::uint64_t address) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  return read_mapped_code(pid, start_time_of(pid), address);
}

TEST(ObjectFile, KnowsThisProgramAsItsLoaderDoes) {
  const Loaded expected = loaded();
  const ObjectFile file = read_object_file("/proc/self/exe");
  EXPECT_FALSE(expected.build_id.empty());
  EXPECT_EQ(file.build_id, expected.build_id);
  const auto code = mapped_at(address_of_code());
  ASSERT_TRUE(code);
  EXPECT_EQ(code->path, std::filesystem::read_symlink("/proc/self/exe"));
  EXPECT_EQ(code->base, expected.base);
  EXPECT_EQ(code->build_id, expected.build_id);
}

TEST(ObjectFile, KnowsLibraries) {
  Dl_info info{};
  ASSERT_NE(::dladdr(reinterpret_cast<const void*>(&::getpid), &info), 0);
  const ObjectFile file = read_object_file(info.dli_fname);
  EXPECT_FALSE(file.build_id.empty());
  EXPECT_FALSE(file.code.empty());
}

TEST(ObjectFile, CodeIsMappedFromTheBeginOfItsFirstPage) {
  // As linkers without separate pages for code make it: the first page has other bytes before.
  const ObjectFile file{{}, {{0x11bb980, 0x5000, 0x11bc980}}, 1};
  EXPECT_EQ(file.address_of_page(0x11bb000), 0x11bc000u);
  EXPECT_EQ(file.address_of_page(0x11bc000), 0x11bd000u);
  EXPECT_EQ(file.address_of_page(0x11ba000), std::nullopt);
  EXPECT_EQ(file.address_of_page(0x11c1000), std::nullopt);
}

class FilesThatAreNone : public ::testing::Test {
 protected:
  FilesThatAreNone() { std::filesystem::create_directory(folder_); }
  ~FilesThatAreNone() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ + "/" + name; }
  static void expect_nothing(const std::string& path) {
    const ObjectFile file = read_object_file(path);
    EXPECT_TRUE(file.build_id.empty()) << path;
    EXPECT_TRUE(file.code.empty()) << path;
  }

  const std::string folder_ = ::testing::TempDir() + "xylem-object-" + std::to_string(::getpid());
};

TEST_F(FilesThatAreNone, GiveNothing) {
  expect_nothing("/nonexistent");
  expect_nothing("/proc");
  expect_nothing("/dev/zero");
  std::ofstream(path("text")) << "#!/bin/sh\n";
  expect_nothing(path("text"));
  std::ofstream(path("empty")).close();
  expect_nothing(path("empty"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  expect_nothing(path("pipe"));  // Nobody writes: opening it would wait for ever.
}

TEST_F(FilesThatAreNone, DamagedOnesGiveNothingWrong) {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  std::string bytes(16u << 10, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const ObjectFile whole = read_object_file("/proc/self/exe");
  for (std::size_t size = 0; size < bytes.size(); size += size < 1024 ? 8 : 512) {
    std::ofstream(path("cut"), std::ios::binary) << bytes.substr(0, size);
    const ObjectFile cut = read_object_file(path("cut"));
    EXPECT_TRUE(cut.build_id.empty() || cut.build_id == whole.build_id) << size;
  }
  for (std::size_t i = 0; i < 1024; ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(~damaged[i]);
    std::ofstream(path("damaged"), std::ios::binary) << damaged;
    static_cast<void>(read_object_file(path("damaged")));
  }
}

TEST(MapsLinesIn, TakesTheCodeOfFilesOnly) {
  const auto found = maps_lines_in(
      "55d0-55d4 r--p 00000000 fe:01 131 /usr/bin/a program\n"
      "55d4-55e0 r-xp 00004000 fe:01 131      /usr/bin/a program\n"
      "55e0-55e4 rwxp 00000000 00:00 0 \n"
      "7f00-7f10 r-xp 00026000 fe:01 7 /usr/lib/libc.so.6 (deleted)\n"
      "7ffe-7fff r-xp 00000000 00:00 0 [vdso]\n"
      "ffff-fffe r-xp 00000000 fe:01 7 /backwards\n"
      "nonsense r-xp 00000000 fe:01 7 /nonsense\n"
      "\n"
      "8000-9000 --xp 00001000 fe:01 7 /last");
  const std::vector<MapsLine> expected = {
      {0x55d4, 0x55e0, 0x4000, 131, "/usr/bin/a program"},
      {0x7f00, 0x7f10, 0x26000, 7, "/usr/lib/libc.so.6 (deleted)"},
      {0x8000, 0x9000, 0x1000, 7, "/last"},
  };
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(maps_lines_in("").empty());
}

TEST(ReadMappedCode, HasNothingOfAnotherProcessWithThePid) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  EXPECT_TRUE(read_mapped_code(pid, start_time_of(pid), address_of_code()));
  EXPECT_FALSE(read_mapped_code(pid, start_time_of(pid) + 1, address_of_code()));
  EXPECT_FALSE(read_mapped_code(pid, start_time_of(pid), 0x10)) << "nothing is mapped there";
}

}  // namespace
}  // namespace xylem::backend
