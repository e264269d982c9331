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
    "gpt-2",       "mpt",        "olmo",         "jais",           "phi-2",
    "roberta-bpe", "gigachat",   "jina-es",      "jina-de",        "jina-v1-en",
    "jina-v2-es",  "jina-v2-de", "jina-v2-code", "modern-bert",    "exaone4",
    "a.x-4.0",     "mellum",     "trillion",     "granite-docling"};
constexpr std::string_view kGpt2[] = {ROPEWALK_GPT2_WORDS};

constexpr std::string_view kStarcoderNames[] = {"starcoder", "refact", "command-r",  "smollm",
                                                "codeshell", "exaone", "minerva-7b", "mellum2"};
constexpr std::string_view kStarcoder[] = {R"(\p{N})", ROPEWALK_GPT2_WORDS};

constexpr std::string_view kFalconNames[] = {"falcon"};
constexpr std::string_view kFalcon[] = {
    R"([\p{P}\$\+<=>\^~\|`]+)",
    ROPEWALK_GPT2_WORDS,
    R"([0-9][0-9][0-9])",
};

constexpr std::string_view kLlama3Names[] = {"llama-bpe", "llama3",    "llama-v3",
                                             "falcon3",   "falcon-h1", "pixtral",
                                             "midm-2.0",  "lfm2",      "jina-v5-nano"};
constexpr std::string_view kLlama3LikeNames[] = {"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"};
#define ROPEWALK_LLAMA3_WORDS(lines) \
  ROPEWALK_CONTRACTIONS              \
  R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" lines
constexpr std::string_view kLlama3[] = {ROPEWALK_LLAMA3_WORDS(ROPEWALK_LINES_AND_SPACES)};

constexpr std::string_view kJais2Names[] = {"jais-2"};
constexpr std::string_view kJais2[] = {ROPEWALK_LLAMA3_WORDS(
    R"(\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|)"
    R"(\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})")};

constexpr std::string_view kQwen2Names[] = {"qwen2",   "stablelm2",  "deepseek-r1-qwen",
                                            "megrez",  "kormo",      "f2llmv2",
                                            "hunyuan", "solar-open", "grok-2"};
#define ROPEWALK_QWEN2_WORDS \
  ROPEWALK_CONTRACTIONS      \
  R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" ROPEWALK_LINES_AND_SPACES
constexpr std::string_view kQwen2[] = {ROPEWALK_QWEN2_WORDS};

