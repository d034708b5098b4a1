#include "launch/setup.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/json/src.hpp>
#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace xylem::launch {
namespace {

namespace json = boost::json;

json::array to_array(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

// Lists the fields once, for reading and for writing, so that neither can forget a field.
template <typename AnySetup, typename Field>
void each_field(AnySetup& setup, Field field) {
  field("run", setup.run);
  field("command", setup.command);
  field("directory", setup.directory);
  field("user", setup.user);
  field("settings", setup.settings);
  field("sections", setup.sections);
  field("store", setup.store);
  field("live_path", setup.live_path);
  field("plugins", setup.plugins);
  field("first_plugin_fd", setup.first_plugin_fd);
  field("fold_mark_fd", setup.fold_mark_fd);
  field("unmerged_streams", setup.unmerged_streams);
  field("remote", setup.remote);
  field("counts_calls", setup.counts_calls);
  field("reachable_hosts", setup.reachable_hosts);
  field("pretend_file_system", setup.pretend_file_system);
}

struct Writer {
  json::object& object;
  void operator()(const char* name, const std::string& value) { object[name] = value; }
  void operator()(const char* name, const std::vector<std::string>& value) {
    object[name] = to_array(value);
  }
  void operator()(const char* name, const std::vector<ConfigEntry>& entries) {
    json::array array;
    for (const ConfigEntry& it : entries) array.push_back({it.key, it.value, it.line});
    object[name] = std::move(array);
  }
  void operator()(const char* name, const std::vector<SettingValue>& values) {
    json::array array;
    for (const SettingValue& it : values) array.push_back({it.name, it.value, it.source});
    object[name] = std::move(array);
  }
  void operator()(const char* name, bool value) { object[name] = value; }
  void operator()(const char* name, long value) { object[name] = value; }
};

struct Reader {
  const json::object& object;
  void operator()(const char* name, std::string& value) {
    value = std::string(object.at(name).as_string());
  }
  void operator()(const char* name, std::vector<std::string>& value) {
    for (const json::value& text : object.at(name).as_array()) {
      value.emplace_back(text.as_string());
    }
  }
  void operator()(const char* name, std::vector<ConfigEntry>& entries) {
    for (const json::value& it : object.at(name).as_array()) {
      const json::array& entry = it.as_array();
      entries.push_back({std::string(entry.at(0).as_string()), std::string(entry.at(1).as_string()),
                         static_cast<int>(entry.at(2).as_int64())});
    }
  }
  void operator()(const char* name, std::vector<SettingValue>& values) {
    for (const json::value& it : object.at(name).as_array()) {
      const json::array& setting = it.as_array();
      values.push_back({std::string(setting.at(0).as_string()),
                        std::string(setting.at(1).as_string()),
                        std::string(setting.at(2).as_string())});
    }
  }
  void operator()(const char* name, bool& value) { value = object.at(name).as_bool(); }
  void operator()(const char* name, long& value) { value = object.at(name).as_int64(); }
};

}  // namespace

std::string to_json(const Setup& setup) {
  json::object object;
  each_field(setup, Writer{object});
  object["key"] = net::to_hex(setup.key);
  return json::serialize(object);
}

Result<Setup> parse_setup(std::string_view text) {
  // Boost.JSON tells of a missing or misplaced field by an exception; it ends here.
  try {
    const json::value value = json::parse(json::string_view(text.data(), text.size()));
    const json::object& object = value.as_object();
    Setup setup;
    each_field(setup, Reader{object});
    auto key = net::parse_key(std::string(object.at("key").as_string()));
    if (!key) return unexpected(Code::kCorrupt, std::move(key.error().message));
    setup.key = *key;
    return setup;
  } catch (const std::exception& e) {
    return unexpected(Code::kCorrupt, std::string("the front end's setup is not readable: ") +
                                          e.what() + "; start it through `xylem run`");
  }
}

Result<Setup> receive_setup(int control_fd) {
  std::string line;
  for (char c; ::read(control_fd, &c, 1) == 1;) {
    if (c == '\n') return parse_setup(line);
    line += c;
  }
  return unexpected(Code::kUnavailable, "the control channel ended before the setup arrived");
}

void send_answer(int control_fd, const std::string& line) {
  const std::string text = line + "\n";
  if (::send(control_fd, text.data(), text.size(), MSG_NOSIGNAL) < 0) {
    log(Level::kWarn, "the process that started the front end does not read its answers",
        {{"why", std::strerror(errno)}});
  }
}

}  // namespace xylem::launch
