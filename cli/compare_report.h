// What `ropewalk compare` says of two files, worked out.
#ifndef ROPEWALK_CLI_COMPARE_REPORT_H_
#define ROPEWALK_CLI_COMPARE_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/declared_file.h"
#include "ropewalk/math/spectrum_gap.h"

namespace ropewalk {

// Where two rotations part: of all pairs of layers that differ, the first layer, the shortest
// length, the first pair, and from which position on.
struct Parting {
  int64_t layer = 0;
  int64_t length = 0;  // tokens in the sequence; 0: any
  int64_t pair = 0;
  int64_t position = 0;  // the first at which the two differ by more than kPartedRotation; 0: none
  double inv_freq_a = 0;
  double inv_freq_b = 0;
  SpectrumGap gap;  // of the whole layer at that length
};

// |e^(i a p) - e^(i b p)| from which on two rotations count as parted.
inline constexpr double kPartedRotation = 1e-6;

// Something else that the two do differently.
struct Difference {
  std::string what;   // "amplitude", "window"
  int64_t layer = 0;  // the first that has it; -1: the whole model
  std::string a;
  std::string b;
};

// Mean over all pairs of the cosine between the two rotations of a key `distance` tokens back.
struct CosineAtDistance {
  int64_t distance = 0;
  double mean = 1;
};

struct CompareReport {
  DeclaredFile a;
  DeclaredFile b;
  int64_t n_layers = 0;  // that were compared; 0 where neither file tells how many there are
  std::optional<Parting> parting;
  std::vector<Difference> differences;
  std::vector<std::string> notes;       // what differs without changing what is computed
  double largest_ratio = 1;             // of rates over all layers, lengths and pairs
  int64_t curve_layer = 0;              // of the curve: the first that differs
  std::vector<CosineAtDistance> curve;  // 1, 2, 4, ... to the usable length

  bool equal() const { return !parting && differences.empty(); }
};

// Throws Error where a file cannot be read.
CompareReport compare_files(const std::string& a, const std::string& b);

void print_compare_text(const CompareReport& report);
void print_compare_json(const CompareReport& report);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_COMPARE_REPORT_H_
