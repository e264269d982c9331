// The cache against one pass: whichever way tokens come, the logits are those of all at once.
#include <gmock/gmock.h>

#include "ropewalk/engine/model.h"
#include "ropewalk/engine/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;

struct Case {
  const char* name;
  const char* scheme;
};

constexpr Case kCases[] = {
    {"rope", "rope"},
    {"cap", "cap,window=40"},
    {"log_tail", "log_tail,window=30"},
    {"self_extend", "self_extend,window=32,group=4"},
    {"sinks", "sinks,count=4,size=50"},
    {"window", "window,size=33"},
    {"full_turn", "full_turn"},
    {"logn", "cap,window=40+logn"},
    {"dynamic_ntk", "dynamic_ntk"},
    {"dynamic_ntk_all", "dynamic_ntk,block=all"},
    {"stale_dynamic_ntk", "stale_dynamic_ntk"},
    {"longrope", "longrope,long=1:2:3:4,short=1:1:1:2"},
    {"dca", "dca"},
    {"dca_code", "dca_code"},
    {"jet_long", "jet_long,window=20"},
    {"jet_long_blocks", "jet_long,window=20,block=64"},
    {"dpe", "dpe,window=30,groups=1:4"},
    {"group_attention", "group_attention,group=4,window=32"},
    {"lm_infinite", "lm_infinite,sinks=4,window=50"},
};

// Over the trained length of 128, where length-dependent schemes change.
constexpr size_t kTokens = 200;

// Logits after tokens that came in chunks of `size`, at every chunk's end.
std::vector<std::vector<float>> in_chunks(const Positions& positions, std::span<const int32_t> ids,
                                          size_t size) {
  Sequence sequence(tiny_model(), positions, static_cast<int64_t>(ids.size()));
  std::vector<std::vector<float>> logits;
  for (size_t first = 0; first < ids.size(); first += size) {
    const auto chunk = ids.subspan(first, std::min(size, ids.size() - first));
    logits.push_back(copy(sequence.append(chunk)));
  }
  EXPECT_TRUE(std::ranges::equal(sequence.ids(), ids));
  return logits;
}

std::vector<float> at_once(const Positions& positions, std::span<const int32_t> ids) {
  return in_chunks(positions, ids, ids.size()).back();
}

class SequenceUnder : public testing::TestWithParam<Case> {};

// Each row of attention is summed in the order of its keys, whatever rows come with it. So is each
// row of a dense product where the library's kernel of few rows sums as that of many does: there
// even the bits agree, for every scheme. What is promised is the bound.
TEST_P(SequenceUnder, ChunksGiveTheLogitsOfOnePass) {
  const std::vector<int32_t> ids = some_tokens(kTokens);
  const Positions positions = under(tiny_model(), GetParam().scheme);
  const std::vector<float> wanted = at_once(positions, ids);
  double worst = 0;
  for (const size_t size : {size_t{1}, size_t{7}, size_t{63}, size_t{64}, size_t{129}}) {
    const std::vector<float> got = in_chunks(positions, ids, size).back();
    worst = std::max(worst, worst_difference(got, wanted));
  }
  std::printf("%-18s worst difference of the cache %.1e\n", GetParam().name, worst);
  EXPECT_LE(worst, 1e-5);
}

TEST_P(SequenceUnder, EveryPrefixGivesTheLogitsOfOnePass) {
  const std::vector<int32_t> ids = some_tokens(kTokens);
  const Positions positions = under(tiny_model(), GetParam().scheme);
  const std::vector<std::vector<float>> one_by_one = in_chunks(positions, ids, 1);
  for (const size_t count : {1, 2, 63, 64, 65, 127, 128, 129, 130, 192, 193}) {
    const std::vector<float> wanted = at_once(positions, std::span(ids).first(count));
    EXPECT_LE(worst_difference(one_by_one[count - 1], wanted), 1e-5) << count << " tokens";
  }
}

