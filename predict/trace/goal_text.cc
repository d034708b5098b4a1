#include "predict/trace/goal_text.h"

#include <charconv>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/quoted.h"
#include "predict/trace/rank_builder.h"

namespace xylem::predict {
namespace {

struct Token {
  std::string_view text;  ///< A word, a number, one other character, or empty at the end.
  std::size_t line = 1;
};

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/// Cuts a text into tokens. Line ends count as blanks.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    skip_blanks();
    std::size_t length = 0;
    while (at_ + length < text_.size() && is_word_character(text_[at_ + length])) ++length;
    if (length == 0 && at_ < text_.size()) length = 1;
    const Token token{text_.substr(at_, length), line_};
    at_ += length;
    return token;
  }

  /// The line of a comment that does not end, or 0.
  std::size_t open_comment() const { return open_comment_; }

 private:
  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (!skip_comment()) {
        return;
      }
    }
  }

  bool skip_comment() {
    const std::string_view start = text_.substr(at_, 2);
    if (start == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    if (start != "/*") return false;
    const std::size_t begin = line_;
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) open_comment_ = begin;
    const std::size_t after = end == std::string_view::npos ? text_.size() : end + 2;
    for (; at_ < after; ++at_) line_ += text_[at_] == '\n' ? 1 : 0;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t open_comment_ = 0;
};

