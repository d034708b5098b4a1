// Promises of the store in a file: who may make it and read it, and what happens with a full disk,
// a network file system, and a damaged or foreign file.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>

#include "base/log.h"
#include "storage/read/query.h"
#include "storage/read/report.h"
#include "storage/write/recorder.h"
#include "storage/write/store_file_internal.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/packets.h"

namespace xylem::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr long kNfs = 0x6969;

std::unique_ptr<Store> make_store(const SqliteOptions& options) {
  auto made = make_sqlite_store(options);
  EXPECT_TRUE(made) << made.error().message;
  if (!made) return nullptr;
  EXPECT_TRUE((*made)->begin_run({}));
  return std::move(*made);
}

Error refusal(const SqliteOptions& options) {
  const auto made = make_sqlite_store(options);
  EXPECT_FALSE(made);
  return made ? Error{} : made.error();
}

unsigned mode_of(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 0777 : 0;
}

std::string ask(const std::string& path, const std::string& sql) {
  auto run = RunFile::open(path);
  if (!run) return run.error().message;
  const auto rows = (*run)->rows(sql);
  if (!rows) return rows.error().message;
  return rows->empty() ? "" : to_text(rows->front().front());
}

/// A chunk whose bytes do not compress: about 40 KB.
wire::Packet heavy_chunk(std::uint64_t number, std::mt19937_64& random) {
  std::vector<wire::Event> events = some_events(number * 2000, (number + 1) * 2000);
  for (wire::Event& event : events) {
    event.bytes = random() >> 1;
    event.request = random();
  }
  return chunk_packet(7, 1, number * 2000, events);
}

