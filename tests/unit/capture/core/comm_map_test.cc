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

  /// As the wrapper of a function that makes `made` from `parent`.
  static void add_child(CommMap& map, MPI_Comm parent, MPI_Comm made) {
    const Origin origin = map.next_child(word(parent));
    map.add(word(made), origin);
  }
  static std::uint32_t identity(CommMap& map, MPI_Comm comm) {
    const CommEntry* const found = map.find_known(word(comm));
    EXPECT_NE(found, nullptr);
    return found == nullptr ? kNoComm : found->identity;
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
    for (CommMap* map : {one_.get(), other_.get()}) add_child(*map, MPI_COMM_WORLD, all.back());
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
  for (CommMap* map : {one_.get(), other_.get()}) add_child(*map, MPI_COMM_WORLD, later);
  EXPECT_NE(identity(*one_, later), kNoComm);
  EXPECT_EQ(identity(*one_, later), identity(*other_, later));
}

TEST_F(CommMapTest, ACommunicatorThatFoundNoRoomHasNoIdentityLater) {
  std::vector<MPI_Comm> all;
  MPI_Comm left_out = MPI_COMM_NULL;
  while (left_out == MPI_COMM_NULL) {
    all.push_back(make());
    add_child(*one_, MPI_COMM_WORLD, all.back());
    if (one_->find(word(all.back())) == nullptr) left_out = all.back();
  }
  for (const MPI_Comm comm : all) one_->forget(word(comm));
  const CommEntry* const found = one_->find(word(left_out));
  ASSERT_NE(found, nullptr) << "there is room again";
  EXPECT_EQ(found->identity, kNoComm) << "another communicator may have this identity elsewhere";
  EXPECT_EQ(found->members->world_rank(3), 3);
}

TEST_F(CommMapTest, PendingCommunicatorsAreToldApartInWhateverOrderTheyComplete) {
  const MPI_Comm first = make(), second = make();
  for (CommMap* map : {one_.get(), other_.get()}) {
    const Origin earlier = map->next_child(word(MPI_COMM_WORLD));
    const Origin later = map->next_child(word(MPI_COMM_WORLD));
    map->add(word(map == one_.get() ? first : second), map == one_.get() ? earlier : later);
    map->add(word(map == one_.get() ? second : first), map == one_.get() ? later : earlier);
  }
  EXPECT_EQ(identity(*one_, first), identity(*other_, first));
  EXPECT_EQ(identity(*one_, second), identity(*other_, second));
  EXPECT_NE(identity(*one_, first), identity(*one_, second));
}

TEST_F(CommMapTest, TheOrderOfCallsMattersOnlyWithinOneParent) {
  const MPI_Comm parent = make(), of_world = make(), of_parent = make();
  for (CommMap* map : {one_.get(), other_.get()}) add_child(*map, MPI_COMM_WORLD, parent);
  add_child(*one_, MPI_COMM_WORLD, of_world);
  add_child(*one_, parent, of_parent);
  add_child(*other_, parent, of_parent);
  add_child(*other_, MPI_COMM_WORLD, of_world);
  EXPECT_EQ(identity(*one_, of_world), identity(*other_, of_world));
  EXPECT_EQ(identity(*one_, of_parent), identity(*other_, of_parent));
  EXPECT_NE(identity(*one_, of_world), identity(*one_, of_parent)) << "their members are equal";
}

TEST_F(CommMapTest, ACommunicatorIsCountedByThoseThatAreNoMembersToo) {
  const MPI_Comm half = make(), later = make();
  add_child(*one_, MPI_COMM_WORLD, half);
  add_child(*other_, MPI_COMM_WORLD, MPI_COMM_NULL);
  for (CommMap* map : {one_.get(), other_.get()}) add_child(*map, MPI_COMM_WORLD, later);
  EXPECT_NE(identity(*one_, later), kNoComm);
  EXPECT_EQ(identity(*one_, later), identity(*other_, later));
}

