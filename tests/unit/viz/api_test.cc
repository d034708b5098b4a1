#include "viz/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/unit/storage/stored_run.h"
#include "viz/answers.h"
#include "viz/compression.h"
#include "viz/page.h"

namespace xylem::viz {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ApiTest : public storage::StoredRun {
 protected:
  ApiTest() : StoredRun(facts()) {
    put(storage::registration_packet(0, {storage::process_row(1, 0)}));
    put(storage::window_packet(0, 0, 3, storage::account_row(0, 1, 3)));
    EXPECT_TRUE(store_->commit());
  }

  static storage::RunFacts facts() {
    storage::RunFacts facts;
    facts.command = {"<script>alert(1)</script>", "\"&'\xff"};
    facts.window_ns = 250 * kMillisecond;
    return facts;
  }

  net::HttpReply get(const std::string& target) { return get(api_, target); }
  static net::HttpReply get(Api& api, const std::string& target) {
    net::HttpRequest request;
    request.method = "GET";
    request.target = target;
    const std::atomic<bool> given_up = false;
    return api.answer(request, given_up);
  }

  static std::string header(const net::HttpReply& reply, const std::string& wanted) {
    for (const auto& [name, value] : reply.headers) {
      if (name == wanted) return value;
    }
    return "";
  }

  static std::string unpacked(const std::string& gzip) {
    std::string plain(1 << 20, '\0');
    z_stream stream{};
    EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
    stream.avail_in = static_cast<uInt>(gzip.size());
    stream.next_out = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_out = static_cast<uInt>(plain.size());
    EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
    ::inflateEnd(&stream);
    plain.resize(stream.total_out);
    return plain;
  }

