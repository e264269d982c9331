#include "ropewalk/text/hf_pretokenizers.h"

#include <optional>
#include <utility>

#include "ropewalk/text/byte_alphabet.h"
#include "ropewalk/text/hf_pattern.h"
#include "ropewalk/text/utf8.h"

namespace ropewalk {
namespace {

// What becomes of the matches that text is cut at.
enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

Behavior behavior_of(const HfNode& node) {
  const std::string& name = node.string();
  if (name == "Removed") return Behavior::kRemoved;
  if (name == "Isolated") return Behavior::kIsolated;
  if (name == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return Behavior::kMergedWithNext;
  if (name == "Contiguous") return Behavior::kContiguous;
  throw Error(node.place(), "must be one we know", "\"" + name + "\"",
              "known: Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous")
      .of(FaultKind::kUnknownValue);
}

// Neighbours in memory.
std::string_view joined(std::string_view left, std::string_view right) {
  return {left.data(), left.size() + right.size()};
}

std::vector<std::string_view> arrange(const std::vector<Stretch>& stretches, Behavior behavior) {
  std::vector<std::string_view> pieces;
  bool open = false;  // the last piece takes in what follows
  bool last_matched = false;
  for (const Stretch& stretch : stretches) {
    // A byte that is no UTF-8, which no pattern sees, is kept: it must come back.
    if (behavior == Behavior::kRemoved && stretch.matched && utf8_length(stretch.text) > 0) {
      continue;
    }
    bool joins = false;
    if (behavior == Behavior::kMergedWithPrevious) {
      joins = stretch.matched && !pieces.empty() && !last_matched;
    } else if (behavior == Behavior::kMergedWithNext) {
      joins = open && !stretch.matched;
    } else if (behavior == Behavior::kContiguous) {
      joins = !pieces.empty() && stretch.matched == last_matched;
    }
    if (joins) {
      pieces.back() = joined(pieces.back(), stretch.text);
    } else {
      pieces.push_back(stretch.text);
    }
    open = stretch.matched;
    last_matched = stretch.matched;
  }
  return pieces;
}

class Split final : public HfPretokenizer {
 public:
  Split(HfPattern pattern, Behavior behavior, bool invert = false)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(std::vector<HfWord>& words) const override {
    std::vector<HfWord> finer;
    finer.reserve(words.size());
    for (const HfWord& word : words) {
      std::vector<Stretch> stretches = pattern_.stretches(word.text);
      if (invert_) {
        for (Stretch& stretch : stretches) stretch.matched = !stretch.matched;
      }
      for (const std::string_view piece : arrange(stretches, behavior_)) {
        const bool first = piece.data() == word.text.data();
        finer.push_back({std::string(piece), word.begins_input && first});
      }
    }
    words = std::move(finer);
  }

 private:
  HfPattern pattern_;
  Behavior behavior_;
  bool invert_;
};

class Sequence final : public HfPretokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<HfPretokenizer>> steps)
      : steps_(std::move(steps)) {}

  void apply(std::vector<HfWord>& words) const override {
    for (const auto& step : steps_) step->apply(words);
  }

 private:
  std::vector<std::unique_ptr<HfPretokenizer>> steps_;
};

// Spells each byte in GPT-2's alphabet.
class ByteLevel final : public HfPretokenizer {
 public:
  explicit ByteLevel(const HfNode& node)
      : add_prefix_space_(node.at("add_prefix_space").boolean()) {
    if (node.boolean_or("use_regex", true)) {
      words_.emplace(HfPattern::regex(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|)"
                                      R"( ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
                     Behavior::kIsolated);
    }
  }

  void apply(std::vector<HfWord>& words) const override {
    if (add_prefix_space_) {
      for (HfWord& word : words) {
        if (!word.text.starts_with(' ')) word.text.insert(0, 1, ' ');
      }
    }
    if (words_) words_->apply(words);
    for (HfWord& word : words) {
      std::string spelled;
      for (const char c : word.text) spelled += to_alphabet(static_cast<uint8_t>(c));
      word.text = std::move(spelled);
    }
  }