/// Runs `act` in a child process, so that it cannot change this process. 0 means success.
int in_child(const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(act());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class SqliteStoreTest : public ::testing::Test {
 protected:
  Folder folder_;
  std::string path_ = folder_.file("run.db");
};

TEST_F(SqliteStoreTest, CanBeReadByItsOwnerOnly) {
  const mode_t before = ::umask(0);
  const auto store = make_store({path_});
  ASSERT_TRUE(store->put(registration_packet(7, {process_row(1, 0)})));
  ASSERT_TRUE(store->commit());
  ::umask(before);
  EXPECT_EQ(mode_of(path_), 0600u);
  EXPECT_EQ(mode_of(path_ + "-wal"), 0600u);
  EXPECT_EQ(mode_of(path_ + "-shm"), 0600u);
}

TEST_F(SqliteStoreTest, KeepsARowForEachFactOfAHost) {
  auto store = make_store({path_});
  ASSERT_TRUE(store->put_host_facts({LeafId{7}, {{"idle", 0.25}, {"memory", 3.5}}}, 250));
  ASSERT_TRUE(store->put_host_facts({LeafId{7}, {{"idle", 0.5}}}, 500));
  ASSERT_TRUE(store->commit());
  EXPECT_EQ(ask(path_,
                "SELECT group_concat(leaf || ' ' || at_ns || ' ' || name || ' ' || value, ', ') "
                "FROM (SELECT * FROM host_metric ORDER BY at_ns, name)"),
            "7 250 idle 0.25, 7 250 memory 3.5, 7 500 idle 0.5");
}

TEST_F(SqliteStoreTest, KeepsTheProcessorsThatWereToldLast) {
  auto store = make_store({path_});
  wire::Registration registration;
  registration.host = "node7";
  registration.processes = {process_row(1, 0), process_row(2, 1)};
  registration.processes[0].processors = "0-3";
  registration.processor = "a model";
  registration.frequency_hz = 2'000'000'000;
  const auto put = [&](std::uint64_t wave) {
    return store->put(
        wire::Packet({wire::kRegistrationStream, kLeafLane, wave, wave + 1, IntervalSet::of(7)},
                     wire::encode(registration)));
  };
  ASSERT_TRUE(put(0));
  registration.processes[0].processors = "2";
  ASSERT_TRUE(put(1));
  // Registrations of other services of the agent say nothing about them.
  registration.processes[0].processors.clear();
  registration.processor.clear();
  registration.frequency_hz = 0;
  ASSERT_TRUE(put(2));
  ASSERT_TRUE(store->commit());
  EXPECT_EQ(ask(path_, "SELECT processor || ' ' || frequency_hz FROM host"), "a model 2000000000");
  EXPECT_EQ(ask(path_,
                "SELECT group_concat(coalesce(processors, 'unknown'), ', ')"
                " FROM (SELECT * FROM rank ORDER BY rank)"),
            "2, unknown");
}

// The rank of the first row did not know the size. The larger size is right.
TEST_F(SqliteStoreTest, TellsOfARankThatIsNotWatchedOnceThoughItKnewNoSize) {
  auto store = make_store({path_});
  wire::ProcessRow unwatched = process_row(1, 1, 1, 2);
  unwatched.mpi_library.clear();
  unwatched.unwatched = "no shared memory";
  ASSERT_TRUE(store->put(registration_packet(7, {unwatched})));
  ASSERT_TRUE(store->put(registration_packet(7, {process_row(2, 0, 1, 4)}, 1)));
  unwatched.lane = Lane{3};
  unwatched.rank = Rank{2};
  unwatched.world_size = 3;
  ASSERT_TRUE(store->put(registration_packet(7, {unwatched}, 2)));
  ASSERT_TRUE(store->end_run(0, 1));
  EXPECT_EQ(ask(path_, "SELECT size || ' ' || mpi_library FROM world"), "4 MPICH 4.0.2");
  EXPECT_EQ(ask(path_,
                "SELECT group_concat(rank || ' ' || substr(reason, 1, 9), ', ') FROM"
                " (SELECT * FROM unwatched_rank ORDER BY rank)"),
            "1 no shared, 2 no shared, 3 no proces");
  EXPECT_EQ(ask(path_, "SELECT group_concat(ranks || ' ' || reason) FROM unwatched_total"),
            ask(path_,
                "SELECT group_concat(ranks || ' ' || reason) FROM (SELECT count(*) AS ranks, reason"
                " FROM unwatched_rank GROUP BY reason ORDER BY reason DESC)"));
}

TEST_F(SqliteStoreTest, TellsMessagesThatMetAFullRingAndWhoseMatrixIsShortOfThem) {
  auto store = make_store({path_});
  ASSERT_TRUE(store->put(registration_packet(7, {process_row(1, 0), process_row(2, 1)})));
  wire::ProfileWindow window;
  window.rows = {profile_row(7, 1, 10), profile_row(7, 2, 10)};
  window.matrix = {{LeafId{7}, Lane{1}, Rank{1}, 80, 10}, {LeafId{7}, Lane{2}, Rank{0}, 80, 10}};
  window.accounts = {account_row(7, 1, 10, true), account_row(7, 2, 10, true)};
  window.accounts[1].lost_messages = 3;  // Lost with completions: no call is lost.
  window.accounts[1].lost_message_bytes = 24;
  window.accounts[1].lost_receives = 2;
  window.accounts[1].lost_parts = 7;
  window.accounts[1].untracked_receives = 1;
  ASSERT_TRUE(store->put(window_packet(0, IntervalSet::of(7), window)));
  ASSERT_TRUE(store->commit());
  EXPECT_EQ(ask(path_, "SELECT group_concat(source || ':' || complete) FROM comm_matrix"),
            "0:1,1:0");
  EXPECT_EQ(ask(path_,
                "SELECT rank || ' ' || messages || ' ' || bytes FROM loss"
                " WHERE part = 'message'"),
            "1 3 24");
  EXPECT_EQ(ask(path_, "SELECT group_concat(messages) FROM loss WHERE part = 'receive'"), "2,1");
  EXPECT_EQ(ask(path_, "SELECT messages || ' ' || reason FROM loss WHERE part = 'part'"),
            "7 not recorded, because the ring was full: completion is short of them");
  EXPECT_EQ(ask(path_, "SELECT min(complete) FROM account"), "1");
}

TEST_F(SqliteStoreTest, RefusesWhatStandsThereAlready) {
  make_store({path_});
  const Error exists = refusal({path_});
  EXPECT_EQ(exists.code, Code::kAlreadyExists);
  EXPECT_THAT(exists.message, HasSubstr(path_ + ": it exists; --overwrite replaces it"));
  const Error directory = refusal({folder_.path(), true});
  EXPECT_EQ(directory.code, Code::kInvalidArgument);
  EXPECT_THAT(directory.message, HasSubstr("is a directory"));
}

TEST_F(SqliteStoreTest, OverwritesRunsButNothingElse) {
  auto first = make_store({path_});
  ASSERT_TRUE(first->put(registration_packet(7, {process_row(1, 0)})));
  ASSERT_TRUE(first->commit());
  const Error used = refusal({path_, true});
  EXPECT_EQ(used.code, Code::kUnavailable);
  EXPECT_THAT(used.message, HasSubstr("another xylem is writing it"));
  first.reset();
  const auto second = make_store({path_, true});
  EXPECT_EQ(ask(path_, "SELECT count(*) FROM rank"), "0");

  const std::string thesis = folder_.file("thesis.tex");
  std::ofstream(thesis) << "years of work";
  const std::string empty = folder_.file("empty");
  std::ofstream(empty).flush();
  EXPECT_EQ(refusal({empty, true}).code, Code::kInvalidArgument);
  EXPECT_TRUE(std::filesystem::exists(empty));
  const Error foreign = refusal({thesis, true});
  EXPECT_EQ(foreign.code, Code::kInvalidArgument);
  EXPECT_THAT(foreign.message, HasSubstr("not a run of xylem, so it is not overwritten"));
  std::string text;
  std::getline(std::ifstream(thesis), text);
  EXPECT_EQ(text, "years of work");
}

TEST_F(SqliteStoreTest, SaysWhereItCannotBeMade) {
  const Error nowhere = refusal({folder_.file("no/run.db")});
  EXPECT_EQ(nowhere.code, Code::kNotFound);
  EXPECT_THAT(nowhere.message, HasSubstr("there is no folder " + folder_.file("no")));
  const Error forbidden = refusal({"/proc/run.db"});
  EXPECT_THAT(forbidden.message, HasSubstr("/proc/run.db: the store cannot be made there"));
  EXPECT_THAT(forbidden.message, Not(HasSubstr("there is no folder")));
  EXPECT_EQ(refusal({""}).code, Code::kInvalidArgument);
}

TEST_F(SqliteStoreTest, LeavesOnePlainFile) {
  auto store = make_store({path_});
  ASSERT_TRUE(store->put(chunk_packet(7, 1, 0, 10)));
  ASSERT_TRUE(store->end_run(5, kSecond));
  store.reset();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
  EXPECT_EQ(ask(path_, "PRAGMA integrity_check"), "ok");
  EXPECT_EQ(ask(path_, "SELECT exit_code FROM run"), "5");
  EXPECT_EQ(ask(path_, "PRAGMA journal_mode"), "delete");
}

TEST_F(SqliteStoreTest, KeepsTheCommandAsAShellWouldReadIt) {
  auto made = make_sqlite_store({path_});
  ASSERT_TRUE(made);
  RunFacts facts;
  facts.command = {"mpirun", "-n", "4", "./my app", "it's", ""};
  ASSERT_TRUE((*made)->begin_run(facts));
  EXPECT_EQ(ask(path_, "SELECT command FROM run"), "mpirun -n 4 './my app' 'it'\\''s' ''");
}

TEST_F(SqliteStoreTest, LosesNothingCommittedWhenItsProcessIsKilled) {
  const int killed = in_child([&] {
    const auto store = make_store({path_});
    if (!store->put(chunk_packet(7, 1, 0, 100)) || !store->commit()) return 1;
    if (!store->put(chunk_packet(7, 1, 100, 200))) return 2;
    return ::raise(SIGKILL);
  });
  EXPECT_EQ(killed, 128 + SIGKILL);
  EXPECT_EQ(ask(path_, "PRAGMA integrity_check"), "ok");
  EXPECT_EQ(ask(path_, "SELECT count(*) FROM event"), "100");
}

TEST_F(SqliteStoreTest, IsNotGoneOnWithWhereItIsGoneOrNotTheSameRun) {
  const auto refused = [&](const std::string& run_id) {
    auto resumed = resume_sqlite_store({path_, path_, run_id});
    EXPECT_FALSE(resumed);
    return resumed ? Error{} : resumed.error();
  };
  EXPECT_EQ(refused("").code, Code::kNotFound);
  EXPECT_THAT(refused("").message, HasSubstr(path_ + ": the store cannot be opened again"));
  make_store({path_});
  EXPECT_EQ(refused("another").code, Code::kInvalidArgument);
  EXPECT_THAT(refused("another").message, HasSubstr("another run"));
  EXPECT_EQ(ask(path_, "SELECT front_ends FROM run"), "1");
  std::ofstream(path_) << "something else that is no store at all";
  EXPECT_EQ(refused("").code, Code::kInvalidArgument);
}

TEST_F(SqliteStoreTest, CanBeGoneOnWithOnceWhoHeldItInACommitIsGone) {
  auto first = make_store({path_});
  ASSERT_TRUE(first->put(window_packet(0, 7, 10, account_row(7, 1, 10))));
  const auto early = resume_sqlite_store({path_, path_, ""});
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, Code::kUnavailable) << early.error().message;
  first.reset();
  const auto resumed = resume_sqlite_store({path_, path_, ""});
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->past.front_ends, 2u);
}

