// Losses and logits of a real model under every scheme, against values that a dense float64
// implementation outside this project gave for the same ids.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/engine/model.h"
#include "ropewalk/testing/exact_values.h"

namespace ropewalk {
namespace {

using exact_values::read_json;
using exact_values::shared_folder;

#define SKIP_WITHOUT_SHARED_FILES(folder) \
  const auto folder = shared_folder();    \
  if (!folder) GTEST_SKIP() << "no ../shared: losses of a real model are not tested"

// Tokens of a document that are compared. Under every scheme here the losses of a head of whole
// blocks are those of the whole text, so sanitizers, ten times slower, can take a shorter one.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kMostTokens = 1024;
#else
constexpr size_t kMostTokens = 4096;
#endif

// Nats. What float32 costs on these documents: a plain forward pass in torch's is 9.3e-6 off in the
// root mean square under `rope`, and 2.2e-4 where it is worst, on one token that no two orders of
// summation agree on.
constexpr double kRootMeanSquare = 1.5e-5;
constexpr double kWorstLoss = 3e-4;
constexpr double kWorstMean = 1e-5;
constexpr double kWorstLogit = 2e-4;

// nll_<name>.json, and the scheme that the file means.
struct Reference {
  const char* name;
  const char* scheme;
};

constexpr Reference kReferences[] = {
    {"base_x4", "base,factor=4"},
    {"base_x8", "base,factor=8"},
    {"base_x16", "base,factor=16"},
    {"cap_pairs_2_at_512", "cap,window=512,pairs=2:2"},
    {"cap_pairs_3_at_512", "cap,window=512,pairs=3:3"},
    {"direct", "rope"},
    {"direct_logn", "rope+logn"},
    {"dynntk_consistent", "dynamic_ntk"},
    {"dynntk_stale_cache", "stale_dynamic_ntk"},
    {"leaky_w_128_k_16", "leaky,window=128,divisor=16"},
    {"leaky_w_256_k_16", "leaky,window=256,divisor=16"},
    {"leaky_w_256_k_8", "leaky,window=256,divisor=8"},
    {"log_tail_w_128", "log_tail,window=128"},
    {"log_tail_w_256", "log_tail,window=256"},
    {"log_tail_w_512", "log_tail,window=512"},
    {"mask_freeze_at_1_turn_2pi", "full_turn,mode=freeze"},
    {"mask_zero_after_1_turn", "full_turn"},
    {"ntk_aware_s_4_x6_35", "ntk,factor=4"},
    {"ntk_by_parts_s_8_no_temp", "ntk_by_parts,factor=8"},
    {"pi_f_2", "linear,factor=2"},
    {"pi_f_4", "linear,factor=4"},
    {"pi_f_8", "linear,factor=8"},
    {"rerope_w_128", "cap,window=128"},
    {"rerope_w_256", "cap,window=256"},
    {"rerope_w_256_logn", "cap,window=256+logn"},
    {"rerope_w_384", "cap,window=384"},
    {"rerope_w_512", "cap,window=512"},
    {"selfextend_w_256_g_16", "self_extend,window=256,group=16"},
    {"stream_sink4_w_252", "sinks,count=4,size=252"},
    {"swa_w_256", "window,size=256"},
    {"swa_w_512", "window,size=512"},
    {"yarn_s_8_by_parts_temp", "yarn,factor=8,ramp=turns"},
    {"yarn_s_8_hf_code_ramp_temp", "yarn,factor=8"},
};

// The weights are read once for all tests of a process.
const Model& stories(const std::filesystem::path& shared) {
  static const Model model =
      Model::load((shared / "models" / "stories260K.gguf").string(), Precision::kF32);
  return model;
}

std::vector<std::vector<int32_t>> documents(const std::filesystem::path& shared) {
  std::vector<std::vector<int32_t>> docs = read_json(shared / "reference" / "docs.json")["docs"];
  for (std::vector<int32_t>& ids : docs) ids.resize(std::min(ids.size(), kMostTokens));
  return docs;
}

Positions under(const Model& model, const std::string& scheme) {
  return make_positions(model.config(), {{.scheme = scheme}});
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class ReferenceLosses : public testing::TestWithParam<Reference> {};

TEST_P(ReferenceLosses, OfEveryToken) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  const Model& model = stories(*shared);
  const auto [name, scheme] = GetParam();
  const std::filesystem::path file = *shared / "reference" / ("nll_" + std::string(name) + ".json");
  const std::vector<std::vector<double>> expected = read_json(file)["nll"];
  const std::vector<std::vector<int32_t>> docs = documents(*shared);
  ASSERT_EQ(expected.size(), docs.size());
  const Positions positions = under(model, scheme);
  double worst = 0;
  double worst_mean = 0;
  double squares = 0;
  size_t count = 0;
  for (size_t doc = 0; doc < docs.size(); ++doc) {
    const std::vector<double> losses = model.losses(docs[doc], positions);
    ASSERT_GE(expected[doc].size(), losses.size());
    const auto wanted = std::span(expected[doc]).first(losses.size());
    for (size_t t = 0; t < losses.size(); ++t) {
      worst = std::max(worst, std::abs(losses[t] - wanted[t]));
      squares += std::pow(losses[t] - wanted[t], 2);
    }
    count += losses.size();
    worst_mean = std::max(worst_mean, std::abs(mean(losses) - mean(wanted)));
  }
  const double root_mean_square = std::sqrt(squares / static_cast<double>(count));
  std::printf("%-28s worst %.1e, rms %.1e, mean off by %.1e nats: %s\n", name, worst,
              root_mean_square, worst_mean, scheme);
  EXPECT_LE(root_mean_square, kRootMeanSquare) << scheme;
  EXPECT_LE(worst, kWorstLoss) << scheme;
  EXPECT_LE(worst_mean, kWorstMean) << scheme;
}

INSTANTIATE_TEST_SUITE_P(Shared, ReferenceLosses, testing::ValuesIn(kReferences),
                         [](const auto& reference) { return std::string(reference.param.name); });

// A file that no test reads would look like one that passed.
TEST(ReferenceFiles, AllAreCompared) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  std::set<std::string> known = {"README.md", "docs.json", "logits.json", "schemes.json",
                                 "tokenizer_greedy.json"};
  for (const Reference& reference : kReferences)
    known.insert("nll_" + std::string(reference.name) + ".json");
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(*shared / "reference"))
    found.insert(entry.path().filename().string());
  EXPECT_EQ(found, known);
}

