// A cell of a study, and where a race has its cells from.
#ifndef ROPEWALK_STUDY_CELL_H_
#define ROPEWALK_STUDY_CELL_H_

#include <algorithm>
#include <chrono>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ropewalk {

// What one pass gave.
struct Cell {
  std::vector<double> losses;  // of every token of the window but the first
  double seconds = 0;          // what the pass cost when it was run

  bool operator==(const Cell&) const = default;
};

// What no pass gives is not measured: a loss is -ln of a probability.
inline bool is_measured(const std::vector<double>& losses) {
  constexpr double kLeastLoss = -1e-3;  // what rounding makes of 0
  return std::all_of(losses.begin(), losses.end(),
                     [](double x) { return std::isfinite(x) && x >= kLeastLoss; });
}

// Names a cell within its study: a scheme, and one window under one reading of it.
struct CellKey {
  std::string scheme;  // canonical
  std::string text;    // "plain", "repeated", "control"
  int64_t window = 0;

  auto operator<=>(const CellKey&) const = default;
};

// What a study measures. All of it must be equal for a study to go on.
using StudyIdentity = std::vector<std::pair<std::string, std::string>>;  // name, value

using IsWhole = std::function<bool(const std::vector<double>&)>;
using Measure = std::function<std::vector<double>()>;

// What `measure` gives, with the seconds that took.
inline Cell timed_cell(const Measure& measure) {
  const auto start = std::chrono::steady_clock::now();
  Cell cell{.losses = measure(), .seconds = 0};
  cell.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return cell;
}

class CellSource {
 public:
  virtual ~CellSource() = default;

  // The cell that the study has, where it is whole; else what `measure` gives, with the seconds
  // that took, which is in a file when this returns: that of the study, or one that it takes in.
  struct Kept {
    Cell cell;
    bool was_stored = false;  // before this run
  };
  virtual Kept find_or_measure(const CellKey& key, const IsWhole& is_whole,
                               const Measure& measure) = 0;

  // Cells that will be asked for next, in any order. Where others measure the same study, each
  // measures those that nobody has begun; returns when all are there.
  //   on_measured  told of each that was not there at first
  struct Wanted {
    CellKey key;
    Measure measure;
  };
  virtual void share(const std::vector<Wanted>& /*wanted*/,
                     const std::function<void()>& /*on_measured*/) {}

  // Whether share() has anybody to share with.
  virtual bool is_shared() const { return false; }
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_CELL_H_