TEST_F(SqliteStoreTest, FindsTotalsThatDifferFromWhatIsStored) {
  auto store = make_store({path_});
  ASSERT_TRUE(store->put(registration_packet(7, {process_row(1, 0)})));
  ASSERT_TRUE(store->put(window_packet(0, 7, 10, account_row(7, 1, 10))));
  ASSERT_TRUE(store->put(chunk_packet(7, 1, 0, 100)));
  ASSERT_TRUE(store->put(tombstone_of(chunk_packet(7, 1, 100, 150), 50)));
  ASSERT_TRUE(store->end_run(0, 1));
  store.reset();
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run);
  const auto none = verify_totals(**run);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_THAT(*none, ::testing::IsEmpty());
  change_file(path_, "UPDATE process SET stored_calls = 11; DELETE FROM event_chunk");
  const auto faults = verify_totals(**run);
  ASSERT_TRUE(faults);
  EXPECT_THAT(*faults,
              ::testing::ElementsAre("leaf 7, lane 1: stored calls says 11, counted again 10",
                                     "leaf 7, lane 1: stored events says 100, counted again 0"));
}

// A limit of the file size takes the place of a full disk, since it needs no rights. SQLite gets
// EFBIG instead of ENOSPC.
TEST_F(SqliteStoreTest, UndoesACommitThatDoesNotFitAndGoesOnWhenThereIsRoom) {
  std::signal(SIGXFSZ, SIG_IGN);
  auto store = make_store({path_});
  std::mt19937_64 random(1);
  ASSERT_TRUE(store->put(registration_packet(7, {process_row(1, 0)})));
  ASSERT_TRUE(store->put(heavy_chunk(0, random)));
  ASSERT_TRUE(store->commit());

  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = 1 << 20;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  std::vector<wire::Packet> packets;
  for (std::uint64_t i = 1; i <= 40; ++i) packets.push_back(heavy_chunk(i, random));
  for (const wire::Packet& packet : packets) ASSERT_TRUE(store->put(packet));
  const auto full = store->commit();
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kExhausted) << full.error().message;
  EXPECT_THAT(full.error().message,
              HasSubstr(path_ + ": the limit of file sizes (ulimit -f) is reached"));
  EXPECT_EQ(store->pending_bytes(), 0u);
  EXPECT_EQ(ask(path_, "SELECT count(*) FROM event"), "2000");

  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  for (const wire::Packet& packet : packets) {
    const auto outcome = store->put(packet);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind, PutOutcome::Kind::kStored) << "what was undone is not known";
  }
  ASSERT_TRUE(store->commit());
  EXPECT_EQ(ask(path_, "SELECT count(*) FROM event"), "82000");
  EXPECT_EQ(ask(path_, "PRAGMA integrity_check"), "ok");
}

