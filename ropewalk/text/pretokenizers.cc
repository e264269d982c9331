// The patterns are those of the models' own tokenizer.json, by the names llama.cpp gave them
// (src/llama-vocab.cpp). Where llama.cpp rewrote one for its regular expression engine, which knows
// neither (?i:) nor \p{Lu}, the original stands here: it is what the model was trained with.
#include "ropewalk/text/pretokenizers.h"

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// Macros, because only literals concatenate at compile time.
// GPT-2's closing `|\s+` is left out: what it would match is what lies between two matches.
#define ROPEWALK_GPT2_WORDS \
  R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))"
#define ROPEWALK_CONTRACTIONS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define ROPEWALK_LINES_AND_SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"

constexpr std::string_view kDefaultNames[] = {"default"};
constexpr std::string_view kDefault[] = {
    R"([\p{P}\$\+<=>\^~\|]+)",
    ROPEWALK_GPT2_WORDS,
    R"(\p{N}+)",
    R"([0-9][0-9][0-9])",
};

constexpr std::string_view kGpt2Names[] = {
    "gpt-2",   "mpt",     "olmo",       "jais",       "phi-2",      "roberta-bpe", "gigachat",
    "jina-es", "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code"};
constexpr std::string_view kGpt2[] = {ROPEWALK_GPT2_WORDS};

constexpr std::string_view kStarcoderNames[] = {"starcoder", "refact", "command-r", "smollm",
                                                "codeshell", "exaone", "minerva-7b"};
constexpr std::string_view kStarcoder[] = {R"(\p{N})", ROPEWALK_GPT2_WORDS};

constexpr std::string_view kFalconNames[] = {"falcon"};
constexpr std::string_view kFalcon[] = {
    R"([\p{P}\$\+<=>\^~\|`]+)",
    ROPEWALK_GPT2_WORDS,
    R"([0-9][0-9][0-9])",
};

constexpr std::string_view kLlama3Names[] = {"llama-bpe", "llama3", "llama-v3", "falcon3"};
constexpr std::string_view kLlama3LikeNames[] = {"dbrx", "smaug-bpe", "chatglm-bpe"};
constexpr std::string_view kLlama3[] = {
    ROPEWALK_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" ROPEWALK_LINES_AND_SPACES};

constexpr std::string_view kQwen2Names[] = {"qwen2", "stablelm2", "deepseek-r1-qwen", "megrez"};
constexpr std::string_view kQwen2[] = {
    ROPEWALK_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" ROPEWALK_LINES_AND_SPACES};

// Words that change case inside: upper (or caseless) letters, then lower (or caseless) ones.
#define ROPEWALK_LEAD R"([^\r\n\p{L}\p{N}]?)"
#define ROPEWALK_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define ROPEWALK_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"

constexpr std::string_view kTekkenNames[] = {"tekken"};
constexpr std::string_view kTekken[] = {
    ROPEWALK_LEAD ROPEWALK_UPPER "*" ROPEWALK_LOWER "+|" ROPEWALK_LEAD ROPEWALK_UPPER
                                 "+" ROPEWALK_LOWER
                                 "*|"
                                 R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" ROPEWALK_LINES_AND_SPACES};

constexpr std::string_view kGpt4oNames[] = {"gpt-4o", "llama4"};
constexpr std::string_view kGpt4o[] = {
    ROPEWALK_LEAD ROPEWALK_UPPER
    "*" ROPEWALK_LOWER "+" ROPEWALK_CONTRACTIONS "?|" ROPEWALK_LEAD ROPEWALK_UPPER
    "+" ROPEWALK_LOWER "*" ROPEWALK_CONTRACTIONS
    "?|"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" ROPEWALK_LINES_AND_SPACES};

constexpr std::string_view kDeepseekCoderNames[] = {"deepseek-coder"};
constexpr std::string_view kDeepseekCoder[] = {
    R"([\r\n])",    R"(\s?\p{L}+)",
    R"(\s?\p{P}+)", R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)",
    R"(\p{N})",
};

constexpr std::string_view kDeepseekV3Names[] = {"deepseek-v3"};
constexpr std::string_view kDeepseekV3[] = {
    R"(\p{N}{1,3})", R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)"
    R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" ROPEWALK_LINES_AND_SPACES};

#define ROPEWALK_BLOOM_WORDS \
  R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)"

constexpr std::string_view kBloomNames[] = {"bloom", "poro-chat", "gpt3-finnish"};
constexpr std::string_view kBloom[] = {ROPEWALK_BLOOM_WORDS};

constexpr std::string_view kVikingNames[] = {"viking"};
constexpr std::string_view kViking[] = {ROPEWALK_BLOOM_WORDS, R"(\p{N})"};

#undef ROPEWALK_GPT2_WORDS
#undef ROPEWALK_CONTRACTIONS
#undef ROPEWALK_LINES_AND_SPACES
#undef ROPEWALK_LEAD
#undef ROPEWALK_UPPER
#undef ROPEWALK_LOWER
#undef ROPEWALK_BLOOM_WORDS

constexpr Pretokenizer kKnown[] = {
    {.names = kDefaultNames, .patterns = kDefault},
    {.names = kGpt2Names, .patterns = kGpt2},
    {.names = kStarcoderNames, .patterns = kStarcoder},
    {.names = kFalconNames, .patterns = kFalcon},
    {.names = kLlama3Names, .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.names = kLlama3LikeNames, .patterns = kLlama3},
    {.names = kQwen2Names, .patterns = kQwen2},
    {.names = kTekkenNames, .patterns = kTekken, .ignore_merges = true, .add_bos = true},
    {.names = kGpt4oNames, .patterns = kGpt4o},
    {.names = kDeepseekCoderNames, .patterns = kDeepseekCoder},
    {.names = kDeepseekV3Names, .patterns = kDeepseekV3},
    {.names = kBloomNames, .patterns = kBloom},
    {.names = kVikingNames, .patterns = kViking},
};

}  // namespace

std::span<const Pretokenizer> known_pretokenizers() { return kKnown; }

const Pretokenizer& find_pretokenizer(std::string_view name) {
  if (name.empty()) name = "default";
  std::string known;
  for (const Pretokenizer& row : kKnown) {
    for (const std::string_view candidate : row.names) {
      if (candidate == name) return row;
      known.append(known.empty() ? "" : ", ").append(candidate);
    }
  }
  throw Error("tokenizer.ggml.pre", "must be one we know", "\"" + std::string(name) + "\"",
              "known: " + known);
}

}  // namespace ropewalk
