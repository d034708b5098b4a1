#include "tree/topology_text.h"

#include <charconv>
#include <cstdio>
#include <span>
#include <utility>

#include "base/text_file.h"

namespace xylem::tree {
namespace {

struct Token {
  enum class Kind { kWord, kColon, kArrow, kSemicolon, kEnd, kStrange };
  Kind kind = Kind::kEnd;
  std::string_view text;
  std::uint32_t line = 1;
};

/// Cuts a text into tokens. A word is a run of the characters of host names; a number is a word
/// too.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    skip_blanks();
    if (at_ == text_.size()) return {Token::Kind::kEnd, {}, line_};
    if (text_.substr(at_, 2) == "=>") return take(Token::Kind::kArrow, 2);
    if (text_[at_] == ':') return take(Token::Kind::kColon, 1);
    if (text_[at_] == ';') return take(Token::Kind::kSemicolon, 1);
    std::size_t length = 0;
    while (at_ + length < text_.size() && is_host_name(text_.substr(at_ + length, 1))) ++length;
    if (length == 0) return take(Token::Kind::kStrange, 1);
    return take(Token::Kind::kWord, length);
  }

 private:
  Token take(Token::Kind kind, std::size_t length) {
    const Token token{kind, text_.substr(at_, length), line_};
    at_ += length;
    return token;
  }

  void skip_blanks() {
    bool comment = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        comment = false;
      } else if (c == '#') {
        comment = true;
      } else if (!comment && c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

/// Describes a token for people: a quoted word or byte, never a raw control character.
std::string describe(const Token& token) {
  if (token.kind == Token::Kind::kEnd) return "the end of the text";
  const auto byte = static_cast<unsigned char>(token.text.front());
  if (byte < 0x20 || byte > 0x7e) {
    char hex[32];
    std::snprintf(hex, sizeof hex, "the byte 0x%02x", byte);
    return hex;
  }
  constexpr std::size_t kShown = 40;
  std::string shown = "'";
  shown += token.text.substr(0, kShown);
  if (token.text.size() > kShown) shown += "...";
  return shown += "'";
}

/// The statements of a text, and the line of every name in them.
struct Statements {
  struct Lines {
    std::uint32_t parent = 0;
    std::vector<std::uint32_t> children;
  };
  std::vector<Branch> branches;
  std::vector<Lines> lines;

  std::uint32_t line_of(const BranchPlace& place) const {
    const Lines& of = lines[place.branch];
    return place.child ? of.children[*place.child] : of.parent;
  }
};

/// Parses this grammar: text = { process [ "=>" process+ ] ";" }.
class Parser {
 public:
  Parser(std::string_view text, std::string_view source) : lexer_(text), source_(source) {
    advance();
  }

  Result<Statements> run() {
    Statements statements;
    while (token_.kind != Token::Kind::kEnd) {
      if (auto read = statement(statements); !read) return unexpected(std::move(read.error()));
    }
    return statements;
  }

 private:
  void advance() { token_ = lexer_.next(); }

  Unexpected error(const std::string& what) const {
    return unexpected(
        Code::kInvalidArgument,
        std::string(source_) + ":" + std::to_string(token_.line) + ": syntax error: " + what);
  }

  Result<void> statement(Statements& into) {
    Branch branch;
    Statements::Lines lines;
    lines.parent = token_.line;
    auto parent = process();
    if (!parent) return unexpected(std::move(parent.error()));
    branch.parent = *std::move(parent);
    if (token_.kind == Token::Kind::kArrow) {
      advance();
      do {
        lines.children.push_back(token_.line);
        auto child = process();
        if (!child) return unexpected(std::move(child.error()));
        branch.children.push_back(*std::move(child));
      } while (token_.kind == Token::Kind::kWord);
    }
    if (token_.kind != Token::Kind::kSemicolon) {
      const char* wanted = branch.children.empty() ? "'=>' or ';'" : "a child or ';'";
      const Process& last = branch.children.empty() ? branch.parent : branch.children.back();
      return error(std::string("expected ") + wanted + " after " + to_text(last) + ", found " +
                   describe(token_) + "; a statement is HOST:NUMBER => HOST:NUMBER ... ;");
    }
    advance();
    into.branches.push_back(std::move(branch));
    into.lines.push_back(std::move(lines));
    return {};
  }

  Result<Process> process() {
    if (token_.kind != Token::Kind::kWord) {
      return error("expected a process such as node1:0, found " + describe(token_));
    }
    Process process;
    process.host = token_.text;
    if (!is_host_name(process.host)) {
      return error(describe(token_) + " is too long for a host name; at most 253 characters");
    }
    advance();
    if (token_.kind != Token::Kind::kColon) {
      return error("expected ':' and a number after host " + process.host + ", found " +
                   describe(token_) + "; write " + process.host + ":0");
    }
    advance();
    const char* end = token_.text.data() + token_.text.size();
    const auto [stop, failure] = std::from_chars(token_.text.data(), end, process.instance);
    if (token_.kind != Token::Kind::kWord || failure != std::errc() || stop != end) {
      return error("expected a number from 0 to 4294967295 after " + process.host + ":, found " +
                   describe(token_));
    }
    advance();
    return process;
  }

  Lexer lexer_;
  std::string_view source_;
  Token token_;
};

Unexpected fault_at(const TopologyFault& fault, const Statements& statements,
                    std::string_view source) {
  std::string sentence =
      std::string(source) + ":" + std::to_string(statements.line_of(fault.at)) + ": " + fault.what;
  if (fault.first) {
    sentence += " (line " + std::to_string(statements.line_of(*fault.first)) + ")";
  }
  return unexpected(Code::kInvalidArgument, sentence + "; " + fault.remedy);
}

}  // namespace

Result<TopologyFile> parse_topology(std::string_view text, std::string_view source) {
  if (text.size() > kMaxTopologyBytes) {
    return unexpected(Code::kInvalidArgument,
                      std::string(source) + ": is larger than a topology may be (" +
                          std::to_string(kMaxTopologyBytes >> 20) + " MiB)");
  }
  auto statements = Parser(text, source).run();
  if (!statements) return unexpected(std::move(statements.error()));
  if (statements->branches.empty()) {
    return unexpected(
        Code::kInvalidArgument,
        std::string(source) + ":1: no process is named; name at least the front end: head:0 ;");
  }
  if (const auto fault = find_fault(statements->branches)) {
    return fault_at(*fault, *statements, source);
  }
  std::vector<BranchPlace> places;
  auto topology = Topology::make(statements->branches, &places);
  if (!topology) {
    return unexpected(topology.error().code, std::string(source) + ": " + topology.error().message);
  }
  TopologyFile file{*std::move(topology), std::string(source), {}};
  file.lines.reserve(places.size());
  for (const BranchPlace& place : places) file.lines.push_back(statements->line_of(place));
  return file;
}

Result<TopologyFile> read_topology_file(const std::string& path) {
  const auto text = read_text_file(path, "topology file", kMaxTopologyBytes);
  if (!text) return unexpected(text.error());
  return parse_topology(*text, path);
}

std::string print(const Topology& topology) {
  const Skeleton& skeleton = topology.skeleton();
  std::string text;
  for (NodeId node : skeleton.nodes()) {
    const auto children = skeleton.children(node);
    if (children.empty() && node != kFrontEndNode) continue;
    text += to_text(topology.process(node));
    if (!children.empty()) text += " =>";
    for (NodeId child : children) {
      text += ' ';
      text += to_text(topology.process(child));
    }
    text += " ;\n";
  }
  return text;
}

}  // namespace xylem::tree