TEST_F(SqliteStoreTest, FoldsItsLogBetweenReadersAndTellsOfOneThatStays) {
  constexpr std::uint64_t kLog = 1u << 20;
  std::string said;
  set_log_sink([&said](Level, std::string_view line) { said += std::string(line) + '\n'; });
  SqliteOptions options{path_};
  options.log_bytes = kLog;
  auto store = make_store(options);
  std::mt19937_64 random(4);
  std::uint64_t next = 0;
  const auto commit_some = [&] {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(store->put(heavy_chunk(next++, random)));
    ASSERT_TRUE(store->commit());
  };
  auto reader = RunFile::open(path_);
  ASSERT_TRUE(reader);
  ASSERT_TRUE((*reader)->hold());
  const Nanos deadline = deadline_in(20 * kSecond);
  while (said.empty() && monotonic_now() < deadline) commit_some();
  EXPECT_THAT(said, HasSubstr("another program reads an old state"));
  (*reader)->release();
  // The log keeps its length until it is written from its start again.
  const auto log_bytes = [&] { return std::filesystem::file_size(path_ + "-wal"); };
  std::uintmax_t length = 0;
  do {
    length = log_bytes();
    commit_some();
  } while (log_bytes() > length && monotonic_now() < deadline);
  EXPECT_LE(log_bytes(), length) << "it grows though nobody reads";
  set_log_sink({});
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

// The limit was set before the store was opened. The store keeps room for the end below it.
int end_under_a_file_limit(const std::string& path) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{8u << 20, 8u << 20};
  if (::setrlimit(RLIMIT_FSIZE, &tight) != 0) return 1;
  auto made = make_sqlite_store({path});
  if (!made) return 2;
  auto& store = *made;
  std::mt19937_64 random(3);
  if (!store->begin_run({}) || !store->put(registration_packet(7, {process_row(1, 0)})) ||
      !store->commit()) {
    return 3;
  }
  std::uint64_t bytes = 0;
  std::uint64_t stored = 0;
  // After the first failure, the log may have been folded into the file.
  for (int failures = 0; stored < 1000 && failures < 2;) {
    const wire::Packet chunk = heavy_chunk(stored, random);
    if (!store->put(chunk)) return 4;
    const auto committed = store->commit();
    if (!committed && committed.error().code != Code::kExhausted) return 5;
    failures = committed ? 0 : failures + 1;
    if (!committed) continue;
    ++stored;
    bytes += chunk.payload.size();
  }
  if (stored == 1000 || bytes < 5u << 20) return 6;  // The log alone would be smaller.
  Batch batch;
  batch.rows.emplace_back(wire::make_tombstone(heavy_chunk(stored, random), "too large a file"));
  batch.gives_up = true;
  batch.end = RunEnd{0, kSecond};
  const Recorded done = record_now(*store, std::move(batch));
  if (done.failure || done.end_failure || !done.account_is_stored) return 7;
  store.reset();
  if (ask(path, "SELECT count(*) FROM event_chunk") != std::to_string(stored)) return 8;
  if (ask(path, "SELECT reason FROM loss") != "too large a file") return 9;
  if (ask(path, "PRAGMA integrity_check") != "ok") return 10;
  return 0;
}

