#include "tests/unit/predict/flit_network.h"

#include <deque>
#include <optional>

#include "base/check.h"

namespace xylem::predict::testing {
namespace {

using Tick = std::uint64_t;

struct Train {
  const FlitMessage* message = nullptr;
  /// For each channel of the path: when its flits began to be there, one number for each flit.
  std::vector<std::vector<Tick>> passed;
  std::size_t asks_for = 0;  ///< The channel of the path that it has not got yet.
  bool is_stored = false;
  bool is_in_line = false;
};

struct Port {
  std::optional<std::size_t> owner;  ///< A message.
  std::size_t hop = 0;               ///< The owner's channel of its path.
  std::deque<std::size_t> line;
};

class FlitNetwork {
 public:
  FlitNetwork(const std::vector<FlitMessage>& messages, std::uint32_t channels, Tick switch_time)
      : switch_time_(switch_time), ports_(channels) {
    for (const FlitMessage& it : messages) {
      CHECK(it.header >= 1 && it.flits >= it.header);
      Train train;
      train.message = &it;
      train.passed.resize(it.path.size());
      trains_.push_back(train);
    }
  }

  std::vector<Tick> run() {
    for (bool is_done = false; !is_done; ++now_) {
      for (Port& it : ports_) serve_line(it);
      for (std::size_t i = 0; i < trains_.size(); ++i) ask(i);
      for (Port& it : ports_) pass_one(it);
      is_done = true;
      for (const Train& it : trains_) {
        is_done = is_done && it.passed.back().size() == it.message->flits;
      }
    }
    std::vector<Tick> ends;
    for (const Train& it : trains_) ends.push_back(it.passed.back().back());
    return ends;
  }

 private:
  void give(Port& port, std::size_t train) {
    port.owner = train;
    port.hop = trains_[train].asks_for++;
    trains_[train].is_stored = trains_[train].is_in_line = false;
  }

  void serve_line(Port& port) {
    if (port.owner || port.line.empty()) return;
    const std::size_t first = port.line.front();
    port.line.pop_front();
    give(port, first);
  }

  /// Whether the first `flits` of a train are in the switch before the channel that it asks for,
  /// and the switch has had its time.
  bool has_in_switch(const Train& train, std::size_t flits) const {
    const auto& before = train.passed[train.asks_for - 1];
    return before.size() >= flits && before[flits - 1] + switch_time_ <= now_;
  }

  void ask(std::size_t number) {
    Train& train = trains_[number];
    if (train.is_in_line || train.asks_for == train.message->path.size()) return;
    Port& port = ports_[train.message->path[train.asks_for]];
    if (train.asks_for == 0) {
      if (train.message->sent > now_) return;
    } else if (!has_in_switch(train,
                              train.is_stored ? train.message->flits : train.message->header)) {
      return;
    }
    const bool is_idle = !port.owner && port.line.empty();
    if (is_idle) {
      give(port, number);
    } else if (train.asks_for == 0 || train.is_stored) {
      port.line.push_back(number);
      train.is_in_line = true;
    } else {
      train.is_stored = true;
      ask(number);  // A header may be the whole message.
    }
  }

  void pass_one(Port& port) {
    if (!port.owner) return;
    Train& train = trains_[*port.owner];
    auto& passed = train.passed[port.hop];
    if (port.hop > 0) {
      CHECK(train.passed[port.hop - 1].size() > passed.size());
      CHECK(train.passed[port.hop - 1][passed.size()] + switch_time_ <= now_);
    }
    passed.push_back(now_ + 1);
    if (passed.size() == train.message->flits) port.owner.reset();
  }

  const Tick switch_time_;
  std::vector<Port> ports_;
  std::vector<Train> trains_;
  Tick now_ = 0;
};

}  // namespace

std::vector<std::uint64_t> pass_flits(const std::vector<FlitMessage>& messages,
                                      std::uint32_t channels, std::uint64_t switch_time) {
  return FlitNetwork(messages, channels, switch_time).run();
}

}  // namespace xylem::predict::testing
