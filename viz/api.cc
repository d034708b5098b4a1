#include "viz/api.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "base/quantity_text.h"
#include "viz/answers.h"
#include "viz/compression.h"
#include "viz/json.h"
#include "viz/metrics.h"
#include "viz/page.h"
#include "viz/reply.h"

namespace xylem::viz {
namespace {

using namespace storage;

constexpr std::string_view kLive = "/api/v1/live";

/// CPU time of this thread so far.
Nanos thread_cpu_now() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

RankRange rank_range(Target& target) {
  return {WorldId{target.id("world").value_or(0)}, target.count("first_rank"),
          target.count("end_rank")};
}

TimeRange time_range(Target& target) { return {target.nanos("begin_ns"), target.nanos("end_ns")}; }

/// Returns the error for a file that cannot be opened. If the file is not a run, this is not the
/// client's fault and may be temporary, for example while a run is copied there.
Error unreadable(Error why) {
  if (why.code == Code::kInvalidArgument || why.code == Code::kCorrupt) {
    why.code = Code::kUnavailable;
  }
  return why;
}

template <typename Answer, typename... How>
net::HttpReply reply_of(const Result<Answer>& answer, How... how) {
  if (!answer) return error_reply(answer.error());
  return json_reply(to_json(*answer, how...));
}

/// The requested number of digits of each cell; 0: all.
std::uint64_t digits_of(Target& target) {
  return std::min<std::uint64_t>(target.count("digits", 0), 20);
}

net::HttpReply ranks(RunView& run, Target& target) {
  RankGridQuery query;
  query.ranks = rank_range(target);
  query.range = time_range(target);
  query.value = static_cast<RankValue>(target.choice("value", "mpi|wait|bytes|calls"));
  query.columns = target.count("columns", query.columns);
  query.rows = target.count("rows", query.rows);
  const std::uint64_t digits = digits_of(target);
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.ranks(query), query.value, digits);
}

net::HttpReply functions(RunView& run, Target& target) {
  FunctionQuery query;
  query.ranks = rank_range(target);
  query.range = time_range(target);
  query.series = target.count("series", query.series);
  query.distribution = target.flag("distribution");
  query.limit = target.count("most", query.limit);
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.functions(query));
}

net::HttpReply matrix(RunView& run, Target& target) {
  MatrixQuery query;
  query.world = WorldId{target.id("world").value_or(0)};
  query.value = static_cast<MatrixValue>(target.choice("value", "messages|waits"));
  query.first_row = target.count("first_row", query.first_row);
  query.end_row = target.count("end_row", query.end_row);
  query.first_column = target.count("first_column", query.first_column);
  query.end_column = target.count("end_column", query.end_column);
  query.blocks = target.count("blocks", query.blocks);
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.matrix(query), query.value);
}

net::HttpReply timeline(RunView& run, Target& target) {
  TimelineQuery query;
  query.ranks = rank_range(target);
  query.range = time_range(target);
  query.columns = target.count("columns", query.columns);
  query.rows = target.count("rows", query.rows);
  query.limit = target.count("most", query.limit);
  const std::uint64_t digits = digits_of(target);
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.timeline(query), digits);
}

net::HttpReply search(RunView& run, Target& target) {
  CallSearchQuery query;
  query.ranks = rank_range(target);
  query.range = time_range(target);
  query.function = target.text("function").value_or("");
  query.peer = target.integer("peer");
  query.tag = target.integer("tag");
  query.comm = target.integer("comm");
  query.backwards = target.flag("backwards");
  query.limit = target.count("most", query.limit);
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.search(query));
}

net::HttpReply series(RunView& run, Target& target) {
  SeriesQuery query;
  const auto name = target.text("name");
  if (!name) return error_reply(400, "name is missing; /api/v1/hosts lists the series there are");
  query.name = *name;
  if (const auto leaf = target.id("leaf")) query.leaf = LeafId{*leaf};
  if (const auto world = target.id("world")) query.world = WorldId{*world};
  if (const auto rank = target.id("rank")) {
    query.rank = Rank{*rank};
    query.world = query.world.value_or(WorldId{0});
  }
  query.range = time_range(target);
  query.columns = target.count("columns", query.columns);
  query.limit = target.count("most", query.limit);
  const std::uint64_t digits = digits_of(target);
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.series(query), digits);
}

