#include "ropewalk/study/search_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

constexpr int64_t kTrained = 256;
constexpr int64_t kTarget = 2048;

Rotary plain(int64_t n_pairs) {
  return plain_rotary({.base = 10000.0, .frequency_dim = 2 * n_pairs, .trained_length = kTrained},
                      {PairOrder::kHalf, 2 * n_pairs, 2 * n_pairs});
}

TEST(Knobs, NameParametersOfTheRegistry) {
  for (const KnobRow& row : knob_rows()) {
    const SchemeInfo* const scheme = find_scheme(row.scheme);
    ASSERT_NE(scheme, nullptr) << row.scheme;
    const auto param = std::ranges::find(scheme->params, row.parameter, &ParamInfo::name);
    ASSERT_NE(param, scheme->params.end()) << row.scheme << " " << row.parameter;
    EXPECT_TRUE(param->type == ParamType::kNumber || param->type == ParamType::kInteger)
        << row.scheme << " " << row.parameter;
  }
}

TEST(Knobs, HoldEveryNumberThatCandidatesOfTheGridAreNamedWith) {
  // No step keeps w a multiple of g; a tail's N and L are no matter of choice, nor are its pieces.
  std::set<std::string> known = {"group_attention,group", "group_attention,window", "log_tail,at",
                                 "log_tail,pieces", "step_temperature,length"};
  for (const KnobRow& row : knob_rows()) known.insert(row.scheme + "," + row.parameter);
  for (const std::string& scheme : candidate_schemes(kTrained, kTarget)) {
    for (const ParsedPart& part : parse_scheme(scheme).parts) {
      if (part.scheme->kind == PartKind::kVisibility) continue;  // forgets far text
      for (const ParamInfo& param : part.scheme->params) {
        if (param.type != ParamType::kNumber && param.type != ParamType::kInteger) continue;
        if (part.text.find("," + param.name + "=") == part.text.npos) continue;
        EXPECT_TRUE(known.contains(part.scheme->name + "," + param.name))
            << scheme << ": " << param.name;
      }
    }
  }
}

TEST(SpacesAround, StartAtTheSettingItself) {
  for (const std::string& scheme : candidate_schemes(kTrained, kTarget)) {
    const std::vector<SearchSpace> spaces = spaces_around(scheme, kTrained, kTarget);
    if (spaces.empty()) continue;
    EXPECT_EQ(spaces.front().scheme(spaces.front().start), scheme);
    EXPECT_EQ(spaces.front().knobs.size(), spaces.front().start.size());
  }
  EXPECT_TRUE(spaces_around("declared", kTrained, kTarget).empty());
}

TEST(SpacesAround, TurnWidthTailAndTemperatureOfACap) {
  const auto spaces = spaces_around("cap,window=128,pairs=7:15+full_turn", kTrained, kTarget);
  ASSERT_EQ(spaces.size(), 3u);
  std::vector<std::string> names;
  for (const Knob& knob : spaces[0].knobs) names.push_back(knob.name);
  EXPECT_EQ(names, (std::vector<std::string>{"window", "pairs", "turns", "factor"}));
  EXPECT_EQ(spaces[0].scheme({100, 6, 2, 1.06}),
            "cap,window=100,pairs=6:15+full_turn,turns=2+temperature,factor=1.06");
  EXPECT_EQ(spaces[1].scheme(spaces[1].start), "leaky,window=128,divisor=60,pairs=7:15+full_turn");
  EXPECT_EQ(spaces[2].scheme(spaces[2].start),
            "log_tail,window=128,bound=160,at=2048,pieces=4,pairs=7:15+full_turn");
  EXPECT_EQ(spaces[2].describe(spaces[2].start), "around cap,window=128,pairs=7:15+full_turn");
}

TEST(SpacesAround, LeaveADeclaredMultiplierAndSpectraWithoutTemperature) {
  const auto cap = spaces_around("cap,window=128+logn", kTrained, kTarget);
  for (const Knob& knob : cap.front().knobs) EXPECT_EQ(knob.name, "window");
  const auto yarn = spaces_around("yarn,factor=8", kTrained, kTarget);
  ASSERT_EQ(yarn.size(), 1u);
  EXPECT_EQ(yarn[0].scheme({8, 48, 1, 0.14}), "yarn,factor=8,beta_fast=48,coefficient=0.14");
}

TEST(PairDivisors, RiseFromOneAndNeverFall) {
  const auto flat = pair_divisors({.critical = 4, .at = 8, .growth = 1, .bend = 1}, 8);
  ASSERT_EQ(flat.size(), 8u);
  EXPECT_EQ(flat[0], 1);
  EXPECT_EQ(flat[2], four_digits(std::sqrt(8)));
  for (size_t pair = 4; pair < 8; ++pair) EXPECT_EQ(flat[pair], 8);
  const auto bent = pair_divisors({.critical = 4, .at = 8, .growth = 2, .bend = 4}, 8);
  EXPECT_TRUE(std::ranges::is_sorted(bent));
  EXPECT_LT(bent[2], flat[2]);
  EXPECT_EQ(bent[4], 8);
  EXPECT_EQ(bent[7], 16);
}

TEST(PairFactorSpaces, AreListsThatFitTheModelFromItsUnfinishedPair) {
  const Rotary declared = plain(16);
  const auto spaces = pair_factor_spaces(declared, nullptr, kTarget);
  ASSERT_EQ(spaces.size(), 3u);
  for (const SearchSpace& space : spaces) {
    EXPECT_EQ(space.start[0], 7) << "256 / (2 pi) lies between the periods of pairs 6 and 7";
    EXPECT_EQ(space.start[1], 8);
    const Rotary built = apply_scheme(space.scheme(space.start), declared);
    EXPECT_EQ(built.spectrum.at(kTarget).n_pairs(), 16);
    EXPECT_NEAR(built.spectrum.at(kTarget).inv_freq()[7] * 8, std::pow(10000, -7.0 / 16), 1e-12);
  }
  EXPECT_TRUE(pair_factor_spaces(plain(1), nullptr, kTarget).empty());
}

TEST(PairFactorSpaces, StartNearTheBestThatThereIs) {
  const Rotary declared = plain(16);
  const Rotary ntk = apply_scheme("ntk,factor=8", declared);
  const auto spaces = pair_factor_spaces(declared, &ntk, kTarget);
  ASSERT_EQ(spaces.size(), 4u);
  const Rotary nearest = apply_scheme(spaces[0].scheme(spaces[0].start), declared);
  const auto wanted = ntk.spectrum.at(kTarget).inv_freq();
  const auto built = nearest.spectrum.at(kTarget).inv_freq();
  for (size_t pair = 0; pair < wanted.size(); ++pair)
    EXPECT_NEAR(built[pair] / wanted[pair], 1, 2e-3) << pair;
}

TEST(PairFactorSpaces, StartInsideTheirBoundsWhateverIsBest) {
  const Rotary declared = plain(16);
  for (const char* scheme : {"rope", "llama3,factor=8,low=1,high=4", "yarn,factor=8", "hope"}) {
    const Rotary best = apply_scheme(scheme, declared);
    const SearchSpace space = pair_factor_spaces(declared, &best, kTarget).front();
    for (size_t k = 0; k < space.knobs.size(); ++k) {
      EXPECT_GE(space.start[k], space.knobs[k].least) << scheme << " " << space.knobs[k].name;
      EXPECT_LE(space.start[k], space.knobs[k].most) << scheme << " " << space.knobs[k].name;
    }
    EXPECT_NO_THROW(space.scheme(space.start)) << scheme;
  }
}

}  // namespace
}  // namespace ropewalk
