// The capture library's wrappers, rings, communicator map and request table, with several threads
// that call and one that reads, over an MPI that only answers (stub_mpi.h). Under the sanitizers
// too, which the preloaded library cannot have: here its sources are linked into this program.

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "capture/core/comm_map_internal.h"
#include "tests/unit/capture/core/linked_capture.h"
#include "tests/unit/capture/core/random_caller.h"

extern "C" {
void xylem_region_begin_1(const char* name, const void* site);
void xylem_region_end_1(const void* site);
}

namespace xylem::capture {
namespace {

constexpr std::uint32_t kRing = 1024;  // Records: few, so that rings go round and fill.

/// What was sent by calls whose record met a full ring.
Traffic lost_sends() {
  Traffic lost;
  for (std::uint32_t r = 0; r < segment().threads.load(); ++r) {
    lost.messages += ring_at(r).lost_messages.load();
    lost.bytes += ring_at(r).lost_message_bytes.load();
  }
  return lost;
}

Calls difference(Calls after, const Calls& before) {
  for (const auto& [function, count] : before) after[function] -= count;
  std::erase_if(after, [](const auto& entry) { return entry.second == 0; });
  return after;
}

/// A thread that does what the agent does: takes records and gives the rings their room back.
class Reader {
 public:
  Reader() : thread_([this] { run(); }) {}
  ~Reader() { stop(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// What was recorded since the reader before this one, once all that was written has been read.
  const Account& stop() {
    if (!thread_.joinable()) return seen_;
    over_ = true;
    thread_.join();
    drain();
    return seen_;
  }

 private:
  void run() {
    while (!over_) {
      drain();
      std::this_thread::yield();
    }
  }

  void drain() {
    const std::uint32_t used = segment().threads.load(std::memory_order_acquire);
    for (std::uint32_t r = 0; r < used; ++r) {
      ThreadRing& ring = ring_at(r);
      // A ring of a lower number than one in use may only be about to be: its head comes last.
      const std::uint64_t head = ring.head.load(std::memory_order_acquire);
      std::uint64_t tail = ring.tail.load(std::memory_order_relaxed);
      if (head == tail) continue;
      const Record* const records = process.threads[r].records;
      const std::uint32_t limit = ring.limit.load(std::memory_order_relaxed);
      ASSERT_LE(head - tail, limit);
      for (; tail != head; ++tail) take(records[slot_of(ring, tail, limit)]);
      ring.tail.store(tail, std::memory_order_release);
    }
  }

  void take(const Record& record) {
    ASSERT_LT(record.function, kFunctionCount);
    EXPECT_LE(record.begin, record.end);
    if (record.calls != 0) seen_.calls[record.function] += record.calls;
    if ((record.flags & kRecordSend) != 0) seen_.send(record.peer, record.bytes);
    if ((record.flags & kRecordReceive) != 0) seen_.receive(record.peer, record.bytes);
  }

  Account seen_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// A rank with several threads. Claims compare what happened within a test, since a process starts
/// MPI once.
class CaptureThreads : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    agent_ = new AgentFolder(std::getenv(xylem::kEnvRun));
    start_mpi();
    ASSERT_NE(process.segment, nullptr) << "the library has turned itself off";
    ASSERT_EQ(agent_->registered(), ::getpid());
  }
  static void TearDownTestSuite() {
    MPI_Finalize();
    delete agent_;
  }

  void SetUp() override {
    Reader().stop();  // What an earlier test or MPI_Init has left.
    calls_before_ = counters(&ThreadRing::calls);
    lost_before_ = counters(&ThreadRing::lost);
    ringless_before_ = segment().ringless_calls.load();
    untracked_before_ = segment().untracked_requests.load();
  }

  Calls captured() const { return difference(counters(&ThreadRing::calls), calls_before_); }
  Calls lost() const { return difference(counters(&ThreadRing::lost), lost_before_); }
  std::uint64_t ringless() const { return segment().ringless_calls.load() - ringless_before_; }

  /// Runs so many callers, with `meanwhile` beside them; returns what they counted.
  template <class Meanwhile>
  Account call_with_threads(unsigned threads, int rounds, Meanwhile meanwhile) {
    HandedOver handed_over;
    std::vector<Caller> callers;
    for (unsigned t = 0; t < threads; ++t) callers.emplace_back(20261122 + t, handed_over);
    std::vector<std::thread> running;
    for (Caller& caller : callers) running.emplace_back([&caller, rounds] { caller.make(rounds); });
    meanwhile();
    for (std::thread& thread : running) thread.join();
    std::thread([&] { callers[0].take_what_is_left(); }).join();
    Account own;
    for (const Caller& caller : callers) own.add(caller.own());
    return own;
  }

  /// captured = recorded + lost for each function, nothing else lost, and captured is what callers
  /// counted.
  void expect_exact(const Account& own, const Account& recorded) const {
    EXPECT_EQ(captured(), own.calls);
    Calls accounted = recorded.calls;
    for (const auto& [function, count] : lost()) accounted[function] += count;
    EXPECT_EQ(accounted, own.calls);
    EXPECT_EQ(ringless(), 0u);
    EXPECT_EQ(segment().untracked_requests.load(), untracked_before_);
  }

  static inline AgentFolder* agent_ = nullptr;

 private:
  Calls calls_before_, lost_before_;
  std::uint64_t ringless_before_ = 0;
  std::uint64_t untracked_before_ = 0;
};

constexpr unsigned kThreads = 4;
constexpr int kRounds = 2000;

TEST_F(CaptureThreads, EachCallIsCountedOnceWhileAReaderDrains) {
  Reader reader;
  const Account own = call_with_threads(kThreads, kRounds, [] {});
  const Account& recorded = reader.stop();
  expect_exact(own, recorded);
}

TEST_F(CaptureThreads, MessagesAndBytesAreExactForEachPeerOfEachCommunicator) {
  // The records of a turn fit one ring, and the next turn begins when they have been read: nothing
  // is lost.
  constexpr int kTurns = 60, kRoundsEach = 20, kMaxRecordsOfARound = 12;
  static_assert(kThreads * kRoundsEach * kMaxRecordsOfARound < kRing);
  Account own, recorded;
  for (int turn = 0; turn < kTurns; ++turn) {
    Reader reader;
    own.add(call_with_threads(kThreads, kRoundsEach, [] {}));
    recorded.add(reader.stop());
  }
  ASSERT_EQ(lost(), Calls{});
  expect_exact(own, recorded);
  EXPECT_EQ(recorded.sent, own.sent);
  EXPECT_EQ(recorded.received, own.received);
}

TEST_F(CaptureThreads, WhatMeetsAFullRingIsCountedAsLost) {
  constexpr std::uint64_t kCalls = 5 * kRing;
  int buffer[kInts] = {};
  const Traffic before = lost_sends();
  std::thread([&] {
    for (std::uint64_t i = 0; i < kCalls; ++i)
      MPI_Send(buffer, kInts, MPI_INT, 3, 1, MPI_COMM_WORLD);
  }).join();
  const Traffic after = lost_sends();
  const std::uint64_t lost_calls = lost()[kMPI_Send];
  const Account recorded = Reader().stop();
  EXPECT_EQ(captured(), (Calls{{kMPI_Send, kCalls}}));
  EXPECT_GT(lost_calls, 0u);
  EXPECT_EQ(lost(), (Calls{{kMPI_Send, lost_calls}}));
  EXPECT_EQ(recorded.calls, (Calls{{kMPI_Send, kCalls - lost_calls}}));
  EXPECT_EQ(after.messages - before.messages, lost_calls);
  EXPECT_EQ(after.bytes - before.bytes, lost_calls * kBytes);

  Reader reader;
  std::thread([&] { MPI_Send(buffer, kInts, MPI_INT, 3, 1, MPI_COMM_WORLD); }).join();
  EXPECT_EQ(reader.stop().calls, (Calls{{kMPI_Send, 1}})) << "an emptied ring records again";
}

// The agent's part: it changes the switch, and waits for the change in the kernel.
TEST_F(CaptureThreads, TheFirstCallWakesAnAgentThatSleepsAndIsRecordedAsAnyOther) {
  std::atomic<std::uint32_t>& on = segment().enabled;
  constexpr int kSleeps = 20;
  for (int sleep = 0; sleep < kSleeps; ++sleep) {
    on.store(kOnAgentSleeps);
    std::thread agent([&on] {
      while (on.load() == kOnAgentSleeps)
        ::syscall(SYS_futex, &on, FUTEX_WAIT, kOnAgentSleeps, nullptr, nullptr, 0);
    });
    errno = 4711;
    std::thread other([] { MPI_Wtime(); });
    MPI_Wtime();
    EXPECT_EQ(errno, 4711);
    other.join();
    agent.join();
    EXPECT_EQ(on.load(), kOn) << "the next call makes no system call";
  }
  EXPECT_EQ(Reader().stop().calls, (Calls{{kMPI_Wtime, 2 * kSleeps}}));
}

// A call reads the switch twice. The agent may switch capture off in between.
TEST_F(CaptureThreads, ACallDoesNotSwitchCaptureOnAgain) {
  segment().enabled.store(kOff);
  wake_agent(segment());
  EXPECT_EQ(segment().enabled.load(), kOff);
  segment().enabled.store(kOn);
}

TEST_F(CaptureThreads, CommunicatorsAreFollowedWhileCaptureIsOff) {
  const auto word = [](MPI_Comm comm) {
    return static_cast<Word>(static_cast<std::uint32_t>(comm));
  };
  const auto identity_of = [&](MPI_Comm comm) {
    const CommEntry* const entry = comms.find_known(word(comm));
    return entry == nullptr ? kNoComm : entry->identity;
  };
  MPI_Comm before = MPI_COMM_NULL, made[2] = {MPI_COMM_NULL, MPI_COMM_NULL}, after = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &before);
  const Calls counted = counters(&ThreadRing::calls);
  segment().enabled.store(kOff);
  for (MPI_Comm& comm : made) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  EXPECT_NE(identity_of(made[0]), kNoComm);
  EXPECT_NE(identity_of(made[0]), identity_of(made[1]));
  MPI_Comm freed = made[1];
  MPI_Comm_free(&made[1]);
  EXPECT_EQ(comms.find_known(word(freed)), nullptr);
  segment().enabled.store(kOn);
  EXPECT_EQ(counters(&ThreadRing::calls), counted) << "calls are not counted while capture is off";
  MPI_Comm_dup(MPI_COMM_WORLD, &after);
  // In a process that was not off, three copies of the world would have been made before this one.
  EXPECT_EQ(identity_of(after) - identity_of(before), 3u);
  for (MPI_Comm* comm : {&before, &made[0], &after}) MPI_Comm_free(comm);
}

TEST_F(CaptureThreads, AThreadThatEndsGivesItsRingToTheNext) {
  constexpr std::uint64_t kShortLived = 3 * kMaxThreads;
  const std::uint32_t rings_before = segment().threads.load();
  Reader reader;
  for (std::uint64_t i = 0; i < kShortLived; ++i) std::thread([] { MPI_Wtime(); }).join();
  EXPECT_EQ(reader.stop().calls, (Calls{{kMPI_Wtime, kShortLived}}));
  EXPECT_LE(segment().threads.load(), rings_before + 1);
  EXPECT_EQ(ringless(), 0u);
}

// Many threads name regions at once, while a reader copies the tables as the agent does.
TEST_F(CaptureThreads, RegionsOfEachThreadAreExactWhileAReaderLooks) {
  constexpr unsigned kNaming = 6, kVisits = 3000;
  const auto visits_of = [](const std::string& name) {
    const std::uint64_t region = region_of_name(name.data(), name.size());
    std::uint64_t visits = 0;
    for (std::uint32_t r = 0; r < segment().threads.load(); ++r) {
      for (const RegionSum& sum : ring_at(r).regions.sums) {
        if (sum.region.load() == region) visits += sum.visits.load();
      }
    }
    return visits;
  };
  const std::uint64_t outer = visits_of("outer"), left = visits_of("left open");
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> looks{0};
  std::thread reader([&] {
    while (!over) {
      for (std::uint32_t r = 0; r < segment().threads.load(); ++r) {
        const RegionTable& table = ring_at(r).regions;
        const std::atomic<std::uint64_t>& now = ring_at(r).regions_version;
        const std::uint64_t version = now.load(std::memory_order_acquire);
        const std::uint64_t depth = table.depth.load(std::memory_order_acquire);
        std::uint64_t open = 0;
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(depth, kMaxRegionDepth); ++i)
          open += table.open[i].begin_ns.load(std::memory_order_acquire) != 0 ? 1 : 0;
        std::atomic_thread_fence(std::memory_order_acquire);
        if (version % 2 != 0 || now.load(std::memory_order_relaxed) != version) continue;
        EXPECT_EQ(open, depth);
        ++looks;
      }
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kNaming; ++t) {
    threads.emplace_back([t] {
      const std::string own = "thread " + std::to_string(t);
      xylem_region_begin_1("outer", nullptr);  // Not counted: the thread has not called MPI yet.
      MPI_Wtick();
      for (unsigned i = 0; i < kVisits; ++i) {
        xylem_region_begin_1("outer", nullptr);
        xylem_region_begin_1(own.c_str(), nullptr);
        MPI_Wtick();
        xylem_region_end_1(nullptr);
        xylem_region_end_1(nullptr);
      }
      xylem_region_end_1(nullptr);  // The first one.
      xylem_region_end_1(nullptr);  // Nothing has begun.
      xylem_region_begin_1(nullptr, nullptr);
      xylem_region_end_1(nullptr);
      xylem_region_begin_1("left open", nullptr);
    });
  }
  for (std::thread& it : threads) it.join();
  over = true;
  reader.join();
  EXPECT_GT(looks.load(), 0u);
  EXPECT_EQ(visits_of("outer") - outer, kNaming * kVisits);
  EXPECT_EQ(visits_of("left open") - left, kNaming);
  for (unsigned t = 0; t < kNaming; ++t)
    EXPECT_EQ(visits_of("thread " + std::to_string(t)), kVisits) << t;
}

TEST_F(CaptureThreads, AThreadThatOnlyNamesRegionsTakesNoRing) {
  const std::uint32_t before = segment().threads.load();
  std::vector<std::thread> threads;
  std::barrier all(kMaxThreads + 1);
  for (std::uint32_t t = 0; t <= kMaxThreads; ++t) {
    threads.emplace_back([&] {
      xylem_region_begin_1("alone", nullptr);
      all.arrive_and_wait();
      xylem_region_end_1(nullptr);
    });
  }
  for (std::thread& it : threads) it.join();
  EXPECT_EQ(segment().threads.load(), before);
}

TEST_F(CaptureThreads, CallsOfMoreThreadsThanThereAreRingsAreCounted) {
  constexpr std::uint64_t kAlive = kMaxThreads + 8;
  constexpr std::uint64_t kCallsEach = 10;
  Reader reader;
  std::barrier all_have_called(kAlive);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kAlive; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < kCallsEach; ++i) MPI_Wtime();
      all_have_called.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Account& recorded = reader.stop();
  EXPECT_GE(ringless(), (kAlive - kMaxThreads) * kCallsEach);
  EXPECT_EQ(recorded.calls.at(kMPI_Wtime) + ringless(), kAlive * kCallsEach);
}

/// While one of these lives, no other thread gets a ring.
class AllRingsTaken {
 public:
  AllRingsTaken() {
    for (std::uint32_t t = 0; t < kMaxThreads; ++t) {
      threads_.emplace_back([this] {
        MPI_Wtime();
        all_have_called_.arrive_and_wait();
        over_.arrive_and_wait();
      });
    }
    all_have_called_.arrive_and_wait();
  }
  ~AllRingsTaken() {
    over_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }
  AllRingsTaken(const AllRingsTaken&) = delete;
  AllRingsTaken& operator=(const AllRingsTaken&) = delete;

