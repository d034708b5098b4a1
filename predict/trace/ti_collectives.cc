#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/quoted.h"
#include "predict/trace/ti_collectives_internal.h"
#include "predict/trace/ti_words_internal.h"

namespace xylem::predict {
namespace {

struct Action {
  std::string_view name;
  Collective collective;
  std::string_view arguments;  ///< What an error says.
  std::string_view example;    ///< Of two ranks.
};

constexpr std::array<Action, 15> kActions = {{
    {"barrier", Collective::kBarrier, "no argument", ""},
    {"bcast", Collective::kBcast, "a number of elements, and optionally root and type", " 8 0 6"},
    {"reduce", Collective::kReduce, "a number of elements, flops, and optionally root and type",
     " 8 100 0 6"},
    {"allreduce", Collective::kAllreduce, "a number of elements, flops, and optionally a type",
     " 8 100 6"},
    {"scan", Collective::kScan, "a number of elements, flops, and optionally a type", " 8 100 6"},
    {"exscan", Collective::kExscan, "a number of elements, flops, and optionally a type",
     " 8 100 6"},
    {"reducescatter", Collective::kReduceScatter,
     "a number of elements for each rank, flops, and optionally a type", " 8 8 100 6"},
    {"alltoall", Collective::kAlltoall,
     "numbers of elements sent and received, and optionally their types", " 8 8 6 6"},
    {"allgather", Collective::kAllgather,
     "numbers of elements sent and received, and optionally their types", " 8 8 6 6"},
    {"gather", Collective::kGather,
     "numbers of elements sent and received, and optionally root and types", " 8 8 0 6 6"},
    {"scatter", Collective::kScatter,
     "numbers of elements sent and received, and optionally root and types", " 8 8 0 6 6"},
    {"gatherv", Collective::kGatherv,
     "a number of elements sent, one received for each rank, and optionally root and types",
     " 8 8 8 0 6 6"},
    {"scatterv", Collective::kScatterv,
     "a number of elements sent for each rank, one received, and optionally root and types",
     " 8 8 8 0 6 6"},
    {"allgatherv", Collective::kAllgatherv,
     "a number of elements sent, one received for each rank, and optionally a type", " 8 8 8 6"},
    {"alltoallv", Collective::kAlltoallv,
     "the size of the buffer and a number of elements for each rank, both for what is sent and for "
     "what is received, and optionally their types",
     " 16 8 8 16 8 8 6 6"},
}};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Reads the arguments of an action one after the other. The first that is wrong makes a fault, and
/// what is read after it does not count.
class Arguments {
 public:
  Arguments(std::span<const std::string_view> words, const TiRank& rank)
      : words_(words), rank_(rank) {}

  std::size_t left() const { return words_.size(); }
  const std::string& fault() const { return fault_; }

  std::uint64_t count() {
    std::uint64_t value = 0;
    const std::string_view word = next();
    if (!read_amount(word, 1, value)) {
      fail(quoted(word) + " is not a number of elements; write a whole number");
    }
    return value;
  }

  std::vector<std::uint64_t> counts() {
    std::vector<std::uint64_t> values;
    for (std::uint32_t i = 0; i < rank_.ranks && fault_.empty(); ++i) values.push_back(count());
    return values;
  }

  std::uint64_t flops_as_ns() {
    std::uint64_t value = 0;
    const std::string_view word = next();
    if (!read_amount(word, 1 / rank_.flops_per_ns, value)) {
      fail(quoted(word) + " is not a number of flops, at most 2^64 ns; write a number");
    }
    return value;
  }

  std::uint32_t root() {
    std::uint32_t value = 0;
    if (left() == 0) return value;
    const std::string_view word = next();
    if (read_number(word, value) && value < rank_.ranks) return value;
    fail("there is no rank " + quoted(word) + " among " + std::to_string(rank_.ranks) +
         " ranks; correct the root");
    return 0;
  }

  std::uint64_t type_bytes() {
    if (left() == 0) return rank_.default_type_bytes;
    std::size_t type = 0;
    const std::string_view word = next();
    if (read_number(word, type) && type < kTypeBytes.size()) return kTypeBytes[type];
    fail(quoted(word) + " is not the number of a basic type; write 6 for bytes");
    return 1;
  }

  std::uint64_t bytes(std::uint64_t count, std::uint64_t type_bytes) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(count, type_bytes, &product)) {
      fail(std::to_string(count) + " elements have more than 2^64 bytes; write a smaller number");
    }
    return product;
  }
  void bytes(std::vector<std::uint64_t>& counts, std::uint64_t type_bytes) {
    for (std::uint64_t& it : counts) it = bytes(it, type_bytes);
  }

  void skip(std::size_t words) { words_ = words_.subspan(std::min(words, words_.size())); }

 private:
  std::string_view next() {
    if (words_.empty()) return "";
    const std::string_view word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }
  void fail(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
  }

  std::span<const std::string_view> words_;
  const TiRank& rank_;
  std::string fault_;
};

/// How many arguments an action must have and may have.
std::pair<std::size_t, std::size_t> limits(Collective collective, std::size_t ranks) {
  switch (collective) {
    case Collective::kBarrier:
      return {0, 0};
    case Collective::kBcast:
      return {1, 3};
    case Collective::kReduce:
      return {2, 4};
    case Collective::kReduceScatter:
      return {ranks + 1, ranks + 2};
    case Collective::kAlltoall:
    case Collective::kAllgather:
      return {2, 4};
    case Collective::kGather:
    case Collective::kScatter:
      return {2, 5};
    case Collective::kGatherv:
    case Collective::kScatterv:
      return {ranks + 1, ranks + 4};
    case Collective::kAllgatherv:
      return {ranks + 1, 2 * ranks + 3};
    case Collective::kAlltoallv:
      return {2 * ranks + 2, 2 * ranks + 4};
    default:
      return {2, 3};
  }
}

