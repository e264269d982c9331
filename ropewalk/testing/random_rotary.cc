#include "ropewalk/testing/random_rotary.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace ropewalk {
namespace {

std::string text_of(double value) {
  std::string text = std::to_string(value);
  while (text.size() > 1 && text.back() == '0') text.pop_back();
  return text.back() == '.' ? text.substr(0, text.size() - 1) : text;
}

std::string text_of(DoubleDouble value) { return text_of(static_cast<double>(value)); }
std::string text_of(int64_t value) { return value == kUnbounded ? "-" : std::to_string(value); }

std::string text_of(const PositionMap& map) {
  std::string text = "{" + text_of(map.offset) + " + " + text_of(map.slope) + " p, group " +
                     text_of(map.group) + ", period " + text_of(map.period) + ", limit " +
                     text_of(map.limit) + ", carry " + text_of(map.carry);
  for (const PositionStep& step : map.steps)
    text += ", step " + text_of(step.first) + " " + text_of(step.value) + " " + text_of(step.group);
  return text + "}";
}

std::string text_of(const DistanceMap& map) {
  if (map.is_curve()) return "curve";
  if (map.depends_on_length()) return "by length";
  std::string text = map.chunk() == 0 ? "" : "chunks of " + text_of(map.chunk()) + " ";
  for (const Branch& branch : map.branches()) {
    text += "[" + text_of(branch.first) + " " + text_of(branch.last) + " " + text_of(branch.query) +
            text_of(branch.key);
    for (const PairBand& band : branch.bands)
      text += " pairs " + text_of(band.pairs.first) + "-" + text_of(band.pairs.last) + " " +
              text_of(band.query) + text_of(band.key);
    text += "]";
  }
  return text;
}

class Drawing {
 public:
  Drawing(Dice& dice, const PairLayout& layout, int64_t n_tokens)
      : dice_(dice), n_pairs_(layout.n_pairs()), n_(n_tokens) {
    made_.rotary.layout = layout;
  }

  RandomRotary draw() {
    Rotary& rotary = made_.rotary;
    say("layout " + layout_text());
    rotary.distance = map();
    say("map " + text_of(rotary.distance));
    if (rotary.distance.pairs() != PairRange{})
      say("of pairs " + text_of(rotary.distance.pairs().first) + "-" +
          text_of(rotary.distance.pairs().last));
    if (dice_.one_in(3)) {
      rotary.mask = {.past = dice_.one_of({PairMask::Past::kSilent, PairMask::Past::kFrozen}),
                     .turns = dice_.one_of({0.1, 0.4, 1.0, 2.5})};
      say((rotary.mask.past == PairMask::Past::kSilent ? "silent past " : "frozen past ") +
          text_of(rotary.mask.turns));
    }
    if (dice_.coin()) {
      rotary.visibility = {.window = dice_.between(1, n_ + 3),
                           .sinks = dice_.one_of<int64_t>({0, 1, 4, dice_.between(0, n_)}),
                           .sinks_stay = dice_.coin()};
      say("window " + text_of(rotary.visibility.window) + ", sinks " +
          text_of(rotary.visibility.sinks) + (rotary.visibility.sinks_stay ? " that stay" : ""));
    }
    if (dice_.one_in(4)) {
      rotary.temperature = {.log_length = dice_.between(2, 40),
                            .step_scale = 0.1,
                            .step_length = dice_.between(1, 50),
                            .step_offset = dice_.between(0, 1)};
      say("temperature " + text_of(rotary.temperature.log_length) + " " +
          text_of(rotary.temperature.step_length));
    }
    rotary.spectrum = spectrum();
    return std::move(made_);
  }

 private:
  void say(const std::string& what) {
    made_.description += (made_.description.empty() ? "" : "; ") + what;
  }

  std::string layout_text() const {
    const PairLayout& layout = made_.rotary.layout;
    return (layout.order == PairOrder::kHalf ? "half " : "interleaved ") +
           text_of(layout.rotary_dim) + " of " + text_of(layout.head_dim);
  }

  PairRange pairs() {
    if (!dice_.one_in(3)) return {};
    const int64_t first = dice_.between(0, n_pairs_ - 1);
    return {first, dice_.between(first, n_pairs_ - 1)};
  }

  DoubleDouble slope() {
    return dice_.one_of<DoubleDouble>(
        {0.0, 1.0, 1.0, 0.25, DoubleDouble(1.0) / 3.0, DoubleDouble(dice_.real(0, 2))});
  }

  PositionMap position_map() {
    PositionMap map{.offset = dice_.one_of<DoubleDouble>(
                        {0.0, static_cast<double>(dice_.between(0, n_)), dice_.real(0, 99), 1e6}),
                    .slope = slope()};
    if (dice_.coin()) map.group = dice_.one_of<int64_t>({2, 3, 8, 64, dice_.between(1, 40)});
    if (dice_.one_in(3)) map.period = dice_.one_of<int64_t>({1, 64, dice_.between(1, n_)});
    if (dice_.one_in(4)) map.limit = static_cast<double>(dice_.between(1, 2 * n_));
    if (dice_.one_in(4)) map.carry = dice_.real(0, 20);
    if (dice_.one_in(6)) {
      int64_t first = dice_.between(0, 5);
      for (int64_t step = 0, count = dice_.between(1, 4); step < count; ++step) {
        map.steps.push_back({first, dice_.between(0, n_), dice_.between(1, 9)});
        first += dice_.between(1, n_);
      }
    }
    return map;
  }

