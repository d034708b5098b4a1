#pragma once

// Makes HTTP replies, with the headers that all replies have.

#include <string>

#include "base/result.h"
#include "net/http.h"
#include "viz/json.h"
#include "viz/page.h"

namespace xylem::viz {

/// Value of the field `version` in each JSON answer. A change that breaks clients increases this
/// number, and also changes `v1` in the paths.
constexpr int kApiVersion = 1;

/// Returns a reply. The headers forbid caching, content sniffing, framing and access by other
/// origins. They also forbid a page to load files of other servers.
net::HttpReply make_reply(unsigned status, const std::string& type, std::string body);
net::HttpReply json_reply(std::string body);

/// Returns a reply with a file of the page. It is always compressed, because every browser supports
/// gzip.
net::HttpReply file_reply(const PageFile& file);

/// Returns an error as JSON:
/// {"version":1,"error":{"status":404,"code":"not_found","message":"..."}}
net::HttpReply error_reply(unsigned status, const std::string& sentence);
/// Returns the reply for `error`. The error's code decides the status.
net::HttpReply error_reply(const Error& error);
/// Writes the field "error":{"status":404,...} into the open object.
void write_error(Json& json, const Error& error);

}  // namespace xylem::viz
