// Spectrum: how fast each pair of coordinates turns with position.
#ifndef ROPEWALK_MATH_SPECTRUM_H_
#define ROPEWALK_MATH_SPECTRUM_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "ropewalk/math/double_double.h"

namespace ropewalk {

// The angle per token of every pair, with the two numbers that go beside it and are never folded
// into it.
struct Spectrum {
  std::vector<DoubleDouble>
      turns_per_token;  // (n_pairs), inv_freq / 2 pi; 0 for a pair that does not turn

  // What each pair's part of a score is multiplied by at distance d, the one that it turns by:
  // exp(decay[pair] * d). Natural logarithm per token, finite, <= 0: far keys count less; (n_pairs),
  // or empty for none. Source: xPos, Sun et al. 2022, arXiv 2212.10554.
  std::vector<double> decay;

  // Which coordinate of a token's position turns each pair; (n_pairs), or empty for 0 throughout.
  // The coordinates of text are all equal, so for text it does not matter.
  std::vector<uint8_t> axis;

  // Multiplies cos and sin of rotated coordinates, so their logits by its square; coordinates that
  // pass through keep theirs.
  double amplitude = 1;

  // Multiplies every logit, rotated coordinates or not.
  double logit_multiplier = 1;

  // The base of the geometric progression that the pairs were derived from, and its divisor
  // (frequency_dim), for reproducing engines that rebuild the angles from it in float32; 0 where
  // the list came as a list.
  double base = 0;
  int64_t frequency_dim = 0;

  // The divisors that a file declares as float32, already in turns_per_token, for the same purpose:
  // such engines divide by them; (n_pairs), or empty.
  std::vector<float> divisors;

  int64_t n_pairs() const { return static_cast<int64_t>(turns_per_token.size()); }
  double decay_of(int64_t pair) const { return decay.empty() ? 0 : decay[pair]; }

  // Radians per token, each rounded once from the exact value: a view for printing and comparing.
  std::vector<double> inv_freq() const;  // (n_pairs)
};

// inv_freq of plain RoPE, base^(-2 pair / frequency_dim), in radians per token. Source: Su et al.
// 2021, arXiv 2104.09864.
//   base           > 0
//   frequency_dim  even, >= 2
//   n_pairs        <= frequency_dim / 2
std::vector<DoubleDouble> rope_inv_freq(DoubleDouble base, int64_t frequency_dim, int64_t n_pairs);

// A spectrum from radians per token.
//   inv_freq  (n_pairs), each finite
Spectrum spectrum_of(const std::vector<DoubleDouble>& inv_freq);

// Plain RoPE: rope_inv_freq as a Spectrum that remembers its base.
Spectrum rope_spectrum(DoubleDouble base, int64_t frequency_dim, int64_t n_pairs);

// A spectrum as a function of the length n. n is an argument, never state: equal n gives equal
// output.
class SpectrumRule {
 public:
  using Function = std::function<Spectrum(int64_t length)>;

  // Which length a token sees.
  enum class Length {
    kFixed,     // the spectrum does not depend on it
    kSequence,  // the number of tokens of the whole sequence
    kBlock,     // rows [i0, i1) of a block, with every key they look at, see i1; see block()
    kToken,  // token t, as a query and as a key, sees t + 1: keys of unequal spectra meet, a fault
             // to be recognised
  };

  SpectrumRule() : SpectrumRule(Spectrum{}) {}
  explicit SpectrumRule(Spectrum fixed);
  //   block  rows per block, >= 1; only for kBlock
  SpectrumRule(Length length, Function at, int64_t block = 1);

  Length length() const { return length_; }
  int64_t block() const { return block_; }

  // The spectrum for a length of n tokens, n >= 1.
  Spectrum at(int64_t n) const;

  // The length that row i of a sequence of n tokens sees, 0 <= i < n.
  int64_t length_for_row(int64_t i, int64_t n) const;

 private:
  Length length_ = Length::kFixed;
  int64_t block_ = 1;
  Function at_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_SPECTRUM_H_
