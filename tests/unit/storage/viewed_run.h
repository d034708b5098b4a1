#pragma once

// A fixture: a run with worlds, windows and chunks, which a test looks at through a RunView.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "storage/read/run_view.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {

/// An event of a call that sends or receives.
inline wire::Event message_event(Nanos begin_ns, Nanos end_ns, FunctionId function,
                                 std::int32_t peer, std::uint8_t flags, std::uint64_t bytes = 8) {
  wire::Event event;
  event.begin_ns = begin_ns;
  event.end_ns = end_ns;
  event.function = function;
  event.peer = peer;
  event.flags = flags;
  event.bytes = bytes;
  event.comm = CommId{0};
  event.tag = 1;
  return event;
}

class ViewedRun : public StoredRun {
 protected:
  ViewedRun() : StoredRun(facts()) {}

  static constexpr FunctionId kImmediateSend{3};

  static RunFacts facts() {
    RunFacts facts;
    facts.run_id = "run";
    facts.command = {"mpirun", "app"};
    facts.started_realtime_ns = 1'000'000;
    facts.window_ns = kWindow;
    return facts;
  }

  void put(const wire::Packet& packet) {
    EXPECT_EQ(StoredRun::put(packet).kind, PutOutcome::Kind::kStored);
  }

  /// A world of `hosts` with `each` ranks, block by block; leaf i is "node<i>", its lanes from 1.
  void put_world(std::uint32_t hosts, std::uint32_t each) {
    for (std::uint32_t leaf = 0; leaf < hosts; ++leaf) {
      wire::Registration registration;
      registration.host = "node" + std::to_string(leaf);
      registration.functions = {{kSend, "MPI_Send", 1},
                                {kReceive, "MPI_Recv", 1},
                                {kWaitall, "MPI_Waitall", 3},
                                {kImmediateSend, "MPI_Isend", 1}};
      for (std::uint32_t lane = 1; lane <= each; ++lane) {
        registration.processes.push_back(
            process_row(lane, leaf * each + lane - 1, 1, hosts * each));
      }
      put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(leaf)},
                       wire::encode(registration)));
    }
  }

  void put_window(std::uint32_t leaf, std::uint64_t wave, std::vector<wire::ProfileRow> rows) {
    wire::ProfileWindow window;
    window.rows = std::move(rows);
    put(window_packet(wave, IntervalSet::of(leaf), window));
  }

  void execute(const std::string& sql) {
    ASSERT_TRUE(store_->commit());
    change_file(path_, sql);
  }

  RunView view() {
    EXPECT_TRUE(store_->commit());
    auto opened = RunView::open(path_);
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }

  std::uint64_t sum(const std::string& sql) {
    const auto rows = view().file().rows(sql);
    EXPECT_TRUE(rows) << rows.error().message;
    return static_cast<std::uint64_t>(integer_of((*rows)[0][0]));
  }

  /// The value of a result that is expected to be there.
  template <typename T>
  static T good(Result<T> result) {
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : T{};
  }
};

}  // namespace xylem::storage