TEST_F(SqliteStoreTest, WritesItsEndInAFileThatMayNotGrow) {
  EXPECT_EQ(in_child([&] { return end_under_a_file_limit(path_); }), 0)
      << "the number of the step that went wrong";
}

TEST_F(SqliteStoreTest, NamesTheLimitOfFileSizesUnderWhichItCannotBeMade) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  int refused = 0;
  for (rlim_t bytes = 0; bytes <= 1u << 20; bytes = bytes == 0 ? 512 : 2 * bytes) {
    const rlimit tight{bytes, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
    auto made = make_sqlite_store({path_, true});
    const auto begun = made ? (*made)->begin_run({}) : Result<void>();
    if (made) made->reset();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    remove_database(path_);
    if (made && begun) continue;
    ++refused;
    const Error& error = made ? begun.error() : made.error();
    EXPECT_EQ(error.code, Code::kExhausted) << bytes;
    EXPECT_THAT(error.message, HasSubstr("the limit of file sizes (ulimit -f)")) << bytes;
  }
  EXPECT_GE(refused, 5);
  EXPECT_TRUE(make_sqlite_store({path_, true}));
}

// Memory runs out at each step of opening the store, one after the other. The last steps prepare
// statements.
int make_with_little_memory(const std::string& path, long file_system) {
  set_log_sink([](Level, std::string_view) {});  // A line each time that the live file is local.
  int made = 0, refused = 0;
  for (std::int64_t bytes = 64 << 10; bytes <= 4 << 20 && made < 3; bytes += 8 << 10) {
    sqlite3_hard_heap_limit64(bytes);
    SqliteOptions options{path};
    options.pretend_file_system = file_system;
    auto store = make_sqlite_store(options);
    const bool is_there = ::access(path.c_str(), F_OK) == 0;
    ++(store ? made : refused);
    sqlite3_hard_heap_limit64(0);
    if (store) store->reset();
    if (!store && (is_there || ::access(path.c_str(), F_OK) == 0)) return 1;
    remove_database(path);
  }
  return made == 0 ? 2 : refused < 5 ? 3 : 0;
}

