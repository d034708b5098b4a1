#include "launch/fold_mark.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace xylem::launch {
namespace {

TEST(FoldMark, TellsAnotherProcessWhichPluginWasCalled) {
  auto writer = FoldMark::make();
  ASSERT_TRUE(writer) << writer.error().message;
  auto reader = FoldMark::of(UniqueFd(::dup(writer->fd())));
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->take(), std::nullopt);
  writer->enter(StreamId{7});
  EXPECT_EQ(reader->take(), StreamId{7});
  EXPECT_EQ(reader->take(), std::nullopt) << "take() has not reset the mark";
}

TEST(FoldMark, RefusesMemoryThatIsTooShort) {
  for (const off_t bytes : {0, 3}) {
    UniqueFd memory(::memfd_create("short", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(memory.get(), bytes), 0);
    const auto mark = FoldMark::of(std::move(memory));
    ASSERT_FALSE(mark) << bytes << " bytes";
    EXPECT_EQ(mark.error().code, Code::kInvalidArgument);
  }
}

TEST(FoldMark, RefusesADescriptorThatIsNoMemory) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd writing_end(ends[1]);
  const auto mark = FoldMark::of(UniqueFd(ends[0]));
  ASSERT_FALSE(mark);
  EXPECT_EQ(mark.error().code, Code::kInvalidArgument);
  EXPECT_FALSE(FoldMark::of(UniqueFd()));
}

}  // namespace
}  // namespace xylem::launch
