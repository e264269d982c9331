// What scores tokens: a model under positions, or one whose answers are known beforehand, so that a
// measurement can be held to them.
#ifndef ROPEWALK_STUDY_SCORER_H_
#define ROPEWALK_STUDY_SCORER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/engine/model.h"

namespace ropewalk {

// Put behind a text that has been read.
struct Question {
  std::vector<int32_t> ids;                   // at least one
  std::vector<std::vector<int32_t>> choices;  // answers to score, each of at least one token
  int64_t free_tokens = 0;                    // of the model's own answer
};

struct Answer {
  std::vector<std::vector<double>> losses;  // of the tokens of each choice, nats
  std::vector<int32_t> free;                // what it says by itself, the likeliest token each time
};

class Scorer {
 public:
  virtual ~Scorer() = default;

  virtual int64_t vocabulary() const = 0;

  // losses[t] = -ln p(ids[t + 1] | ids[0 .. t]) in nats: (ids.size() - 1).
  //   ids  at least two
  virtual std::vector<double> losses(std::span<const int32_t> ids,
                                     const Progress& progress = {}) const = 0;

  // The answers to questions each of which is asked right behind `text`, which is read once.
  //   text  at least one token
  virtual std::vector<Answer> ask(std::span<const int32_t> text,
                                  std::span<const Question> questions,
                                  const Progress& progress = {}) const = 0;
};

// Equal answers whatever the thread count.
class ModelScorer : public Scorer {
 public:
  //   model, positions  must outlive it
  ModelScorer(const Model& model, const Positions& positions)
      : model_(model), positions_(positions) {}

  int64_t vocabulary() const override { return model_.decoder().vocabulary(); }
  std::vector<double> losses(std::span<const int32_t> ids, const Progress& progress) const override;
  // Where positions depend on the length, so that an answer changes those of the text, each choice
  // reads all of it anew, and so does each token that the model says itself.
  std::vector<Answer> ask(std::span<const int32_t> text, std::span<const Question> questions,
                          const Progress& progress) const override;

 private:
  const Model& model_;
  const Positions& positions_;
};

// Tokens of the text and its longest question with an answer.
int64_t tokens_of(std::span<const int32_t> text, std::span<const Question> questions);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_SCORER_H_
