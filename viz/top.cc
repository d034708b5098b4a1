#include "viz/top.h"

#include <utility>

#include "viz/answers.h"
#include "viz/json.h"
#include "viz/reply.h"

namespace xylem::viz {
namespace {

using namespace storage;

/// More functions than MPI has.
constexpr std::uint64_t kMaxFunctions = 1000;

/// If the query fails, keeps the failure and does not replace the old answer.
template <typename Answer>
bool put(Result<Answer> answer, std::optional<Answer>& to, std::string& fault) {
  if (answer) {
    to = *std::move(answer);
    return true;
  }
  fault = answer.error().message;
  return false;
}

TimeRange range_of(const TopQuestion& question, const Scope& scope) {
  if (!question.recent_ns) return {};
  return {std::max(scope.run_begin_ns, scope.run_end_ns - *question.recent_ns), scope.run_end_ns};
}

bool ask_ranks(RunView& run, const TopQuestion& question, const TimeRange& range,
               TopAnswers& answers) {
  TopAnswers::Ranks ranks;
  for (const auto& [value, grid] :
       {std::pair{RankValue::kMpi, &ranks.mpi}, std::pair{RankValue::kWait, &ranks.wait},
        std::pair{RankValue::kCalls, &ranks.calls}, std::pair{RankValue::kBytes, &ranks.bytes}}) {
    RankGridQuery query;
    query.ranks.world = question.world;
    query.range = range;
    query.value = value;
    query.columns = 1;
    query.rows = kMaxRows;
    auto answer = run.ranks(query);
    if (!answer) {
      answers.fault = answer.error().message;
      return false;
    }
    *grid = *std::move(answer);
  }
  auto under_way = run.under_way({.ranks = {question.world}, .limit = kMaxCalls});
  if (!under_way) {
    answers.fault = under_way.error().message;
    return false;
  }
  ranks.under_way = *std::move(under_way);
  answers.ranks = std::move(ranks);
  return true;
}

}  // namespace

TopQuestion question_of(const TopChoice& choice, Nanos recent_ns) {
  TopQuestion question;
  const bool all = choice.is_paused;
  const bool is_overview = choice.pane == TopPane::kOverview;
  question.functions = all || is_overview || choice.pane == TopPane::kFunctions;
  question.ranks = all || is_overview || choice.pane == TopPane::kRanks;
  question.tree = all || is_overview || choice.pane == TopPane::kTree;
  question.notices = all || choice.pane == TopPane::kNotices;
  question.world = choice.world;
  if (choice.is_recent) question.recent_ns = recent_ns;
  return question;
}

void ask_top(RunView& run, const TopQuestion& question, TopAnswers& answers) {
  answers.fault.clear();
  if (!put(run.overview(), answers.overview, answers.fault)) return;
  const TimeRange range = range_of(question, answers.overview->scope);
  if (question.functions) {
    FunctionQuery query;
    query.ranks.world = question.world;
    query.range = range;
    query.limit = kMaxFunctions;
    if (!put(run.functions(query), answers.functions, answers.fault)) return;
  }
  if (question.ranks && !ask_ranks(run, question, range, answers)) return;
  if (question.tree && !put(run.tree(), answers.tree, answers.fault)) return;
  if (!put(run.alerts(), answers.alerts, answers.fault)) return;
  if (question.notices) put(run.notices(), answers.notices, answers.fault);
}

std::string top_json(const TopAnswers& answers) {
  Json json;
  const auto part = [&json](const char* name, const auto& answer, auto... how) {
    if (!answer) return;
    json.written(name, to_json(*answer, how...));
  };
  json.object([&] {
    json.field("version", kApiVersion);
    json.field("view", "top");
    part("overview", answers.overview);
    part("functions", answers.functions);
    if (answers.ranks) {
      const TopAnswers::Ranks& ranks = *answers.ranks;
      json.object("ranks", [&] {
        json.written("mpi", to_json(ranks.mpi, RankValue::kMpi));
        json.written("wait", to_json(ranks.wait, RankValue::kWait));
        json.written("calls", to_json(ranks.calls, RankValue::kCalls));
        json.written("bytes", to_json(ranks.bytes, RankValue::kBytes));
        json.written("under_way", to_json(ranks.under_way));
      });
    }
    part("tree", answers.tree);
    part("notices", answers.notices);
    part("alerts", answers.alerts);
  });
  return json.take() + '\n';
}

}  // namespace xylem::viz