bool is_label(std::string_view word) {
  const char first = word.empty() ? '0' : word.front();
  return ((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z')) &&
         word.find_first_of("-.") == std::string_view::npos;
}

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

/// Parses this grammar:
///
///   text       = "num_ranks" N { "rank" R "{" { statement } "}" }
///   statement  = [ LABEL ":" ] operation | LABEL ( "requires" | "irequires" ) LABEL
///   operation  = "calc" NS [ "cpu" N ]
///              | "send" BYTES "b" "to" R { ( "tag" | "cpu" | "nic" ) N }
///              | "recv" BYTES "b" "from" R { ( "tag" | "cpu" | "nic" ) N }
class Parser {
 public:
  Parser(std::string_view text, std::string_view name) : lexer_(text), name_(name) { advance(); }

  Result<Program> run() {
    if (auto read = head(); !read) return unexpected(std::move(read.error()));
    std::vector<std::pair<std::uint32_t, RankProgram>> ranks;
    while (!token_.text.empty()) {
      auto rank = rank_number();
      if (!rank) return unexpected(std::move(rank.error()));
      auto program = rank_program(*rank);
      if (!program) return unexpected(std::move(program.error()));
      ranks.emplace_back(*rank, *std::move(program));
    }
    if (lexer_.open_comment() != 0) {
      return error_at(lexer_.open_comment(), "the comment does not end; close it with */");
    }
    if (ranks.size() < count_) return missing_rank(ranks.size());
    Program program;
    program.ranks.resize(count_);
    for (auto& [rank, of] : ranks) program.ranks[rank] = std::move(of);
    return program;
  }

 private:
  void advance() {
    previous_line_ = token_.line;
    token_ = lexer_.next();
  }

  Unexpected error_at(std::size_t line, const std::string& what) const {
    return unexpected(Code::kInvalidArgument,
                      std::string(name_) + ":" + std::to_string(line) + ": " + what);
  }

  /// A line that ends too early is the faulty one, not the next.
  Unexpected expected(const std::string& what, const std::string& remedy) const {
    const bool ended = token_.line != previous_line_ || token_.text.empty();
    const std::string found = token_.text.empty() ? "the end of the text"
                              : ended             ? "the end of the line"
                                                  : quoted(token_.text);
    return error_at(previous_line_, "expected " + what + ", found " + found + "; " + remedy);
  }

  bool take(std::string_view word) {
    if (token_.text != word) return false;
    advance();
    return true;
  }

  template <typename Number>
  bool take_number(Number& number) {
    if (!read_number(token_.text, number)) return false;
    advance();
    return true;
  }

  Result<void> head() {
    if (!take("num_ranks") || !take_number(count_)) {
      return expected("num_ranks and a number",
                      "a GOAL file begins with a line such as \"num_ranks 4\"");
    }
    if (count_ == 0 || count_ > kMaxRanks) {
      return error_at(previous_line_, std::to_string(count_) +
                                          " ranks are not possible; write 1 to " +
                                          std::to_string(kMaxRanks));
    }
    seen_.resize(count_);
    return {};
  }

  Unexpected missing_rank(std::size_t found) const {
    std::size_t missing = 0;
    while (seen_[missing]) ++missing;
    return error_at(token_.line, "the text ends after " + std::to_string(found) + " of " +
                                     std::to_string(count_) + " ranks; add \"rank " +
                                     std::to_string(missing) + " { }\", or correct num_ranks");
  }

  Result<std::uint32_t> rank_number() {
    std::uint32_t rank = 0;
    if (!take("rank")) return expected("'rank'", "write rank NUMBER { ... }");
    const std::size_t line = previous_line_;
    if (!take_number(rank)) return expected("a rank's number", "write rank NUMBER { ... }");
    if (rank >= count_) {
      return error_at(line, "there is no rank " + std::to_string(rank) + " among " +
                                std::to_string(count_) + " ranks; correct it, or num_ranks");
    }
    if (seen_[rank]) {
      return error_at(line, "rank " + std::to_string(rank) +
                                " is there twice; put all its operations in one block");
    }
    seen_[rank] = true;
    if (!take("{")) return expected("'{'", "write rank NUMBER { ... }");
    return rank;
  }

  Result<RankProgram> rank_program(std::uint32_t rank) {
    RankBuilder builder;
    lines_.clear();
    labels_.clear();
    const std::size_t line = previous_line_;
    while (!take("}")) {
      if (token_.text.empty()) {
        return error_at(lexer_.open_comment() ? lexer_.open_comment() : line,
                        lexer_.open_comment()
                            ? std::string("the comment does not end; close it with */")
                            : "rank " + std::to_string(rank) + " does not end; close it with }");
      }
      if (auto read = statement(builder); !read) return unexpected(std::move(read.error()));
    }
    auto built = std::move(builder).finish();
    if (const Cycle* cycle = std::get_if<Cycle>(&built)) {
      return error_at(lines_[cycle->operation],
                      "this operation of rank " + std::to_string(rank) +
                          " waits for itself, directly or through others; remove one of the "
                          "dependencies");
    }
    return std::get<RankProgram>(std::move(built));
  }

  Result<void> statement(RankBuilder& builder) {
    std::string_view label;
    if (!is_operation(token_.text)) {
      if (!is_label(token_.text)) {
        return error_at(token_.line, "expected an operation, a label or '}', found " +
                                         quoted(token_.text) + "; " + kOperations);
      }
      label = token_.text;
      advance();
      if (token_.text == "requires" || token_.text == "irequires") {
        return dependency(builder, label);
      }
      if (!take(":")) {
        return expected("':', 'requires' or 'irequires' after the label " + quoted(label),
                        kOperations);
      }
      if (!is_operation(token_.text)) return expected("calc, send or recv", kOperations);
    }
    const std::size_t line = token_.line;
    auto read = operation();
    if (!read) return unexpected(std::move(read.error()));
    if (builder.size() == kMaxOperations) {
      return error_at(line, "the rank has more than " + std::to_string(kMaxOperations) +
                                " operations; cut the program");
    }
    const std::uint32_t index = builder.add(*read);
    lines_.push_back(line);
    if (!label.empty() && !labels_.emplace(label, index).second) {
      return error_at(
          line, "the label " + quoted(label) + " is there twice in this rank; rename one of them");
    }
    return {};
  }

  Result<void> dependency(RankBuilder& builder, std::string_view label) {
    const bool on_start = token_.text == "irequires";
    const std::size_t line = token_.line;
    advance();
    const std::string_view required = token_.text;
    if (!is_label(required)) {
      return expected("a label", "write LABEL requires LABEL");
    }
    advance();
    for (const std::string_view it : {label, required}) {
      if (!labels_.contains(it)) {
        return error_at(line, "the label " + quoted(it) +
                                  " is not defined above in this rank; define it first");
      }
    }
    const std::uint32_t operation = labels_[label];
    on_start ? builder.require_start(operation, labels_[required])
             : builder.require(operation, labels_[required]);
    return {};
  }

  static bool is_operation(std::string_view word) {
    return word == "calc" || word == "send" || word == "recv";
  }

  Result<Operation> operation() {
    if (take("calc")) return calculation();
    const bool sends = token_.text == "send";
    advance();
    Operation made;
    made.kind = sends ? Kind::kSend : Kind::kReceive;
    std::string_view size = token_.text;
    const bool has_unit = size.ends_with('b');
    if (has_unit) size.remove_suffix(1);
    if (!read_number(size, made.amount)) return expected("a size such as 8b", kOperations);
    advance();
    if (!has_unit && !take("b")) return expected("the unit b", kOperations);
    if (!take(sends ? "to" : "from")) {
      return expected(sends ? "'to' and a rank" : "'from' and a rank", kOperations);
    }
    if (auto read = peer(made); !read) return unexpected(std::move(read.error()));
    if (auto read = details(made); !read) return unexpected(std::move(read.error()));
    return made;
  }

  Result<Operation> calculation() {
    Operation made;
    made.kind = Kind::kCompute;
    if (!take_number(made.amount)) {
      return expected("a whole number of nanoseconds", kOperations);
    }
    if (token_.text == "cpu" && token_.line == previous_line_) {
      advance();
      if (!take_number(made.cpu)) return expected("a number from 0 to 255", kOperations);
    }
    return made;
  }

  Result<void> peer(Operation& made) {
    if (token_.text == "-1" && made.kind == Kind::kReceive) {
      made.peer = kAnySource;
      advance();
      return {};
    }
    if (!read_number(token_.text, made.peer)) return expected("a rank", kOperations);
    if (made.peer >= count_) {
      return error_at(token_.line, "there is no rank " + std::to_string(made.peer) + " among " +
                                       std::to_string(count_) + " ranks; correct it, or num_ranks");
    }
    advance();
    return {};
  }

  /// Tag, CPU and NIC, on the operation's line.
  Result<void> details(Operation& made) {
    while (token_.line == previous_line_) {
      if (take("tag")) {
        if (token_.text == "-1" && made.kind == Kind::kReceive) {
          made.tag = kAnyTag;
          advance();
        } else if (!take_number(made.tag) || made.tag == kAnyTag) {
          return expected("a tag from 0 to " + std::to_string(kAnyTag - 1), kOperations);
        }
      } else if (token_.text == "cpu" || token_.text == "nic") {
        std::uint8_t& number = token_.text == "cpu" ? made.cpu : made.nic;
        advance();
        if (!take_number(number)) return expected("a number from 0 to 255", kOperations);
      } else {
        break;
      }
    }
    return {};
  }

  static constexpr const char* kOperations =
      "write calc NS [cpu N], send SIZEb to RANK [tag N] [cpu N] [nic N], or recv SIZEb from RANK "
      "[tag N] [cpu N] [nic N]";

  Lexer lexer_;
  std::string_view name_;
  Token token_;
  std::size_t previous_line_ = 1;
  std::uint32_t count_ = 0;
  std::vector<bool> seen_;
  // Of the current rank. The labels are only looked up, so their order does not matter.
  std::vector<std::size_t> lines_;
  std::unordered_map<std::string_view, std::uint32_t> labels_;
};

void append(std::string& text, std::uint64_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  text.append(digits, end);
}

void append_operation(std::string& text, const Operation& it) {
  if (it.kind == Kind::kCompute) {
    text += "calc ";
    append(text, it.amount);
  } else {
    text += it.kind == Kind::kSend ? "send " : "recv ";
    append(text, it.amount);
    text += it.kind == Kind::kSend ? "b to " : "b from ";
    it.peer == kAnySource ? void(text += "-1") : append(text, it.peer);
    text += " tag ";
    it.tag == kAnyTag ? void(text += "-1") : append(text, it.tag);
  }
  if (it.cpu != 0) append(text += " cpu ", it.cpu);
  if (it.nic != 0) append(text += " nic ", it.nic);
  text += '\n';
}

void append_dependency(std::string& text, std::uint32_t operation, std::uint32_t required,
                       bool on_start) {
  append(text += 'l', operation + std::uint64_t{1});
  append(text += on_start ? " irequires l" : " requires l", required + std::uint64_t{1});
  text += '\n';
}

}  // namespace

Result<Program> parse_goal(std::string_view text, std::string_view name) {
  return Parser(text, name).run();
}

std::string print_goal(const Program& program) {
  std::string text = "num_ranks ";
  append(text, program.ranks.size());
  text += '\n';
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const RankProgram& of = program.ranks[rank];
    append(text += "\nrank ", rank);
    text += " {\n";
    const auto operations = of.operations();
    for (std::size_t i = 0; i < operations.size(); ++i) {
      append(text += 'l', i + 1);
      append_operation(text += ": ", operations[i]);
    }
    for (std::uint32_t i = 0; i < operations.size(); ++i) {
      if (i + 1 < operations.size() && operations[i + 1].follows) {
        append_dependency(text, i + 1, i, false);
      }
      for (const Dependent it : of.dependents(i)) {
        append_dependency(text, it.operation(), i, it.on_start());
      }
    }
    text += "}\n";
  }
  return text;
}

}  // namespace xylem::predict
