// Addresses of HTTP requests, from anybody: what can be read is a path and parameters, what cannot
// is refused with a sentence, and without its token it is still what it was.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "viz/access.h"
#include "viz/parameters.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  auto target = viz::Target::parse(text);
  if (!target) {
    CHECK(target.error().code == Code::kInvalidArgument && !target.error().message.empty());
    return 0;
  }
  CHECK(target->path().starts_with("/") && target->path().find('\0') == std::string::npos);
  for (const char* name : {"columns", "begin_ns", "value", "distribution"}) {
    target->count(name, 3);
    target->nanos(name);
    target->flag(name);
    CHECK(target->choice(name, "mpi|wait") < 2);
  }
  const auto fault = target->fault();
  CHECK(!fault || !fault->message.empty());

  // A redirection leads to this server, and never on.
  const std::string rest = viz::Target::without(text, "token");
  auto again = viz::Target::parse(rest);
  CHECK(again && again->path() == target->path() && !again->text("token"));
  CHECK(viz::Target::without(rest, "token") == rest);

  // The other things of a request that are read here.
  viz::Access access({});
  net::HttpRequest request;
  request.method = "GET";
  request.target = "/";
  request.host = std::string(text);
  request.cookie = std::string(text);
  request.authorization = std::string(text);
  auto page = viz::Target::parse("/");
  CHECK(page);
  access.judge(request, *page);
  request.host = "localhost";
  access.judge(request, *page);
  return 0;
}