// A text read once goes on in several ways, across the trained length too.
TEST_P(SequenceUnder, WhatIsTakenBackLeavesNoTrace) {
  const std::vector<int32_t> ids = some_tokens(kTokens);
  const Positions positions = under(tiny_model(), GetParam().scheme);
  for (const int64_t kept : {int64_t{1}, int64_t{100}, int64_t{127}, int64_t{140}, int64_t{200}}) {
    Sequence sequence(tiny_model(), positions, kTokens + 20);
    sequence.append(ids);
    sequence.append(some_tokens(20));
    sequence.take_back(kept);
    EXPECT_EQ(sequence.ids().size(), static_cast<size_t>(kept));
    std::vector<int32_t> other(ids.begin(), ids.begin() + kept);
    for (const int32_t id : {5, 9, 7}) {
      other.push_back(id);
      const std::vector<float> got = copy(sequence.append({&other.back(), 1}));
      EXPECT_LE(worst_difference(got, at_once(positions, other)), 1e-5) << kept << " kept";
    }
  }
}

// Each choice as if it alone had followed, and what follows then is as if none had been looked at.
TEST_P(SequenceUnder, LossesOfWhatMayComeNextLeaveNoTrace) {
  const Positions positions = under(tiny_model(), GetParam().scheme);
  const std::vector<int32_t> ids = some_tokens(126);
  Sequence sequence(tiny_model(), positions, 150);
  sequence.append(ids);
  for (const std::vector<int32_t>& choice :
       {std::vector<int32_t>{5}, {9, 7, 3, 8, 20, 4}, std::vector<int32_t>(20, 6), {4, 4}}) {
    std::vector<int32_t> all = ids;
    all.insert(all.end(), choice.begin(), choice.end());
    const std::vector<double> whole = tiny_model().losses(all, positions);
    EXPECT_LE(
        worst_difference(sequence.losses_of_next(choice), std::span(whole).last(choice.size())),
        2e-5)
        << choice.size() << " tokens";
  }
  EXPECT_EQ(sequence.ids(), ids);
  std::vector<int32_t> other = ids;
  other.push_back(11);
  EXPECT_LE(worst_difference(copy(sequence.append({&other.back(), 1})), at_once(positions, other)),
            1e-5);
}

// The loss of a token is that of the logits before it.
TEST_P(SequenceUnder, LogitsGiveTheLosses) {
  const std::vector<int32_t> ids = some_tokens(kTokens);
  const Positions positions = under(tiny_model(), GetParam().scheme);
  const double loss = tiny_model().losses(ids, positions).back();
  // Positions of the last but one row under the length of the whole text.
  if (first_stale_row(positions, kTokens - 1, kTokens) < static_cast<int64_t>(kTokens) - 1) return;
  const std::vector<float> logits = at_once(positions, std::span(ids).first(kTokens - 1));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  EXPECT_NEAR(std::log(sum) - static_cast<double>(logits[static_cast<size_t>(ids.back())]), loss,
              1e-5);
}

INSTANTIATE_TEST_SUITE_P(Schemes, SequenceUnder, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Sequence, LayersOfSeveralSchemes) {
  const std::vector<int32_t> ids = some_tokens(kTokens);
  const Positions positions = make_positions(
      tiny_model().config(),
      {{.scheme = "dynamic_ntk", .first = 1}, {.scheme = "cap,window=30", .first = 0, .last = 0}});
  EXPECT_LE(worst_difference(in_chunks(positions, ids, 9).back(), at_once(positions, ids)), 1e-5);
}

TEST(Sequence, RefusesWhatDoesNotFit) {
  const Positions positions = under(tiny_model(), "rope");
  const std::vector<int32_t> ids = some_tokens(10);
  Sequence sequence(tiny_model(), positions, 10);
  const std::vector<float> before = copy(sequence.append(std::span(ids).first(8)));
  EXPECT_THAT(message_of([&] { sequence.append(std::span(ids).first(3)); }),
              HasSubstr("must fit its capacity of 10 tokens, got 11"));
  EXPECT_THAT(message_of([&] { sequence.append({}); }), HasSubstr("at least one"));
  const std::vector<int32_t> wrong = {4, 272};
  EXPECT_THAT(message_of([&] { sequence.append(wrong); }),
              HasSubstr("token 1: must be an id from 0 to 271, got 272"));
  // What was refused leaves no trace.
  EXPECT_EQ(sequence.ids().size(), 8u);
  EXPECT_EQ(copy(sequence.append(std::span(ids).subspan(8))), at_once(positions, ids));
}

}  // namespace
}  // namespace ropewalk