TEST_F(SqliteStoreTest, LeavesNoFileIfTheMemoryEndsWhileItIsMade) {
  EXPECT_EQ(in_child([&] { return make_with_little_memory(path_, 0); }), 0);
  EXPECT_EQ(in_child([&] { return make_with_little_memory(path_, kNfs); }), 0);
}

TEST_F(SqliteStoreTest, TellsThePendingAccountOfWhatCannotBeStored) {
  std::signal(SIGXFSZ, SIG_IGN);
  auto store = make_store({path_});
  ASSERT_TRUE(store->put(registration_packet(7, {process_row(1, 0)})));
  ASSERT_TRUE(store->put(window_packet(1, 7, 10, account_row(7, 1, 10))));
  ASSERT_TRUE(store->commit());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  Batch batch;
  batch.rows.emplace_back(
      wire::make_tombstone(window_packet(2, 7, 5, account_row(7, 1, 15, true)), "no room"));
  batch.gives_up = true;
  batch.end = RunEnd{0, kSecond};
  const Recorded done = record_now(*store, std::move(batch));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(done.failure);
  EXPECT_FALSE(done.account_is_stored);
  EXPECT_EQ(done.account, (std::vector<AccountLine>{{WorldId{0}, Rank{0}, 15, 10, 5, true}}));
}