net::HttpReply tree(RunView& run, Target& target) {
  const auto at_ns = target.nanos("at_ns");
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.tree(at_ns));
}

net::HttpReply notices(RunView& run, Target& target) {
  const std::uint64_t most = target.count("most", 200);
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.notices(most));
}

net::HttpReply alerts(RunView& run, Target& target) {
  const std::uint64_t most = target.count("most", 200);
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.alerts(most));
}

net::HttpReply waits(RunView& run, Target& target) {
  const std::uint64_t most = target.count("most", 20);
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.waits(most));
}

net::HttpReply call_sites(RunView& run, Target& target) {
  const std::uint64_t most = target.count("most", 20);
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.call_sites(most));
}

net::HttpReply under_way(RunView& run, Target& target) {
  UnderWayQuery query;
  query.ranks = rank_range(target);
  query.limit = target.count("most", query.limit);
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.under_way(query));
}

net::HttpReply overview(RunView& run, Target& target) {
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.overview());
}

net::HttpReply findings(RunView& run, Target& target) {
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.findings());
}

net::HttpReply hosts(RunView& run, Target& target) {
  if (const auto fault = target.fault()) return error_reply(*fault);
  return reply_of(run.hosts());
}

/// Returns a file of the web page; nullopt for other paths.
std::optional<net::HttpReply> page_file(Target& target) {
  for (const PageFile& file : page_files()) {
    if (file.path != target.path()) continue;
    if (const auto fault = target.fault()) return error_reply(*fault);
    return file_reply(file);
  }
  if (target.path() != "/") return std::nullopt;
  return error_reply(
      404,
      "this xylem was built without its web page (XYLEM_PAGE=OFF): build it with node and npm"
      " installed; /api/v1/overview and the paths of docs/http-api.md are here");
}

/// How long a view waits for the wait states of a run that has ended.
enum class NeedsWaits : std::uint8_t { kNo, kSoon, kYes };

struct View {
  const char* path;
  net::HttpReply (*answer)(RunView&, Target&);
  NeedsWaits waits = NeedsWaits::kNo;
};
constexpr View kViews[] = {
    {"/api/v1/overview", overview, NeedsWaits::kSoon},
    {"/api/v1/findings", findings, NeedsWaits::kSoon},
    {"/api/v1/waits", waits, NeedsWaits::kYes},
    {"/api/v1/call_sites", call_sites},
    {"/api/v1/ranks", ranks},
    {"/api/v1/functions", functions},
    {"/api/v1/matrix", matrix},
    {"/api/v1/timeline", timeline},
    {"/api/v1/hosts", hosts},
    {"/api/v1/series", series},
    {"/api/v1/tree", tree},
    {"/api/v1/notices", notices},
    {"/api/v1/alerts", alerts},
    {"/api/v1/under_way", under_way},
    {"/api/v1/search", search},
};

/// Writes a whole number as text if readers that store numbers as doubles, such as JavaScript,
/// would round it.
std::string json_of_cell(const Value& value) {
  constexpr std::int64_t kMaxExact = std::int64_t{1} << 53;
  const auto* integer = std::get_if<std::int64_t>(&value);
  const bool is_exact = integer == nullptr || (-kMaxExact <= *integer && *integer <= kMaxExact);
  return is_exact ? storage::to_json(value) : '"' + storage::to_json(value) + '"';
}

/// The rows of one statement as JSON, up to a number of rows and of bytes.
class JsonRows final : public RowSink {
 public:
  JsonRows(Json& json, std::uint64_t max_rows, std::size_t max_bytes)
      : json_(json), max_rows_(max_rows), max_bytes_(max_bytes) {}

  void begin(std::span<const std::string> columns) override {
    if (++statements > 1) return;
    columns_.assign(columns.begin(), columns.end());
  }
  bool row(std::span<const Value> values) override {
    if (statements > 1) return false;
    std::string row = "[";
    for (const Value& value : values) {
      if (row.size() > 1) row += ',';
      row += json_of_cell(value);
      if (!has_room_for(row.size() + 2)) return false;
    }
    rows_.push_back(row + "]");
    bytes_ += std::min(rows_.back().size() + 1, max_bytes_ - bytes_);
    return true;
  }
  bool takes(std::size_t bytes) override { return statements > 1 || has_room_for(bytes); }
  void write() {
    json_.array("columns", columns_, [&](const std::string& name) { json_.value(name); });
    json_.array("rows", rows_, [&](const std::string& row) { json_.written(row); });
    json_.field("is_cut", is_cut);
  }

