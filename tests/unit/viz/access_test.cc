#include "viz/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/storage/packets.h"

namespace xylem::viz {
namespace {

using storage::Folder;
using ::testing::HasSubstr;
using Reason = Access::Reason;

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() {
    options_.token.fill(0xab);
    options_.port = 8080;
    options_.host_names = {"Node7"};
    request_.method = "GET";
    request_.target = "/api/v1/overview";
    request_.host = "localhost:8080";
  }

  /// 0: it may go on.
  unsigned status() {
    Access access(options_);
    return status(access);
  }
  unsigned status(Access& access) {
    auto target = Target::parse(request_.target);
    EXPECT_TRUE(target);
    reply_ = access.judge(request_, *target);
    return reply_ ? reply_->status : 0;
  }
  std::string header(const std::string& name) const {
    for (const auto& [key, value] : reply_->headers) {
      if (key == name) return value;
    }
    return "";
  }

  AccessOptions options_;
  net::HttpRequest request_;
  std::optional<net::HttpReply> reply_;
};

TEST_F(AccessTest, LetsInWhoeverHasTheToken) {
  const std::string token = net::to_hex(options_.token);
  request_.authorization = "Bearer " + token;
  EXPECT_EQ(status(), 0u);
  request_.authorization = "bearer " + token;
  EXPECT_EQ(status(), 0u);
  request_.authorization = "";
  request_.cookie = "other=1; xylem_8080=" + token;
  EXPECT_EQ(status(), 0u);
}

TEST_F(AccessTest, RefusesAnyOtherTokenAndCountsIt) {
  Access access(options_);
  const std::string token = net::to_hex(options_.token);
  std::string near = token;
  near.back() = 'c';
  unsigned refused = 0;
  for (const std::string& wrong : {std::string(), near, token.substr(1), token + "00",
                                   std::string(64, '0'), std::string("Basic")}) {
    request_.authorization = wrong.empty() ? "" : "Bearer " + wrong;
    EXPECT_EQ(status(access), 401u) << wrong;
    EXPECT_EQ(access.refused(Reason::kToken), ++refused);
  }
  EXPECT_EQ(header("WWW-Authenticate"), "Bearer");
  request_.authorization = "";
  request_.cookie = "xylem_8081=" + token;  // Another server's.
  EXPECT_EQ(status(access), 401u);
  request_.cookie = "xylem_8080=" + near;
  EXPECT_EQ(status(access), 401u);
}

TEST_F(AccessTest, ATokenInTheAddressBecomesACookieAndLeavesTheAddress) {
  const std::string token = net::to_hex(options_.token);
  request_.authorization = "";
  request_.target = "/api/v1/ranks?value=wait&token=" + token;
  EXPECT_EQ(status(), 303u);
  EXPECT_EQ(header("Location"), "/api/v1/ranks?value=wait");
  EXPECT_EQ(header("Set-Cookie"), "xylem_8080=" + token + "; Path=/; HttpOnly; SameSite=Strict");
  request_.target = "/?token=" + std::string(64, '0');
  EXPECT_EQ(status(), 401u);
  EXPECT_EQ(header("Set-Cookie"), "");
}

TEST_F(AccessTest, KnowsItsOwnHostsAndNoOthers) {
  request_.authorization = "Bearer " + net::to_hex(options_.token);
  // A tunnel's other end has another port.
  for (const char* own : {"localhost", "LOCALHOST:1", "127.0.0.1:8080", "[::1]:9", "127.1.2.3"}) {
    request_.host = own;
    EXPECT_EQ(status(), 0u) << own;
  }
  const std::vector<std::string> others = {"Node7:8080", "10.0.0.1:8080", "[fe80::1]"};
  const std::vector<std::string> never = {"",
                                          "evil.example",
                                          "evil.example:8080",
                                          "localhost.evil.example",
                                          "localhost:80:80",
                                          "localhost:x",
                                          "[::1",
                                          "[::1]x",
                                          "127.0.0.1.evil.example",
                                          "localhost@evil.example"};
  for (const std::string& host : others) {
    request_.host = host;
    EXPECT_EQ(status(), 403u) << host;
  }
  options_.is_loopback = false;
  for (const std::string& host : others) {
    request_.host = host;
    EXPECT_EQ(status(), 0u) << host;
  }
  for (const std::string& host : never) {
    request_.host = host;
    EXPECT_EQ(status(), 403u) << host;
  }
}

TEST_F(AccessTest, RefusesOtherSitesPages) {
  request_.authorization = "Bearer " + net::to_hex(options_.token);
  request_.origin = "http://localhost:8080";
  EXPECT_EQ(status(), 0u);
  for (const char* other : {"http://evil.example", "null", "http://localhost:8081",
                            "http://localhost", "http://localhost:80800"}) {
    request_.origin = other;
    EXPECT_EQ(status(), 403u) << other;
  }
}

TEST_F(AccessTest, OnlyReads) {
  request_.authorization = "Bearer " + net::to_hex(options_.token);
  request_.method = "HEAD";
  EXPECT_EQ(status(), 0u);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"}) {
    request_.method = method;
    EXPECT_EQ(status(), 405u) << method;
    EXPECT_EQ(header("Allow"), "GET, HEAD");
  }
}

TEST_F(AccessTest, RefusesAHeaderThatCameTwice) {
  request_.authorization = "Bearer " + net::to_hex(options_.token);
  request_.is_ambiguous = true;
  EXPECT_EQ(status(), 400u);
}

TEST_F(AccessTest, HealthNeedsNoTokenButTheRightHost) {
  request_.authorization = "";
  request_.target = "/healthz";
  EXPECT_EQ(status(), 0u);
  request_.host = "evil.example";
  EXPECT_EQ(status(), 403u);
}

TEST(TokenFile, IsMadeForItsOwnerOnlyAndReadAgain) {
  const Folder folder;
  const std::string path = folder.file("token");
  const auto made = token_from_file(path);
  ASSERT_TRUE(made) << made.error().message;
  struct stat found {};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  const auto again = token_from_file(path);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *made);
  EXPECT_NE(*token_from_file(folder.file("other")), *made);
}

TEST(TokenFile, IsRefusedWhenOthersMayReadItOrNoTokenIsInIt) {
  const Folder folder;
  const std::string path = folder.file("token");
  ASSERT_TRUE(token_from_file(path));
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const auto readable = token_from_file(path);
  ASSERT_FALSE(readable);
  EXPECT_EQ(readable.error().code, Code::kPermissionDenied);
  EXPECT_THAT(readable.error().message, HasSubstr("0600"));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  std::ofstream(path) << "secret";
  const auto none = token_from_file(path);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, ::testing::Not(HasSubstr("secret")));
  EXPECT_FALSE(token_from_file(folder.path()));
  EXPECT_FALSE(token_from_file(folder.file("no/where")));
}

}  // namespace
}  // namespace xylem::viz