  Api api_{{path_}, {}};
};

TEST_F(ApiTest, EachReplyForbidsWhatAPageNeedNotDo) {
  for (const char* target : {"/", "/api/v1/overview", "/api/v1/query", "/nothing", "/healthz"}) {
    std::map<std::string, std::string> headers;
    for (const auto& [name, value] : get(target).headers) headers[name] = value;
    EXPECT_THAT(headers["Content-Security-Policy"], StartsWith("default-src 'none'"));
    EXPECT_THAT(headers["Content-Security-Policy"], Not(HasSubstr("unsafe")));
    EXPECT_EQ(headers["X-Content-Type-Options"], "nosniff");
    EXPECT_EQ(headers["Referrer-Policy"], "no-referrer");
    EXPECT_EQ(headers["Cache-Control"], "no-store");
  }
}

TEST_F(ApiTest, ThePageIsServedCompressedOrItIsSaidThatThereIsNone) {
  const net::HttpReply page = get("/");
  if (page_files().empty()) {
    EXPECT_EQ(page.status, 404u);
    EXPECT_THAT(page.body, HasSubstr("built without its web page"));
    return;
  }
  for (const PageFile& file : page_files()) {
    const net::HttpReply reply = get(std::string(file.path));
    EXPECT_EQ(reply.status, 200u) << file.path;
    EXPECT_EQ(header(reply, "Content-Encoding"), "gzip");
    EXPECT_THAT(reply.body, StartsWith("\x1f\x8b"));
    EXPECT_THAT(header(reply, "Content-Type"), HasSubstr("charset=utf-8"));
    // Only what has its hash in its name may be kept.
    const bool has_hash = file.path.starts_with("/page-");
    EXPECT_THAT(header(reply, "Cache-Control"), HasSubstr(has_hash ? "immutable" : "no-store"));
    EXPECT_EQ(get(std::string(file.path) + "?x=1").status, 400u);
  }
}

TEST_F(ApiTest, ViewsAreJsonWithWhatWasAskedFor) {
  const net::HttpReply ranks = get("/api/v1/ranks?value=calls&first_rank=0&end_rank=1");
  EXPECT_EQ(ranks.status, 200u) << ranks.body;
  EXPECT_THAT(ranks.body, StartsWith("{\"version\":1,\"view\":\"ranks\",\"scope\":{"));
  EXPECT_THAT(ranks.body, HasSubstr("\"cells\":[3]"));
  EXPECT_THAT(get("/api/v1/overview").body, HasSubstr("\"captured\":3"));
  // Bytes that are no text have a place in JSON all the same.
  EXPECT_THAT(get("/api/v1/overview").body, HasSubstr("\\ufffd"));
}

TEST_F(ApiTest, CellsHaveAsManyDigitsAsAreWanted) {
  storage::RankGrid grid;
  grid.columns = 7;
  grid.rows.push_back({0, 1, "", 123456});
  grid.cells = {0, 999, 1234, 12344, 12345, 99999, 18446744073709551615u};
  const auto cells = [&](std::uint64_t digits) {
    const std::string json = to_json(grid, storage::RankValue::kBytes, digits);
    const std::size_t at = json.find("\"cells\":");
    return json.substr(at + 8, json.find(']', at) - at - 7);
  };
  EXPECT_EQ(cells(0), "[0,999,1234,12344,12345,99999,18446744073709551615]");
  // One digit less for an exponent of two is no shorter.
  EXPECT_EQ(cells(3), "[0,999,1234,123e2,123e2,1000e2,184e17]");
  EXPECT_EQ(cells(20), cells(0));
  EXPECT_THAT(to_json(grid, storage::RankValue::kBytes, 1), HasSubstr("\"total\":123456"));
  EXPECT_EQ(get("/api/v1/ranks?digits=4").status, 200u);
  EXPECT_EQ(get("/api/v1/timeline?digits=4").status, 200u);
  EXPECT_EQ(get("/api/v1/ranks?digits=few").status, 400u);
  EXPECT_EQ(get("/api/v1/matrix?digits=4").status, 400u);
}

TEST_F(ApiTest, DensitiesNameTheClassOfEachSlot) {
  storage::Timeline timeline;
  EXPECT_THAT(to_json(timeline), HasSubstr("\"detail\":\"windows\""));
  EXPECT_THAT(to_json(timeline), Not(HasSubstr("\"densities\"")));
  timeline.detail = storage::TimelineDetail::kDensities;
  timeline.densities.columns = 3;
  timeline.densities.rows.push_back({0, 1, "", 60, 300});
  timeline.densities.cells = {10, 20, 30};
  timeline.densities.watched = {100, 100, 100};
  timeline.densities.classes = {"collective", "probe"};
  timeline.densities.dominant = {0, 1, 1};
  EXPECT_THAT(to_json(timeline),
              HasSubstr("\"columns\":3,\"classes\":[\"collective\",\"probe\"],"));
  EXPECT_THAT(to_json(timeline), HasSubstr("\"dominant\":[[1,0],[2,1]]"));
}

TEST_F(ApiTest, AMessageMayHaveOneEnd) {
  storage::Timeline timeline;
  timeline.messages.push_back({Rank{1}, Rank{2}, std::nullopt, 30, 8, 5, CommId{0}});
  timeline.unpaired = 1;
  timeline.backwards = 3;
  EXPECT_THAT(
      to_json(timeline),
      HasSubstr("\"messages_in_all\":0,\"unpaired\":1,\"backwards\":3,\"messages\":[{\"source\":1,"
                "\"destination\":2,\"sent_ns\":null,\"received_ns\":30,\"bytes\":8,\"tag\":5,"
                "\"comm\":0}]"));
}

TEST_F(ApiTest, AFaultIsASentenceWithAStatus) {
  const auto is = [](const net::HttpReply& reply, unsigned status, const char* part) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_THAT(reply.body, StartsWith("{\"version\":1,\"error\":{\"status\":"));
    EXPECT_THAT(reply.body, HasSubstr(part));
  };
  is(get("/api/v1/ranks?world=7"), 404, "no world 7");
  is(get("/api/v1/ranks?columns=1e3"), 400, "columns must be");
  is(get("/api/v1/ranks?colums=3"), 400, "'colums'");
  is(get("/api/v1/series"), 400, "name is missing");
  is(get("/api/v1/search?function=MPI_Sned"), 400, "MPI_Sned");
  is(get("/api/v1/search?tag=x"), 400, "tag must be");
  is(get("/api/v2/ranks"), 404, "nothing at this path");
  is(get("/api/v1/query"), 400, "sql is missing");
  is(get("/api/v1/query?sql="), 400, "no statement");
  is(get("/api/v1/ranks?world=4294967296"), 400, "world must be");
  is(get("/api/v1/matrix?world=4294967296"), 400, "world must be");
  is(get("/api/v1/series?name=idle&leaf=4294967296"), 400, "leaf must be");
  is(get("/api/v1/functions?series=99999999"), 400, "series must be");
  is(get("/api/v1/query?sql=SELEC"), 400, "SQL");
  is(get("/api/v1/query?sql=SELECT+1;SELECT+2"), 400, "one statement");
  is(get("/api/v1/query?sql=DELETE+FROM+run"), 403, "only reading");
  is(get("/api/v1/query?sql=ATTACH+'/etc/passwd'+AS+x"), 403, "only reading");
  is(get("/api/v1/query?sql=SELECT+load_extension('x')"), 403, "only reading");
  is(get("/api/v1/query?sql=PRAGMA+journal_mode=DELETE"), 403, "only reading");
  Api of_text({folder_.file("text")}, {});
  for (const char* text :
       {"",
        "no run's file, and longer than the head of one has to be, whatever it says in "
        "there: so that it counts as a file of another kind, and as no short one"}) {
    std::ofstream(folder_.file("text")) << text;
    for (const char* path : {"overview", "query?sql=SELECT+1"}) {
      is(get(of_text, std::string("/api/v1/") + path), 503, "text: it is");
    }
    EXPECT_EQ(get(of_text, "/metrics").status, 503u);
    EXPECT_THAT(of_text.news(), HasSubstr("\"status\":503"));
  }
  Api of_nothing({folder_.file("none.db")}, {});
  is(get(of_nothing, "/api/v1/overview"), 404, "none.db");
  EXPECT_EQ(get(of_nothing, "/healthz").status, 503u);
  EXPECT_THAT(get(of_nothing, "/healthz").body, Not(HasSubstr("none.db")));
}

