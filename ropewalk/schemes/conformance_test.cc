// What every registered scheme must keep, whatever it does. A new scheme is found by itself; it
// needs no line here.
//
// Each scheme's candidates run on heads of several sizes in both pair orders. Scores are formed
// from pair_angle(), the definition that kernels are held to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "ropewalk/base/error.h"
#include "ropewalk/math/turns.h"
#include "ropewalk/schemes/param_value.h"
#include "ropewalk/schemes/registry.h"
#include "ropewalk/schemes/scheme_string.h"
#include "ropewalk/testing/random_values.h"

namespace ropewalk {
namespace {

constexpr int64_t kTrained = 32;
constexpr int64_t kTarget = 192;  // three blocks of dynamic NTK, six times the trained length

struct Head {
  int64_t head_dim;
  int64_t rotary_dim;
};
constexpr Head kHeads[] = {{8, 8}, {16, 16}, {16, 12}};

Rotary declared_rotary(Head head, PairOrder order) {
  const FrequencySource source{
      .base = 10000.0, .frequency_dim = head.rotary_dim, .trained_length = kTrained};
  return plain_rotary(source, {order, head.head_dim, head.rotary_dim});
}

std::vector<std::string> settings(const SchemeInfo& scheme, int64_t n_pairs) {
  if (scheme.candidates == nullptr) return {scheme.example(n_pairs)};
  return scheme.candidates(kTrained, kTarget);
}

// A scheme on a sequence of n tokens, its spectra worked out once for each length.
class Sequence {
 public:
  Sequence(const Rotary& rotary, int64_t n) : rotary_(rotary), n_(n) {}

  const Rotary& rotary() const { return rotary_; }
  bool sees(int64_t i, int64_t j) const { return rotary_.visibility.sees(i, j); }

  const Spectrum& query_spectrum(int64_t i) {
    return spectrum(rotary_.spectrum.length_for_row(i, n_));
  }
  const Spectrum& key_spectrum(int64_t i, int64_t j) {
    return rotary_.spectrum.length() == SpectrumRule::Length::kToken ? query_spectrum(j)
                                                                     : query_spectrum(i);
  }
  PairAngle angle(int64_t pair, int64_t i, int64_t j) {
    return pair_angle(rotary_at(i), query_spectrum(i), key_spectrum(i, j), pair, i, j);
  }
  // The scheme with the distances that row i sees.
  const Rotary& rotary_at(int64_t i) {
    if (!rotary_.distance.depends_on_length()) return rotary_;
    const int64_t length = rotary_.spectrum.length_for_row(i, n_);
    const auto known = rotaries_.find(length);
    return known != rotaries_.end()
               ? known->second
               : rotaries_.emplace(length, at_length(rotary_, length)).first->second;
  }

  // The logit of query q at i and key k at j, before the head's 1 / sqrt(head_dim).
  double score(const std::vector<double>& q, const std::vector<double>& k, int64_t i, int64_t j) {
    const PairLayout& layout = rotary_.layout;
    double rotated = 0;
    for (int64_t pair = 0; pair < layout.n_pairs(); ++pair) {
      const PairAngle between = angle(pair, i, j);
      if (between.silent) continue;
      const CosSin turn = cos_sin_of_turns(between.turns);
      const double q0 = q[layout.first(pair)], q1 = q[layout.second(pair)];
      const double k0 = k[layout.first(pair)], k1 = k[layout.second(pair)];
      const double part = (q0 * k0 + q1 * k1) * turn.cos + (q0 * k1 - q1 * k0) * turn.sin;
      rotated += part * std::exp(between.log_gain);
    }
    const double passed = std::inner_product(q.begin() + layout.rotary_dim, q.end(),
                                             k.begin() + layout.rotary_dim, 0.0);
    const Spectrum& query = query_spectrum(i);
    const Spectrum& key = key_spectrum(i, j);
    return (rotated * query.amplitude * key.amplitude + passed) * query.logit_multiplier *
           rotary_.temperature.at(i);
  }

 private:
  const Spectrum& spectrum(int64_t length) {
    const auto known = spectra_.find(length);
    if (known != spectra_.end()) return known->second;
    return spectra_.emplace(length, rotary_.spectrum.at(length)).first->second;
  }

