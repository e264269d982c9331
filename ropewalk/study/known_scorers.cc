#include "ropewalk/study/known_scorers.h"

#include <algorithm>
#include <cmath>

namespace ropewalk {

double ExpectingScorer::loss(std::span<const int32_t> before, int32_t id) const {
  const Expectation expected = expect(before);
  const auto size = static_cast<double>(vocabulary_);
  if (expected.id < 0) return std::log(size);
  return id == expected.id ? -std::log(expected.probability)
                           : std::log((size - 1) / (1 - expected.probability));
}

std::vector<double> ExpectingScorer::losses(std::span<const int32_t> ids,
                                            const Progress& /*progress*/) const {
  std::vector<double> losses;
  for (size_t t = 1; t < ids.size(); ++t) losses.push_back(loss(ids.first(t), ids[t]));
  return losses;
}

std::vector<Answer> ExpectingScorer::ask(std::span<const int32_t> text,
                                         std::span<const Question> questions,
                                         const Progress& /*progress*/) const {
  std::vector<Answer> answers;
  for (const Question& question : questions) {
    std::vector<int32_t> asked(text.begin(), text.end());
    asked.insert(asked.end(), question.ids.begin(), question.ids.end());
    Answer answer;
    for (const std::vector<int32_t>& choice : question.choices) {
      std::vector<int32_t> ids = asked;
      std::vector<double>& losses = answer.losses.emplace_back();
      for (const int32_t id : choice) {
        losses.push_back(loss(ids, id));
        ids.push_back(id);
      }
    }
    for (int64_t n = 0; n < question.free_tokens; ++n) {
      asked.push_back(std::max(0, expect(asked).id));
      answer.free.push_back(asked.back());
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

ExpectingScorer::Expectation CopyingScorer::expect(std::span<const int32_t> ids) const {
  const auto last = static_cast<int64_t>(ids.size()) - 1;
  const int64_t first = std::max<int64_t>(0, last - std::min(last, window_ - 1));
  int64_t longest = 0;
  Expectation expected;
  for (int64_t end = first; end < last; ++end) {
    int64_t run = 0;
    while (end - run >= first &&
           ids[static_cast<size_t>(end - run)] == ids[static_cast<size_t>(last - run)])
      ++run;
    if (run == 0 || run < longest) continue;
    longest = run;
    expected = {.id = ids[static_cast<size_t>(end + 1)], .probability = certainty_};
  }
  return expected;
}

}  // namespace ropewalk
