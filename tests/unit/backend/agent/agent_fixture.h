#pragma once

// The fixture of the agent's tests: what they write into rings and read from what the agent has
// sent.

#include <gtest/gtest.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "base/log.h"
#include "tests/support/agent_host.h"

namespace xylem::backend {

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    set_log_sink([](Level, std::string_view) {});
  }
  ~AgentTest() override { set_log_sink({}); }

  void write(testing::AgentHost& host, testing::HandMadeSegment& process, int calls,
             std::uint16_t function = 1) {
    const auto now = static_cast<std::uint64_t>(host.network.now);
    for (int i = 0; i < calls; ++i)
      process.write(0,
                    {.function = function, .begin = now - 10, .end = now, .request = ++request_});
  }
  template <typename T>
  static std::vector<T> sent(const testing::AgentHost& host) {
    std::vector<T> found;
    for (const wire::Message& message : host.others) {
      if (const auto* it = std::get_if<T>(&message)) found.push_back(*it);
    }
    return found;
  }
  static wire::Parent comm_process(std::uint32_t node) {
    return {NodeId{node}, {wire::Address{"10.0.0.2", 1, "", ""}}};
  }
  static std::size_t windows(const testing::AgentHost& host) {
    return static_cast<std::size_t>(
        std::count_if(host.root.stored.begin(), host.root.stored.end(),
                      [](const auto& it) { return it.first.stream == wire::kWindowStream; }));
  }

  std::uint64_t request_ = 0;
};

}  // namespace xylem::backend
