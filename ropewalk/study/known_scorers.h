// Scorers whose answers are known, to prove measurements with.
#ifndef ROPEWALK_STUDY_KNOWN_SCORERS_H_
#define ROPEWALK_STUDY_KNOWN_SCORERS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/study/scorer.h"

namespace ropewalk {

// Predicts a token from those before it alone. Subclasses say what it expects.
class ExpectingScorer : public Scorer {
 public:
  // Nothing expected, or one token with a probability above 1 / vocabulary; all others share the
  // rest evenly.
  struct Expectation {
    int32_t id = -1;  // -1: none
    double probability = 0;
  };

  explicit ExpectingScorer(int64_t vocabulary) : vocabulary_(vocabulary) {}

  int64_t vocabulary() const override { return vocabulary_; }
  std::vector<double> losses(std::span<const int32_t> ids, const Progress& progress) const override;
  std::vector<Answer> ask(std::span<const int32_t> text, std::span<const Question> questions,
                          const Progress& progress) const override;

 protected:
  // What comes behind `ids`, at least one.
  virtual Expectation expect(std::span<const int32_t> ids) const = 0;

 private:
  double loss(std::span<const int32_t> before, int32_t id) const;

  int64_t vocabulary_;
};

// Every token is as likely as every other. Says id 0.
class UniformScorer : public ExpectingScorer {
 public:
  using ExpectingScorer::ExpectingScorer;

 private:
  Expectation expect(std::span<const int32_t>) const override { return {}; }
};

// Expects what followed the longest run of tokens that the text has in common with its own end; of
// equal runs the latest. Where the last token is a new one, nothing.
class CopyingScorer : public ExpectingScorer {
 public:
  //   certainty  probability of what it expects
  //   window     tokens that it sees, the newest included
  CopyingScorer(int64_t vocabulary, double certainty, int64_t window = INT64_MAX)
      : ExpectingScorer(vocabulary), certainty_(certainty), window_(window) {}

 private:
  Expectation expect(std::span<const int32_t> ids) const override;

  double certainty_;
  int64_t window_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_KNOWN_SCORERS_H_