 private:
  bool add_prefix_space_;
  std::optional<Split> words_;
};

// Spells spaces by another character, and puts one before the text.
class Metaspace final : public HfPretokenizer {
 public:
  explicit Metaspace(const HfNode& node) : replacement_(node.at("replacement").string()) {
    // What files said before there was prepend_scheme.
    const bool prefix = node.boolean_or("add_prefix_space", true);
    scheme_ = node.string_or("prepend_scheme", prefix ? "always" : "never");
    if (scheme_ != "always" && scheme_ != "never" && scheme_ != "first") {
      throw Error(node.place() + ".prepend_scheme", "must be always, never or first",
                  "\"" + scheme_ + "\"")
          .of(FaultKind::kUnknownValue);
    }
    if (node.boolean_or("split", true)) {
      const nlohmann::ordered_json literal = replacement_;
      split_.emplace(HfPattern(HfNode(literal, node.place())), Behavior::kMergedWithNext);
    }
  }

  void apply(std::vector<HfWord>& words) const override {
    for (HfWord& word : words) {
      std::string spelled;
      for (const char c : word.text) {
        if (c == ' ') {
          spelled += replacement_;
        } else {
          spelled += c;
        }
      }
      const bool prefix = scheme_ == "always" || (scheme_ == "first" && word.begins_input);
      if (prefix && !spelled.starts_with(replacement_)) spelled.insert(0, replacement_);
      word.text = std::move(spelled);
    }
    if (split_) split_->apply(words);
  }

 private:
  std::string replacement_;
  std::string scheme_;
  std::optional<Split> split_;
};

std::unique_ptr<HfPretokenizer> split(const char* pattern, Behavior behavior, bool invert = false) {
  return std::make_unique<Split>(HfPattern::regex(pattern), behavior, invert);
}

constexpr const char* kWhiteSpace = R"(\s)";
constexpr const char* kPunctuation = R"([!-/:-@\[-`{-~\p{P}])";

}  // namespace

std::unique_ptr<HfPretokenizer> make_hf_pretokenizer(const HfNode& node) {
  const std::string type = node.type();
  if (type == "Sequence") {
    std::vector<std::unique_ptr<HfPretokenizer>> steps;
    for (const HfNode& step : node.at("pretokenizers").elements()) {
      steps.push_back(make_hf_pretokenizer(step));
    }
    return std::make_unique<Sequence>(std::move(steps));
  }
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(node);
  if (type == "Metaspace") return std::make_unique<Metaspace>(node);
  if (type == "Split") {
    return std::make_unique<Split>(HfPattern(node.at("pattern")), behavior_of(node.at("behavior")),
                                   node.boolean_or("invert", false));
  }
  if (type == "Digits") {
    const bool individual = node.boolean_or("individual_digits", false);
    return split(individual ? R"(\p{N})" : R"(\p{N}+)", Behavior::kIsolated);
  }
  if (type == "Punctuation") {
    const std::optional<HfNode> behavior = node.find("behavior");
    return split(kPunctuation, behavior ? behavior_of(*behavior) : Behavior::kIsolated);
  }
  if (type == "BertPreTokenizer") {
    std::vector<std::unique_ptr<HfPretokenizer>> steps;
    steps.push_back(split(kWhiteSpace, Behavior::kRemoved));
    steps.push_back(split(kPunctuation, Behavior::kIsolated));
    return std::make_unique<Sequence>(std::move(steps));
  }
  if (type == "Whitespace") {
    return split(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}]+|)"
                 R"([^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}\s]+)",
                 Behavior::kRemoved, true);
  }
  if (type == "WhitespaceSplit") return split(kWhiteSpace, Behavior::kRemoved);
  if (type == "CharDelimiterSplit") {
    return std::make_unique<Split>(HfPattern(node.at("delimiter")), Behavior::kRemoved);
  }
  throw node.unknown_type(
      "Sequence, ByteLevel, Metaspace, Split, Digits, Punctuation, BertPreTokenizer, Whitespace, "
      "WhitespaceSplit, CharDelimiterSplit");
}

}  // namespace ropewalk
