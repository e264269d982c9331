#include "ropewalk/study/scorer.h"

#include <algorithm>
#include <cmath>

namespace ropewalk {
namespace {

double loss_of(std::span<const float> logits, int32_t id) {
  const auto largest = static_cast<double>(*std::ranges::max_element(logits));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return std::log(sum) + largest - static_cast<double>(logits[static_cast<size_t>(id)]);
}

std::vector<int32_t> joined(std::span<const int32_t> text, const std::vector<int32_t>& question,
                            const std::vector<int32_t>& answer) {
  std::vector<int32_t> ids(text.begin(), text.end());
  ids.insert(ids.end(), question.begin(), question.end());
  ids.insert(ids.end(), answer.begin(), answer.end());
  return ids;
}

// Reads the text in passes of Model::kPartRows, or in one where each of them would have to be
// computed anew for the next.
void read_text(Sequence& sequence, std::span<const int32_t> text, const Positions& positions,
               const Progress& progress) {
  const auto n = static_cast<int64_t>(text.size());
  const bool in_parts =
      n > Model::kPartRows && first_stale_row(positions, Model::kPartRows, n) == Model::kPartRows;
  const int64_t rows = in_parts ? Model::kPartRows : n;
  for (int64_t first = 0; first < n; first += rows) {
    const int64_t count = std::min(rows, n - first);
    sequence.append(text.subspan(static_cast<size_t>(first), static_cast<size_t>(count)));
    if (progress) progress(static_cast<double>(first + count) / static_cast<double>(n));
  }
}

std::vector<double> choice_losses(Sequence& sequence, std::vector<float> logits,
                                  const std::vector<int32_t>& choice) {
  std::vector<double> losses;
  for (size_t t = 0; t < choice.size(); ++t) {
    losses.push_back(loss_of(logits, choice[t]));
    if (t + 1 == choice.size()) break;
    const std::span<const float> next = sequence.append({&choice[t], 1});
    logits.assign(next.begin(), next.end());
  }
  return losses;
}

std::vector<int32_t> free_answer(Sequence& sequence, std::span<const float> logits, int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t n = 0; n < count; ++n) {
    ids.push_back(greedy_choice(logits));
    if (n + 1 < count) logits = sequence.append({&ids.back(), 1});
  }
  return ids;
}

}  // namespace

int64_t tokens_of(std::span<const int32_t> text, std::span<const Question> questions) {
  size_t longest = 0;
  for (const Question& question : questions) {
    auto answer = static_cast<size_t>(question.free_tokens);
    for (const auto& choice : question.choices) answer = std::max(answer, choice.size());
    longest = std::max(longest, question.ids.size() + answer);
  }
  return static_cast<int64_t>(text.size() + longest);
}

std::vector<double> ModelScorer::losses(std::span<const int32_t> ids,
                                        const Progress& progress) const {
  return model_.losses(ids, positions_, progress);
}

std::vector<Answer> ModelScorer::ask(std::span<const int32_t> text,
                                     std::span<const Question> questions,
                                     const Progress& progress) const {
  const auto n = static_cast<int64_t>(text.size());
  const int64_t most = tokens_of(text, questions);
  const bool whole_passes = first_stale_row(positions_, n, most) == 0;
  Sequence sequence(model_, positions_, most);
  read_text(sequence, text, positions_, progress);
  std::vector<Answer> answers;
  for (const Question& question : questions) {
    sequence.take_back(n);
    const std::span<const float> behind = sequence.append(question.ids);
    const std::vector<float> logits(behind.begin(), behind.end());
    const auto asked = static_cast<int64_t>(sequence.ids().size());
    Answer answer;
    for (const std::vector<int32_t>& choice : question.choices) {
      if (whole_passes) {
        const std::vector<double> all = losses(joined(text, question.ids, choice), {});
        answer.losses.emplace_back(all.end() - std::ssize(choice), all.end());
        continue;
      }
      answer.losses.push_back(choice_losses(sequence, logits, choice));
      sequence.take_back(asked);
    }
    answer.free = free_answer(sequence, logits, question.free_tokens);
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace ropewalk