TEST_F(ApiTest, HealthIsSaidAgainForAWhile) {
  for (const auto& [lasts, then] : {std::pair{kForever, 200u}, std::pair{Nanos{0}, 503u}}) {
    ApiOptions options{path_};
    options.health_lasts = lasts;
    Api api(options, {});
    EXPECT_EQ(get(api, "/healthz").status, 200u);
    const std::string away = path_ + ".away";
    std::filesystem::rename(path_, away);
    EXPECT_EQ(get(api, "/healthz").status, then);
    std::filesystem::rename(away, path_);
  }
}

TEST_F(ApiTest, AnEndlessQuestionEnds) {
  ApiOptions options{path_};
  options.query_deadline = 20 * kMillisecond;
  Api api(options, {});
  const net::HttpReply reply =
      get(api,
          "/api/v1/query?sql=WITH+RECURSIVE+n(i)+AS+(SELECT+1+UNION+ALL+SELECT+1+FROM+n)"
          "+SELECT+count(*)+FROM+n");
  EXPECT_EQ(reply.status, 504u) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("SQL may take 20.0 ms here"));
}

TEST_F(ApiTest, AQuestionThatIsGivenUpEnds) {
  ApiOptions options{path_};
  options.query_deadline = kForever;
  Api api(options, {});
  net::HttpRequest request;
  request.target =
      "/api/v1/query?sql=WITH+RECURSIVE+n(i)+AS+(SELECT+1+UNION+ALL+SELECT+1+FROM+n)"
      "+SELECT+count(*)+FROM+n";
  std::atomic<bool> given_up = false;
  std::thread asker([&] {
    std::this_thread::yield();
    given_up = true;
  });
  const net::HttpReply reply = api.answer(request, given_up);
  asker.join();
  EXPECT_EQ(reply.status, 504u);
  EXPECT_THAT(reply.body, HasSubstr("cancelled"));
}

