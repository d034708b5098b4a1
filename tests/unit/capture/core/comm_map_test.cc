// The identity of a communicator must be the same in all processes. Here two maps stand for two
// processes of one communicator, because a process has only one stub MPI. threads_test.cc has the
// program's main().

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "capture/core/comm_map_internal.h"
#include "capture/core/process_internal.h"
#include "tests/support/stub_mpi/stub_mpi.h"

// The wrappers of these functions would add communicators to the map of this process.
extern "C" int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* made);
extern "C" int PMPI_Comm_free(MPI_Comm* comm);

namespace xylem::capture {
namespace {

Word word(MPI_Comm comm) { return static_cast<std::uint32_t>(comm); }

class CommMapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    process.abi = find_abi(::dlopen("libstub_mpi.so", RTLD_NOW | RTLD_NOLOAD));
    ASSERT_TRUE(one_->begin(0, kStubWorldSize));
    ASSERT_TRUE(other_->begin(0, kStubWorldSize));
  }
  void TearDown() override {
    for (MPI_Comm comm : made_) PMPI_Comm_free(&comm);
  }

  /// A further communicator with the members of the world.
  MPI_Comm make() {
    MPI_Comm made = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_WORLD, &made);
    made_.push_back(made);
    return made;
  }

  std::unique_ptr<CommMap> one_ = std::make_unique<CommMap>();
  std::unique_ptr<CommMap> other_ = std::make_unique<CommMap>();

 private:
  std::vector<MPI_Comm> made_;
};

TEST_F(CommMapTest, CallsOnACommunicatorWithoutRoomDoNotChangeLaterIdentities) {
  std::vector<MPI_Comm> all;
  for (std::uint32_t i = 0; i < kCommSets * kCommWays + 100; ++i) {
    all.push_back(make());
    for (CommMap* map : {one_.get(), other_.get()}) map->add(word(all.back()));
  }
  std::size_t unknown = 0;
  for (int calls = 0; calls < 3; ++calls) {  // Only one of the two processes calls.
    for (const MPI_Comm comm : all) unknown += one_->find(word(comm)) == nullptr ? 1 : 0;
  }
  ASSERT_GT(unknown, 0u) << "the map has had room for all";
  for (const MPI_Comm comm : all) {
    for (CommMap* map : {one_.get(), other_.get()}) map->forget(word(comm));
  }
  const MPI_Comm later = make();
  for (CommMap* map : {one_.get(), other_.get()}) map->add(word(later));
  const CommEntry* const here = one_->find(word(later));
  const CommEntry* const there = other_->find(word(later));
  ASSERT_TRUE(here != nullptr && there != nullptr);
  EXPECT_NE(here->identity, kNoComm);
  EXPECT_EQ(here->identity, there->identity);
}

TEST_F(CommMapTest, ACommunicatorThatFoundNoRoomHasNoIdentityLater) {
  std::vector<MPI_Comm> all;
  MPI_Comm left_out = MPI_COMM_NULL;
  while (left_out == MPI_COMM_NULL) {
    all.push_back(make());
    one_->add(word(all.back()));
    if (one_->find(word(all.back())) == nullptr) left_out = all.back();
  }
  for (const MPI_Comm comm : all) one_->forget(word(comm));
  const CommEntry* const found = one_->find(word(left_out));
  ASSERT_NE(found, nullptr) << "there is room again";
  EXPECT_EQ(found->identity, kNoComm) << "another communicator may have this identity elsewhere";
  EXPECT_EQ(found->members->world_rank(3), 3);
}

// While one thread asks MPI for the members of a communicator, another one makes a communicator.
std::barrier<>* asking = nullptr;
std::barrier<>* has_been_made = nullptr;

TEST_F(CommMapTest, AfterACommunicatorThatCouldNotBeCountedNoIdentityIsWrong) {
  const MPI_Comm slow = make(), missed = make(), later = make();
  std::barrier<> reached(2), over(2);
  asking = &reached;
  has_been_made = &over;
  stub_group_callback = [] {
    stub_group_callback = nullptr;
    asking->arrive_and_wait();
    has_been_made->arrive_and_wait();
  };
  std::thread holder([&] { one_->add(word(slow)); });
  reached.arrive_and_wait();
  one_->add(word(missed));  // The holder keeps the lock until this has given up.
  over.arrive_and_wait();
  holder.join();
  one_->add(word(later));
  for (const MPI_Comm comm : {later, missed}) {
    const CommEntry* const found = one_->find(word(comm));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->identity, kNoComm);
    EXPECT_EQ(found->members->world_rank(3), 3) << "its members are known all the same";
  }
}

}  // namespace
}  // namespace xylem::capture