TEST_F(CommMapTest, CommunicatorsWithoutACommonParentAreNumberedByMembersAndTag) {
  const MPI_Comm first = make(), second = make(), tagged = make();
  const Origin plain{Origin::Kind::kByMembers, kNoComm, 0, 1, nullptr};
  const Origin with_tag{Origin::Kind::kByMembers, kNoComm, 0, 2, nullptr};
  one_->add(word(first), plain);
  one_->add(word(tagged), with_tag);
  one_->add(word(second), plain);
  other_->add(word(tagged), with_tag);
  other_->add(word(first), plain);
  other_->add(word(second), plain);
  for (const MPI_Comm comm : {first, second, tagged}) {
    EXPECT_NE(identity(*one_, comm), kNoComm);
    EXPECT_EQ(identity(*one_, comm), identity(*other_, comm));
  }
  EXPECT_NE(identity(*one_, first), identity(*one_, second));
  EXPECT_NE(identity(*one_, first), identity(*one_, tagged));
}

TEST_F(CommMapTest, ACopyHasTheMembersOfItsOriginal) {
  const MPI_Comm copy = make();
  Origin origin = one_->next_child(word(MPI_COMM_WORLD));
  origin.members = one_->find(word(MPI_COMM_WORLD))->members;
  one_->add(word(copy), origin);
  add_child(*other_, MPI_COMM_WORLD, copy);
  EXPECT_EQ(identity(*one_, copy), identity(*other_, copy));
  EXPECT_EQ(one_->find_known(word(copy))->members, origin.members);
}

TEST_F(CommMapTest, AfterACallThatWasNotFollowedNoCommunicatorHasAnIdentity) {
  const MPI_Comm before = make(), after = make(), unseen = make();
  add_child(*one_, MPI_COMM_WORLD, before);
  one_->lose_all();
  add_child(*one_, MPI_COMM_WORLD, after);
  EXPECT_NE(identity(*one_, before), kNoComm);
  EXPECT_EQ(identity(*one_, after), kNoComm);
  EXPECT_EQ(one_->find(word(unseen))->identity, kNoComm);
}

TEST_F(CommMapTest, IfCommunicatorsWereMadeBeforeAllCountAsUnseen) {
  const auto late = std::make_unique<CommMap>();
  ASSERT_TRUE(late->begin(0, kStubWorldSize, false));
  const MPI_Comm first = make(), second = make();
  EXPECT_EQ(late->next_child(word(MPI_COMM_WORLD)).kind, Origin::Kind::kUnseen);
  add_child(*late, MPI_COMM_WORLD, first);
  EXPECT_EQ(identity(*late, first), one_->find(word(first))->identity);
  EXPECT_NE(late->find(word(second))->identity, identity(*late, first));
}

TEST_F(CommMapTest, AfterAFailedCallChildrenOfItsParentHaveNoIdentity) {
  const MPI_Comm parent = make(), child = make(), grandchild = make(), other = make();
  add_child(*one_, MPI_COMM_WORLD, parent);
  one_->lose_children(word(parent));
  add_child(*one_, parent, child);
  add_child(*one_, child, grandchild);
  add_child(*one_, MPI_COMM_WORLD, other);
  EXPECT_EQ(identity(*one_, child), kNoComm);
  EXPECT_EQ(identity(*one_, grandchild), kNoComm);
  EXPECT_NE(identity(*one_, other), kNoComm);
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
  std::thread holder([&] { add_child(*one_, MPI_COMM_WORLD, slow); });
  reached.arrive_and_wait();
  // The holder keeps the lock until this has given up.
  add_child(*one_, MPI_COMM_WORLD, missed);
  over.arrive_and_wait();
  holder.join();
  one_->add(word(later), {Origin::Kind::kByMembers, kNoComm, 0, 1, nullptr});
  for (const MPI_Comm comm : {later, missed}) {
    const CommEntry* const found = one_->find(word(comm));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->identity, kNoComm);
    EXPECT_EQ(found->members->world_rank(3), 3) << "its members are known all the same";
  }
  EXPECT_NE(identity(*one_, slow), kNoComm);
}

}  // namespace
}  // namespace xylem::capture
