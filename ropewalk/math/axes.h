// Which coordinate of a token's position turns each pair, in models of several axes. Values of
// Spectrum::axis.
#ifndef ROPEWALK_MATH_AXES_H_
#define ROPEWALK_MATH_AXES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/math/spectrum.h"
#include "ropewalk/math/turns.h"

namespace ropewalk {

// Coordinates of models that see time, height and width. Text has the same number in each.
inline constexpr uint8_t kTimeAxis = 0;
inline constexpr uint8_t kHeightAxis = 1;
inline constexpr uint8_t kWidthAxis = 2;
inline constexpr uint8_t kExtraAxis = 3;  // ggml's fourth, which llama.cpp fills with 0

// The functions of sections: `sections` counts pairs by axis and is as check_sections() lets it through;
// they return (n_pairs), n_pairs the sum of the sections.

// Throws Error unless there are `least` to `most` sections (kWrongLength), none is negative
// (kOutOfRange, at "place[index]"), and their sum is n_pairs (kSumMismatch).
//   place  the sections' key, named in messages: "rope_scaling.mrope_section"
void check_sections(const std::string& place, std::span<const int64_t> sections, size_t least,
                    size_t most, int64_t n_pairs);

// One block of pairs after the other; section a is axis a. sections 2 3 3: 00111222
// M-RoPE of Qwen2-VL and GLM-4V (time, height, width); XD-RoPE of HunyuanVL (position, width,
// height, time); ggml's MROPE (its fourth section is kExtraAxis). Source: Wang et al. 2024, arXiv
// 2409.12191.
std::vector<uint8_t> contiguous_axes(std::span<const int64_t> sections);

// Pairs 1, 4, 7, ... below 3 sections[1] are height, 2, 5, 8, ... below 3 sections[2] width, the
// others time. sections 4 2 2: 01201200
// Interleaved M-RoPE of Qwen3-VL and Qwen3.5. Source: transformers, modeling_qwen3_vl.py.
//   sections  (3)
std::vector<uint8_t> interleaved_axes(std::span<const int64_t> sections);

// The same as ggml has it: of pairs past the sections, only those of remainder 0 are time, up to
// 3 sections[0]; what is left is kExtraAxis. sections 4 2 2 0: 01201203
// Source: ggml, GGML_ROPE_TYPE_IMROPE.
//   sections  (3) or (4)
std::vector<uint8_t> ggml_interleaved_axes(std::span<const int64_t> sections);

// Height and width in turn, then time for the slowest pairs; sections are height, width, time.
// sections 3 3 2: 12121200
// ERNIE-4.5-VL's 3-D RoPE. Source: transformers, modeling_ernie4_5_vl_moe.py.
//   sections  (3), the first two equal, or Error at `place`
std::vector<uint8_t> ernie_axes(const std::string& place, std::span<const int64_t> sections);

// Each pair goes to the axis of which the smallest share is placed, never twice in a row while
// another is left; with `time_last`, one pair of axis 0 is kept for the end. sections 2 3 3 with
// time_last: 01212120
// Interleaved M-RoPE of openPangu. Source: vLLM, mrope_interleaved.py.
//   sections  (2) or (3)
std::vector<uint8_t> greedy_axes(std::span<const int64_t> sections, bool time_last);

// cos and sin of every pair for a token that stands at `coordinates`; error as of cos_sin_at().
//   coordinates  by axis, at least as many as spectrum.axis names
//   returns      (n_pairs), without the amplitude
std::vector<CosSin> cos_sin_of_pairs(const Spectrum& spectrum,
                                     std::span<const int64_t> coordinates);

}  // namespace ropewalk

#endif  // ROPEWALK_MATH_AXES_H_