  // Bounds and maps that mean nothing at all.
  std::vector<Branch> branches(int64_t most_gap) {
    std::vector<Branch> made;
    int64_t first = 0;
    for (int64_t b = 0, count = dice_.between(1, 4); b < count; ++b) {
      Branch branch{.first = first,
                    .last = first + dice_.between(1, std::max<int64_t>(1, most_gap / 2)),
                    .query = position_map(),
                    .key = position_map()};
      if (dice_.one_in(4)) branch.key = branch.query;
      if (dice_.one_in(4)) {
        const int64_t band = dice_.between(0, n_pairs_ - 1);
        branch.bands.push_back(
            {{band, dice_.between(band, n_pairs_)}, position_map(), position_map()});
      }
      if (b + 1 == count) branch.last = kUnbounded;
      first = branch.last;
      made.push_back(std::move(branch));
    }
    return made;
  }

  DistanceMap grouped() {
    const int64_t window = dice_.between(1, n_);
    const int64_t group = dice_.one_of<int64_t>({2, 7, 8, 32});
    const auto offset = static_cast<double>(window - window / group);
    return DistanceMap({Branch{.last = window}, Branch{.first = window,
                                                       .query = {.offset = offset, .group = group},
                                                       .key = {.group = group}}},
                       pairs());
  }

  DistanceMap points() {
    std::vector<CurvePoint> made = {{0, dice_.real(0, 3)}};
    for (int64_t p = 0, count = dice_.between(1, 5); p < count; ++p) {
      made.push_back({made.back().distance + dice_.between(1, n_),
                      made.back().value + DoubleDouble(dice_.real(0, 50))});
    }
    return through_points(made, pairs());
  }

  DistanceMap curve() {
    const double width = dice_.real(1, static_cast<double>(n_));
    if (dice_.coin()) return DistanceMap([](int64_t d) { return sqrt(DoubleDouble(d)); }, pairs());
    return DistanceMap(
        [width](int64_t d) {
          const auto far = static_cast<double>(d);
          return DoubleDouble(far < width ? far : width * (1 + std::log(far / width)));
        },
        pairs());
  }

  DistanceMap map() {
    kind_ = dice_.between(0, 9);
    switch (kind_) {
      case 0:
        return DistanceMap();
      case 1: {
        const int64_t window = dice_.between(0, n_);
        return piecewise_linear(window, static_cast<double>(window), slope(), pairs());
      }
      case 2:
        return points();
      case 3:
        return grouped();
      case 4:
      case 5:
        return DistanceMap(branches(n_), pairs());
      case 6: {
        const int64_t chunk = dice_.one_of<int64_t>({64, dice_.between(1, n_)});
        return DistanceMap::by_chunks(chunk, branches(n_ / chunk + 1), pairs());
      }
      case 7:
      case 8:
        return curve();
      default:
        return DistanceMap::by_length([](int64_t n) {
          return n < 20 ? DistanceMap() : piecewise_linear(n / 2, static_cast<double>(n / 2), 0.25);
        });
    }
  }

  SpectrumRule spectrum() {
    Spectrum made = rope_spectrum(std::pow(10.0, dice_.real(1, 6)), 2 * n_pairs_, n_pairs_);
    for (DoubleDouble& turns : made.turns_per_token) {
      if (dice_.one_in(12)) turns = 0.0;
      if (dice_.one_in(12)) turns = -turns;
    }
    if (dice_.one_in(3)) made.amplitude = dice_.one_of({1.25, 0.8});
    if (dice_.one_in(4)) made.logit_multiplier = 1.2;
    std::string said = "speeds " + text_of(made.turns_per_token.front()) + " to " +
                       text_of(made.turns_per_token.back()) + ", amplitude " +
                       text_of(made.amplitude);
    // A decay asks for maps that move no rows apart.
    if ((kind_ == 0 || kind_ == 3) && dice_.one_in(3)) {
      for (int64_t pair = 0; pair < n_pairs_; ++pair)
        made.decay.push_back(-dice_.real(0, 8.0 / static_cast<double>(n_)));
      said += ", decay";
    }
    const bool by_length = made_.rotary.distance.depends_on_length();
    if (!by_length && !dice_.one_in(4)) return say(said), SpectrumRule(std::move(made));
    const auto slowed = [made](int64_t n) {
      Spectrum slower = made;
      for (DoubleDouble& turns : slower.turns_per_token)
        turns = turns * 30.0 / static_cast<double>(n + 30);
      return slower;
    };
    // Tokens of unequal spectra meet under lists of branches alone, and without a mask.
    const bool by_token = kind_ <= 6 && made.decay.empty() &&
                          made_.rotary.mask.past == PairMask::Past::kHeard && dice_.one_in(3);
    if (by_token) return say(said + " by token"), SpectrumRule(Length::kToken, slowed);
    if (dice_.coin()) return say(said + " by length"), SpectrumRule(Length::kSequence, slowed);
    const int64_t block = dice_.between(1, n_);
    say(said + " by blocks of " + text_of(block));
    return SpectrumRule(Length::kBlock, slowed, block);
  }

  using Length = SpectrumRule::Length;

  Dice& dice_;
  int64_t n_pairs_;
  int64_t n_;
  int64_t kind_ = 0;
  RandomRotary made_;
};

}  // namespace

RandomRotary random_rotary(Dice& dice, const PairLayout& layout, int64_t n_tokens) {
  return Drawing(dice, layout, n_tokens).draw();
}

}  // namespace ropewalk