  int statements = 0;
  bool is_cut = false;
  bool is_too_large = false;  ///< Not even the first row has room.

 private:
  bool has_room_for(std::size_t bytes) {
    is_cut = rows_.size() == max_rows_ || bytes > max_bytes_ - bytes_;
    is_too_large = is_cut && rows_.empty() && max_rows_ != 0;
    return !is_cut;
  }

  Json& json_;
  std::uint64_t max_rows_;
  std::size_t max_bytes_, bytes_ = 0;
  std::vector<std::string> columns_, rows_;
};

}  // namespace

std::optional<net::HttpReply> Api::screen(const net::HttpRequest& request) {
  auto target = Target::parse(request.target);
  if (!target) return access_.refuse(Access::Reason::kMalformed, 400, target.error().message);
  if (auto refused = access_.judge(request, *target)) return refused;
  const bool is_live = target->path() == kLive;
  if (request.is_websocket != is_live) {
    return is_live ? error_reply(426, "this is a WebSocket; ask to upgrade")
                   : error_reply(404, "there is no WebSocket here; it is at " + std::string(kLive));
  }
  return std::nullopt;
}

net::HttpReply Api::answer(const net::HttpRequest& request, const GivenUp& given_up) {
  const Nanos began = monotonic_now();
  const Nanos cpu_began = thread_cpu_now();
  net::HttpReply reply = answer_plainly(request, given_up);
  // A client that has closed only its sending side can still read.
  if (reply.status == 504 && given_up) {
    reply =
        error_reply(504,
                    "the request was cancelled: the client closed the connection, or its own side"
                    " of it, before the answer; keep it open until the answer has arrived");
  }
  reply = compressed(std::move(reply), request.accept_encoding);
  // Clients without a token may ask for the server's health, but not for its load.
  if (reply.status == 200 && knows(request)) {
    reply.headers.emplace_back("Server-Timing",
                               fmt::format("cpu;dur={:.2f}, total;dur={:.2f}",
                                           static_cast<double>(thread_cpu_now() - cpu_began) / 1e6,
                                           static_cast<double>(monotonic_now() - began) / 1e6));
  }
  return reply;
}

net::HttpReply Api::answer_plainly(const net::HttpRequest& request, const GivenUp& given_up) {
  auto target = Target::parse(request.target);
  if (!target) return error_reply(target.error());
  const std::string& path = target->path();
  if (path == "/healthz") return health();
  if (path == "/api/v1/server") return json_reply(server_state());
  if (path == "/api/v1/query") return query(*target, given_up);
  if (path == "/metrics") return metrics(*target, request.accept, given_up);
  if (auto file = page_file(*target)) return *std::move(file);
  return answer_view(*target, given_up);
}

net::HttpReply Api::answer_view(Target& target, const GivenUp& given_up) {
  for (const View& view : kViews) {
    if (target.path() != view.path) continue;
    auto run = RunView::open(options_.file);
    if (!run) return error_reply(unreadable(run.error()));
    const Nanos deadline = deadline_in(options_.view_deadline);
    run->file().set_deadline(deadline, &given_up);
    if (view.waits != NeedsWaits::kNo) {
      run->use_waits(view.waits == NeedsWaits::kYes ? waits_.get(run->file(), deadline, &given_up)
                                                    : waits_.get_soon(run->file(), &given_up));
    }
    return view.answer(*run, target);
  }
  return error_reply(404,
                     "there is nothing at this path; docs/http-api.md and the page at / list"
                     " what there is");
}