TEST_F(ApiTest, LongAnswersAreCompressedForThoseWhoTakeIt) {
  const std::string sql = "/api/v1/query?sql=SELECT+hex(zeroblob(";
  const auto ask = [&](const std::string& target, const std::string& encodings) {
    net::HttpRequest request;
    request.target = target;
    request.accept_encoding = encodings;
    const std::atomic<bool> given_up = false;
    return api_.answer(request, given_up);
  };
  const net::HttpReply plain = ask(sql + "20000))", "");
  EXPECT_EQ(header(plain, "Content-Encoding"), "");
  EXPECT_EQ(header(plain, "Vary"), "Accept-Encoding");
  EXPECT_GT(plain.body.size(), 40000u);
  const net::HttpReply packed = ask(sql + "20000))", "br, gzip;q=0.5");
  EXPECT_EQ(header(packed, "Content-Encoding"), "gzip");
  EXPECT_LT(packed.body.size(), 400u);
  EXPECT_EQ(unpacked(packed.body), plain.body);
  EXPECT_EQ(header(ask(sql + "20))", "gzip"), "Content-Encoding"), "");
  EXPECT_THAT(header(packed, "Server-Timing"), HasSubstr("cpu;dur="));
  // What is a file of the page is so already.
  EXPECT_EQ(header(ask("/", "gzip"), "Content-Encoding"), header(get("/"), "Content-Encoding"));
}

TEST_F(ApiTest, SaysHowMuchTimeAnAnswerTook) {
  const net::HttpReply reply =
      get("/api/v1/query?sql=WITH+n(i)+AS+(SELECT+1+UNION+ALL+SELECT+i%2B1+FROM+n+WHERE+i<100000)"
          "+SELECT+sum(i)+FROM+n");
  ASSERT_EQ(reply.status, 200u) << reply.body;
  const std::string timing = header(reply, "Server-Timing");
  double cpu_ms = 0, total_ms = 0;
  ASSERT_EQ(std::sscanf(timing.c_str(), "cpu;dur=%lf, total;dur=%lf", &cpu_ms, &total_ms), 2)
      << timing;
  EXPECT_GT(cpu_ms, 0) << timing;
  EXPECT_LE(cpu_ms, total_ms + 1) << timing;  // The two clocks differ by their resolutions.
}

TEST(TakesGzip, AsTheHeaderSays) {
  for (const char* yes : {"gzip", "GZIP", "deflate, gzip", "gzip;q=1", "br;q=1 , gzip ; q=0.1", "*",
                          "x-gzip", "*;q=0, gzip"}) {
    EXPECT_TRUE(takes_gzip(yes)) << yes;
  }
  for (const char* no : {"", "br", "identity", "gzip;q=0", "gzip;q=0.000", "gzip;x=1;q=0",
                         "gzip; q = 0", "*;q=0", "*, gzip;q=0", "gzipped", ",;,", "q=1"}) {
    EXPECT_FALSE(takes_gzip(no)) << no;
  }
}

TEST_F(ApiTest, NumbersThatJavaScriptWouldRoundAreText) {
  EXPECT_THAT(get("/api/v1/query?sql=SELECT+9007199254740992,9007199254740993,-9007199254740993,"
                  "9223372036854775807,-9007199254740992,1e300")
                  .body,
              HasSubstr("[[9007199254740992,\"9007199254740993\",\"-9007199254740993\","
                        "\"9223372036854775807\",-9007199254740992,1e+300]]"));
}