  Rotary rotary_;
  int64_t n_;
  std::map<int64_t, Spectrum> spectra_;
  std::map<int64_t, Rotary> rotaries_;
};

// What the settings of a scheme were seen to do, against what it declares.
struct Seen {
  bool changed_by_length = false;
  bool changed_by_shift = false;
};

// Everything about one setting on one head. Counts its comparisons.
class Setting {
 public:
  Setting(const SchemeInfo& scheme, std::string text, Head head, PairOrder order)
      : scheme_(scheme),
        text_(std::move(text)),
        head_(head),
        order_(order),
        rotary_(apply_scheme(text_, declared_rotary(head, order))),
        q_(random_values<double>(head.head_dim, 1)),
        k_(random_values<double>(head.head_dim, 2)) {}

  int64_t checks() const { return checks_; }

  void check_all(Seen& seen) {
    check_norms();
    check_identity_at_zero();
    check_pairs();
    check_shift(seen);
    check_appended_tokens(seen);
    check_layouts();
    check_text();
    check_long_positions();
  }

 private:
  // Rotation keeps the length of every pair: a score of a vector with itself, pair by pair, is a
  // cosine.
  void check_norms() {
    Sequence sequence(rotary_, kTarget);
    for (int64_t i : {int64_t{0}, kTrained, kTarget - 1}) {
      for (int64_t pair = 0; pair < rotary_.layout.n_pairs(); ++pair) {
        if (!sequence.sees(i, 0)) continue;
        const PairAngle angle = sequence.angle(pair, i, 0);
        const CosSin turn = cos_sin_of_turns(angle.turns);
        near(turn.cos * turn.cos + turn.sin * turn.sin, 1, 4e-16, "norm");
      }
    }
  }

  // A token and itself: nothing turns, nothing is masked.
  void check_identity_at_zero() {
    Sequence sequence(rotary_, kTarget);
    for (int64_t i : {int64_t{0}, int64_t{1}, kTrained, kTarget - 1}) {
      is_true(sequence.sees(i, i), "a token sees itself");
      for (int64_t pair = 0; pair < rotary_.layout.n_pairs(); ++pair) {
        const PairAngle angle = sequence.angle(pair, i, i);
        is_true(!angle.silent && angle.turns == 0 && angle.log_gain == 0, "nothing at distance 0");
      }
    }
  }

  // Pairs that a distance map does not name keep the true distance.
  void check_pairs() {
    Sequence sequence(rotary_, kTarget);
    Sequence plain(declared_rotary(head_, order_), kTarget);
    const PairRange named = parse_scheme(text_).parts.front().params.pairs();
    for (int64_t pair = 0; pair < rotary_.layout.n_pairs(); ++pair) {
      if (named.holds(pair)) continue;
      for (int64_t j : {int64_t{0}, kTrained, kTarget - 2}) {
        is_true(
            sequence.angle(pair, kTarget - 1, j).turns == plain.angle(pair, kTarget - 1, j).turns,
            "other pairs see the true distance");
      }
    }
  }

  // Both tokens moved alike: the same score, unless the scheme says that it counts positions.
  void check_shift(Seen& seen) {
    Sequence sequence(rotary_, kTarget);
    for (int64_t distance : {0, 1, 7, 31, 32, 60, 101}) {
      const int64_t first = kTarget / 3 - 1;
      for (int64_t shift : {1, 5, 26}) {
        const int64_t j = first - std::min(first, distance);
        const bool seen_there = sequence.sees(j + distance, j);
        const bool seen_here = sequence.sees(j + shift + distance, j + shift);
        const bool same =
            seen_there == seen_here &&
            (!seen_here || close(sequence.score(q_, k_, j + distance, j),
                                 sequence.score(q_, k_, j + shift + distance, j + shift)));
        if (scheme_.relative) is_true(same, "the score depends on i - j alone");
        seen.changed_by_shift |= !same;
      }
    }
    // The first tokens too, where sinks are.
    for (int64_t i : {kTrained + 9, kTarget - 2}) {
      const bool same = sequence.sees(i, 0) == sequence.sees(i + 1, 1) &&
                        (!sequence.sees(i, 0) ||
                         close(sequence.score(q_, k_, i, 0), sequence.score(q_, k_, i + 1, 1)));
      if (scheme_.relative) is_true(same, "the score of the first token depends on i - j alone");
      seen.changed_by_shift |= !same;
    }
  }