// Returns a number that names the step that went wrong.
int fill_a_small_disk(const std::string& mount, const std::string& path) {
  if (::unshare(CLONE_NEWNS) != 0) return 77;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  if (::mount("none", mount.c_str(), "tmpfs", 0, "size=8m") != 0) return 77;
  auto made = make_sqlite_store({path});
  if (!made) return 1;
  auto& store = *made;
  std::mt19937_64 random(2);
  if (!store->begin_run({}) || !store->put(registration_packet(7, {process_row(1, 0)})) ||
      !store->commit()) {
    return 2;
  }
  std::uint64_t stored = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    if (!store->put(heavy_chunk(i, random))) return 3;
    const auto committed = store->commit();
    if (committed) {
      ++stored;
      continue;
    }
    if (committed.error().code != Code::kExhausted) return 4;
    break;
  }
  if (stored == 0 || stored == 1000) return 5;
  if (ask(path, "SELECT count(*) FROM event_chunk") != std::to_string(stored)) return 6;
  // The kept room is enough for the end and for the tombstone of the data that did not fit.
  store->prepare_to_end();
  if (!store->put(tombstone_of(heavy_chunk(stored, random), 2000, "the disk was full"))) return 7;
  const auto ended = store->end_run(0, kSecond);
  if (!ended) return 8;
  store.reset();
  if (ask(path, "PRAGMA integrity_check") != "ok") return 9;
  if (ask(path, "SELECT ended_ns FROM run") != std::to_string(kSecond)) return 10;
  if (ask(path, "SELECT reason FROM loss") != "the disk was full") return 11;
  return 0;
}

TEST_F(SqliteStoreTest, WritesItsEndOnADiskThatIsFull) {
  const int step = in_child([&] { return fill_a_small_disk(folder_.path(), path_); });
  if (step == 77) GTEST_SKIP() << "needs the right to mount";
  EXPECT_EQ(step, 0) << "the number of the step that went wrong";
}

class NetworkFileSystem : public SqliteStoreTest {
 protected:
  NetworkFileSystem() {
    ::setenv("TMPDIR", live_.path().c_str(), 1);
    set_log_sink([this](Level, std::string_view line) { log_ += std::string(line) + '\n'; });
  }
  ~NetworkFileSystem() override {
    set_log_sink({});
    ::unsetenv("TMPDIR");
  }
  Folder live_;
  std::string log_;
};

TEST_F(NetworkFileSystem, TouchesNothingIfTheLiveFileCannotBeMade) {
  ::setenv("TMPDIR", (live_.path() + "/none").c_str(), 1);
  const auto refused = make_sqlite_store({path_, false, kNfs});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(live_.path() + "/none"));
  EXPECT_FALSE(std::filesystem::exists(path_));

  ::setenv("TMPDIR", live_.path().c_str(), 1);
  ASSERT_TRUE(make_store({path_, false, kNfs})->end_run(0, 1));
  EXPECT_FALSE(make_sqlite_store({path_, false, kNfs})) << "there is a run";
  EXPECT_TRUE(std::filesystem::is_empty(live_.path()));
  ::setenv("TMPDIR", (live_.path() + "/none").c_str(), 1);
  EXPECT_FALSE(make_sqlite_store({path_, true, kNfs}));
  EXPECT_EQ(ask(path_, "SELECT count(*) FROM run"), "1") << "the earlier run is still there";
}

