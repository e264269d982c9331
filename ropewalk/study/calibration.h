// Published orderings of schemes beside what a study measured of the same ones. They are shown, and
// decide nothing.
#ifndef ROPEWALK_STUDY_CALIBRATION_H_
#define ROPEWALK_STUDY_CALIBRATION_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/study/race.h"
#include "ropewalk/study/recommend.h"

namespace ropewalk {

// A scheme as a table has it: alone in a scheme string, and where `parameter` is named, of that
// value over L. Else the study's best setting of the scheme stands for it, as papers tune theirs.
struct PublishedScheme {
  std::string name;  // of the registry; "rope" is the model as it was trained
  double figure = 0;
  std::string parameter = {};
  double share = 0;
};

struct PublishedOrdering {
  std::string source;
  std::string model;       // and how many tokens it was trained at
  std::string file;        // part of the file's name if it is a model that one may have; else empty
  double stretch = 0;      // target length over L
  std::string measure;     // "perplexity on PG19"
  bool of_recall = false;  // held to the copy gain from beyond L, else to the loss there
  bool more_is_better = false;
  std::vector<PublishedScheme> schemes;
};

// None of the models was trained again for the scheme.
const std::vector<PublishedOrdering>& published_orderings();

enum class PairVerdict {
  kAgrees,       // the interval of the difference lies on the published side of 0
  kOverlaps,     // it holds 0
  kContradicts,  // it lies on the other
  kUntold,       // one window: no interval
};

// "agrees", "overlaps", "contradicts", "one window"
std::string to_string(PairVerdict verdict);

struct ComparedPair {
  std::string better;  // as published; the study's settings
  std::string worse;
  double better_figure = 0;
  double worse_figure = 0;
  Estimate lead;  // nats per token of `better` in the study, over the windows that both ran
  PairVerdict verdict = PairVerdict::kUntold;
};

struct Calibration {
  const PublishedOrdering* ordering = nullptr;
  bool same_model = false;          // by its file's name
  std::vector<ComparedPair> pairs;  // at least one

  size_t count(PairVerdict verdict) const;
};

// Of the orderings at about the study's stretch, each pair of schemes that the study measured too.
// Figures that are equal order nothing.
//   candidates  as run_race() returns them: each ran the first so many windows
//   model       its file's name
std::vector<Calibration> calibrate(const std::vector<Candidate>& candidates,
                                   const StudyScope& scope, const std::string& model,
                                   std::span<const PublishedOrdering> orderings);

// "Published orderings (of other models, which need not agree): of 12 pairs 9 agree, ..."; empty
// where there are no pairs.
std::string calibration_sentence(std::span<const Calibration> calibrations);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_CALIBRATION_H_
