#pragma once

// Replies with the headers that each of them has.

#include <string>

#include "base/result.h"
#include "net/http.h"
#include "viz/json.h"
#include "viz/page.h"

namespace xylem::viz {

/// What each JSON object begins with; a change that breaks readers raises it, and the paths' `v1`.
constexpr int kApiVersion = 1;

/// A reply that no browser keeps, sniffs, frames or lets scripts of others read, and whose page can
/// load nothing but from this server.
net::HttpReply make_reply(unsigned status, const std::string& type, std::string body);
net::HttpReply json_reply(std::string body);

/// A file of the page. Compressed, whoever asks: every browser reads that, nobody else wants it.
net::HttpReply file_reply(const PageFile& file);

/// An error as JSON: {"version":1,"error":{"status":404,"code":"not_found","message":"..."}}
net::HttpReply error_reply(unsigned status, const std::string& sentence);
/// With the status that says best what `error` is.
net::HttpReply error_reply(const Error& error);
/// The same as a field of an object that says more: "error":{"status":404,...}
void write_error(Json& json, const Error& error);

}  // namespace xylem::viz