 private:
  std::barrier<> all_have_called_{kMaxThreads + 1}, over_{kMaxThreads + 1};
  std::vector<std::thread> threads_;
};

TEST_F(CaptureThreads, ACallThatAToolPassesOnIsCountedOnceWhereNoRingIsLeft) {
  constexpr std::uint64_t kCalls = 10;
  const AllRingsTaken taken;
  const std::uint64_t before = ringless();
  std::thread([] {
    for (std::uint64_t i = 0; i < kCalls; ++i) MPI_Wtick();
  }).join();
  EXPECT_EQ(ringless() - before, kCalls);
}

TEST_F(CaptureThreads, ACallFromACallbackIsCountedWhereNoRingIsLeft) {
  const AllRingsTaken taken;
  const std::uint64_t before = ringless();
  stub_tool_callback = [] { MPI_Wtime(); };
  std::thread([] { MPI_Wtick(); }).join();
  stub_tool_callback = nullptr;
  EXPECT_EQ(ringless() - before, 2u);
}

/// The published calls of all rings, as an agent reads them: function, peer and communicator.
std::vector<std::tuple<std::uint32_t, std::int32_t, std::uint32_t>> calls_under_way() {
  std::vector<std::tuple<std::uint32_t, std::int32_t, std::uint32_t>> found;
  for (std::uint32_t r = 0; r < segment().threads.load(); ++r) {
    const CallUnderWay& from = ring_at(r).under_way;
    const std::uint64_t begin = from.begin.load(std::memory_order_acquire);
    const std::uint64_t where = from.where.load(std::memory_order_acquire);
    const std::uint32_t function = from.function.load(std::memory_order_acquire);
    if (begin == 0 || from.begin.load(std::memory_order_acquire) != begin) continue;
    found.emplace_back(function, peer_of(where), comm_of(where));
  }
  return found;
}

TEST_F(CaptureThreads, ACallIsPublishedFromItsBeginToItsEnd) {
  static std::vector<std::tuple<std::uint32_t, std::int32_t, std::uint32_t>> inside;
  inside.clear();
  EXPECT_TRUE(calls_under_way().empty());
  stub_tool_callback = [] {
    MPI_Wtime();  // An inner call publishes nothing.
    inside = calls_under_way();
  };
  std::thread([] { MPI_Wtick(); }).join();
  stub_tool_callback = nullptr;
  ASSERT_EQ(inside.size(), 1u);
  EXPECT_EQ(inside[0], std::tuple(std::uint32_t{kMPI_Wtick}, kNoPeer, kNoComm));
  EXPECT_TRUE(calls_under_way().empty());
}

TEST_F(CaptureThreads, AChildThatReturnsFromItsParentsCallEndsItInTheChildAlone) {
  static bool is_child, ended_well;
  static std::size_t under_way;
  is_child = ended_well = false;
  under_way = 0;
  const auto records = [] {
    std::uint64_t sum = 0;
    for (std::uint32_t r = 0; r < segment().threads.load(); ++r) sum += ring_at(r).head.load();
    return sum;
  };
  stub_tool_callback = [] {
    const pid_t child = ::fork();
    is_child = child == 0;
    if (is_child) return;
    int status = -1;
    ended_well = ::waitpid(child, &status, 0) == child && status == 0;
    under_way = calls_under_way().size();
  };
  const std::uint64_t before = records();
  std::thread([] {
    MPI_Wtick();
    if (is_child) ::_exit(0);
  }).join();
  stub_tool_callback = nullptr;
  EXPECT_TRUE(ended_well);
  EXPECT_EQ(under_way, 1u) << "the parent was still in the call";
  EXPECT_EQ(records() - before, 1u);
}

TEST_F(CaptureThreads, WhatAReaderSeesUnderWayIsOneCallOfTheProgram) {
  std::atomic<bool> is_over{false};
  Reader reader;
  std::thread caller([&] {
    int number = 0;
    for (int i = 0; i < 20'000; ++i) {
      MPI_Send(&number, 1, MPI_INT, i % 4, 1, MPI_COMM_WORLD);
      MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    is_over = true;
  });
  while (!is_over) {
    for (const auto& [function, peer, comm] : calls_under_way()) {
      if (function == kMPI_Send) {
        EXPECT_TRUE(peer == kNoPeer || (peer >= 0 && peer < 4)) << peer;
        EXPECT_TRUE(comm == kNoComm || comm == kCommWorld) << comm;
      } else {
        EXPECT_EQ(function, kMPI_Recv);
        EXPECT_TRUE(comm == kNoComm || comm == kCommSelf) << comm;
      }
    }
  }
  caller.join();
  reader.stop();
}

TEST_F(CaptureThreads, AForkedChildWritesNothingIntoItsParentsRings) {
  Reader reader;
  const Account own = call_with_threads(kThreads, kRounds, [] {
    for (int i = 0; i < 10; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {  // Only what takes no lock: another thread may hold any at this moment.
        for (int call = 0; call < 100; ++call) MPI_Send(nullptr, 1, MPI_INT, 5, 1, MPI_COMM_WORLD);
        ::_exit(0);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
  });
  expect_exact(own, reader.stop());
}

TEST_F(CaptureThreads, AChildThatStartsMpiItselfRegistersAnew) {
  const pid_t child = ::fork();
  if (child == 0) {
    start_mpi();
    const bool counts_from_zero =
        process.segment != nullptr && counters(&ThreadRing::calls) == Calls{{kMPI_Init_thread, 1}};
    ::_exit(counts_from_zero ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(agent_->registered(), child);
  EXPECT_EQ(captured(), Calls{});
}

TEST_F(CaptureThreads, WhatAnMpiCallsInsideACallIsNotCounted) {
  Reader reader;
  int one = 1, sum = 0;  // The stub's MPI_Allreduce calls MPI_Reduce and MPI_Bcast by name.
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(reader.stop().calls, (Calls{{kMPI_Allreduce, 1}}));
}

}  // namespace
}  // namespace xylem::capture

// The library reads these as it is loaded, so they must stand before the program starts.
int main(int argc, char** argv) {
  using namespace xylem::capture;
  constexpr const char* kStarted = "XYLEM_TEST_RANK";
  if (std::getenv(kStarted) == nullptr) {
    char run[17];
    std::snprintf(run, sizeof run, "%016llx",
                  0xcafe000000000000ull + static_cast<unsigned>(::getpid()));
    ::setenv(kStarted, "1", 1);
    ::setenv(xylem::kEnvAddress, "127.0.0.1:1", 1);
    ::setenv(xylem::kEnvRun, run, 1);
    ::setenv(xylem::kEnvRing, std::to_string(kRing).c_str(), 1);
    ::setenv(xylem::kEnvSample, "none", 1);
    ::unsetenv(xylem::kEnvTestSize);
    ::execv("/proc/self/exe", argv);
    std::perror("/proc/self/exe");
    return 1;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