TEST_F(NetworkFileSystem, KeepsTheLiveFileElsewhereAndSaysSoOnce) {
  auto store = make_store({path_, false, kNfs});
  EXPECT_THAT(store->live_path(), ::testing::StartsWith(live_.path() + "/xylem-live-"));
  EXPECT_THAT(log_, HasSubstr("store on a network file system"));
  EXPECT_EQ(std::ranges::count(log_, '\n'), 1);
  EXPECT_EQ(mode_of(path_), 0600u) << "the place is taken at once";
  EXPECT_EQ(ask(path_, "SELECT count(*) FROM run"), "1") << "and the first copy is there";
  ASSERT_TRUE(store->put(chunk_packet(7, 1, 0, 100)));
  ASSERT_TRUE(store->commit());
  EXPECT_EQ(ask(store->live_path(), "SELECT count(*) FROM event"), "100");
  ASSERT_TRUE(store->account());

  ASSERT_TRUE(store->end_run(0, 1));
  EXPECT_EQ(store->live_path(), path_);
  ASSERT_TRUE(store->account());
  store.reset();
  EXPECT_TRUE(std::filesystem::is_empty(live_.path()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
  EXPECT_EQ(ask(path_, "SELECT count(*) FROM event"), "100");
  EXPECT_EQ(ask(path_, "PRAGMA integrity_check"), "ok");
  EXPECT_EQ(ask(path_, "PRAGMA journal_mode"), "delete");
  EXPECT_EQ(mode_of(path_), 0600u);
}

TEST_F(NetworkFileSystem, CopiesEverythingWhenItsProcessLetsGoWithoutAnEnd) {
  auto store = make_store({path_, false, kNfs});
  ASSERT_TRUE(store->put(chunk_packet(7, 1, 0, 100)));
  ASSERT_TRUE(store->commit());
  store.reset();
  EXPECT_EQ(ask(path_, "SELECT count(*) FROM event"), "100");
  EXPECT_TRUE(std::filesystem::is_empty(live_.path()));
}

TEST_F(NetworkFileSystem, KeepsTheLiveFileWhenTheCopyCannotBeMade) {
  auto store = make_store({path_, false, kNfs});
  ASSERT_TRUE(store->put(chunk_packet(7, 1, 0, 100)));
  std::filesystem::remove_all(folder_.path());
  const auto ended = store->end_run(0, 1);
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, HasSubstr("the whole run stands in " + store->live_path()));
  EXPECT_EQ(ask(store->live_path(), "SELECT count(*) FROM event"), "100");
}

TEST_F(NetworkFileSystem, GoesOnWithTheLiveFileAndCopiesItAtTheEnd) {
  auto first = make_store({path_, false, kNfs});
  const std::string live = first->live_path();
  auto resumed = resume_sqlite_store({path_, live, ""});
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_FALSE(first->put(window_packet(0, 7, 10, account_row(7, 1, 10))));
  EXPECT_FALSE(first->commit());
  first.reset();
  ASSERT_EQ(::access(live.c_str(), F_OK), 0) << "whom it superseded has removed it";
  auto& second = resumed->store;
  ASSERT_TRUE(second->put(registration_packet(7, {process_row(1, 0)})));
  ASSERT_TRUE(second->end_run(0, realtime_now()));
  EXPECT_NE(::access(live.c_str(), F_OK), 0);
  EXPECT_EQ(ask(path_, "SELECT count(*) FROM rank"), "1");
  // The former front end had stored everything except its end.
  auto third = resume_sqlite_store({path_, live, ""});
  ASSERT_TRUE(third) << third.error().message;
  ASSERT_TRUE(third->store->end_run(0, realtime_now()));
  EXPECT_EQ(ask(path_, "SELECT front_ends FROM run"), "3");
  EXPECT_EQ(ask(path_, "PRAGMA journal_mode"), "delete");
}

TEST_F(NetworkFileSystem, KnowsThemByTheirNumbers) {
  for (const long type : {0x6969L, 0x0BD00BD0L, 0x47504653L, 0x19830326L, 0xFF534D42L, 0xFE534D42L,
                          static_cast<long>(static_cast<int>(0xFF534D42))}) {
    const std::string path = folder_.file("run" + std::to_string(type));
    EXPECT_NE(make_store({path, false, type})->live_path(), path) << std::hex << type;
  }
  const std::string path = folder_.file("ext4");
  EXPECT_EQ(make_store({path, false, 0xEF53})->live_path(), path);
}

}  // namespace
}  // namespace xylem::storage
