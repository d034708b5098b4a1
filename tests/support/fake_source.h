#pragma once

// The parts of a host that an agent uses: a guard that holds the processes' segments, and a starter
// of communication processes. Both are values that a test sets and reads.

#include <sys/eventfd.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/agent/agent.h"
#include "tests/support/hand_made_segment.h"

namespace xylem::testing {

/// The guard's side: the processes that have registered and are not forgotten.
class FakeSource final : public backend::ProcessSource {
 public:
  struct Registered {
    HandMadeSegment* segment = nullptr;
    UniqueFd life;  ///< An eventfd in place of a pidfd.
    bool ended = false;
    int given_as = -1;  ///< The descriptor that the present worker has for `life`.
    bool told = false;
  };

  void add(HandMadeSegment& segment) {
    Registered& process = registered[Lane{next_lane_++}];
    process.segment = &segment;
    process.life.reset(::eventfd(0, EFD_CLOEXEC));
  }
  /// Announces all processes again, because a new worker has started.
  void start_over() {
    for (auto& [lane, process] : registered) process.told = false;
    ready_told_ = false;
    closing_ = false;
  }

  int fd() const override { return 1'000'000; }
  backend::SourceEvent take() override {
    backend::SourceEvent event;
    for (auto& [lane, process] : registered) {
      if (process.told) continue;
      process.told = true;
      event.kind = backend::SourceEvent::Kind::kProcess;
      event.process.lane = lane;
      event.process.segment.reset(::dup(process.segment->fd().get()));
      if (!process.ended) event.process.pidfd.reset(::dup(process.life.get()));
      process.given_as = event.process.pidfd.get();
      return event;
    }
    if (!ready_told_) {
      ready_told_ = true;
      event.kind = backend::SourceEvent::Kind::kReady;
    } else if (closing_) {
      closing_ = false;
      if (before_close) before_close();
      for (auto& [lane, process] : registered) came_ = came_ || !process.told;
      event.kind = std::exchange(came_, false) ? backend::SourceEvent::Kind::kOpen
                                               : backend::SourceEvent::Kind::kClosed;
    }
    return event;
  }
  void forget(Lane lane) override {
    registered.erase(lane);
    forgotten.insert(lane);
  }
  void close() override { closing_ = true; }
  void remove_folder() override { folder_removed = true; }

  std::map<Lane, Registered> registered;
  std::set<Lane> forgotten;
  /// Called directly before the source closes: the last moment at which a process can register.
  std::function<void()> before_close;
  bool folder_removed = false;

 private:
  std::uint32_t next_lane_ = 1;
  bool ready_told_ = false;
  bool closing_ = false;
  bool came_ = false;
};

class FakeStarter final : public backend::ProcessStarter {
 public:
  Result<backend::StartedProcess> start(NodeId node, std::uint32_t) override {
    if (refuse) return unexpected(Code::kNotFound, "cannot start xylem-commproc");
    started.push_back(node);
    backend::StartedProcess process;
    process.pid = 100;
    process.pidfd.reset(::eventfd(0, EFD_CLOEXEC));
    last_pidfd = process.pidfd.get();
    return process;
  }
  std::string collect(int) override { return how_it_ended; }

  bool refuse = false;
  std::vector<NodeId> started;
  std::string how_it_ended;
  int last_pidfd = -1;
};

}  // namespace xylem::testing
