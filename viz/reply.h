#pragma once

// Makes replies with the headers that all replies have.

#include <string>

#include "base/result.h"
#include "net/http.h"
#include "viz/json.h"
#include "viz/page.h"

namespace xylem::viz {

/// The `version` of each JSON object. A change that breaks readers increases it, and `v1` in paths.
constexpr int kApiVersion = 1;

/// A reply with headers that forbid caching, content sniffing, framing and reading by other
/// origins, and that allow loading only from this server.
net::HttpReply make_reply(unsigned status, const std::string& type, std::string body);
net::HttpReply json_reply(std::string body);

/// A file of the page. Always compressed, since every browser supports it.
net::HttpReply file_reply(const PageFile& file);

/// An error as JSON: {"version":1,"error":{"status":404,"code":"not_found","message":"..."}}
net::HttpReply error_reply(unsigned status, const std::string& sentence);
/// With the status that fits `error`.
net::HttpReply error_reply(const Error& error);
/// The same as a field of an object that says more: "error":{"status":404,...}
void write_error(Json& json, const Error& error);

}  // namespace xylem::viz