  // More tokens behind change no earlier score, unless the scheme says so; equal n always gives
  // equal scores.
  void check_appended_tokens(Seen& seen) {
    for (int64_t n : {kTrained - 3, kTrained, kTarget - 40}) {
      Sequence before(rotary_, n);
      Sequence again(apply_scheme(text_, declared_rotary(head_, order_)), n);
      Sequence after(rotary_, n + 40);
      for (int64_t i : {int64_t{0}, n / 2, n - 1}) {
        for (int64_t j : {int64_t{0}, i / 2, i}) {
          if (!before.sees(i, j)) continue;
          const double score = before.score(q_, k_, i, j);
          is_true(score == again.score(q_, k_, i, j), "equal n, equal score");
          const bool same = score == after.score(q_, k_, i, j);
          if (!scheme_.depends_on_length) is_true(same, "an appended token changes nothing");
          seen.changed_by_length |= !same;
        }
      }
    }
  }

  // The two pair orders are one head with its coordinates permuted.
  void check_layouts() {
    Rotary half = apply_scheme(text_, declared_rotary(head_, PairOrder::kHalf));
    Rotary interleaved = apply_scheme(text_, declared_rotary(head_, PairOrder::kInterleaved));
    Sequence halves(half, kTarget), pairs(interleaved, kTarget);
    const std::vector<int64_t> row = interleaved_from_half(head_.head_dim, head_.rotary_dim);
    std::vector<double> q(q_.size()), k(k_.size());
    for (size_t c = 0; c < row.size(); ++c) {
      q[c] = q_[row[c]];
      k[c] = k_[row[c]];
    }
    for (int64_t i : {int64_t{3}, kTrained + 1, kTarget - 1}) {
      for (int64_t j : {int64_t{0}, i / 2, i - 1}) {
        is_true(halves.sees(i, j) == pairs.sees(i, j), "layouts see the same keys");
        if (!halves.sees(i, j)) continue;
        near(pairs.score(q, k, i, j), halves.score(q_, k_, i, j), 1e-14, "layouts");
      }
    }
  }

  // Canonical text means the same scheme and is its own canonical text.
  void check_text() {
    const std::string canonical = parse_scheme(text_).text();
    is_true(parse_scheme(canonical).text() == canonical, "canonical text is stable");
    Sequence given(rotary_, kTarget);
    Sequence printed(apply_scheme(canonical, declared_rotary(head_, order_)), kTarget);
    for (int64_t i : {kTrained - 1, kTarget - 1}) {
      for (int64_t j : {int64_t{0}, i / 3, i}) {
        is_true(given.sees(i, j) == printed.sees(i, j), "canonical text sees the same keys");
        if (!given.sees(i, j)) continue;
        is_true(given.score(q_, k_, i, j) == printed.score(q_, k_, i, j), "canonical text");
      }
    }
  }

  // At 2^40 tokens an angle is still right to 2^-60 turns: compared with fixed-point arithmetic on
  // integers, in which whole turns fall off by themselves.
  void check_long_positions() {
    constexpr int64_t kFar = (int64_t{1} << 40) - 1;
    if (rotary_.spectrum.length() == SpectrumRule::Length::kToken) return;  // two speeds meet
    Sequence sequence(rotary_, kFar + 1);
    const Spectrum& spectrum = sequence.query_spectrum(kFar);
    const DistanceMap& map = sequence.rotary_at(kFar).distance;
    for (int64_t j : {int64_t{0}, int64_t{1}, kFar / 3, kFar - kTarget, kFar - 2}) {
      if (!sequence.sees(kFar, j)) continue;
      const int64_t standing = rotary_.visibility.standing(kFar, j);
      for (int64_t pair = 0; pair < rotary_.layout.n_pairs(); ++pair) {
        const DoubleDouble speed = spectrum.turns_per_token[pair];
        const PairAngle angle = sequence.angle(pair, kFar, j);
        if (kFar - j > rotary_.mask.last_heard(speed)) {
          const bool silent = rotary_.mask.past == PairMask::Past::kSilent;
          is_true(angle.silent == silent, "masked far away");
          continue;
        }
        const bool mapped = map.pairs().holds(pair);
        const DoubleDouble distance =
            mapped ? map.at(standing, j, pair) : DoubleDouble(standing - j);
        near(turns_apart(angle.turns, fixed_point_turns(distance, speed)), 0, 0x1p-60, "far angle");
      }
    }
  }

  // Units of 2^-128 turns; whole turns overflow away.
  __extension__ using Fixed = unsigned __int128;