net::HttpReply Api::metrics(Target& target, const std::string& accept, const GivenUp& given_up) {
  if (const auto fault = target.fault()) return error_reply(*fault);
  auto run = RunView::open(options_.file);
  if (!run) return error_reply(unreadable(run.error()));
  run->file().set_deadline(deadline_in(options_.view_deadline), &given_up);
  auto overview = run->overview();
  if (!overview) return error_reply(overview.error());
  auto totals = world_totals(run->file());
  if (!totals) return error_reply(totals.error());
  auto tree = run->tree();
  if (!tree) return error_reply(tree.error());
  auto alerts = run->alerts(1);
  if (!alerts) return error_reply(alerts.error());
  MetricsValues values{
      *std::move(overview), *std::move(totals), *std::move(tree), *std::move(alerts), {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(Access::Reason::kReasons); ++i) {
    const auto reason = static_cast<Access::Reason>(i);
    values.refused[Access::name(reason)] = access_.refused(reason);
  }
  const MetricsFormat format = metrics_format(accept);
  return make_reply(200, metrics_type(format), metrics_text(values, format));
}

net::HttpReply Api::query(Target& target, const GivenUp& given_up) {
  const auto sql = target.text("sql");
  const std::uint64_t rows = target.count("rows", 10'000);
  if (const auto fault = target.fault()) return error_reply(*fault);
  if (!sql) return error_reply(400, "sql is missing: a statement, percent-encoded");
  if (rows > options_.max_rows) {
    return error_reply(400, "rows may be up to " + std::to_string(options_.max_rows));
  }
  auto run = RunFile::open(options_.file);
  if (!run) return error_reply(unreadable(run.error()));
  (*run)->set_deadline(deadline_in(options_.query_deadline), &given_up);
  Json json;
  JsonRows result(json, rows, options_.max_query_bytes);
  const auto asked = (*run)->query(*sql, result);
  if (!asked && asked.error().code == Code::kTimedOut) {
    return error_reply(504, "SQL may take " + duration_text(options_.query_deadline) +
                                " here: add a condition, or ask the file itself, which has no"
                                " limit: xylem query FILE SQL");
  }
  if (!asked) return error_reply(asked.error());
  if (result.statements > 1) return error_reply(400, "one statement at a time is answered here");
  if (result.statements == 0) return error_reply(400, "sql has no statement that answers");
  if (result.is_too_large) {
    return error_reply(413, "a row is larger than " + std::to_string(options_.max_query_bytes) +
                                " bytes; ask for fewer columns, or parts of them with substr()");
  }
  json.object([&] {
    json.field("version", kApiVersion);
    json.field("view", "query");
    result.write();
  });
  return json_reply(json.take());
}

// Clients without a token can read this, so it contains nothing about the run or its path.
net::HttpReply Api::health() {
  if (monotonic_now() >= health_until_ns_) {
    is_well_ = RunFile::open(options_.file).has_value();
    health_until_ns_ = deadline_in(options_.health_lasts);
  }
  if (!is_well_) return error_reply(503, "the run's file cannot be read now");
  return make_reply(200, "text/plain", "ok\n");
}

std::string Api::server_state() const {
  Json json;
  json.object([&] {
    json.field("version", kApiVersion);
    json.field("view", "server");
    json.object("refused", [&] {
      for (std::size_t i = 0; i < static_cast<std::size_t>(Access::Reason::kReasons); ++i) {
        const auto reason = static_cast<Access::Reason>(i);
        json.field(Access::name(reason), access_.refused(reason));
      }
    });
  });
  return json.take();
}

bool Api::knows(const net::HttpRequest& request) {
  const auto target = Target::parse(request.target);
  return target && target->path() != "/healthz";
}

net::HttpReply Api::refusal(unsigned status, const std::string& sentence) {
  return access_.refuse(Access::Reason::kServer, status, sentence);
}

// An open connection would prevent a run from ending in one plain file. So the file system is asked
// for changes, and the file is opened only after a change.
std::string Api::news() {
  const std::string state = waits_.stamp();
  if (state == seen_ && !news_.empty()) return news_;
  auto run = RunView::open(options_.file);
  Result<Scope> scope = run ? run->scope() : Result<Scope>(unexpected(unreadable(run.error())));
  seen_ = scope ? state : "";  // After an error, an unchanged file is news too.
  Json json;
  json.object([&] {
    json.field("version", kApiVersion);
    json.field("event", scope ? "commit" : "unreadable");
    if (!scope) return write_error(json, scope.error());
    json.field("number", ++changes_);
    json.field("run_end_ns", scope->run_end_ns);
    json.field("has_ended", scope->has_ended);
  });
  news_ = json.take();
  return news_;
}

}  // namespace xylem::viz
