// The table of published orderings. To add one: figures as the source prints them, of models that
// were not trained again for the scheme; at one length, else `measure` says over which.
#include "ropewalk/study/calibration.h"

namespace ropewalk {
namespace {

PublishedScheme of(const char* name, double figure) { return {.name = name, .figure = figure}; }

PublishedScheme cap(double share, double figure) {
  return {.name = "cap", .figure = figure, .parameter = "window", .share = share};
}

PublishedScheme window(double share, double figure) {
  return {.name = "window", .figure = figure, .parameter = "size", .share = share};
}

const char* const kSu = "Su 2023, kexue.fm/archives/9706 and 9708";
const char* const kSuModel = "gated attention units of 100M parameters, 512 tokens";
const char* const kRerope = "Su 2023, github.com/bojone/rerope";
const char* const kLlama13 = "Llama-2-13B, 4096 tokens";
// The repository's programs multiply queries by log n under all but rope, and NTK's there is the mixed.
const char* const kReropeLoss = "loss of the last 4096 tokens, with log n but for rope";
const char* const kLongRope = "Ding et al. 2024, arXiv 2402.13753, table 1";
const char* const kLlama7 = "Llama-2-7B, 4096 tokens";
const char* const kJetLong = "Tang et al. 2026, arXiv 2607.07740";
const char* const kQwen3 = "Qwen3 of 1.7B, 4B and 8B, 32768 tokens";
const char* const kDrope = "Gelberg et al. 2025, arXiv 2512.12167";
const char* const kSmolLm = "SmolLM-360M, 2048 tokens";
const char* const kNeedles = "needles found, %, longrope with LongRoPE2's factors";

PublishedOrdering drope(double stretch, double ntk, double yarn, double longrope) {
  return {.source = kDrope,
          .model = kSmolLm,
          .stretch = stretch,
          .measure = kNeedles,
          .of_recall = true,
          .more_is_better = true,
          .schemes = {of("ntk", ntk), of("yarn", yarn), of("longrope", longrope)}};
}

PublishedOrdering long_rope(const char* measure, double stretch, double linear, double dynamic,
                            double yarn, double longrope) {
  return {.source = kLongRope,
          .model = kLlama7,
          .stretch = stretch,
          .measure = measure,
          .schemes = {of("linear", linear), of("dynamic_ntk", dynamic), of("yarn", yarn),
                      of("longrope", longrope)}};
}

}  // namespace

const std::vector<PublishedOrdering>& published_orderings() {
  const char* const pg19 = "perplexity on PG19, 5 samples";
  const char* const proof_pile = "perplexity on Proof-pile, 10 samples";
  static const std::vector<PublishedOrdering> kAll = {
      {.source = kSu,
       .model = kSuModel,
       .stretch = 8,
       .measure = "next tokens guessed, %, text that does not repeat",
       .more_is_better = true,
       .schemes = {of("linear", 13.54), of("rope", 23.16), of("ntk", 39.27), of("ntk_fixed", 39.61),
                   of("ntk_mixed", 40.12), cap(0.125, 45.19), cap(0.25, 47.82), cap(0.5, 48.48),
                   cap(0.75, 48.15), cap(1, 8.25)}},
      {.source = kSu,
       .model = kSuModel,
       .stretch = 8,
       .measure = "next tokens guessed, %, text that repeats",
       .of_recall = true,
       .more_is_better = true,
       .schemes = {of("linear", 15.04), of("rope", 24.17), of("ntk", 51.28), of("ntk_fixed", 51.86),
                   of("ntk_mixed", 53.09), cap(0.125, 69.39), cap(0.25, 76.11), cap(0.5, 77.90),
                   cap(0.75, 70.72), cap(1, 7.09)}},
      {.source = kRerope,
       .model = kLlama13,
       .stretch = 2,
       .measure = kReropeLoss,
       .schemes = {of("rope", 8.8615), of("ntk_mixed", 1.5417), cap(0.25, 1.4267)}},
      {.source = kRerope,
       .model = kLlama13,
       .stretch = 4,
       .measure = kReropeLoss,
       .schemes = {of("ntk_mixed", 1.5163), cap(0.25, 1.4001)}},
      long_rope(pg19, 2, 10.65, 10.21, 32.64, 9.37),
      long_rope(pg19, 4, 20.49, 23.29, 87.89, 11.34),
      long_rope(proof_pile, 2, 3.65, 3.50, 3.49, 3.45),
      long_rope(proof_pile, 4, 4.93, 3.87, 3.25, 3.13),
      {.source = kJetLong,
       .model = kQwen3,
       .stretch = 4,
       .measure = "perplexity on PG19, mean over 4k to 128k tokens",
       .schemes = {of("rope", 14.59), of("dynamic_ntk", 10.84), of("yarn", 12.79), of("dca", 10.14),
                   of("self_extend", 10.20), of("jet_long", 10.10)}},
      {.source = kJetLong,
       .model = kQwen3,
       .stretch = 4,
       .measure = "RULER, %, mean over 4k to 128k tokens",
       .of_recall = true,
       .more_is_better = true,
       .schemes = {of("rope", 68.00), of("dynamic_ntk", 77.48), of("yarn", 67.20), of("dca", 76.36),
                   of("self_extend", 77.80), of("jet_long", 81.23)}},
      drope(2, 29.8, 48.3, 44.2),
      drope(4, 14.4, 25.6, 26.2),
      drope(8, 7.2, 12.2, 16.5),
      {.source = "a pilot with a reference kernel, ten windows of 4096 tokens of short stories",
       .model = "stories260K, 512 tokens",
       .file = "stories260K",
       .stretch = 8,
       .measure = "loss, over all positions",
       .schemes = {of("rope", 3.742), cap(0.25, 1.972), cap(0.5, 2.021), cap(0.75, 2.022),
                   cap(1, 2.063), of("leaky", 2.014), of("self_extend", 2.014),
                   of("full_turn", 3.290), window(0.5, 1.807), window(1, 1.869)}},
  };
  return kAll;
}

}  // namespace ropewalk
