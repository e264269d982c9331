#include "ropewalk/study/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace ropewalk {
namespace {

using Point = std::vector<double>;

const std::vector<Knob> kKnobs = {
    {.name = "factor", .step = Step::kTimes, .size = 1.5, .least = 1, .most = 64},
    {.name = "pair", .step = Step::kPlus, .size = 4, .least = 1, .most = 31, .whole = true},
    {.name = "bend", .step = Step::kTimes, .size = 2, .least = 0.5, .most = 32}};

// A bowl over ln(factor), pair and ln(bend), least at (12, 20, 3).
double bowl(const Point& x) {
  const double a = std::log(x[0] / 12);
  const double b = (x[1] - 20) / 8;
  const double c = std::log(x[2] / 3);
  return a * a + b * b + c * c + 0.5 * a * b;
}

struct Found {
  Point best;
  std::vector<Point> tried;
};

Found run(const std::vector<Knob>& knobs, const Point& start,
          const std::function<double(const Point&)>& value) {
  PatternSearch search(knobs, start, value(start));
  Found result;
  while (const auto point = search.next()) {
    result.tried.push_back(*point);
    search.tell(value(*point));
  }
  result.best = search.best();
  EXPECT_EQ(search.best_value(), value(result.best));
  return result;
}

TEST(PatternSearch, FindsAKnownLowestPoint) {
  const Found found = run(kKnobs, {2, 4, 16}, bowl);
  // The last steps are a quarter: a factor of 1.5^(1/4), one pair, a factor of 2^(1/4).
  EXPECT_NEAR(std::log(found.best[0] / 12), 0, std::log(1.5) / 4);
  EXPECT_NEAR(found.best[1], 20, 1);
  EXPECT_NEAR(std::log(found.best[2] / 3), 0, std::log(2) / 4);
  EXPECT_LT(found.tried.size(), 60u);
}

TEST(PatternSearch, AsksEqualQuestionsAndNoneTwice) {
  const Found one = run(kKnobs, {2, 4, 16}, bowl);
  const Found other = run(kKnobs, {2, 4, 16}, bowl);
  EXPECT_EQ(one.tried, other.tried);
  std::set<Point> all(one.tried.begin(), one.tried.end());
  EXPECT_EQ(all.size(), one.tried.size());
  EXPECT_FALSE(all.contains(Point{2, 4, 16}));
}

TEST(PatternSearch, KeepsBoundsWholeNumbersAndFourDigits) {
  const auto outside = [](const Point& x) { return -x[0] - x[1] - x[2]; };
  const Found found = run(kKnobs, {2, 4, 1}, outside);
  EXPECT_GE(found.best[0] * std::pow(1.5, 0.25), 64);
  EXPECT_GE(found.best[1] + 1, 31);
  EXPECT_EQ(found.best[2], 32);
  for (const Point& point : found.tried) {
    for (size_t k = 0; k < kKnobs.size(); ++k) {
      EXPECT_GE(point[k], kKnobs[k].least);
      EXPECT_LE(point[k], kKnobs[k].most);
      EXPECT_EQ(point[k], four_digits(point[k]));
    }
    EXPECT_EQ(point[1], std::round(point[1]));
  }
}

TEST(PatternSearch, GoesRoundWhatFails) {
  const auto holed = [](const Point& x) {
    return x[1] > 10 && x[1] < 14 ? std::numeric_limits<double>::infinity() : bowl(x);
  };
  const Found found = run(kKnobs, {12, 6, 3}, holed);
  EXPECT_LE(holed(found.best), holed({12, 6, 3}));
  EXPECT_TRUE(std::isfinite(holed(found.best)));
}

TEST(PatternSearch, EndsWhereEverythingFailsOrNothingCanBeTurned) {
  const Found failed =
      run(kKnobs, {2, 4, 16}, [](const Point&) { return std::numeric_limits<double>::infinity(); });
  EXPECT_EQ(failed.best, (Point{2, 4, 16}));
  PatternSearch none({}, {}, 1);
  EXPECT_EQ(none.next(), std::nullopt);
}

}  // namespace
}  // namespace ropewalk