  // value * 2^128, whole part dropped; 0 <= value.
  static Fixed fixed_of(double value) {
    int exponent = 0;
    const double mantissa = std::frexp(std::abs(value), &exponent);
    const auto bits = static_cast<Fixed>(std::ldexp(mantissa, 53));
    const int shift = exponent - 53 + 128;
    const Fixed size = shift >= 128 || shift <= -128 ? 0
                       : shift >= 0                  ? bits << shift
                                                     : bits >> -shift;
    return value < 0 ? -size : size;
  }

  static DoubleDouble fixed_point_turns(DoubleDouble distance, DoubleDouble speed) {
    const DoubleDouble whole = floor(distance);
    const auto count = static_cast<Fixed>(static_cast<int64_t>(static_cast<double>(whole)));
    const Fixed turns = count * (fixed_of(speed.hi) + fixed_of(speed.lo));
    const auto high = static_cast<double>(static_cast<uint64_t>(turns >> 75));
    const auto low =
        static_cast<double>(static_cast<uint64_t>((turns >> 22) & ((Fixed{1} << 53) - 1)));
    const DoubleDouble reduced(std::ldexp(high, -53), std::ldexp(low, -106));
    return reduced + (distance - whole) * speed;
  }

  static double turns_apart(DoubleDouble a, DoubleDouble b) {
    const DoubleDouble apart = a - b;
    return static_cast<double>(apart - round(apart));
  }

  static bool close(double a, double b) {
    return std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(a));
  }

  void near(double got, double wanted, double tolerance, const char* what) {
    ++checks_;
    EXPECT_NEAR(got, wanted, tolerance) << what << " of " << text_;
  }
  void is_true(bool holds, const char* what) {
    ++checks_;
    EXPECT_TRUE(holds) << what << ": " << text_;
  }

  const SchemeInfo& scheme_;
  std::string text_;
  Head head_;
  PairOrder order_;
  Rotary rotary_;
  std::vector<double> q_;  // (head_dim)
  std::vector<double> k_;  // (head_dim)
  int64_t checks_ = 0;
};

// The row of docs/schemes.md, made from the registry as help texts are.
std::string document_row(const SchemeInfo& scheme) {
  std::ostringstream row;
  row << "| `" << scheme.name << "` | " << to_string(scheme.kind) << " | ";
  const char* separator = "";
  for (const ParamInfo& param : scheme.params) {
    if (param.type == ParamType::kPairs) continue;  // every distance map's; told once
    row << separator << "`" << param.name;
    if (!param.fallback.empty()) row << "=" << param.fallback;
    row << "` " << (param.required ? "" : "optional, ") << describe_type(param);
    if (!param.unit.empty()) row << " (" << param.unit << ")";
    row << ": " << param.help;
    separator = "<br>";
  }
  row << " | `" << scheme.formula << "` | " << scheme.source << " | "
      << (scheme.depends_on_length ? "yes" : "no") << " | ";
  separator = "";
  if (scheme.candidates != nullptr && scheme.recommended) {
    for (const std::string& part : scheme.candidates(4096, 32768)) {
      row << separator << "`" << part << "`";
      separator = "<br>";
    }
  }
  row << " |";
  return row.str();
}

class Conformance : public ::testing::TestWithParam<const SchemeInfo*> {
 protected:
  static void SetUpTestSuite() {
    std::printf("%-20s %-14s %10s %10s\n", "scheme", "kind", "settings", "checks");
  }
  static void TearDownTestSuite() {
    std::printf("%-20s %-14s %10s %10lld\n", "all", "", "", static_cast<long long>(all_checks_));
  }
  static void report(const SchemeInfo& scheme, size_t n_settings, int64_t checks) {
    std::printf("%-20s %-14s %10zu %10lld\n", scheme.name.c_str(), to_string(scheme.kind).c_str(),
                n_settings, static_cast<long long>(checks));
    all_checks_ += checks;
  }

