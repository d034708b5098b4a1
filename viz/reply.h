#pragma once

// Makes HTTP replies, with the headers that all of them have.

#include <string>

#include "base/result.h"
#include "net/http.h"
#include "viz/json.h"
#include "viz/page.h"

namespace xylem::viz {

/// The field `version` of each JSON answer. A change that breaks clients increases it, and also
/// changes `v1` in the paths.
constexpr int kApiVersion = 1;

/// A reply whose headers forbid caching, content sniffing, framing and access by other origins. A
/// page may load only files of this server.
net::HttpReply make_reply(unsigned status, const std::string& type, std::string body);
net::HttpReply json_reply(std::string body);

/// A file of the page. It is always compressed, since every browser supports gzip.
net::HttpReply file_reply(const PageFile& file);

/// An error as JSON: {"version":1,"error":{"status":404,"code":"not_found","message":"..."}}
net::HttpReply error_reply(unsigned status, const std::string& sentence);
/// The reply to `error`. Its code decides the status.
net::HttpReply error_reply(const Error& error);
/// Writes only the field "error":{"status":404,...} into the open object.
void write_error(Json& json, const Error& error);

}  // namespace xylem::viz
