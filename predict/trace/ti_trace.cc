#include "predict/trace/ti_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <variant>

#include "base/quoted.h"
#include "predict/trace/rank_builder.h"

namespace xylem::predict {
namespace {

// Values of SMPI's mpi.h.
constexpr std::string_view kSmpiAnySource = "-555";
constexpr std::string_view kSmpiAnyTag = "-444";

/// Bytes of SMPI's types by their number in a trace, from MPI_DOUBLE (0) to MPI_OFFSET (29).
constexpr std::array<std::uint64_t, 30> kTypeBytes = {
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8};

/// Actions that take no time in a replay.
constexpr std::array<std::string_view, 7> kIgnored = {
    "finalize", "comm_size", "comm_split", "comm_dup", "location", "test", "testall"};
constexpr std::array<std::string_view, 17> kCollective = {
    "barrier",       "bcast",      "reduce", "allreduce",     "alltoall", "alltoallv",
    "allgather",     "allgatherv", "gather", "gatherv",       "scatter",  "scatterv",
    "reducescatter", "scan",       "exscan", "reduceScatter", "allReduce"};

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

/// A number that is not negative, whole or not, times `factor`; rounded.
bool read_amount(std::string_view text, double factor, std::uint64_t& amount) {
  if (factor == 1 && read_number(text, amount)) return true;
  double value = 0;
  if (!read_number(text, value) || !(value >= 0)) return false;
  constexpr double kBeyond = 18446744073709551616.0;  // 2^64
  value = std::round(value * factor);
  if (!(value < kBeyond)) return false;
  amount = static_cast<std::uint64_t>(value);
  return true;
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

/// A send or receive that the rank has not yet waited for.
struct Request {
  std::uint32_t operation = 0;
  std::uint32_t source = 0, destination = 0, tag = 0;
};

/// The program of a rank while its lines are read.
struct RankReader {
  RankBuilder builder;
  std::vector<Request> open;
  bool last_is_immediate = false;
  std::uint64_t default_type_bytes = 1;

  std::uint32_t add(const Operation& operation, bool immediate) {
    const std::uint32_t index = builder.add(operation);
    if (index > 0) {
      last_is_immediate ? builder.require_start(index, index - 1)
                        : builder.require(index, index - 1);
    }
    last_is_immediate = immediate;
    return index;
  }

  /// Adds an operation that waits for requests.
  void wait_for(std::span<const Request> requests) {
    const std::uint32_t index = builder.add({.kind = Kind::kCompute});
    const bool waits_for_last = index > 0 && std::ranges::any_of(requests, [&](const Request& it) {
                                  return it.operation == index - 1;
                                });
    if (index > 0 && !waits_for_last) {
      last_is_immediate ? builder.require_start(index, index - 1)
                        : builder.require(index, index - 1);
    }
    for (const Request& it : requests) builder.require(index, it.operation);
    last_is_immediate = false;
  }
};

class Reader {
 public:
  explicit Reader(double flops_per_ns) : flops_per_ns_(flops_per_ns) {}

  /// `only` is the rank whose file this is, or kAnySource.
  Result<void> read(const TiFile& file, std::uint32_t only) {
    std::size_t number = 0;
    for (std::string_view rest = file.text; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const auto words = words_of(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      place_ = {&file, ++number};
      if (words.empty() || words.front().starts_with('#')) continue;
      auto read = line(words, only);
      if (!read) return read;
    }
    return {};
  }

  /// Ranks are numbered in the text, so the number of ranks is known before.
  void set_ranks(std::uint32_t ranks) { ranks_.resize(ranks); }

  Program finish() && {
    Program program;
    for (RankReader& it : ranks_) {
      // All dependencies are on earlier operations, so there is no cycle.
      program.ranks.push_back(std::get<RankProgram>(std::move(it.builder).finish()));
    }
    return program;
  }

 private:
  Unexpected error(const std::string& what) const {
    return unexpected(Code::kInvalidArgument,
                      place_.first->name + ":" + std::to_string(place_.second) + ": " + what);
  }

  Result<void> line(const std::vector<std::string_view>& words, std::uint32_t only) {
    std::uint32_t rank = 0;
    if (!read_number(words[0], rank)) {
      return error("expected a rank, found " + quoted(words[0]) +
                   "; a line is RANK ACTION ARGUMENTS, for example \"0 compute 1000\"");
    }
    if (only != kAnySource && rank != only) {
      return error("the line is about rank " + std::to_string(rank) + ", but the file about rank " +
                   std::to_string(only) + "; list the files in the order of their ranks");
    }
    if (words.size() < 2) return error("the line has no action; remove it, or complete it");
    RankReader& reader = ranks_[rank];
    if (reader.builder.size() == kMaxOperations) return error("the rank has too many operations");
    const std::string_view action = words[1];
    const auto arguments = std::span(words).subspan(2);
    const auto is_in = [&](const auto& names) {
      return std::ranges::find(names, action) != names.end();
    };
    if (action == "init") {
      reader.default_type_bytes = arguments.empty() ? 1 : 8;
      return {};
    }
    if (action == "compute" || action == "sleep") return compute(reader, action, arguments);
    if (action == "send" || action == "isend" || action == "recv" || action == "irecv") {
      return message(reader, rank, action, arguments);
    }
    if (action == "wait") return wait(reader, arguments);
    if (action == "waitall" || action == "waitAll") {
      if (!reader.open.empty()) reader.wait_for(reader.open);
      reader.open.clear();
      return {};
    }
    if (is_in(kIgnored)) return {};
    if (is_in(kCollective)) {
      return error("collective actions such as " + quoted(action) +
                   " cannot be replayed yet; trace the messages inside of them");
    }
    return error(
        "the action " + quoted(action) +
        " is not known; known are compute, sleep, send, isend, recv, irecv, wait and waitall");
  }

  Result<void> compute(RankReader& reader, std::string_view action,
                       std::span<const std::string_view> arguments) {
    Operation made;
    made.kind = Kind::kCompute;
    const bool sleeps = action == "sleep";
    if (arguments.size() != 1 ||
        !read_amount(arguments[0], sleeps ? 1e9 : 1 / flops_per_ns_, made.amount)) {
      return error(quoted(action) +
                   (sleeps ? " needs a number of seconds" : " needs a number of flops") +
                   ", at most 2^64 ns; write for example \"0 " + std::string(action) + " 1000\"");
    }
    reader.add(made, false);
    return {};
  }

  /// A rank below the number of ranks, or any source.
  bool read_rank(std::string_view text, std::uint32_t& rank) const {
    if (text == kSmpiAnySource || text == "-1") {
      rank = kAnySource;
      return true;
    }
    return read_number(text, rank) && rank < ranks_.size();
  }

  static bool read_tag(std::string_view text, std::uint32_t& tag) {
    if (text == kSmpiAnyTag || text == "-1") {
      tag = kAnyTag;
      return true;
    }
    return read_number(text, tag) && tag != kAnyTag;
  }

  Result<void> message(RankReader& reader, std::uint32_t rank, std::string_view action,
                       std::span<const std::string_view> arguments) {
    const bool sends = action.ends_with("send");
    if (arguments.size() < 3 || arguments.size() > 4) {
      return error(quoted(action) + " needs " + (sends ? "destination" : "source") +
                   ", tag, number of elements and optionally a type; write for example \"0 " +
                   std::string(action) + " 1 3 8\"");
    }
    Operation made;
    made.kind = sends ? Kind::kSend : Kind::kReceive;
    if (!read_rank(arguments[0], made.peer) || (sends && made.peer == kAnySource)) {
      return error("there is no rank " + quoted(arguments[0]) + " among " +
                   std::to_string(ranks_.size()) + " ranks; correct it");
    }
    if (!read_tag(arguments[1], made.tag) || (sends && made.tag == kAnyTag)) {
      return error(quoted(arguments[1]) + " is not a tag; write a number from 0 to 4294967294");
    }
    std::uint64_t type_bytes = reader.default_type_bytes;
    if (arguments.size() == 4) {
      std::size_t type = 0;
      if (!read_number(arguments[3], type) || type >= kTypeBytes.size()) {
        return error(quoted(arguments[3]) +
                     " is not the number of a basic type; write 6 for bytes");
      }
      type_bytes = kTypeBytes[type];
    }
    // A receive of unknown size has a negative one.
    const bool is_unknown = !sends && arguments[2].starts_with('-');
    if (!is_unknown && (!read_amount(arguments[2], 1, made.amount) ||
                        __builtin_mul_overflow(made.amount, type_bytes, &made.amount))) {
      return error(quoted(arguments[2]) + " is not a number of elements; write a whole number");
    }
    const bool immediate = action.starts_with('i');
    const std::uint32_t index = reader.add(made, immediate);
    if (immediate) {
      reader.open.push_back({index, sends ? rank : made.peer, sends ? made.peer : rank, made.tag});
    }
    return {};
  }

  Result<void> wait(RankReader& reader, std::span<const std::string_view> arguments) {
    Request wanted;
    if (arguments.size() != 3 || !read_rank(arguments[0], wanted.source) ||
        !read_rank(arguments[1], wanted.destination) || !read_tag(arguments[2], wanted.tag)) {
      return error(
          "'wait' needs source, destination and tag of a request; write for example \"0 wait 1 0 "
          "3\"");
    }
    const auto found = std::ranges::find_if(reader.open, [&](const Request& it) {
      return it.source == wanted.source && it.destination == wanted.destination &&
             it.tag == wanted.tag;
    });
    if (found == reader.open.end()) {
      return error(
          "no open request has this source, destination and tag; add its isend or irecv above");
    }
    reader.wait_for(std::span(&*found, 1));
    reader.open.erase(found);
    return {};
  }

  const double flops_per_ns_;
  std::vector<RankReader> ranks_;
  std::pair<const TiFile*, std::size_t> place_{nullptr, 0};
};

/// The number of ranks of a trace in one file. Each rank has a line, so there are no more ranks
/// than lines; what is wrong with a line is said later.
Result<std::uint32_t> count_ranks(const TiFile& file) {
  std::vector<std::uint32_t> seen;
  for (std::string_view rest = file.text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    std::uint32_t rank = 0;
    const auto [after, failed] = std::from_chars(line.data(), line.data() + line.size(), rank);
    if (failed == std::errc{} && (seen.empty() || seen.back() != rank)) seen.push_back(rank);
  }
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (std::uint32_t rank = 0; rank < seen.size(); ++rank) {
    if (seen[rank] == rank) continue;
    return unexpected(Code::kInvalidArgument,
                      file.name + ":1: the trace has rank " + std::to_string(seen.back()) +
                          ", but no line of rank " + std::to_string(rank) + "; add \"" +
                          std::to_string(rank) + " init\", or complete the trace");
  }
  if (seen.empty() || seen.size() > kMaxRanks) {
    return unexpected(Code::kInvalidArgument,
                      file.name + ":1: the trace has " + std::to_string(seen.size()) +
                          " ranks; write 1 to " + std::to_string(kMaxRanks));
  }
  return static_cast<std::uint32_t>(seen.size());
}

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
    for (const Request& it : open_) all.push_back({it.operation, false});
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
          open_, [&](const Request& other) { return other.operation == it.operation; });
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
    const auto found = std::ranges::find(open_, operation, &Request::operation);
    const auto oldest = std::ranges::find_if(open_, [&](const Request& it) {
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
  std::vector<Request> open_;
  bool previous_is_immediate_ = false;
};

}  // namespace

Result<Program> parse_ti(std::span<const TiFile> files, double flops_per_ns) {
  Reader reader(flops_per_ns);
  if (files.size() == 1) {
    const auto ranks = count_ranks(files[0]);
    if (!ranks) return unexpected(ranks.error());
    reader.set_ranks(*ranks);
    auto read = reader.read(files[0], kAnySource);
    if (!read) return unexpected(std::move(read.error()));
    return std::move(reader).finish();
  }
  if (files.empty() || files.size() > kMaxRanks) {
    return unexpected(Code::kInvalidArgument, "a trace needs 1 to " + std::to_string(kMaxRanks) +
                                                  " files; correct the list");
  }
  reader.set_ranks(static_cast<std::uint32_t>(files.size()));
  for (std::uint32_t rank = 0; rank < files.size(); ++rank) {
    auto read = reader.read(files[rank], rank);
    if (!read) return unexpected(std::move(read.error()));
  }
  return std::move(reader).finish();
}

Result<std::vector<std::string>> parse_ti_list(std::string_view text, std::string_view name) {
  std::vector<std::string> files;
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    constexpr std::string_view kBlanks = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (line.empty()) continue;
    const bool is_text = std::ranges::all_of(
        line, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
    if (!is_text) {
      return unexpected(
          Code::kInvalidArgument,
          std::string(name) + ":" + std::to_string(number) +
              ": this is not the name of a file; give a list of trace files, one a line");
    }
    files.emplace_back(line);
  }
  if (files.empty()) {
    return unexpected(Code::kInvalidArgument,
                      std::string(name) +
                          ":1: the list names no file; write the trace files, "
                          "one a line");
  }
  return files;
}

Result<std::string> print_ti(const Program& program) {
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