TEST(ReferenceLogits, AfterSomeTokens) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  const Model& model = stories(*shared);
  const std::vector<std::vector<int32_t>> docs = documents(*shared);
  const std::map<std::string, std::string> schemes = {{"direct", "rope"},
                                                      {"ReRoPE w=256", "cap,window=256"}};
  const nlohmann::json file = read_json(*shared / "reference" / "logits.json");
  ASSERT_EQ(file.size(), schemes.size());
  int compared = 0;
  for (const auto& [name, scheme] : schemes) {
    const Positions positions = under(model, scheme);
    for (size_t doc = 0; doc < docs.size(); ++doc) {
      for (const auto& [position, wanted] : file[name]["doc" + std::to_string(doc)].items()) {
        const size_t count = std::stoul(position) + 1;
        if (count > docs[doc].size()) continue;
        Sequence sequence(model, positions, static_cast<int64_t>(count));
        const std::span<const float> logits = sequence.append(std::span(docs[doc]).first(count));
        ASSERT_EQ(logits.size(), wanted.size());
        double worst = 0;
        for (size_t id = 0; id < logits.size(); ++id)
          worst = std::max(worst, std::abs(logits[id] - wanted[id].get<double>()));
        EXPECT_LE(worst, kWorstLogit) << scheme << ", document " << doc << " at " << position;
        std::printf("logits at %4s of document %zu under %s: worst %.1e\n", position.c_str(), doc,
                    scheme.c_str(), worst);
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 8);
}

TEST(ReferenceText, IsWhatTheLikeliestTokensSpell) {
  SKIP_WITHOUT_SHARED_FILES(shared);
  const Model& model = stories(*shared);
  const std::string wanted =
      read_json(*shared / "reference" / "tokenizer_greedy.json")["greedy_text"];
  const Positions positions = under(model, "declared");
  std::vector<int32_t> ids = model.tokenizer().encode("");
  Sequence sequence(model, positions, 512);
  std::vector<int32_t> next = ids;
  std::string text;
  while (text.size() < wanted.size() && ids.size() < 512) {
    next = {greedy_choice(sequence.append(next))};
    ids.push_back(next.front());
    text = model.tokenizer().decode(ids);
  }
  EXPECT_EQ(text, wanted);
}

}  // namespace
}  // namespace ropewalk
