#include "ropewalk/kernels/attention_walk.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

namespace ropewalk {
namespace {

bool turns_alike(const HeardPair& a, const HeardPair& b) {
  return a.pair == b.pair && a.query_cos == b.query_cos && a.query_sin == b.query_sin &&
         a.key_cos == b.key_cos && a.key_sin == b.key_sin;
}

// Branches of one family, the ones that hear more pairs first.
struct Gathering {
  std::vector<HeardPair> pairs;
  std::vector<size_t> members;
};

std::vector<Gathering> gather(const Rotations& rotations) {
  std::vector<size_t> order(rotations.plan().branches.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t branch) { return rotations.heard(branch).size(); });
  std::vector<Gathering> families;
  for (const size_t branch : order) {
    std::vector<HeardPair> heard = rotations.heard(branch);
    std::ranges::reverse(heard);
    auto family = std::ranges::find_if(families, [&](const Gathering& known) {
      return std::equal(heard.begin(), heard.end(), known.pairs.begin(), turns_alike);
    });
    if (family == families.end()) {
      family = families.insert(families.end(), {.pairs = std::move(heard), .members = {}});
    }
    family->members.push_back(branch);
  }
  return families;
}

// Whether all entries of the pair's keys are 1 and 0.
bool stands(const Rotations& rotations, const PlanBranch& branch, const HeardPair& pair) {
  if (!rotations.keys_share_spectrum()) return false;
  if (branch.pairs[pair.pair] != PairState::kMapped || !branch.key_positions.empty()) return false;
  const PositionMap& map = branch.positions.key_of(pair.pair);
  const bool constant = map.slope == DoubleDouble(0.0) && map.carry == DoubleDouble(0.0);
  return constant && pair.key_cos[0] == 1 && pair.key_sin[0] == 0;
}

// Narrows `cover` by a condition first <= x < last on values between low and high.
void narrow(Cover& cover, int64_t low, int64_t high, int64_t first, int64_t last) {
  if (high < first || low >= last) {
    cover = Cover::kNone;
  } else if ((low < first || high >= last) && cover == Cover::kAll) {
    cover = Cover::kSome;
  }
}

Cover cover_of_runs(const KeyInterval& first_row, const KeyInterval& last_row,
                    const WalkRectangle& rectangle) {
  // Both ends of the runs rise, or stay, from row to row.
  if (last_row.last <= rectangle.first_key || first_row.first >= rectangle.end_key)
    return Cover::kNone;
  const bool all = last_row.first <= rectangle.first_key && first_row.last >= rectangle.end_key;
  return all ? Cover::kAll : Cover::kSome;
}

constexpr int64_t kKeysOfBits = 64;

// Bits x and on, at kKeysOfBits + x.
constexpr auto kBitsFrom = [] {
  std::array<uint64_t, 3 * kKeysOfBits + 1> bits = {};
  for (int64_t k = 0; k < 2 * kKeysOfBits; ++k)
    bits[static_cast<size_t>(k)] = ~uint64_t{0} << std::max<int64_t>(k - kKeysOfBits, 0);
  return bits;
}();

// Bits x and on, then x + 1 and on, to x + kKeysOfBits.
const uint64_t* bits_from(int64_t x) {
  return kBitsFrom.data() + kKeysOfBits + std::clamp(x, -kKeysOfBits, kKeysOfBits);
}

}  // namespace

AttentionWalk::AttentionWalk(const Rotations& rotations, int64_t first_key)
    : plan_(rotations.plan()), first_key_(first_key) {
  if (plan_.by_distance) parts_.push_back({.kind = WalkPart::Kind::kByDistance});
  if (plan_.sinks_by_distance) parts_.push_back({.kind = WalkPart::Kind::kSinksByDistance});
  for (const Gathering& gathered : gather(rotations)) {
    for (auto member = gathered.members.rbegin(); member != gathered.members.rend(); ++member) {
      parts_.push_back({.branch = &plan_.branches[*member],
                        .family = families_.size(),
                        .n_pairs = std::ssize(rotations.heard(*member))});
    }
    WalkFamily& family = families_.emplace_back(WalkFamily{gathered.pairs, {}});
    const PlanBranch& first = plan_.branches[gathered.members.front()];
    for (const HeardPair& pair : family.pairs)
      family.key_stands.push_back(stands(rotations, first, pair));
  }
}

