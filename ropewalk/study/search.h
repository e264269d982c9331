// A search over a few numbers by steps along one of them at a time, both ways, that are halved
// where none is better. It draws nothing at random: equal answers lead to equal questions. Source:
// compass search, Kolda, Lewis, Torczon 2003, SIAM Review 45(3), with a direction kept, and its
// steps doubled, as long as it pays.
#ifndef ROPEWALK_STUDY_SEARCH_H_
#define ROPEWALK_STUDY_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ropewalk {

enum class Step { kTimes, kPlus };  // value * size, value / size; value + size, value - size

struct Knob {
  std::string name;
  Step step = Step::kPlus;
  double size = 1;  // of the first step; above 1 where it multiplies, else above 0
  double least = 0;
  double most = 0;  // no step leaves them, but for a start outside
  bool whole = false;
};

// To four significant digits: what a searched number is rounded to.
double four_digits(double value);

class PatternSearch {
 public:
  //   start  (n_knobs), tried already
  //   value  its; lower is better, infinite is worst
  PatternSearch(std::vector<Knob> knobs, std::vector<double> start, double value);

  // The next point to try, (n_knobs), to four significant digits and never one twice; nothing where
  // steps of a quarter of their first size are spent. Must be answered by tell() before it is
  // called again.
  std::optional<std::vector<double>> next();
  void tell(double value);

  const std::vector<double>& best() const { return best_; }
  double best_value() const { return best_value_; }

 private:
  // Quarters of a step from the start: so that ways that meet meet exactly.
  using Place = std::vector<int64_t>;

  Place stepped() const;
  bool is_inside(const std::vector<double>& point) const;
  std::vector<double> point_of(const Place& place) const;
  void fail();

  std::vector<Knob> knobs_;
  std::vector<double> start_;
  std::vector<double> best_;
  double best_value_;
  Place best_place_;
  Place pending_;
  std::set<std::vector<double>> seen_;
  int64_t quarters_ = 4;  // of each knob's step: 4, 2, 1
  size_t direction_ = 0;  // 2 knob: up; 2 knob + 1: down
  size_t better_ = 0;     // steps in a row, in this direction
  size_t no_better_ = 0;  // directions in a row
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_SEARCH_H_