constexpr std::string_view kQwen35Names[] = {"qwen35"};
constexpr std::string_view kQwen35[] = {
    ROPEWALK_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" ROPEWALK_LINES_AND_SPACES};

constexpr std::string_view kLagunaNames[] = {"laguna"};
constexpr std::string_view kLaguna[] = {R"([^\n]+|[\n]+)", ROPEWALK_QWEN2_WORDS};

constexpr std::string_view kMiniCpm5Names[] = {"minicpm5"};
constexpr std::string_view kMiniCpm5[] = {
    R"(\p{N}{1,3})", ROPEWALK_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|)" ROPEWALK_LINES_AND_SPACES};

constexpr std::string_view kSeedCoderNames[] = {"seed-coder"};
constexpr std::string_view kSeedCoder[] = {
    ROPEWALK_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" ROPEWALK_LINES_AND_SPACES};

constexpr std::string_view kBailingMoeNames[] = {"bailingmoe", "bailingmoe2", "llada-moe"};
constexpr std::string_view kBailingMoe[] = {
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|)"
    R"(\s*[\r\n]|\s+(?!\S)|\s+)"};

// The model's own (?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+, written so that nothing is tried twice.
constexpr std::string_view kExaoneMoeNames[] = {"exaone-moe"};
constexpr std::string_view kExaoneMoe[] = {
    ROPEWALK_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}[\p{L}\p{M}]*+(?: \p{L}[\p{L}\p{M}]*+)*+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"};

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

#define ROPEWALK_GPT4O_WORDS(numbers)                                               \
  ROPEWALK_LEAD ROPEWALK_UPPER "*" ROPEWALK_LOWER "+" ROPEWALK_CONTRACTIONS         \
                               "?|" ROPEWALK_LEAD ROPEWALK_UPPER "+" ROPEWALK_LOWER \
                               "*" ROPEWALK_CONTRACTIONS "?|" numbers               \
                               R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" ROPEWALK_LINES_AND_SPACES

constexpr std::string_view kGpt4oNames[] = {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"};
constexpr std::string_view kGraniteMultiNames[] = {"granite-embed-multi-97m"};
constexpr std::string_view kGpt4o[] = {ROPEWALK_GPT4O_WORDS(R"(\p{N}{1,3})")};

constexpr std::string_view kYoutuNames[] = {"youtu"};
constexpr std::string_view kYoutu[] = {
    R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|)"
    R"([\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c})"
    R"(\x{3001}-\x{303f}\x{fe30}-\x{fe4f}]+|)"
    R"([\x{3105}-\x{312f}]+|[\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)",
    ROPEWALK_GPT4O_WORDS(R"(\p{N})")};

// Groups of three, counted from the end of a run: where the first group ends is looked up once.
// The models' own patterns look ahead from every digit, which a long number makes quadratic.
#define ROPEWALK_THREES(digit, end) \
  "\\G(?<=" digit ")" digit "{3}|(?<!" digit ")" digit "{1,3}(?=(?:" digit "{3})*+" end ")"

constexpr std::string_view kTinyAyaNames[] = {"tiny_aya", "cohere2moe"};
// The end of a word as Oniguruma has it, with what its table of Latin-1 counts besides.
constexpr std::string_view kTinyAya[] = {
    ROPEWALK_THREES(R"(\d)",
                    R"((?![\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}]))"),
    ROPEWALK_GPT4O_WORDS(R"(\p{N}{1,3})")};

constexpr std::string_view kSuperBpeNames[] = {"superbpe"};
constexpr std::string_view kSuperBpe[] = {R"(\p{N}+)", ROPEWALK_THREES(R"(\d)", R"((?!\d))")};

constexpr std::string_view kChameleonNames[] = {"chameleon"};
constexpr std::string_view kChameleon[] = {R"(<sentinel:[0-9]+>)",    R"(IMGIMG[A-I]{1,4}Z)",
                                           R"([\t\n]|    |  )",       R"(\p{N})",
                                           R"([\p{P}!-/:-@\[-`{-~])", ROPEWALK_GPT2_WORDS};

// Letters that have two cases, as far as Unicode had them when the model was made.
constexpr std::string_view kDeepseekLlmNames[] = {"deepseek-llm"};
constexpr std::string_view kDeepseekLlm[] = {
    R"([\r\n])",
    R"(\s?[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293})"
    R"(\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a})"
    R"(\x{38c}\x{38e}-\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556})"
    R"(\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf})"
    R"(\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d})"
    R"(\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d})"
    R"(\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4})"
    R"(\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4})"
    R"(\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124})"
    R"(\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f})"
    R"(\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4})"
    R"(\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f})"
    R"(\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17})"
    R"(\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3})"
    R"(\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df})"
    R"(\x{1e900}-\x{1e943}]+)",
    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)",
    R"(\s+$)",
    R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)",
    R"(\p{N}+)",
};

constexpr std::string_view kDeepseekCoderNames[] = {"deepseek-coder"};
constexpr std::string_view kDeepseekCoder[] = {
    R"([\r\n])",    R"(\s?\p{L}+)",
    R"(\s?\p{P}+)", R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)",
    R"(\p{N})",
};

constexpr std::string_view kDeepseekV3Names[] = {"deepseek-v3", "hunyuan-dense", "joyai-llm"};
#define ROPEWALK_DEEPSEEK3_WORDS                        \
  R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)" \
  R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" ROPEWALK_LINES_AND_SPACES
constexpr std::string_view kDeepseekV3[] = {
    R"(\p{N}{1,3})", R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)",
    ROPEWALK_DEEPSEEK3_WORDS};

constexpr std::string_view kAfmoeNames[] = {"afmoe"};
// Scripts without spaces between words; the ranges are llama.cpp's.
constexpr std::string_view kAfmoe[] = {
    ROPEWALK_THREES(R"(\p{N})", R"((?!\p{N}))"),
    R"([\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{8c48}-\x{faff}\x{3040}-\x{309f}\x{30a0}-\x{30ff})"
    R"(\x{ff65}-\x{ff9f}\x{2f00}-\x{2fdf}\x{e40}-\x{e7f}\x{e80}-\x{eff}\x{1780}-\x{17ff})"
    R"(\x{1000}-\x{109f}\x{aa60}-\x{aa7f}\x{a9e0}-\x{a9ff}\x{ac00}-\x{d7af}\x{1100}-\x{11ff}]+)",
    ROPEWALK_DEEPSEEK3_WORDS};

