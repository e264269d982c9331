#include "ropewalk/study/scorer.h"

#include <algorithm>

namespace ropewalk {
namespace {

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
  Sequence sequence(model_, positions_, tokens_of(text, questions));
  read_text(sequence, text, positions_, progress);
  std::vector<Answer> answers;
  for (const Question& question : questions) {
    sequence.take_back(n);
    const std::span<const float> logits = sequence.append(question.ids);
    Answer& answer = answers.emplace_back();
    for (const std::vector<int32_t>& choice : question.choices)
      answer.losses.push_back(sequence.losses_of_next(choice));
    answer.free = greedy_answer(sequence, logits, question.free_tokens);
  }
  return answers;
}

}  // namespace ropewalk
