#include "cli/extend_passages.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/messages.h"
#include "cli/progress.h"

namespace ropewalk {
namespace {

constexpr const char* kLabel = "writing on past the trained length";

std::string continuation(const Model& model, const std::string& scheme,
                         std::span<const int32_t> prompt) {
  const Positions positions = make_positions(model.config(), {{.scheme = scheme}});
  Sequence sequence(model, positions, static_cast<int64_t>(prompt.size()) + kShownTokens);
  const std::span<const float> logits = [&] {
    ProgressLine reading(kLabel);
    reading.say(scheme + ", reading the prompt");
    return sequence.append(prompt);
  }();
  ProgressLine line(kLabel);
  const std::vector<int32_t> added = greedy_answer(
      sequence, logits, kShownTokens, [&](double share) { line.update(share, scheme); });
  return model.tokenizer().decode(added, {.show_control = true, .strip_space_prefix = false});
}

}  // namespace

int64_t passage_prompt(const StudyText& text, int64_t trained, int64_t target) {
  return std::min(
      {static_cast<int64_t>(text.windows.front().ids.size()), target - kShownTokens, 2 * trained});
}

void add_passages(const Model& model, const StudyText& text, ExtendReport& report) {
  const std::optional<size_t> best = report.recommendation.index_of(Role::kBestOverall);
  if (!model.has_tokenizer() || !best) return;
  const int64_t length = passage_prompt(text, report.trained_length, report.target_length);
  if (length < 1) return;
  const std::span<const int32_t> prompt(text.windows.front().ids.data(),
                                        static_cast<size_t>(length));
  report.prompt_tokens = length;
  if (!ProgressLine::is_terminal()) {
    tell(fmt::format("{} tokens past the trained length, as declared and under the winner\n",
                     kShownTokens));
  }
  report.passages.emplace_back("declared", continuation(model, "declared", prompt));
  const std::string& winner = report.candidates[*best].scheme;
  if (winner != "declared")
    report.passages.emplace_back(winner, continuation(model, winner, prompt));
}

}  // namespace ropewalk
