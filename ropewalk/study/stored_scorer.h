// A scorer that keeps what it finds in a study's file, so that a run that was killed goes on.
#ifndef ROPEWALK_STUDY_STORED_SCORER_H_
#define ROPEWALK_STUDY_STORED_SCORER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/study/scorer.h"
#include "ropewalk/study/store.h"

namespace ropewalk {

// What such a file is bound to: the model's bytes, the precision, and the version of what is asked. Texts
// are not: a cell is named by the digest of its tokens.
//   model  a file, or a Hugging Face directory. Throws Error where it cannot be read.
StudyIdentity recall_identity(const std::string& model, const std::string& precision);

class StoredScorer : public Scorer {
 public:
  //   scorer, store  must outlive it
  //   scheme         canonical, that the scorer scores under
  StoredScorer(const Scorer& scorer, StudyStore& store, std::string scheme)
      : scorer_(scorer), store_(store), scheme_(std::move(scheme)) {}

  int64_t vocabulary() const override { return scorer_.vocabulary(); }
  std::vector<double> losses(std::span<const int32_t> ids, const Progress& progress) const override;
  std::vector<Answer> ask(std::span<const int32_t> text, std::span<const Question> questions,
                          const Progress& progress) const override;

  int64_t found() const { return found_; }  // calls that the file answered

 private:
  const Scorer& scorer_;
  StudyStore& store_;
  std::string scheme_;
  mutable int64_t found_ = 0;
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_STORED_SCORER_H_
