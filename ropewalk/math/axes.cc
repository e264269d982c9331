#include "ropewalk/math/axes.h"

#include <cassert>
#include <numeric>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

int64_t sum_of(std::span<const int64_t> sections) {
  return std::accumulate(sections.begin(), sections.end(), int64_t{0});
}

}  // namespace

void check_sections(const std::string& place, std::span<const int64_t> sections, size_t least,
                    size_t most, int64_t n_pairs) {
  if (sections.size() < least || sections.size() > most) {
    const std::string range = least == most ? std::to_string(least)
                                            : std::to_string(least) + " to " + std::to_string(most);
    throw Error(place, "must have " + range + " sections", std::to_string(sections.size()),
                "give the pairs of each axis")
        .of(FaultKind::kWrongLength);
  }
  for (size_t axis = 0; axis < sections.size(); ++axis) {
    if (sections[axis] < 0 || sections[axis] > n_pairs) {
      throw Error(place + "[" + std::to_string(axis) + "]",
                  "must be from 0 to the " + std::to_string(n_pairs) + " rotating pairs",
                  std::to_string(sections[axis]))
          .of(sections[axis] < 0 ? FaultKind::kOutOfRange : FaultKind::kSumMismatch);
    }
  }
  if (const int64_t sum = sum_of(sections); sum != n_pairs) {
    throw Error(place, "must sum to the " + std::to_string(n_pairs) + " rotating pairs",
                std::to_string(sum), "sections count pairs, half the rotary width")
        .of(FaultKind::kSumMismatch);
  }
}

std::vector<uint8_t> contiguous_axes(std::span<const int64_t> sections) {
  std::vector<uint8_t> axes;
  for (size_t axis = 0; axis < sections.size(); ++axis) {
    axes.insert(axes.end(), static_cast<size_t>(sections[axis]), static_cast<uint8_t>(axis));
  }
  return axes;
}

std::vector<uint8_t> interleaved_axes(std::span<const int64_t> sections) {
  assert(sections.size() == 3);
  std::vector<uint8_t> axes(static_cast<size_t>(sum_of(sections)), kTimeAxis);
  for (const uint8_t axis : {kHeightAxis, kWidthAxis}) {
    const auto end = static_cast<size_t>(3 * sections[axis]);
    for (size_t pair = axis; pair < end && pair < axes.size(); pair += 3) axes[pair] = axis;
  }
  return axes;
}

std::vector<uint8_t> ggml_interleaved_axes(std::span<const int64_t> sections) {
  assert(sections.size() == 3 || sections.size() == 4);
  std::vector<uint8_t> axes(static_cast<size_t>(sum_of(sections)), kExtraAxis);
  for (size_t pair = 0; pair < axes.size(); ++pair) {
    const size_t axis = pair % 3;
    if (static_cast<int64_t>(pair) < 3 * sections[axis]) axes[pair] = static_cast<uint8_t>(axis);
  }
  return axes;
}

std::vector<uint8_t> ernie_axes(const std::string& place, std::span<const int64_t> sections) {
  assert(sections.size() == 3);
  if (sections[0] != sections[1]) {
    throw Error(place + "[1]", "must equal the pairs of height, " + std::to_string(sections[0]),
                std::to_string(sections[1]), "height and width take turns")
        .of(FaultKind::kInconsistent);
  }
  std::vector<uint8_t> axes(static_cast<size_t>(sum_of(sections)), kTimeAxis);
  for (int64_t pair = 0; pair < 2 * sections[0]; ++pair) {
    axes[static_cast<size_t>(pair)] = pair % 2 == 0 ? kHeightAxis : kWidthAxis;
  }
  return axes;
}

std::vector<uint8_t> greedy_axes(std::span<const int64_t> sections, bool time_last) {
  assert(sections.size() == 2 || sections.size() == 3);
  std::vector<int64_t> wanted(sections.begin(), sections.end());
  const bool keeps_one = time_last && wanted[0] > 0;
  if (keeps_one) --wanted[0];
  std::vector<int64_t> placed(wanted.size(), 0);

  std::vector<uint8_t> axes;
  const auto n_greedy = static_cast<size_t>(sum_of(wanted));
  while (axes.size() < n_greedy) {
    int best = -1;
    for (const bool may_repeat : {false, true}) {
      for (int axis = 0; axis < static_cast<int>(wanted.size()) && (best < 0 || !may_repeat);
           ++axis) {
        if (placed[axis] == wanted[axis]) continue;
        if (!may_repeat && !axes.empty() && axes.back() == axis) continue;
        // placed / wanted, compared without division.
        if (best < 0 || placed[axis] * wanted[best] < placed[best] * wanted[axis]) best = axis;
      }
    }
    ++placed[best];
    axes.push_back(static_cast<uint8_t>(best));
  }
  if (keeps_one) axes.push_back(kTimeAxis);
  return axes;
}

std::vector<CosSin> cos_sin_of_pairs(const Spectrum& spectrum,
                                     std::span<const int64_t> coordinates) {
  std::vector<CosSin> table;
  table.reserve(spectrum.turns_per_token.size());
  for (size_t pair = 0; pair < spectrum.turns_per_token.size(); ++pair) {
    const size_t axis = spectrum.axis.empty() ? 0 : spectrum.axis[pair];
    assert(axis < coordinates.size());
    table.push_back(cos_sin_at(DoubleDouble(coordinates[axis]), spectrum.turns_per_token[pair]));
  }
  return table;
}

}  // namespace ropewalk