 private:
  static inline int64_t all_checks_ = 0;
};

TEST_P(Conformance, KeepsWhatEverySchemeMust) {
  const SchemeInfo& scheme = *GetParam();
  Seen seen;
  std::set<std::string> texts;
  int64_t checks = 0;
  for (const Head& head : kHeads) {
    for (PairOrder order : {PairOrder::kHalf, PairOrder::kInterleaved}) {
      for (std::string text : settings(scheme, head.rotary_dim / 2)) {
        texts.insert(text);
        std::vector<std::string> variants{text};
        if (scheme.kind == PartKind::kDistanceMap) variants.push_back(text + ",pairs=1:2");
        for (const std::string& variant : variants) {
          Setting setting(scheme, variant, head, order);
          setting.check_all(seen);
          checks += setting.checks();
        }
      }
    }
  }
  EXPECT_EQ(seen.changed_by_length, scheme.depends_on_length);
  EXPECT_EQ(seen.changed_by_shift, !scheme.relative);
  report(scheme, texts.size(), checks + 2);
}

TEST_P(Conformance, DeclaresItselfWhole) {
  const SchemeInfo& scheme = *GetParam();
  EXPECT_NE(scheme.build, nullptr);
  EXPECT_FALSE(scheme.formula.empty());
  EXPECT_FALSE(scheme.source.empty());
  EXPECT_TRUE(scheme.candidates != nullptr || scheme.example != nullptr);
  for (const ParamInfo& param : scheme.params) {
    EXPECT_FALSE(param.help.empty()) << param.name;
    EXPECT_FALSE(param.required && !param.fallback.empty()) << param.name;
    EXPECT_EQ(param.type == ropewalk::ParamType::kChoice, !param.choices.empty()) << param.name;
    if (param.fallback.empty()) continue;
    EXPECT_EQ(to_text(parse_param_value(param, param.name, param.fallback)), param.fallback);
  }
}

TEST_P(Conformance, RefusesWhatItDoesNotKnow) {
  const SchemeInfo& scheme = *GetParam();
  const std::string text = settings(scheme, 4).front();
  EXPECT_NO_THROW(parse_scheme(text));
  EXPECT_THROW(parse_scheme(text + ",no_such_parameter=1"), Error);
  EXPECT_THROW(parse_scheme(text + "+" + text), Error);
  for (const ParamInfo& param : scheme.params) {
    EXPECT_THROW(parse_scheme(scheme.name + "," + param.name + "=no_such_value"), Error);
    EXPECT_THROW(parse_scheme(scheme.name + "," + param.name + "="), Error);
    if (param.required) {
      EXPECT_THROW(parse_scheme(scheme.name), Error) << param.name;
    }
  }
}

TEST_P(Conformance, CandidatesFitAnyLengths) {
  const SchemeInfo& scheme = *GetParam();
  if (scheme.candidates == nullptr) return;  // they come from the user
  for (int64_t trained : {2, 5, 128, 512, 2048, 4096, 131072}) {
    for (int64_t stretch : {1, 2, 3, 8, 32}) {
      const FrequencySource source{
          .base = 500000.0, .frequency_dim = 64, .trained_length = trained};
      const Rotary declared = plain_rotary(source, {PairOrder::kHalf, 64, 64});
      for (const std::string& part : scheme.candidates(trained, trained * stretch)) {
        EXPECT_NO_THROW(apply_scheme(part, declared)) << part;
      }
    }
  }
}

TEST_P(Conformance, HasItsRowInTheDocument) {
  std::ifstream file(ROPEWALK_SOURCE_DIR "/docs/schemes.md");
  std::ostringstream document;
  document << file.rdbuf();
  const std::string row = document_row(*GetParam());
  const bool found = document.str().find("\n" + row + "\n") != std::string::npos;
  EXPECT_TRUE(found) << "docs/schemes.md must hold this row:\n" << row;
}

INSTANTIATE_TEST_SUITE_P(Scheme, Conformance, ::testing::ValuesIn([] {
                           std::vector<const SchemeInfo*> schemes;
                           for (const SchemeInfo& scheme : all_schemes())
                             schemes.push_back(&scheme);
                           return schemes;
                         }()),
                         [](const auto& scheme) { return scheme.param->name; });

TEST(Candidates, AreCanonicalAndOnce) {
  for (const auto& [trained, target] : {std::pair{512, 4096}, {128, 1024}, {4096, 4096}}) {
    const std::vector<std::string> grid = candidate_schemes(trained, target);
    EXPECT_EQ(grid.front(), "declared");
    EXPECT_EQ(std::set<std::string>(grid.begin(), grid.end()).size(), grid.size());
    for (const std::string& text : grid) {
      EXPECT_EQ(parse_scheme(text).text(), text);
      EXPECT_TRUE(parse_scheme(text).recommended()) << text;
    }
  }
  EXPECT_THROW(candidate_schemes(0, 1), Error);
  EXPECT_THROW(candidate_schemes(512, 511), Error);
}

}  // namespace
}  // namespace ropewalk
