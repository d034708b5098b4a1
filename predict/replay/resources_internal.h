#pragma once

// The processors and NICs of a program's ranks.

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "predict/trace/program.h"

namespace xylem::predict {

/// The CPU and NIC numbers of a program, numbered anew without gaps.
class Resources {
 public:
  explicit Resources(const Program& program) {
    for (const RankProgram& rank : program.ranks) {
      bool wild = false;
      for (const Operation& it : rank.operations()) {
        used_.set(key(it));
        wild |= it.kind == Kind::kReceive && (it.peer == kAnySource || it.tag == kAnyTag);
      }
      wild_.push_back(wild);
    }
    std::bitset<kNumbers> cpus, nics;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i]) continue;
      numbers_[i] = static_cast<std::uint16_t>(pairs_++);
      cpus.set(i / kNumbers);
      nics.set(i % kNumbers);
    }
    for (std::size_t i = 0; i < kNumbers; ++i) {
      if (cpus[i]) cpu_[i] = cpu_count_++;
      if (nics[i]) nic_[i] = nic_count_++;
    }
    // A program without operations has clocks too.
    pairs_ = std::max(pairs_, std::size_t{1});
    cpu_count_ = std::max(cpu_count_, std::uint16_t{1});
    nic_count_ = std::max(nic_count_, std::uint16_t{1});
  }

  std::size_t pairs() const { return pairs_; }
  std::size_t pair(const Operation& it) const { return numbers_[key(it)]; }
  std::size_t cpus() const { return cpu_count_; }
  std::size_t cpu(const Operation& it) const { return cpu_[it.cpu]; }
  /// Clocks of a rank: processors, then send NICs, then receive NICs.
  std::size_t clocks() const { return cpu_count_ + 2 * std::size_t{nic_count_}; }
  std::size_t send_nic(const Operation& it) const { return cpu_count_ + nic_[it.nic]; }
  std::size_t receive_nic(const Operation& it) const { return send_nic(it) + nic_count_; }
  /// For each rank: whether it has receives with wildcards.
  const std::vector<bool>& wild() const { return wild_; }

 private:
  static constexpr std::size_t kNumbers = 256;
  static std::size_t key(const Operation& it) { return it.cpu * kNumbers + it.nic; }

  std::bitset<kNumbers * kNumbers> used_;
  std::vector<std::uint16_t> numbers_ = std::vector<std::uint16_t>(kNumbers * kNumbers);
  std::array<std::uint16_t, kNumbers> cpu_{}, nic_{};
  std::size_t pairs_ = 0;
  std::uint16_t cpu_count_ = 0, nic_count_ = 0;
  std::vector<bool> wild_;
};

}  // namespace xylem::predict
