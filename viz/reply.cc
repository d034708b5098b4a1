#include "viz/reply.h"

#include <utility>

#include "viz/json.h"

namespace xylem::viz {
namespace {

const char* code_of(unsigned status) {
  switch (status) {
    case 400:
      return "invalid_argument";
    case 401:
      return "unauthorized";
    case 403:
      return "permission_denied";
    case 404:
      return "not_found";
    case 405:
      return "method_not_allowed";
    case 408:
    case 504:
      return "timed_out";
    case 413:
    case 431:
      return "too_large";
    case 426:
      return "upgrade_required";
    case 503:
      return "unavailable";
    default:
      return "internal";
  }
}

unsigned status_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return 400;
    case Code::kPermissionDenied:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kExhausted:
      return 413;
    case Code::kTimedOut:
      return 504;
    case Code::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

void write_status(Json& json, unsigned status, const std::string& sentence) {
  json.object("error", [&] {
    json.field("status", status);
    json.field("code", code_of(status));
    json.field("message", sentence);
  });
}

}  // namespace

net::HttpReply make_reply(unsigned status, const std::string& type, std::string body) {
  net::HttpReply reply;
  reply.status = status;
  reply.headers = {
      {"Content-Type", type},
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src"
       " 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cache-Control", "no-store"},
  };
  reply.body = std::move(body);
  return reply;
}

net::HttpReply json_reply(std::string body) {
  return make_reply(200, "application/json", std::move(body));
}

net::HttpReply file_reply(const PageFile& file) {
  net::HttpReply reply = make_reply(200, std::string(file.type), std::string(file.gzip));
  reply.headers.emplace_back("Content-Encoding", "gzip");
  if (file.keeps) {
    for (auto& [name, value] : reply.headers) {
      if (name == "Cache-Control") value = "private, max-age=31536000, immutable";
    }
  }
  return reply;
}

net::HttpReply error_reply(unsigned status, const std::string& sentence) {
  Json json;
  json.object([&] {
    json.field("version", kApiVersion);
    write_status(json, status, sentence);
  });
  return make_reply(status, "application/json", json.take());
}

net::HttpReply error_reply(const Error& error) {
  return error_reply(status_of(error.code), error.message);
}

void write_error(Json& json, const Error& error) {
  write_status(json, status_of(error.code), error.message);
}

}  // namespace xylem::viz
