#include "ropewalk/study/stored_scorer.h"

#include <algorithm>
#include <optional>

#include "ropewalk/formats/sha256.h"
#include "ropewalk/study/identity.h"

namespace ropewalk {
namespace {

// Raised whenever the same call would give other numbers within one version of the program.
constexpr const char* kRecallVersion = ROPEWALK_VERSION "/recall 1";

void add(Sha256& digest, std::span<const int32_t> ids) {
  const auto size = static_cast<uint64_t>(ids.size());
  digest.update(std::as_bytes(std::span(&size, 1)));
  digest.update(std::as_bytes(ids));
}

std::string digest_of(std::span<const int32_t> text, std::span<const Question> questions) {
  Sha256 digest;
  add(digest, text);
  for (const Question& question : questions) {
    add(digest, question.ids);
    for (const std::vector<int32_t>& choice : question.choices) add(digest, choice);
    digest.update(std::as_bytes(std::span(&question.free_tokens, 1)));
  }
  return digest.hex();
}

// Answers as numbers in a row; token ids are exact in them.
std::vector<double> flat(const std::vector<Answer>& answers) {
  std::vector<double> values;
  for (const Answer& answer : answers) {
    for (const std::vector<double>& losses : answer.losses)
      values.insert(values.end(), losses.begin(), losses.end());
    values.insert(values.end(), answer.free.begin(), answer.free.end());
  }
  return values;
}

// Nothing where the numbers are not as many as the questions ask for.
std::optional<std::vector<Answer>> unflat(std::span<const double> values,
                                          std::span<const Question> questions) {
  std::vector<Answer> answers;
  const auto take = [&](size_t count) {
    const std::span<const double> part = values.first(std::min(count, values.size()));
    values = values.subspan(part.size());
    return part;
  };
  for (const Question& question : questions) {
    Answer& answer = answers.emplace_back();
    for (const std::vector<int32_t>& choice : question.choices) {
      const auto part = take(choice.size());
      if (part.size() < choice.size()) return std::nullopt;
      answer.losses.emplace_back(part.begin(), part.end());
    }
    const auto count = static_cast<size_t>(question.free_tokens);
    const auto part = take(count);
    if (part.size() < count) return std::nullopt;
    for (const double id : part) answer.free.push_back(static_cast<int32_t>(id));
  }
  if (!values.empty()) return std::nullopt;
  return answers;
}

}  // namespace

StudyIdentity recall_identity(const std::string& model, const std::string& precision) {
  return {{"version", kRecallVersion}, {"model", model_digest(model)}, {"precision", precision}};
}

std::vector<double> StoredScorer::losses(std::span<const int32_t> ids,
                                         const Progress& progress) const {
  const CellKey key{scheme_, "losses/" + digest_of(ids, {}), 0};
  StudyStore::Kept kept = store_.find_or_measure(
      key, [&](const std::vector<double>& losses) { return losses.size() + 1 == ids.size(); },
      [&] { return scorer_.losses(ids, progress); });
  found_ += kept.was_stored ? 1 : 0;
  return std::move(kept.cell.losses);
}

std::vector<Answer> StoredScorer::ask(std::span<const int32_t> text,
                                      std::span<const Question> questions,
                                      const Progress& progress) const {
  const CellKey key{scheme_, "ask/" + digest_of(text, questions), 0};
  std::optional<std::vector<Answer>> answers;
  const StudyStore::Kept kept = store_.find_or_measure(
      key,
      [&](const std::vector<double>& values) {
        answers = unflat(values, questions);
        return answers.has_value();
      },
      [&] {
        answers = scorer_.ask(text, questions, progress);
        return flat(*answers);
      });
  found_ += kept.was_stored ? 1 : 0;
  return *std::move(answers);
}

}  // namespace ropewalk