/// bcast, reduce, allreduce, scan and exscan.
void read_vector(Arguments& from, TiCollective& made) {
  CollectiveCall& call = made.call;
  const std::uint64_t count = from.count();
  if (call.collective != Collective::kBcast) made.compute_ns = from.flops_as_ns();
  if (call.collective == Collective::kBcast || call.collective == Collective::kReduce) {
    call.root = from.root();
  }
  call.element_bytes = from.type_bytes();
  call.bytes = from.bytes(count, call.element_bytes);
}

/// alltoall, allgather, gather and scatter. Some ranks give only one of the numbers.
void read_blocks(Arguments& from, const TiRank& rank, TiCollective& made) {
  CollectiveCall& call = made.call;
  const std::uint64_t sent = from.count();
  const std::uint64_t received = from.count();
  const bool has_root =
      call.collective == Collective::kGather || call.collective == Collective::kScatter;
  if (has_root) call.root = from.root();
  const std::uint64_t sent_bytes = from.bytes(sent, from.type_bytes());
  const std::uint64_t received_bytes = from.bytes(received, from.type_bytes());
  const bool is_root = rank.rank == call.root;
  const bool takes_sent = call.collective == Collective::kAlltoall ||
                          (has_root && is_root == (call.collective == Collective::kScatter));
  call.bytes = takes_sent ? sent_bytes : received_bytes;
}

void read_gatherv(Arguments& from, const TiRank& rank, TiCollective& made) {
  CollectiveCall& call = made.call;
  const std::uint64_t sent = from.count();
  made.sizes = from.counts();
  call.root = from.root();
  const std::uint64_t sent_bytes = from.bytes(sent, from.type_bytes());
  from.bytes(made.sizes, from.type_bytes());
  if (rank.rank != call.root && from.fault().empty()) made.sizes[rank.rank] = sent_bytes;
}

void read_scatterv(Arguments& from, const TiRank& rank, TiCollective& made) {
  CollectiveCall& call = made.call;
  made.sizes = from.counts();
  const std::uint64_t received = from.count();
  call.root = from.root();
  from.bytes(made.sizes, from.type_bytes());
  const std::uint64_t received_bytes = from.bytes(received, from.type_bytes());
  if (rank.rank != call.root && from.fault().empty()) made.sizes[rank.rank] = received_bytes;
}

void read_allgatherv(Arguments& from, const TiRank& rank, TiCollective& made) {
  from.count();
  made.sizes = from.counts();
  // Displacements are as many as ranks. A type may be before them, or two behind them.
  if (from.left() == rank.ranks + std::size_t{2}) from.skip(rank.ranks);
  const bool has_type = from.left() > rank.ranks || (from.left() > 0 && from.left() <= 2);
  from.bytes(made.sizes, has_type ? from.type_bytes() : rank.default_type_bytes);
  from.skip(from.left());
}

void read_alltoallv(Arguments& from, TiCollective& made) {
  from.count();
  made.sizes = from.counts();
  from.count();
  made.received_sizes = from.counts();
  from.bytes(made.sizes, from.type_bytes());
  from.bytes(made.received_sizes, from.type_bytes());
}

void read_reduce_scatter(Arguments& from, TiCollective& made) {
  made.sizes = from.counts();
  made.compute_ns = from.flops_as_ns();
  made.call.element_bytes = from.type_bytes();
  from.bytes(made.sizes, made.call.element_bytes);
}

}  // namespace

std::optional<Collective> ti_collective(std::string_view action) {
  std::string name(action);
  std::ranges::transform(name, name.begin(), lower);
  const auto found = std::ranges::find(kActions, name, &Action::name);
  if (found == kActions.end()) return std::nullopt;
  return found->collective;
}

Result<TiCollective> parse_ti_collective(Collective collective, std::string_view action,
                                         std::span<const std::string_view> arguments,
                                         const TiRank& rank) {
  const auto wrong = [](const std::string& what) {
    return unexpected(Code::kInvalidArgument, what);
  };
  const auto [fewest, most] = limits(collective, rank.ranks);
  if (arguments.size() < fewest || arguments.size() > most) {
    const auto described = std::ranges::find(kActions, collective, &Action::collective);
    return wrong(quoted(action) + " needs " + std::string(described->arguments) + ", not " +
                 std::to_string(arguments.size()) +
                 (arguments.size() == 1 ? " argument" : " arguments") +
                 "; write for example, with 2 ranks, \"0 " + std::string(action) +
                 std::string(described->example) + "\"");
  }
  TiCollective made;
  made.call.collective = collective;
  Arguments from(arguments, rank);
  switch (collective) {
    case Collective::kBarrier:
      break;
    case Collective::kAlltoall:
    case Collective::kAllgather:
    case Collective::kGather:
    case Collective::kScatter:
      read_blocks(from, rank, made);
      break;
    case Collective::kGatherv:
      read_gatherv(from, rank, made);
      break;
    case Collective::kScatterv:
      read_scatterv(from, rank, made);
      break;
    case Collective::kAllgatherv:
      read_allgatherv(from, rank, made);
      break;
    case Collective::kAlltoallv:
      read_alltoallv(from, made);
      break;
    case Collective::kReduceScatter:
      read_reduce_scatter(from, made);
      break;
    default:
      read_vector(from, made);
      break;
  }
  if (!from.fault().empty()) return wrong(from.fault());
  return made;
}

}  // namespace xylem::predict
