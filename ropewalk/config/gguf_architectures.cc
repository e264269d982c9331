// Source: llama.cpp of September 2026 (80fb11ac): llama_model_rope_type, the loaders and graphs of
// src/models; conversion/*.py for `permuted`. transformers 5.24, integrations/ggml.py, for what it
// reads. Rows follow the names.
#include "ropewalk/config/gguf_architectures.h"

#include <algorithm>

namespace ropewalk {
namespace {

using A = GgufArchitecture;
using S = GgufSliding;

constexpr PairOrder kAdjacent = PairOrder::kInterleaved;
constexpr A::Positions kNoPositions = A::Positions::kNone;

// Layers that slide with the base and the scaling of the others, by a period that is known.
constexpr GgufSliding every(int32_t period, S::When when = S::When::kAlways) {
  return {.when = when, .period = period, .period_only = true};
}

constexpr GgufSliding plain_every(int32_t period, S::When when = S::When::kAlways) {
  GgufSliding sliding = every(period, when);
  sliding.base = S::Base::kTenThousand;
  sliding.scaling = S::Scaling::kPlain;
  return sliding;
}

// Layers that slide as a list by layer tells.
constexpr GgufSliding listed(S::Base base, S::Scaling scaling) {
  return {.when = S::When::kAlways, .base = base, .scaling = scaling};
}

constexpr GgufSliding with(GgufSliding sliding, S::Base base) {
  sliding.base = base;
  return sliding;
}

constexpr GgufSliding with(GgufSliding sliding, S::Sight sight) {
  sliding.sight = sight;
  return sliding;
}

constexpr GgufSliding with_window(GgufSliding sliding, int32_t window) {
  sliding.window = window;
  return sliding;
}

constexpr GgufSliding of_layers(int32_t n_layers, GgufSliding sliding) {
  sliding.only_layers = n_layers;
  return sliding;
}

constexpr GgufSliding full_first(GgufSliding sliding) {
  sliding.full_first = true;
  return sliding;
}

// The number and the list are both looked at.
constexpr GgufSliding or_listed(GgufSliding sliding) {
  sliding.period_only = false;
  return sliding;
}

constexpr auto kWithWindow = S::When::kWithWindow;

constexpr A kArchitectures[] = {
    {.name = "afmoe", .sliding = every(4, kWithWindow), .unrotated = A::Unrotated::kFourth},
    {.name = "apertus", .factors = A::Factors::kFreqsOrLists},
    {.name = "arcee", .order = kAdjacent, .permuted = true, .factors = A::Factors::kFreqs},
    {.name = "arctic", .order = kAdjacent, .permuted = true},
    {.name = "arwkv7", .positions = kNoPositions},
    {.name = "baichuan",
     .order = kAdjacent,
     .permuted = true,
     .alibi_bias = 8,
     .by_layer_count = true},
    {.name = "bailingmoe", .order = kAdjacent, .permuted = true},
    {.name = "bailingmoe2"},
    {.name = "bailingmoe3", .order = kAdjacent, .latent = true},
    {.name = "bert",
     .positions = A::Positions::kLearned,
     .token_types = true,
     .runs_both_ways = true},
    {.name = "bitnet"},
    {.name = "bloom",
     .positions = A::Positions::kAlibi,
     .alibi_bias = 8,
     .read_by_transformers = true},
    {.name = "chameleon", .order = kAdjacent, .permuted = true},
    {.name = "chatglm", .order = kAdjacent},
    {.name = "codeshell"},
    {.name = "cogvlm", .factors = A::Factors::kUnused, .fixed = true},
    {.name = "cohere2",
     .order = kAdjacent,
     .sliding = with(every(4), S::Base::kFullOnly),
     .unrotated = A::Unrotated::kFull},
    {.name = "cohere2moe",
     .order = kAdjacent,
     .sliding = or_listed(full_first(with(every(4), S::Base::kFullOnly))),
     .unrotated = A::Unrotated::kFullAfterDense},
    {.name = "command-r", .order = kAdjacent},
    {.name = "dbrx"},
    {.name = "deci",
     .order = kAdjacent,
     .permuted = true,
     .whole_head = true,
     .factors = A::Factors::kFreqsOrLists,
     .read_by_transformers = true},
    {.name = "deepseek", .order = kAdjacent, .permuted = true},
    {.name = "deepseek2",
     .order = kAdjacent,
     .latent = true,
     .temperature = A::Temperature::kOwnLength,
     .log_multiplier = A::LogMultiplier::kTenth,
     .mscale_is_all_dim = true},
    {.name = "deepseek2-ocr", .fixed = true},
    {.name = "deepseek32",
     .order = kAdjacent,
     .latent = true,
     .log_multiplier = A::LogMultiplier::kTenth},
    {.name = "deepseek4", .order = kAdjacent, .latent = true, .compressed = true},
    {.name = "dflash",
     .axes = A::Axes::kSectionsIfGiven,
     .interleaved_with = "hyper_connection.count",
     .sliding = {.when = kWithWindow, .base = S::Base::kFullOnly}},
    {.name = "dots1"},
    {.name = "dots3note",
     .order = kAdjacent,
     .latent = true,
     .sliding = listed(S::Base::kTenThousand, S::Scaling::kFull)},
    {.name = "dream"},
    {.name = "eagle3", .order = kAdjacent, .permuted = true, .factors = A::Factors::kFreqs},
    {.name = "ernie4_5", .order = kAdjacent},
    {.name = "ernie4_5-moe", .order = kAdjacent},
    {.name = "eurobert"},
    {.name = "exaone", .factors = A::Factors::kFreqs},
    {.name = "exaone-moe",
     .factors = A::Factors::kFreqs,
     .sliding = with_window(with(every(4), S::Base::kFullOnly), 128),
     .unrotated = A::Unrotated::kFull},
    {.name = "exaone4",
     .factors = A::Factors::kFreqs,
     .sliding = of_layers(64, with_window(with(every(4, kWithWindow), S::Base::kFullOnly), 4096)),
     .unrotated = A::Unrotated::kFull},
    {.name = "falcon", .whole_head = true, .read_by_transformers = true},
    {.name = "falcon-h1", .factors = A::Factors::kUnused},
    {.name = "gemma"},
    {.name = "gemma-embedding", .sliding = with(plain_every(6), S::Sight::kSymmetric)},
    {.name = "gemma2", .sliding = with_window(every(2), 4096), .read_by_transformers = true},
    {.name = "gemma3", .sliding = plain_every(6, kWithWindow), .read_by_transformers = true},
    {.name = "gemma3n", .sliding = plain_every(5)},
    {.name = "gemma4",
     .factors = A::Factors::kFreqs,
     .factors_of_full = true,
     .sliding = listed(S::Base::kTenThousand, S::Scaling::kPlain),
     .read_by_transformers = true},
    {.name = "gemma4-assistant",
     .factors = A::Factors::kFreqs,
     .factors_of_full = true,
     .sliding = listed(S::Base::kTenThousand, S::Scaling::kPlain)},
    {.name = "glm-dsa", .order = kAdjacent, .latent = true},
    {.name = "glm4", .order = kAdjacent, .axes = A::Axes::kSectionsIfGiven},
    {.name = "glm4moe", .axes = A::Axes::kSectionsIfGiven},
    {.name = "gpt-oss", .sliding = every(2), .read_by_transformers = true},
    {.name = "gpt2", .positions = A::Positions::kLearned, .read_by_transformers = true},
    {.name = "gptj", .positions = kNoPositions},
    {.name = "gptneox"},
    {.name = "granite",
     .order = kAdjacent,
     .permuted = true,
     .factors = A::Factors::kFreqsOrLists,
     .unrotated = A::Unrotated::kFinetuned},
    {.name = "granite_swa",
     .order = kAdjacent,
     .permuted = true,
     .factors = A::Factors::kFreqsOrLists,
     .sliding = listed(S::Base::kFullOnly, S::Scaling::kFull),
     .unrotated = A::Unrotated::kPattern},
    {.name = "granitehybrid",
     .order = kAdjacent,
     .permuted = true,
     .factors = A::Factors::kFreqs,
     .unrotated = A::Unrotated::kFinetuned},
    {.name = "granitemoe",
     .order = kAdjacent,
     .permuted = true,
     .factors = A::Factors::kFreqsOrLists},
    {.name = "graniteswitch",
     .order = kAdjacent,
     .permuted = true,
     .unrotated = A::Unrotated::kFinetuned},
    {.name = "grok", .yarn_keys = A::YarnKeys::kAll},
    {.name = "grovemoe"},
    {.name = "hunyuan-dense", .alpha = true},
    {.name = "hunyuan-moe"},
    {.name = "hunyuan-vl", .axes = A::Axes::kSectionsIfGiven, .alpha = true},
    {.name = "hunyuan_vl", .axes = A::Axes::kSectionsIfGiven, .alpha = true},
    {.name = "hy_v3"},
    {.name = "internlm2", .order = kAdjacent, .permuted = true},
    {.name = "jais", .positions = A::Positions::kAlibi},
    {.name = "jais2"},
    {.name = "jamba", .positions = kNoPositions},
    {.name = "jina-bert-v2",
     .positions = A::Positions::kAlibi,
     .alibi_bias = 8,
     .token_types = true},
    {.name = "jina-bert-v3", .token_types = true},
    {.name = "kimi-k3", .positions = kNoPositions},
    {.name = "kimi-linear", .positions = kNoPositions},
    {.name = "laguna",
     .sliding = {.when = kWithWindow,
                 .period = 4,
                 .full_first = true,
                 .period_only = true,
                 .scaling = S::Scaling::kPlain}},
    {.name = "lfm2",
     .sliding = {.when = kWithWindow, .period = S::kEveryLayer, .base = S::Base::kFullOnly},
     .read_by_transformers = true},
    {.name = "lfm2moe"},
    {.name = "llada", .order = kAdjacent, .permuted = true, .factors = A::Factors::kUnused},
    {.name = "llada-moe"},
    {.name = "llama",
     .order = kAdjacent,
     .permuted = true,
     .whole_head = true,
     .factors = A::Factors::kFreqsOrLists,
     .read_by_transformers = true,
     .equal_widths = true},
    {.name = "llama-embed",
     .order = kAdjacent,
     .permuted = true,
     .whole_head = true,
     .factors = A::Factors::kFreqsOrLists},
    {.name = "llama4",
     .order = kAdjacent,
     .factors = A::Factors::kFreqs,
     .sliding = with_window(with(every(4, S::When::kUnlessZero), S::Sight::kChunked), 8192),
     .unrotated = A::Unrotated::kFourthIfChunks,
     .temperature = A::Temperature::kLlama4},
    {.name = "maincoder", .order = kAdjacent},
    {.name = "mamba", .positions = kNoPositions, .read_by_transformers = true},
    {.name = "mamba2", .positions = kNoPositions},
    {.name = "mellum",
     .sliding = {.when = kWithWindow,
                 .period = 4,
                 .base = S::Base::kFullOnly,
                 .scaling = S::Scaling::kPlain}},
    {.name = "mimo2", .sliding = listed(S::Base::kTenThousand, S::Scaling::kPlain)},
    {.name = "minicpm",
     .order = kAdjacent,
     .permuted = true,
     .factors = A::Factors::kFreqsOrLists,
     .unrotated = A::Unrotated::kFinetuned,
     .rotates_all = true},
    {.name = "minicpm3", .latent = true, .factors = A::Factors::kLists},
    {.name = "minimax-01", .recurrent = A::Recurrent::kByInterval, .attention_interval = 8},
    {.name = "minimax-m2", .read_by_transformers = true},
    {.name = "minimax-m3"},
    {.name = "mistral3",
     .order = kAdjacent,
     .permuted = true,
     .factors = A::Factors::kFreqsOrLists,
     .temperature = A::Temperature::kOriginalLength,
     .yarn_keys = A::YarnKeys::kBetas,
     .log_multiplier = A::LogMultiplier::kPlain},
    {.name = "mistral4",
     .order = kAdjacent,
     .latent = true,
     .temperature = A::Temperature::kOwnLength,
     .log_multiplier = A::LogMultiplier::kTenth},
    {.name = "modern-bert",
     .sliding = with(full_first(plain_every(3, kWithWindow)), S::Sight::kSymmetric),
     .runs_both_ways = true},
    {.name = "mpt", .positions = A::Positions::kAlibi},
    {.name = "muse-glimmer",
     .order = kAdjacent,
     .sliding = {.when = S::When::kAlways, .period = 4, .scaling = S::Scaling::kPlain},
     .unrotated = A::Unrotated::kFull},
    {.name = "nanbeige", .order = kAdjacent, .permuted = true, .factors = A::Factors::kFreqs},
    {.name = "nemotron", .read_by_transformers = true},
    {.name = "nemotron_h", .positions = kNoPositions},
    {.name = "nemotron_h_moe", .positions = kNoPositions},
    {.name = "neo-bert", .order = kAdjacent},
    {.name = "nomic-bert", .token_types = true, .runs_both_ways = true},
    {.name = "nomic-bert-moe", .token_types = true},
    {.name = "olmo", .order = kAdjacent, .permuted = true},
    {.name = "olmo2",
     .sliding = {.when = kWithWindow,
                 .period = 4,
                 .period_only = true,
                 .base = S::Base::kFullOnly,
                 .scaling = S::Scaling::kPlain}},
    {.name = "olmoe"},
    {.name = "openelm"},
    {.name = "orion"},
    {.name = "paddleocr", .axes = A::Axes::kSections},
    {.name = "pangu-embedded", .factors = A::Factors::kUnused},
    {.name = "phi2"},
    {.name = "phi3", .factors = A::Factors::kLists, .read_by_transformers = true},
    {.name = "phimoe", .factors = A::Factors::kLists},
    {.name = "plamo"},
    {.name = "plamo2"},
    {.name = "plamo3", .sliding = plain_every(8, kWithWindow)},
    {.name = "plm", .order = kAdjacent, .latent = true},
    {.name = "pockettts", .order = kAdjacent},
    {.name = "qwen"},
    {.name = "qwen2", .read_by_transformers = true},
    {.name = "qwen2moe", .read_by_transformers = true},
    {.name = "qwen2vl", .axes = A::Axes::kSections},
    {.name = "qwen3", .read_by_transformers = true},
    {.name = "qwen35",
     .axes = A::Axes::kInterleaved,
     .recurrent = A::Recurrent::kByInterval,
     .attention_interval = 4},
    {.name = "qwen35moe",
     .axes = A::Axes::kInterleaved,
     .recurrent = A::Recurrent::kByInterval,
     .attention_interval = 4},
    {.name = "qwen3moe", .read_by_transformers = true},
    {.name = "qwen3next", .recurrent = A::Recurrent::kByInterval, .attention_interval = 4},
    {.name = "qwen3tts", .axes = A::Axes::kInterleaved},
    {.name = "qwen3vl", .axes = A::Axes::kInterleaved},
    {.name = "qwen3vlmoe", .axes = A::Axes::kInterleaved},
    {.name = "qwen4exp",
     .axes = A::Axes::kInterleaved,
     .recurrent = A::Recurrent::kByInterval,
     .attention_interval = 4},
    {.name = "refact",
     .positions = A::Positions::kAlibi,
     .factors = A::Factors::kUnused,
     .alibi_bias = 8},
    {.name = "rnd1"},
    {.name = "rwkv6", .positions = kNoPositions},
    {.name = "rwkv6qwen2", .positions = kNoPositions},
    {.name = "rwkv7", .positions = kNoPositions},
    {.name = "seed_oss"},
    {.name = "smallthinker",
     .sliding = with_window(full_first(every(4, kWithWindow)), 4096),
     .unrotated = A::Unrotated::kFromFirstFourth},
    {.name = "smollm3", .order = kAdjacent, .permuted = true, .unrotated = A::Unrotated::kFourth},
    {.name = "stablelm", .read_by_transformers = true},
    {.name = "starcoder", .positions = A::Positions::kLearned},
    {.name = "starcoder2", .read_by_transformers = true},
    {.name = "step35",
     .factors = A::Factors::kFreqsOrLists,
     .factors_of_full = true,
     .sliding = listed(S::Base::kTenThousand, S::Scaling::kPlain),
     .half_of_full = true},
    {.name = "t5", .positions = A::Positions::kRelativeBuckets, .read_by_transformers = true},
    {.name = "t5encoder",
     .positions = A::Positions::kRelativeBuckets,
     .encoder_only = true,
     .runs_both_ways = true,
     .read_by_transformers = true},
    {.name = "talkie"},
    {.name = "wavtokenizer-dec", .positions = kNoPositions},
    {.name = "xverse", .order = kAdjacent, .permuted = true},
};

}  // namespace

std::span<const GgufArchitecture> gguf_architectures() { return kArchitectures; }

const GgufArchitecture* find_gguf_architecture(std::string_view name) {
  const auto* const found = std::ranges::find(kArchitectures, name, &GgufArchitecture::name);
  return found == std::end(kArchitectures) ? nullptr : found;
}

std::string known_gguf_architectures() {
  std::string names;
  for (const GgufArchitecture& known : kArchitectures) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return names;
}

}  // namespace ropewalk
