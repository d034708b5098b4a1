#include "tests/model/ledger.h"

#include <utility>

#include "wire/chunk.h"
#include "wire/profile.h"
#include "wire/tombstone.h"

namespace xylem::model {
namespace {

class NotingStore final : public storage::Store {
 public:
  NotingStore(std::unique_ptr<storage::Store> store, Holdings& holdings, StoreBreak broken)
      : store_(std::move(store)), holdings_(holdings), broken_(broken) {}

  Result<void> begin_run(const storage::RunFacts& facts) override {
    return store_->begin_run(facts);
  }

  Result<storage::PutOutcome> put(const wire::Packet& packet) override {
    if (broken_ == StoreBreak::kForgetTombstone && packet.tombstone) return storage::PutOutcome{};
    auto outcome = store_->put(packet);
    if (!outcome) return outcome;
    if (broken_ == StoreBreak::kNoDedupe) *outcome = {};
    if (outcome->kind == storage::PutOutcome::Kind::kStored) note(packet);
    return outcome;
  }

  Result<void> put_node(const storage::NodeRow& row) override { return store_->put_node(row); }
  Result<void> put_clock(const storage::ClockRow& row) override { return store_->put_clock(row); }
  Result<void> put_link(const wire::LinkReport& report, Nanos at_ns) override {
    return store_->put_link(report, at_ns);
  }
  Result<void> put_host_facts(const wire::HostFacts& host, Nanos at_ns) override {
    return store_->put_host_facts(host, at_ns);
  }
  Result<void> put_notice(const wire::Notice& notice, Nanos at_ns) override {
    return store_->put_notice(notice, at_ns);
  }
  Result<void> put_host_lost(LeafId leaf, const std::string& reason) override {
    lost_.emplace_back(leaf, !reason.empty());
    return store_->put_host_lost(leaf, reason);
  }
  std::size_t pending_bytes() const override { return store_->pending_bytes(); }

  Result<void> commit() override {
    if (broken_ == StoreBreak::kAckBeforeCommit) {
      // Says that it is done, and does it the next time.
      says_only_ = !says_only_;
      if (says_only_) return {};
    }
    auto committed = store_->commit();
    Notes notes = std::exchange(noted_, {});
    auto lost = std::exchange(lost_, {});
    if (!committed) return committed;
    apply(std::move(notes));
    for (const auto& [leaf, is_lost] : lost) {
      if (is_lost) {
        holdings_.lost_hosts.insert(leaf);
      } else {
        holdings_.lost_hosts.erase(leaf);
      }
    }
    return committed;
  }

  Result<void> end_run(int exit_code, Nanos realtime_ns) override {
    auto ended = store_->end_run(exit_code, realtime_ns);
    if (!ended) return ended;
    apply(std::exchange(noted_, {}));
    return ended;
  }

  Result<std::vector<storage::AccountLine>> account() override { return store_->account(); }
  Result<std::vector<storage::AccountLine>> pending_account() override {
    return store_->pending_account();
  }

 private:
  using Notes = std::vector<std::pair<Contribution, Held>>;

  void note(const wire::Packet& packet) {
    const backend::PacketKey key = backend::key_of(packet.id);
    if (packet.tombstone) {
      const auto tombstone = wire::decode_tombstone(packet.payload);
      for_each_leaf(packet, [&](LeafId leaf) {
        noted_.push_back({{leaf, key}, {0, 1, tombstone ? tombstone->calls : 0}});
      });
    } else if (key.stream == wire::kWindowStream) {
      note_window(packet, key);
    } else if (key.stream == wire::kChunkStream) {
      const auto summary = wire::read_chunk_summary(packet.payload);
      for_each_leaf(packet, [&](LeafId leaf) {
        noted_.push_back({{leaf, key}, {1, 0, summary ? summary->calls : 0}});
      });
    }
  }

  // Each leaf writes one row: two rows of a leaf are a contribution that was merged twice, a source
  // without a row is one that was lost on the way.
  void note_window(const wire::Packet& packet, const backend::PacketKey& key) {
    const auto window = wire::decode_profile_window(packet.payload);
    if (!window) return;
    for (const wire::ProfileRow& row : window->rows) {
      noted_.push_back({{row.leaf, key}, {1, 0, row.calls}});
    }
  }

  template <typename Function>
  static void for_each_leaf(const wire::Packet& packet, Function function) {
    for (const auto& run : packet.id.sources.intervals()) {
      for (auto leaf = run.first; leaf < run.end; ++leaf) {
        function(LeafId{static_cast<std::uint32_t>(leaf)});
      }
    }
  }

  void apply(Notes notes) {
    for (const auto& [contribution, noted] : notes) {
      Held& held = holdings_.contributions[contribution];
      held.as_data += noted.as_data;
      held.as_tombstone += noted.as_tombstone;
      held.calls += noted.calls;
    }
  }

  std::unique_ptr<storage::Store> store_;
  Holdings& holdings_;
  StoreBreak broken_;
  Notes noted_;  // Since the last commit.
  bool says_only_ = false;
  std::vector<std::pair<LeafId, bool>> lost_;  // Since the last commit.
};

std::string describe(const Contribution& contribution, const std::string& fault) {
  return "leaf " + std::to_string(raw(contribution.leaf)) + ", stream " +
         std::to_string(raw(contribution.key.stream)) + ", wave " +
         std::to_string(contribution.key.wave) + ": " + fault;
}

}  // namespace

std::unique_ptr<storage::Store> make_noting_store(std::unique_ptr<storage::Store> store,
                                                  Holdings& holdings, StoreBreak broken) {
  return std::make_unique<NotingStore>(std::move(store), holdings, broken);
}

void compare(LeafId leaf, const std::map<backend::PacketKey, Sent>& sent, bool survived,
             const Holdings& holdings, Comparison& comparison) {
  const auto& contributions = holdings.contributions;
  const auto fault = [&](std::uint64_t& count, const Contribution& where, const std::string& what) {
    ++count;
    if (comparison.first_fault.empty()) comparison.first_fault = describe(where, what);
  };
  for (const auto& [key, contribution] : sent) {
    const Contribution where{leaf, key};
    const auto it = contributions.find(where);
    if (it == contributions.end()) {
      if (survived) fault(comparison.lost, where, "sent and not stored");
      continue;
    }
    const Held& held = it->second;
    comparison.given_up += held.as_tombstone;
    if (held.as_data + held.as_tombstone != 1) {
      fault(comparison.twice, where,
            "stored " + std::to_string(held.as_data) + " times, given up " +
                std::to_string(held.as_tombstone) + " times");
    } else if (held.calls != contribution.calls) {
      fault(comparison.lost, where,
            std::to_string(contribution.calls) + " calls sent, " + std::to_string(held.calls) +
                " stored");
    }
  }
  const Contribution first{leaf, {}};
  const Contribution next{LeafId{raw(leaf) + 1}, {}};
  for (auto it = contributions.lower_bound(first); it != contributions.end() && it->first < next;
       ++it) {
    if (!sent.contains(it->first.key)) fault(comparison.twice, it->first, "stored and never sent");
  }
}

}  // namespace xylem::model
