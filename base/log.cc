#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>

namespace xylem {
namespace {

// The only global state of a program: the destination of its log.
struct Log {
  std::unique_ptr<spdlog::logger> logger;
  std::function<void(Level, std::string_view)> sink;
  std::function<void(Level, std::string_view)> listener;
  Level level = Level::kWarn;
};

// spdlog accepts sinks only as shared_ptr.
std::unique_ptr<spdlog::logger> make_logger(std::string_view program, spdlog::sink_ptr sink) {
  auto logger = std::make_unique<spdlog::logger>(std::string(program), std::move(sink));
  logger->set_level(spdlog::level::trace);
  logger->set_pattern("%H:%M:%S.%e %n[" + std::to_string(::getpid()) + "] %l %v");
  logger->flush_on(spdlog::level::trace);
  return logger;
}

Log& the_log() {
  static Log log{make_logger("xylem", std::make_shared<spdlog::sinks::stderr_sink_mt>()), {}, {}};
  return log;
}

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// Values with spaces or quotes are quoted, so that a line can be split again.
void append_value(std::string& line, const std::string& value) {
  const bool plain = !value.empty() && value.find_first_of(" \"\n=") == std::string::npos;
  if (plain) {
    line += value;
    return;
  }
  line += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') line += '\\';
    line += c == '\n' ? ' ' : c;
  }
  line += '"';
}

}  // namespace

void log(Level level, std::string_view message, std::initializer_list<LogField> fields) {
  Log& log = the_log();
  const bool is_heard = log.listener && level >= Level::kWarn;
  if (level < log.level && !log.sink && !is_heard) return;
  std::string line(message);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    append_value(line, field.value);
  }
  if (is_heard) log.listener(level, line);
  if (log.sink) {
    log.sink(level, line);
  } else if (level >= log.level) {
    log.logger->log(spdlog_level(level), line);
  }
}

void configure_log(std::string_view program, Level level, const std::string& file) {
  Log& log = the_log();
  log.level = level;
  spdlog::sink_ptr sink;
  std::string trouble;
  if (!file.empty()) {
    try {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    } catch (const spdlog::spdlog_ex& e) {
      trouble = e.what();
    }
  }
  if (!sink) sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  log.logger = make_logger(program, std::move(sink));
  if (!trouble.empty()) {
    xylem::log(Level::kWarn, "log file not writable, logging to standard error",
               {{"reason", trouble}});
  }
}

Level parse_level(std::string_view name) {
  if (name == "debug") return Level::kDebug;
  if (name == "info") return Level::kInfo;
  if (name == "error") return Level::kError;
  return Level::kWarn;
}

void set_log_sink(std::function<void(Level, std::string_view)> sink) {
  the_log().sink = std::move(sink);
}

void set_log_listener(std::function<void(Level, std::string_view)> listener) {
  the_log().listener = std::move(listener);
}

}  // namespace xylem