TEST_F(ApiTest, RowsOfAQuestionAreCutAndSaidToBe) {
  const std::string ten =
      "/api/v1/query?sql=WITH+RECURSIVE+n(i)+AS+(SELECT+1+UNION+ALL+SELECT+i%2B1+FROM+n+WHERE+i<10)"
      "+SELECT+i+FROM+n&rows=";
  EXPECT_THAT(get(ten + "3").body, HasSubstr("\"rows\":[[1],[2],[3]],\"is_cut\":true"));
  EXPECT_THAT(get(ten + "10").body, HasSubstr("\"is_cut\":false"));
  EXPECT_EQ(get(ten + "100001").status, 400u);
  ApiOptions options{path_};
  options.max_query_bytes = 10;
  Api api(options, {});
  EXPECT_THAT(get(api, ten + "10").body, HasSubstr("[[1],[2]],\"is_cut\":true"));
}

TEST_F(ApiTest, ARowBeyondTheBoundOfAnAnswerIsRefused) {
  const net::HttpReply reply =
      get("/api/v1/query?sql=SELECT+hex(zeroblob(2500000)),hex(zeroblob(2500000))");
  EXPECT_EQ(reply.status, 413u) << reply.body.size() << " bytes";
  // JSON makes six bytes of one.
  EXPECT_EQ(get("/api/v1/query?sql=SELECT+replace(hex(zeroblob(1000000)),'0',char(1))").status,
            413u);
  EXPECT_EQ(get("/api/v1/query?sql=SELECT+hex(zeroblob(2500000))").status, 200u);
}

TEST_F(ApiTest, NewsComeWithEachCommitAndOnlyThen) {
  const std::string first = api_.news();
  EXPECT_THAT(first, HasSubstr("\"event\":\"commit\",\"number\":1"));
  EXPECT_EQ(api_.news(), first);
  ASSERT_TRUE(store_->put(storage::window_packet(1, 0, 2, storage::account_row(0, 1, 5))));
  ASSERT_TRUE(store_->commit());
  EXPECT_THAT(api_.news(), HasSubstr("\"number\":2,\"run_end_ns\":500000000,\"has_ended\":false"));
  ASSERT_TRUE(store_->end_run(0, kSecond));
  EXPECT_THAT(api_.news(), HasSubstr("\"has_ended\":true"));
}

TEST_F(ApiTest, NewsSayWhyTheFileCannotBeReadAndThatItCanBeAgain) {
  ASSERT_TRUE(store_->end_run(0, kSecond));
  store_.reset();
  EXPECT_THAT(api_.news(), HasSubstr("\"event\":\"commit\",\"number\":1"));
  std::filesystem::rename(path_, path_ + ".away");
  const std::string gone = api_.news();
  EXPECT_THAT(gone, HasSubstr("\"event\":\"unreadable\",\"error\":{\"status\":404"));
  EXPECT_THAT(gone, HasSubstr(path_ + ": No such file or directory"));
  EXPECT_EQ(api_.news(), gone);
  std::filesystem::rename(path_ + ".away", path_);
  EXPECT_THAT(api_.news(), HasSubstr("\"event\":\"commit\",\"number\":2"));
}

TEST_F(ApiTest, AWebSocketIsWhereItIsAndNowhereElse) {
  AccessOptions access;
  Api api({path_}, access);
  net::HttpRequest request;
  request.method = "GET";
  request.host = "localhost";
  request.authorization = "Bearer " + net::to_hex(access.token);
  request.target = "/api/v1/live";
  EXPECT_EQ(api.screen(request)->status, 426u);
  request.is_websocket = true;
  EXPECT_FALSE(api.screen(request));
  request.target = "/api/v1/ranks";
  EXPECT_EQ(api.screen(request)->status, 404u);
  request.target = "/%";
  EXPECT_EQ(api.screen(request)->status, 400u);
  EXPECT_THAT(get(api, "/api/v1/server").body, HasSubstr("\"malformed\":1"));
}

}  // namespace
}  // namespace xylem::viz
