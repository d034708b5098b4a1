// Writes programs as time-independent traces.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "predict/trace/ti_trace.h"
#include "predict/trace/ti_words_internal.h"

namespace xylem::predict {
namespace {

void append(std::string& text, std::uint64_t number) {
  char digits[20];
  const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, number);
  text.append(digits, end);
}

/// Writes a rank, and finds out whether its dependencies are those that Reader would make.
class RankPrinter {
 public:
  RankPrinter(const RankProgram& program, std::uint32_t rank, std::string& text)
      : operations_(program.operations()), rank_(rank), text_(text) {
    required_.resize(operations_.size());
    for (std::uint32_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i].follows) required_[i].push_back({i - 1, false});
      for (const Dependent it : program.dependents(i)) {
        required_[it.operation()].push_back({i, it.on_start()});
      }
    }
    for (auto& it : required_) std::ranges::sort(it);
  }

  /// The first operation that cannot be written, or the number of operations.
  std::uint32_t run() {
    start_line("init");
    text_ += '\n';
    for (std::uint32_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i].cpu != 0 || operations_[i].nic != 0) return i;
      const bool immediate = is_immediate(i);
      if (immediate && operations_[i].kind == Kind::kCompute) return i;
      const bool written = is_next(i) ? print(i, immediate) : print_wait(i);
      if (!written) return i;
      previous_is_immediate_ = immediate;
    }
    start_line("finalize");
    text_ += '\n';
    return static_cast<std::uint32_t>(operations_.size());
  }

 private:
  struct Required {
    std::uint32_t operation;
    bool on_start;
    auto operator<=>(const Required&) const = default;
  };

  void start_line(std::string_view action) {
    append(text_, rank_);
    text_ += ' ';
    text_ += action;
  }

  bool requires_start_of_previous(std::uint32_t i) const {
    return std::ranges::find(required_[i], Required{i - 1, true}) != required_[i].end();
  }

  /// An operation is immediate if the next one only needs its start. It is also written as
  /// immediate if the next one waits for all requests and for this one; to read either gives the
  /// same program.
  bool is_immediate(std::uint32_t i) const {
    if (i + 1 == operations_.size()) return false;
    if (requires_start_of_previous(i + 1)) return true;
    if (operations_[i].kind == Kind::kCompute || open_.empty()) return false;
    std::vector<Required> all;
    for (const TiRequest& it : open_) all.push_back({it.operation, false});
    all.push_back({i, false});
    return required_[i + 1] == all;
  }

  /// Whether the operation needs nothing but the previous one.
  bool is_next(std::uint32_t i) const {
    if (i == 0) return required_[0].empty();
    return required_[i].size() == 1 && required_[i][0] == Required{i - 1, previous_is_immediate_};
  }

  bool print(std::uint32_t i, bool immediate) {
    const Operation& it = operations_[i];
    if (it.kind == Kind::kCompute) {
      start_line("compute ");
      append(text_, it.amount);
      text_ += '\n';
      return true;
    }
    const bool sends = it.kind == Kind::kSend;
    start_line(immediate ? (sends ? "isend " : "irecv ") : (sends ? "send " : "recv "));
    print_peer(it.peer);
    text_ += ' ';
    print_tag(it.tag);
    append(text_ += ' ', it.amount);
    text_ += '\n';
    if (immediate) {
      open_.push_back({i, sends ? rank_ : it.peer, sends ? it.peer : rank_, it.tag});
    }
    return true;
  }

  bool print_wait(std::uint32_t i) {
    if (operations_[i].kind != Kind::kCompute || operations_[i].amount != 0) return false;
    std::vector<std::uint32_t> waited;
    bool has_previous = i == 0;
    for (const Required& it : required_[i]) {
      const bool is_open = std::ranges::any_of(
          open_, [&](const TiRequest& other) { return other.operation == it.operation; });
      has_previous |= it.operation == i - 1 && (is_open || it.on_start == previous_is_immediate_);
      if (is_open && !it.on_start) {
        waited.push_back(it.operation);
      } else if (it != Required{i - 1, previous_is_immediate_}) {
        return false;
      }
    }
    // A wait for the previous operation does not also need its start.
    const bool both = requires_start_of_previous(i) && !waited.empty() && waited.back() == i - 1;
    if (!has_previous || both || waited.empty()) return false;
    if (waited.size() == 1 && print_wait_for(waited[0])) return true;
    return waited.size() == open_.size() && print_wait_for_all(waited);
  }

  bool print_wait_for_all(const std::vector<std::uint32_t>& waited) {
    for (std::size_t i = 0; i < waited.size(); ++i) {
      if (open_[i].operation != waited[i]) return false;
    }
    start_line("waitall\n");
    open_.clear();
    return true;
  }

  bool print_wait_for(std::uint32_t operation) {
    const auto found = std::ranges::find(open_, operation, &TiRequest::operation);
    const auto oldest = std::ranges::find_if(open_, [&](const TiRequest& it) {
      return it.source == found->source && it.destination == found->destination &&
             it.tag == found->tag;
    });
    if (oldest != found) return false;
    start_line("wait ");
    print_peer(found->source);
    text_ += ' ';
    print_peer(found->destination);
    text_ += ' ';
    print_tag(found->tag);
    text_ += '\n';
    open_.erase(found);
    return true;
  }

  void print_peer(std::uint32_t peer) {
    peer == kAnySource ? void(text_ += kSmpiAnySource) : append(text_, peer);
  }
  void print_tag(std::uint32_t tag) {
    tag == kAnyTag ? void(text_ += kSmpiAnyTag) : append(text_, tag);
  }

  std::span<const Operation> operations_;
  std::uint32_t rank_;
  std::string& text_;
  std::vector<std::vector<Required>> required_;
  std::vector<TiRequest> open_;
  bool previous_is_immediate_ = false;
};

}  // namespace

Result<std::string> print_ti(const Program& program) {
  const std::string why =
      "a time-independent trace cannot express it; predict the program without writing it";
  auto expressible = check_without_files(program, why);
  if (expressible) expressible = check_standard_sends(program, why);
  if (!expressible) return unexpected(expressible.error());
  std::string text;
  for (std::uint32_t rank = 0; rank < program.ranks.size(); ++rank) {
    const std::uint32_t stopped = RankPrinter(program.ranks[rank], rank, text).run();
    if (stopped == program.ranks[rank].operations().size()) continue;
    return unexpected(Code::kInvalidArgument,
                      "rank " + std::to_string(rank) + ", operation " +
                          std::to_string(stopped + 1) +
                          ": a time-independent trace cannot express its dependencies, CPU or NIC; "
                          "write the program as GOAL");
  }
  return text;
}

}  // namespace xylem::predict
