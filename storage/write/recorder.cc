#include "storage/write/recorder.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/shared_state.h"
#include "base/unique_fd.h"
#include "storage/write/intake_internal.h"

namespace xylem::storage {
namespace {

Result<void> put_packet(Store& store, const wire::Packet& packet, Recorded& done) {
  auto outcome = store.put(packet);
  if (!outcome && outcome.error().code == Code::kInvalidArgument) {
    done.refused.push_back(outcome.error().message);
    return {};
  }
  if (!outcome) return unexpected(std::move(outcome.error()));
  if (!outcome->settled.empty() || !outcome->again.empty()) {
    std::ranges::move(outcome->settled, std::back_inserter(done.stored));
    std::ranges::move(outcome->again, std::back_inserter(done.missing));
    return {};
  }
  wire::PacketId id = packet.id;
  if (outcome->kind == PutOutcome::Kind::kPartlyKnown) {
    id.sources = std::move(outcome->missing);
    done.missing.push_back(std::move(id));
    return {};
  }
  if (wire::is_end(packet)) done.ended.insert(id.sources);
  done.stored.push_back(std::move(id));
  return {};
}

Result<void> put_row(Store& store, const Row& row, Recorded& done) {
  return std::visit(
      [&](const auto& it) -> Result<void> {
        using Kind = std::decay_t<decltype(it)>;
        if constexpr (std::is_same_v<Kind, wire::Packet>) {
          return put_packet(store, it, done);
        } else if constexpr (std::is_same_v<Kind, NodeRow>) {
          return store.put_node(it);
        } else if constexpr (std::is_same_v<Kind, ClockRow>) {
          return store.put_clock(it);
        } else if constexpr (std::is_same_v<Kind, LinkRow>) {
          return store.put_link(it.report, it.at_ns);
        } else if constexpr (std::is_same_v<Kind, HostFactsRow>) {
          return store.put_host_facts(it.host, it.at_ns);
        } else if constexpr (std::is_same_v<Kind, NoticeRow>) {
          return store.put_notice(it.notice, it.at_ns);
        } else {
          return store.put_host_lost(it.leaf, it.reason);
        }
      },
      row);
}

void end_run(Store& store, const RunEnd& end, std::optional<std::vector<AccountLine>> pending,
             Recorded& done) {
  if (auto ended = store.end_run(end.exit_code, end.realtime_ns); !ended) {
    done.end_failure = std::move(ended.error());
  }
  if (auto account = store.account()) done.account = *std::move(account);
  if (!pending || !done.failure) return;
  done.account_is_stored = false;
  done.account = *std::move(pending);
}

class DirectRecorder final : public Recorder {
 public:
  explicit DirectRecorder(Store& store) : store_(store) {}

  void record(Batch batch) override {
    CHECK(!done_);
    done_ = record_now(store_, std::move(batch));
  }
  std::optional<Recorded> take() override { return std::exchange(done_, std::nullopt); }
  int fd() const override { return -1; }

 private:
  Store& store_;
  std::optional<Recorded> done_;
};

class ThreadRecorder final : public Recorder {
 public:
  ThreadRecorder(Store& store, UniqueFd done_fd)
      : store_(store), done_fd_(std::move(done_fd)), thread_([this] { work(); }) {}

  ~ThreadRecorder() override {
    auto state = state_.lock();
    state->is_over = true;
    state.notify();
    state.unlock();
    thread_.join();
  }

  void record(Batch batch) override {
    auto state = state_.lock();
    CHECK(!state->batch && !state->done);
    state->batch = std::move(batch);
    state.notify();
  }

  std::optional<Recorded> take() override {
    auto state = state_.lock();
    if (!state->done) return std::nullopt;
    eventfd_t count = 0;
    ::eventfd_read(done_fd_.get(), &count);
    return std::exchange(state->done, std::nullopt);
  }

  int fd() const override { return done_fd_.get(); }

 private:
  struct State {
    std::optional<Batch> batch;
    std::optional<Recorded> done;
    bool is_over = false;
  };

  void work() {
    auto state = state_.lock();
    for (;;) {
      state.wait_until(kForever, [&] { return state->is_over || state->batch; });
      if (!state->batch) return;
      Batch batch = *std::exchange(state->batch, std::nullopt);
      state.unlock();
      Recorded done = record_now(store_, std::move(batch));
      state.lock();
      state->done = std::move(done);
      ::eventfd_write(done_fd_.get(), 1);
    }
  }

  Store& store_;
  UniqueFd done_fd_;
  SharedState<State> state_;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace

Recorded record_now(Store& store, Batch batch) {
  Recorded done;
  const std::optional<RunEnd> end = batch.end;
  if (batch.gives_up) store.prepare_to_end();
  store.set_time(batch.at_ns);
  for (const Row& row : batch.rows) {
    // If a put fails, the commit below reports the rows that were undone.
    if (!put_row(store, row, done)) break;
  }
  std::optional<std::vector<AccountLine>> pending;
  if (end && batch.gives_up) {
    if (auto account = store.pending_account()) pending = *std::move(account);
  }
  if (auto committed = store.commit(); !committed) {
    done = Recorded{};
    done.failure = std::move(committed.error());
    if (!end) done.batch = std::move(batch);
  }
  if (end) end_run(store, *end, std::move(pending), done);
  return done;
}

Result<std::unique_ptr<Recorder>> make_thread_recorder(Store& store) {
  UniqueFd done_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!done_fd) {
    return unexpected(Code::kExhausted,
                      std::string("no descriptor for the store's thread: ") + std::strerror(errno));
  }
  try {
    return std::unique_ptr<Recorder>(std::make_unique<ThreadRecorder>(store, std::move(done_fd)));
  } catch (const std::system_error& error) {
    return unexpected(Code::kExhausted, std::string("no thread for the store: ") + error.what());
  }
}

std::unique_ptr<Recorder> make_direct_recorder(Store& store) {
  return std::make_unique<DirectRecorder>(store);
}

}  // namespace xylem::storage
