#include "predict/trace/ti_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/quoted.h"
#include "predict/trace/collective_messages.h"
#include "predict/trace/sequence.h"
#include "predict/trace/ti_collectives_internal.h"
#include "predict/trace/ti_words_internal.h"

namespace xylem::predict {
namespace {

/// Actions that take no time in a replay.
constexpr std::array<std::string_view, 7> kIgnored = {
    "finalize", "comm_size", "comm_split", "comm_dup", "location", "test", "testall"};

/// Maximum number of operations that a message of a collective call makes, with its wait and its
/// reduction.
constexpr std::uint64_t kOperationsOfMessage = 4;

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

/// The program of a rank while its lines are read.
struct RankReader {
  Sequence sequence;
  std::vector<TiRequest> open;
  std::uint64_t default_type_bytes = 1;

  void wait_for(std::span<const TiRequest> requests) {
    std::vector<std::uint32_t> operations;
    for (const TiRequest& it : requests) operations.push_back(it.operation);
    sequence.wait_for(operations);
  }
};

class Reader {
 public:
  explicit Reader(const TiOptions& options) : options_(options) {}

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

  /// Fails if messages and collective actions may have the same tag.
  Result<Program> finish() && {
    if (has_collectives_ && !first_high_tag_.empty()) {
      return unexpected(Code::kInvalidArgument, first_high_tag_);
    }
    Program program;
    for (RankReader& it : ranks_) program.ranks.push_back(std::move(it.sequence).finish());
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
    if (reader.sequence.size() == kMaxOperations) return error("the rank has too many operations");
    const std::string_view action = words[1];
    const auto arguments = std::span(words).subspan(2);
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
    if (std::ranges::find(kIgnored, action) != kIgnored.end()) return {};
    if (const auto named = ti_collective(action)) {
      return collective(reader, rank, *named, action, arguments);
    }
    return error(
        "the action " + quoted(action) +
        " is not known; known are compute, sleep, send, isend, recv, irecv, wait, waitall and the "
        "collective ones, such as bcast");
  }

  Result<void> compute(RankReader& reader, std::string_view action,
                       std::span<const std::string_view> arguments) {
    Operation made;
    made.kind = Kind::kCompute;
    const bool sleeps = action == "sleep";
    if (arguments.size() != 1 ||
        !read_amount(arguments[0], sleeps ? 1e9 : 1 / options_.flops_per_ns, made.amount)) {
      return error(quoted(action) +
                   (sleeps ? " needs a number of seconds" : " needs a number of flops") +
                   ", at most 2^64 ns; write for example \"0 " + std::string(action) + " 1000\"");
    }
    reader.sequence.run(made);
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
    if (made.tag >= kFirstCollectiveTag && made.tag != kAnyTag && first_high_tag_.empty()) {
      first_high_tag_ = error("tags of a trace with collective actions are below " +
                              std::to_string(kFirstCollectiveTag) + "; correct the tag " +
                              std::to_string(made.tag))
                            .error.message;
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
    const std::uint32_t index = immediate ? reader.sequence.start(made) : reader.sequence.run(made);
    if (immediate) {
      reader.open.push_back({index, sends ? rank : made.peer, sends ? made.peer : rank, made.tag});
    }
    return {};
  }

  Result<void> collective(RankReader& reader, std::uint32_t rank, Collective named,
                          std::string_view action, std::span<const std::string_view> arguments) {
    const auto ranks = static_cast<std::uint32_t>(ranks_.size());
    auto read = parse_ti_collective(
        named, action, arguments, {rank, ranks, reader.default_type_bytes, options_.flops_per_ns});
    if (!read) return error(read.error().message);
    CollectiveCall call = read->call;
    call.sizes = read->sizes;
    call.received_sizes = read->received_sizes;
    const Schedule schedule =
        schedule_of(call, options_.collectives.choice.choose(call, ranks), ranks, rank);
    std::uint64_t messages = 0;
    for (const Step& it : schedule) messages += it.receives.size() + it.sends.size();
    in_collectives_ += kOperationsOfMessage * messages + 1;
    if (in_collectives_ > options_.max_collective_operations ||
        reader.sequence.size() + kOperationsOfMessage * messages + 1 > kMaxOperations) {
      return error("the collective actions of the trace make more than " +
                   std::to_string(std::min<std::uint64_t>(options_.max_collective_operations,
                                                          kMaxOperations)) +
                   " operations; trace fewer ranks, or shorten the trace");
    }
    append_schedule(schedule, {0, ranks, {}}, options_.collectives.reduce_fs_per_byte,
                    reader.sequence);
    if (read->compute_ns > 0) {
      reader.sequence.run({.amount = read->compute_ns, .kind = Kind::kCompute});
    }
    has_collectives_ = true;
    return {};
  }

  Result<void> wait(RankReader& reader, std::span<const std::string_view> arguments) {
    TiRequest wanted;
    if (arguments.size() != 3 || !read_rank(arguments[0], wanted.source) ||
        !read_rank(arguments[1], wanted.destination) || !read_tag(arguments[2], wanted.tag)) {
      return error(
          "'wait' needs source, destination and tag of a request; write for example \"0 wait 1 0 "
          "3\"");
    }
    const auto found = std::ranges::find_if(reader.open, [&](const TiRequest& it) {
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

  const TiOptions& options_;
  std::vector<RankReader> ranks_;
  std::uint64_t in_collectives_ = 0;  ///< Maximum number of operations of collective actions.
  bool has_collectives_ = false;
  std::string first_high_tag_;  ///< The error about the first tag that collective calls may have.
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

}  // namespace

Result<Program> parse_ti(std::span<const TiFile> files, const TiOptions& options) {
  Reader reader(options);
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

}  // namespace xylem::predict
