#include "predict/calibration/samples.h"

#include <array>
#include <charconv>
#include <optional>

#include "base/quoted.h"

namespace xylem::predict {
namespace {

/// The words of a text, as many as the array has. Nullopt if there are more or fewer.
template <std::size_t kCount>
std::optional<std::array<std::string_view, kCount>> words_of(std::string_view text) {
  std::array<std::string_view, kCount> words;
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::size_t end = text.find(' ');
    const bool is_last = i + 1 == kCount;
    if ((end == std::string_view::npos) != is_last) return std::nullopt;
    words[i] = text.substr(0, end);
    if (words[i].empty()) return std::nullopt;
    text.remove_prefix(is_last ? text.size() : end + 1);
  }
  return words;
}

template <std::size_t kCount>
std::optional<std::array<std::uint64_t, kCount>> numbers_of(std::string_view text) {
  const auto words = words_of<kCount>(text);
  if (!words) return std::nullopt;
  std::array<std::uint64_t, kCount> numbers{};
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string_view word = (*words)[i];
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), numbers[i]);
    if (failed != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  }
  return numbers;
}

Series* series_of(Samples& samples, std::string_view word) {
  if (word == "one") return &samples.one;
  if (word == "many") return &samples.many;
  if (word == "send") return &samples.send;
  if (word == "receive") return &samples.receive;
  if (word == "read") return &samples.read;
  if (word == "write") return &samples.write;
  return nullptr;
}

}  // namespace

Result<bool> SampleReader::take(std::string_view line) {
  const std::size_t mark = line.find(kReportMark);
  if (mark == std::string_view::npos) return false;
  line.remove_prefix(mark + kReportMark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);  // Of a launcher with a terminal.
  const std::size_t end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  auto taken = take_words(word, end == std::string_view::npos ? "" : line.substr(end + 1));
  if (!taken || *taken) return taken;
  return unexpected(Code::kCorrupt, "the measuring program said " + quoted(std::string(line)) +
                                        ", which cannot be read; is it of another version?");
}

Result<bool> SampleReader::take_words(std::string_view word, std::string_view values) {
  if (Series* series = series_of(samples_, word); series != nullptr) {
    const auto numbers = numbers_of<2>(values);
    if (!numbers || ++count_ > kMaxSamples) return false;
    (*series)[(*numbers)[0]].push_back(static_cast<double>((*numbers)[1]));
    return true;
  }
  if (word == "error") return unexpected(Code::kUnavailable, std::string(values));
  if (word == "end") return has_ended_ = true;
  if (word == "library") {
    samples_.library = values;
    return true;
  }
  if (word == "hosts") {
    const auto names = words_of<2>(values);
    if (!names) return false;
    samples_.hosts[0] = (*names)[0];
    samples_.hosts[1] = (*names)[1];
    return true;
  }
  if (word == "cores" || word == "direct") {
    const auto number = numbers_of<1>(values);
    if (!number || (*number)[0] > UINT32_MAX) return false;
    if (word == "cores") samples_.cores = static_cast<std::uint32_t>((*number)[0]);
    if (word == "direct") samples_.is_direct = (*number)[0] != 0;
    return true;
  }
  const auto numbers = numbers_of<2>(values);
  if (!numbers) return false;
  if (word == "eager") {
    samples_.eager = {(*numbers)[0], (*numbers)[1]};
    return true;
  }
  if (word == "progress" && (*numbers)[1] > 0 && (*numbers)[0] <= (*numbers)[1]) {
    progress_ = static_cast<unsigned>((*numbers)[0] * 100 / (*numbers)[1]);
    return true;
  }
  return false;
}

}  // namespace xylem::predict
