// What the readers of a config.json remark of engines: one sentence for each, told where the file is
// read, beside what engine_views() works out with numbers.
#ifndef ROPEWALK_CONFIG_ENGINE_REMARKS_H_
#define ROPEWALK_CONFIG_ENGINE_REMARKS_H_

#include <string_view>

#include "ropewalk/base/error.h"

namespace ropewalk {

struct EngineRemark {
  int rule = 0;                               // the row of docs/engines.md that it is about
  std::string_view text;                      // {} stands for what the reader fills in
  FaultKind fault = FaultKind::kUnspecified;  // of a warning; else it is information
};

namespace remarks {

inline constexpr EngineRemark kTruncate = {
    1,
    "truncate is false: transformers and vLLM run the ramp between fractions of a pair, "
    "llama.cpp between whole ones"};
inline constexpr EngineRemark kBetas = {
    2,
    "beta_fast and beta_slow other than 32 and 1: llama.cpp reads them for grok and mistral3 "
    "alone, and takes 32 and 1 for others"};
inline constexpr EngineRemark kAttentionFactor = {
    3,
    "attention_factor: transformers alone takes it; vLLM calls it attn_factor and multiplies "
    "by it, llama.cpp takes 1 + 0.1 ln(factor)"};
inline constexpr EngineRemark kAttnFactor = {
    3,
    "attn_factor: vLLM multiplies the amplitude by it, and so is it taken here; transformers "
    "does not know the key"};
inline constexpr EngineRemark kRatio = {
    4,
    "{} is {}, but max_position_embeddings / original_length is {}: transformers 4.46 to "
    "4.5x took the ratio, 5 and the other engines take the factor",
    FaultKind::kInconsistent};
inline constexpr EngineRemark kDynamic = {
    5,
    "dynamic: the base grows with the number of tokens above max_position_embeddings; vLLM "
    "never scales without max_trained_positions, llama.cpp not at all"};
inline constexpr EngineRemark kQwenDynamic = {
    5,
    "the base grows with the length of the sequence by powers of two; llama.cpp and vLLM "
    "take it as it is"};
inline constexpr EngineRemark kTwoLists = {
    6,
    "longrope: the long list counts above {} tokens; transformers goes by the tokens of each "
    "call, vLLM and llama.cpp by the length they were started with; long lists cost short "
    "texts some quality"};
inline constexpr EngineRemark kSquare = {
    7,
    "logits are multiplied by the square of its magnitude, as in DeepSeek's own code, vLLM "
    "and llama.cpp; transformers' deepseek_v2 leaves it out"};
inline constexpr EngineRemark kLeftOverAxes = {
    9,
    "llama.cpp turns pairs {} by a fourth coordinate, which it fills with 0: there they do "
    "not turn; transformers and vLLM turn them by time"};
inline constexpr EngineRemark kAlpha = {
    10,
    "alpha: the base times alpha^(d / (d - 2)), at all lengths; transformers loses it above "
    "max_position_embeddings, llama.cpp holds the product as float32"};
inline constexpr EngineRemark kLlama3Original = {
    11,
    "{} is {}; llama.cpp's converter looks for the key at the top level alone, and takes "
    "8192 without it"};
inline constexpr EngineRemark kCutFromHidden = {
    12,
    "rotary_dim is {}; llama.cpp's converter derives {} from hidden_size and writes a file "
    "that is wrong"};
inline constexpr EngineRemark kNtkMixed = {
    13,
    "ntk: the formula of vLLM and kexue.fm is taken, with mixed_b; transformers does not "
    "know the type"};
inline constexpr EngineRemark kNtk = {
    13,
    "ntk: the formula of vLLM and kexue.fm is taken, (base s)^(-2i/d) s^(-2/d), which is not "
    "bloc97's NTK-aware one; transformers does not know the type"};
inline constexpr EngineRemark kProportionalFactor = {
    14,
    "proportional: transformers divides the frequencies by factor, vLLM and llama.cpp ignore "
    "it"};
inline constexpr EngineRemark kDualChunk = {
    16,
    "dual chunk attention and its logit multiplier: vLLM and SGLang apply them, as here; "
    "transformers and llama.cpp ignore the block"};
inline constexpr EngineRemark kRoundedSlopes = {
    17, "Falcon's class rounds the slopes to bfloat16; here they are exact, as in vLLM"};
inline constexpr EngineRemark kDynamicState = {
    19,
    "transformers keeps keys that were cached under a smaller base, and after a long call "
    "may keep the long base; here the length is an argument"};
inline constexpr EngineRemark kListAmplitude = {
    22,
    "attention_factor: transformers takes it; vLLM scales unless short_mscale and "
    "long_mscale are given"};
inline constexpr EngineRemark kTwoMscales = {
    22,
    "short_mscale and long_mscale: vLLM and Phi-3.5-MoE's class take them, and so are they "
    "taken here; transformers derives the amplitude from the lengths"};
inline constexpr EngineRemark kDecay = {
    26,
    "{} makes scores decay with distance (xPos), as flash-attn has it; the model's own code for "
    "transformers ignores it",
    FaultKind::kInconsistent};

}  // namespace remarks
}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_ENGINE_REMARKS_H_