Cover AttentionWalk::cover(const WalkPart& part, const WalkRectangle& rectangle) const {
  if (part.kind == WalkPart::Kind::kBranch) return cover_of_branch(*part.branch, rectangle);
  return cover_of_runs(keys(part, rectangle.first_row), keys(part, rectangle.last_row), rectangle);
}

// Each condition of a branch bounds a number that rises with the row and falls with the key.
Cover AttentionWalk::cover_of_branch(const PlanBranch& branch,
                                     const WalkRectangle& rectangle) const {
  const int64_t last_key = rectangle.end_key - 1;
  Cover cover = Cover::kAll;
  narrow(cover, rectangle.first_row - last_key, rectangle.last_row - rectangle.first_key,
         branch.first, branch.last);
  if (cover == Cover::kNone) return cover;
  narrow(cover, rectangle.first_key, last_key, first_key_, branch.key_end);
  if (cover == Cover::kNone) return cover;
  narrow(cover, rectangle.first_row, rectangle.last_row, branch.first_query, kUnbounded);
  if (cover == Cover::kNone) return cover;
  const int64_t nearest = std::min(rectangle.first_row, branch.query_limit);
  const int64_t farthest = std::min(rectangle.last_row, branch.query_limit);
  if (branch.chunk == 0) {
    narrow(cover, nearest - last_key, farthest - rectangle.first_key, branch.first_standing,
           branch.last_standing);
  } else {
    narrow(cover, nearest / branch.chunk - last_key / branch.chunk,
           farthest / branch.chunk - rectangle.first_key / branch.chunk, branch.first_standing,
           branch.last_standing);
  }
  return cover;
}

void AttentionWalk::key_bits(const WalkPart& part, const WalkRectangle& rectangle,
                             const EndRows& ends, std::span<uint64_t> bits) const {
  const int64_t rise = std::ssize(bits) - 1;
  // From row to row both ends rise by one or stay, unless they go by chunks.
  const bool steps = part.kind == WalkPart::Kind::kBranch && part.branch->chunk == 0 &&
                     rectangle.first_row >= part.branch->first_query;
  const auto evenly = [&](int64_t from, int64_t to) { return to == from || to == from + rise; };
  if (!steps || rise > kKeysOfBits || !evenly(ends.first.first, ends.last.first) ||
      !evenly(ends.first.last, ends.last.last)) {
    for (int64_t r = 0; r <= rise; ++r) {
      const KeyInterval keys = this->keys(part, rectangle.first_row + r);
      bits[r] = *bits_from(keys.first - rectangle.first_key) &
                ~*bits_from(keys.last - rectangle.first_key);
    }
    return;
  }
  const uint64_t* const from = bits_from(ends.first.first - rectangle.first_key);
  const uint64_t* const past = bits_from(ends.first.last - rectangle.first_key);
  const int64_t of_first = ends.last.first > ends.first.first ? 1 : 0;
  const int64_t of_last = ends.last.last > ends.first.last ? 1 : 0;
  for (int64_t r = 0; r <= rise; ++r) bits[r] = from[r * of_first] & ~past[r * of_last];
}

bool AttentionWalk::sees_all(const WalkRectangle& rectangle) const {
  const Visibility& visibility = plan_.visibility;
  const bool near = rectangle.last_row - rectangle.first_key < visibility.window;
  return first_key_ <= rectangle.first_key && rectangle.end_key - 1 <= rectangle.first_row &&
         (near || rectangle.end_key <= visibility.sinks);
}

KeyInterval AttentionWalk::keys(const WalkPart& part, int64_t i) const {
  KeyInterval keys = part.kind == WalkPart::Kind::kBranch       ? part.branch->keys(i)
                     : part.kind == WalkPart::Kind::kByDistance ? plan_.keys_by_distance(i)
                                                                : plan_.sinks_by_distance_of(i);
  keys.first = std::max(keys.first, first_key_);
  return keys;
}

}  // namespace ropewalk
