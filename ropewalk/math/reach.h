// How far a rotary spectrum can be trusted: the formulas of print, each as a function.
//
// They are bounds and rules of thumb, not measurements: Llama 2's effective reach is 1707 tokens
// and it was trained at 4096. What they have in common is the turn that a pair finishes, or does
// not, within the length that was trained.
#ifndef ROPEWALK_MATH_REACH_H_
#define ROPEWALK_MATH_REACH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ropewalk/math/rotary.h"
#include "ropewalk/math/spectrum.h"

namespace ropewalk {

// ---- turns within a length, of any spectrum

// Turns that each pair makes over `length` tokens; (n_pairs). Source: Su 2023,
// kexue.fm/archives/9948; YaRN's r.
std::vector<double> turns_within(const Spectrum& spectrum, int64_t length);

// How many pairs make at least one.
int64_t full_turn_pairs(const Spectrum& spectrum, int64_t length);

// Tokens that the slowest pair that turns needs for its turn; 0 where no pair turns.
double longest_period(const Spectrum& spectrum);

// ---- plain RoPE of a base: b^(-2 pair / d), d the frequency_dim. base > 1, lengths > 0.

// The index, fractions included, of the pair that makes `turns` turns over `length` tokens:
// (d / 2) ln(length / (2 pi turns)) / ln(b).
DoubleDouble pair_of_turns(DoubleDouble base, int64_t frequency_dim, DoubleDouble turns,
                           DoubleDouble length);

// The pair of one turn: those after it never saw their whole circle. Source: Liu et al. 2023, arXiv
// 2310.05209.
double critical_pair(DoubleDouble base, int64_t frequency_dim, int64_t length);

// d_extra = 2 ceil(critical pair), within 0 ... d: the coordinates that saw all of it. Source: as
// above.
int64_t critical_dimension(DoubleDouble base, int64_t frequency_dim, int64_t length);

// Where LongRoPE2 searches the pair from which on a model must slow down by at least the stretch:
// from the pair of ten turns to that of one, both rounded up, within 0 ... d / 2. Source: Shang et
// al. 2025, arXiv 2502.20082.
PairRange critical_pair_search(DoubleDouble base, int64_t frequency_dim, int64_t length);

// T_extra = 2 pi base^(d_extra / d): how far a model fine-tuned under another base reaches. Source:
// Liu et al. 2023.
//   critical  critical_dimension() under the base and length that were trained
double extrapolation_bound(DoubleDouble new_base, int64_t frequency_dim, int64_t critical);

// base^(ln(target / 2 pi) / ln(trained / 2 pi)): the base under which the critical pair turns once
// within `target`. Source: Liu et al. 2023. trained, target > 2 pi.
double base_for_target(DoubleDouble base, int64_t trained, int64_t target);

// Smaller bases, under which every pair sees within `length` a quarter of its turn, a half, or all
// of it: 2 length / pi, length / pi, length / (2 pi). Source: Liu et al. 2023.
struct SmallerBases {
  double quarter_turn = 0;
  double half_turn = 0;
  double full_turn = 0;
};
SmallerBases smaller_bases(int64_t length);

// Where under `new_base` the angle that a (fractional) pair had at `distance` under `base` is
// reached, that pair being the one which had made one radian there, or one whole turn. 10000 to
// 160000 takes 1000 tokens to 8000 by radians, to 4601 by turns.
double reach_by_radian(DoubleDouble base, DoubleDouble new_base, DoubleDouble distance);
double reach_by_turn(DoubleDouble base, DoubleDouble new_base, DoubleDouble distance);

// ---- B(m), the mean score of a key like the query, m tokens back

// B(m) = u + A^2 sum over pairs of exp(decay m) cos(2 pi m turns), A the amplitude and u the pairs' worth of
// coordinates that are not rotated. Under keys and queries of independent equal components a key
// that is the query's own scores above others on average while B(m) >= 0. Source: Su 2024,
// kexue.fm/archives/10122; Men et al. 2024, arXiv 2405.14591.
//   m                >= 0
//   unrotated_pairs  (head_dim - rotary_dim) / 2
// Error: at most (n_pairs + 1) 2^-52 max(1, A^2) and two roundings; twice that with a decay.
double like_key_score(const Spectrum& spectrum, int64_t unrotated_pairs, int64_t m);

// Whether B(m) >= 0 for every m whatever the frequencies and the decay, as with half of the head unrotated.
bool like_keys_always_attend(const Spectrum& spectrum, int64_t unrotated_pairs);

// The effective reach: the first m < limit with B(m) < 0, for the spectrum as it is, divisors and
// all; none where there is none. Signs are right: sums of tables (off by at most n_pairs 2^-41)
// decide where they can, and like_key_score() where they are next to 0; a B(m) within its error
// counts as 0. About 50 ms for 64 pairs and a million m.
std::optional<int64_t> effective_reach(const Spectrum& spectrum, int64_t unrotated_pairs,
                                       int64_t limit);

// The same under everything that a Rotary does in a sequence of n tokens: B of query m and key 0,
// which need see each other only where it is negative; a silent pair adds 0. Where it has a distance
// map, a mask, or spectra that change from row to row, every angle is formed from the definition,
// some 15 us for each m.
std::optional<int64_t> effective_reach(const Rotary& rotary, int64_t n);

// Whether plain RoPE of this base keeps B(m) >= 0 for m < length.
bool base_is_feasible(DoubleDouble base, int64_t frequency_dim, int64_t length);

// The smallest feasible base on the grid 200 * 1.002^k below 1e15; none where none is. Feasible
// bases are no interval: a base above it may fail, and one between two of the grid may do.
std::optional<double> smallest_feasible_base(int64_t frequency_dim, int64_t length);

// Two rules for the same: 0.0424 length^1.628, fitted for d = 128, and length / 0.6165, for d
// without bound. Source: Men et al. 2024, arXiv 2405.14591; Su 2024, kexue.fm/archives/10122.
double fitted_feasible_base(int64_t length);
double asymptotic_feasible_base(int64_t length);

// ---- bounds on the phase of the slowest pair, taken as 1 / base. Source: arXiv 2602.10959, 2026.

// 2 pi base: from there on the slowest pair repeats itself.
double alias_bound(double base);

// The base under which the slowest pair keeps cos >= epsilon over `length` through n_layers layers:
// length / arccos(epsilon^(1 / n_layers)).
//   epsilon  in (0, 1)
double stable_base(int64_t length, double epsilon, int64_t n_layers = 1);

// 1 / epsilon of the type that angles are held in: under a larger base the slowest pair's step is
// lost beside 1.
double precision_bound(double machine_epsilon);

// ---- scales on logits that keep the entropy of attention

// max(1, ln n / ln L). Source: Su 2021, kexue.fm/archives/8823. L >= 2, n >= 1.
double log_length_scale(int64_t n, int64_t trained);

// coefficient k ln(s) + 1: the factor on queries and keys, and so on cos and sin, that the YaRN paper
// fitted on Llama with k = 1 and coefficient 0.1. Source: Peng et al. 2023, arXiv 2309.00071. s > 0.
DoubleDouble yarn_magnitude(DoubleDouble factor, DoubleDouble k, DoubleDouble coefficient);
DoubleDouble yarn_magnitude(DoubleDouble factor);  // with these

// The magnitude of k = mscale over that of mscale_all_dim where neither is 0, else that of k = 1: what
// transformers makes of the two keys, in which 0 means "not given".
DoubleDouble yarn_amplitude(DoubleDouble factor, DoubleDouble mscale, DoubleDouble mscale_all_dim,
                            DoubleDouble coefficient);

// Its square, (0.1 ln s + 1)^2. s >= 1.
double yarn_logit_scale(double factor);

// 1 + c ln s, for models whose positions were dropped. Source: DroPE 2025, arXiv 2512.12167.
double drope_logit_scale(double factor, double c);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_REACH_H_