// The model's own classes leave out \p{Han}, which stands by itself: the script, without the marks
// that it shares with others, which newer PCRE2s count under that name.
#define ROPEWALK_HAN                                                          \
  R"([\x{2e80}-\x{2e99}\x{2e9b}-\x{2ef3}\x{2f00}-\x{2fd5}\x{3005}\x{3007})"   \
  R"(\x{3021}-\x{3029}\x{3038}-\x{303b}\x{3400}-\x{4dbf}\x{4e00}-\x{9fff})"   \
  R"(\x{f900}-\x{fa6d}\x{fa70}-\x{fad9}\x{16fe2}\x{16fe3}\x{16ff0}\x{16ff1})" \
  R"(\x{20000}-\x{2a6df}\x{2a700}-\x{2ebe0}\x{2f800}-\x{2fa1d}\x{30000}-\x{323af}])"
#define ROPEWALK_NO_HAN "(?!" ROPEWALK_HAN ")"
constexpr std::string_view kKimiK2Names[] = {"kimi-k2"};
constexpr std::string_view kKimiK2[] = {
    ROPEWALK_HAN "+|" ROPEWALK_LEAD "(?:" ROPEWALK_NO_HAN ROPEWALK_UPPER
                 ")*(?:" ROPEWALK_NO_HAN ROPEWALK_LOWER ")+" ROPEWALK_CONTRACTIONS
                 "?|" ROPEWALK_LEAD "(?:" ROPEWALK_NO_HAN ROPEWALK_UPPER
                 ")+(?:" ROPEWALK_NO_HAN ROPEWALK_LOWER ")*" ROPEWALK_CONTRACTIONS
                 R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" ROPEWALK_LINES_AND_SPACES};

// Merges run over whole lines.
constexpr std::string_view kGemma4Names[] = {"gemma4", "granite-embed-multi-311m"};
constexpr std::string_view kSarvamNames[] = {"sarvam-moe"};
constexpr std::string_view kLines[] = {R"([^\n]+|[\n]+)"};

#define ROPEWALK_BLOOM_WORDS \
  R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)"

constexpr std::string_view kBloomNames[] = {"bloom", "poro-chat", "gpt3-finnish"};
constexpr std::string_view kBloom[] = {ROPEWALK_BLOOM_WORDS};

constexpr std::string_view kVikingNames[] = {"viking"};
constexpr std::string_view kViking[] = {ROPEWALK_BLOOM_WORDS, R"(\p{N})"};

#undef ROPEWALK_GPT2_WORDS
#undef ROPEWALK_CONTRACTIONS
#undef ROPEWALK_LINES_AND_SPACES
#undef ROPEWALK_LLAMA3_WORDS
#undef ROPEWALK_QWEN2_WORDS
#undef ROPEWALK_GPT4O_WORDS
#undef ROPEWALK_DEEPSEEK3_WORDS
#undef ROPEWALK_THREES
#undef ROPEWALK_NO_HAN
#undef ROPEWALK_HAN
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
    {.names = kJais2Names, .patterns = kJais2},
    {.names = kQwen2Names, .patterns = kQwen2},
    {.names = kQwen35Names, .patterns = kQwen35},
    {.names = kLagunaNames, .patterns = kLaguna},
    {.names = kMiniCpm5Names, .patterns = kMiniCpm5, .ignore_merges = true},
    {.names = kSeedCoderNames, .patterns = kSeedCoder},
    {.names = kBailingMoeNames, .patterns = kBailingMoe},
    {.names = kExaoneMoeNames, .patterns = kExaoneMoe},
    {.names = kTekkenNames, .patterns = kTekken, .ignore_merges = true, .add_bos = true},
    {.names = kGpt4oNames, .patterns = kGpt4o},
    {.names = kGraniteMultiNames, .patterns = kGpt4o, .ignore_merges = true},
    {.names = kYoutuNames, .patterns = kYoutu, .ignore_merges = true},
    {.names = kTinyAyaNames, .patterns = kTinyAya},
    {.names = kSuperBpeNames, .patterns = kSuperBpe},
    {.names = kChameleonNames, .patterns = kChameleon, .add_bos = true},
    {.names = kDeepseekLlmNames, .patterns = kDeepseekLlm},
    {.names = kDeepseekCoderNames, .patterns = kDeepseekCoder},
    {.names = kDeepseekV3Names, .patterns = kDeepseekV3},
    {.names = kAfmoeNames, .patterns = kAfmoe},
    {.names = kKimiK2Names, .patterns = kKimiK2},
    {.names = kBloomNames, .patterns = kBloom},
    {.names = kVikingNames, .patterns = kViking},
    {.names = kGemma4Names,
     .patterns = kLines,
     .add_bos = true,
     .byte_level = false,
     .whole_line_breaks = true},
    {.names = kSarvamNames, .patterns = kLines, .byte_level = false},
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
