#include "frontend/run_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/this_host.h"
#include "filters/plugin_copy.h"
#include "frontend/stream_fold.h"
#include "frontend/stream_options.h"
#include "storage/write/recorder.h"

namespace xylem::frontend {
namespace {

// The process that started us also has the copies, for our successors. Our children must not get
// them.
PluginCopies plugin_copies(const launch::Setup& setup) {
  PluginCopies copies;
  for (std::size_t i = 0; i < setup.plugins.size(); ++i) {
    const int fd = static_cast<int>(setup.first_plugin_fd) + static_cast<int>(i);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    copies.emplace(setup.plugins[i], filters::name_of_copy(fd));
  }
  return copies;
}

bool is_unmerged(const launch::Setup& setup, StreamId stream) {
  return std::ranges::find(setup.unmerged_streams, std::to_string(raw(stream))) !=
         setup.unmerged_streams.end();
}

// Null where there are no plugins.
Result<std::shared_ptr<launch::FoldMark>> open_mark(const launch::Setup& setup) {
  if (setup.fold_mark_fd < 0) return std::shared_ptr<launch::FoldMark>();
  const int fd = static_cast<int>(setup.fold_mark_fd);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  auto mark = launch::FoldMark::of(UniqueFd(fd));
  if (!mark) return unexpected(std::move(mark.error()));
  return std::make_shared<launch::FoldMark>(*std::move(mark));
}

// A plugin that has crashed front ends is not loaded here either, because the crash may happen
// while it is loaded.
Result<std::vector<wire::StreamSpec>> read_specs(const launch::Setup& setup,
                                                 const PluginCopies& copies,
                                                 const std::shared_ptr<launch::FoldMark>& mark) {
  const LoadPlugin load = [&](StreamId stream, const auto& loads) -> Result<void> {
    if (is_unmerged(setup, stream)) return {};
    if (mark) mark->enter(stream);
    auto loaded = loads();
    if (mark) mark->leave();
    return loaded;
  };
  return read_streams(setup.sections, "configuration", copies, load);
}

}  // namespace

Result<RunStreams> open_run_streams(const launch::Setup& setup) {
  auto mark = open_mark(setup);
  if (!mark) return unexpected(std::move(mark.error()));
  const PluginCopies copies = plugin_copies(setup);
  auto specs = read_specs(setup, copies, *mark);
  if (!specs) return unexpected(std::move(specs.error()));
  RunStreams streams;
  streams.specs = *std::move(specs);
  std::vector<wire::StreamSpec> folded = streams.specs;
  for (wire::StreamSpec& spec : folded) {
    if (!is_unmerged(setup, spec.id)) continue;
    streams.unmerged.push_back(spec);
    spec.aggregation.clear();
  }
  auto fold = make_stream_fold(with_copies(std::move(folded), copies), *std::move(mark));
  if (!fold) return unexpected(std::move(fold.error()));
  streams.fold = *std::move(fold);
  return streams;
}

void record_unmerged(const RunStreams& streams, storage::Store& store, Nanos at_ns) {
  storage::Batch batch;
  batch.at_ns = std::max<Nanos>(0, at_ns);
  for (const wire::StreamSpec& spec : streams.unmerged) {
    wire::Notice notice;
    notice.role = wire::Role::kFrontEnd;
    notice.host = this_host_name();
    notice.pid = static_cast<std::uint32_t>(::getpid());
    notice.text = "stream " + spec.name + ": its plugin " + spec.plugin +
                  " has crashed front ends; its waves are not merged from now on";
    log(Level::kWarn, "a plugin has crashed front ends; its stream is not merged any more",
        {{"stream", spec.name}, {"plugin", spec.plugin}});
    batch.rows.emplace_back(storage::NoticeRow{std::move(notice), batch.at_ns});
  }
  if (!batch.rows.empty()) storage::record_now(store, std::move(batch));
}

}  // namespace xylem::frontend
