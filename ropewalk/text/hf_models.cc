#include "ropewalk/text/hf_models.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ropewalk/text/bpe_merges.h"
#include "ropewalk/text/sentencepiece_spelling.h"
#include "ropewalk/text/unigram.h"
#include "ropewalk/text/wordpiece.h"

namespace ropewalk {

void HfVocabulary::add(const std::string& spelling, int32_t id, const std::string& place) {
  // Ids are dense but for a few holes; a stray one must not cost gigabytes.
  constexpr int32_t kMaxId = (1 << 24) - 1;
  if (id > kMaxId) {
    throw Error(place, "must have ids up to " + std::to_string(kMaxId), std::to_string(id));
  }
  const auto index = static_cast<size_t>(id);
  if (index >= spellings_.size()) spellings_.resize(index + 1);
  if (!spelling.empty() && !spellings_[index].empty()) {
    throw Error(place, "must give each id once", std::to_string(id)).of(FaultKind::kConflict);
  }
  ids_[spelling] = id;
  spellings_[index] = spelling;
}

std::optional<int32_t> HfVocabulary::find(std::string_view spelling) const {
  const auto found = ids_.find(spelling);
  return found == ids_.end() ? std::nullopt : std::optional<int32_t>(found->second);
}

std::vector<int32_t> HfVocabulary::byte_ids() const {
  std::vector<int32_t> ids;
  for (int byte = 0; byte < 256; ++byte) {
    ids.push_back(find(spell_byte(static_cast<uint8_t>(byte))).value_or(-1));
  }
  return ids;
}

namespace {

void read_vocabulary(const HfNode& node, HfVocabulary& vocabulary) {
  if (!node.json().is_object()) throw node.wrong("an object");
  for (const auto& [spelling, id] : node.json().items()) {
    vocabulary.add(spelling, HfNode(id, node.place()).count(), node.place());
  }
  if (vocabulary.size() == 0) throw Error(node.place(), "must hold tokens", "none");
}

// Appends the bytes of `text` as tokens if there is one for each.
bool append_bytes(std::string_view text, const std::vector<int32_t>& byte_ids,
                  std::vector<int32_t>& ids) {
  const auto id_of = [&](char c) { return byte_ids[static_cast<uint8_t>(c)]; };
  if (!std::all_of(text.begin(), text.end(), [&](char c) { return id_of(c) >= 0; })) return false;
  for (const char c : text) ids.push_back(id_of(c));
  return true;
}

class Bpe final : public HfModel {
 public:
  Bpe(const HfNode& node, const std::unordered_set<std::string>& special)
      : special_(special),
        prefix_(node.string_or("continuing_subword_prefix", "")),
        suffix_(node.string_or("end_of_word_suffix", "")),
        fuse_unknown_(node.boolean_or("fuse_unk", false)),
        ignore_merges_(node.boolean_or("ignore_merges", false)) {
    if (const auto dropout = node.find("dropout"); dropout && dropout->number() != 0) {
      throw Error(dropout->place(), "must be 0: text has one reading here", dropout->json().dump());
    }
    read_vocabulary(node.at("vocab"), *vocabulary_);
    if (node.boolean_or("byte_fallback", false)) byte_ids_ = vocabulary_->byte_ids();
    spells_bytes_ = !byte_ids_.empty();
    if (const auto unknown = node.find("unk_token")) unknown_ = find(unknown->string());
    int32_t rank = 0;
    const HfNode merges = node.at("merges");
    if (!merges.json().is_array()) throw merges.wrong("an array");
    merges_.reserve(merges.json().size());
    for (const auto& merge : merges.json()) {
      // Hundreds of thousands: where one is told only if it is wrong.
      add_merge(merge, rank++, [&] {
        return HfNode(merge, merges.place() + "[" + std::to_string(rank - 1) + "]");
      });
    }
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    if (ignore_merges_) {
      const auto whole = find(word);
      if (whole && !special_.contains(std::string(word))) {
        ids.push_back(*whole);
        return;
      }
    }
    // The merges need no more than symbols, which are ids here; each unit counts as one byte.
    std::vector<BpeMerges::Unit> units;
    std::vector<int32_t> bytes;
    bool after_unknown = false;
    for (size_t at = 0; at < word.size();) {
      const std::string_view character = first_character(word.substr(at));
      std::string spelling = at == 0 ? std::string() : prefix_;
      at += character.size();
      spelling += character;
      if (at == word.size()) spelling += suffix_;
      bytes.clear();
      if (const auto id = find(spelling)) {
        units.push_back({*id, 1});
        after_unknown = false;
      } else if (spells_bytes_ && append_bytes(spelling, byte_ids_, bytes)) {
        for (const int32_t byte : bytes) units.push_back({byte, 1});
        after_unknown = false;
      } else if (unknown_) {
        if (!after_unknown || !fuse_unknown_) units.push_back({*unknown_, 1});
        after_unknown = true;
      }
    }
    BpeMerges::Scratch scratch;
    merges_.apply(units, scratch);
    for (const BpeMerges::Unit& unit : units) ids.push_back(unit.symbol);
  }

 private:
  std::optional<int32_t> find(std::string_view spelling) const {
    return vocabulary_->find(spelling);
  }

  // merge  "left right", or ["left", "right"]
  template <typename Node>
  void add_merge(const nlohmann::ordered_json& merge, int32_t rank, const Node& node) {
    std::string left, right;
    if (merge.is_array()) {
      if (merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) {
        throw node().wrong("two tokens");
      }
      left = merge[0].get_ref<const std::string&>();
      right = merge[1].get_ref<const std::string&>();
    } else {
      const std::string& both =
          merge.is_string() ? merge.get_ref<const std::string&>() : node().string();
      const size_t space = both.find(' ');
      if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos) {
        throw Error(node().place(), "must read \"left right\"", "\"" + both + "\"");
      }
      left = both.substr(0, space);
      right = both.substr(space + 1);
    }
    const bool continues = !prefix_.empty() && right.starts_with(prefix_);
    const std::string product = left + right.substr(continues ? prefix_.size() : 0);
    const auto left_id = find(left);
    const auto right_id = find(right);
    const auto product_id = find(product);
    if (!left_id || !right_id || !product_id) {
      const std::string& missing = !left_id ? left : !right_id ? right : product;
      throw Error(node().place(), "must join tokens of the vocabulary", "\"" + missing + "\"")
          .of(FaultKind::kInconsistent);
    }
    if (!special_.contains(product)) merges_.add(*left_id, *right_id, *product_id, rank);
  }

  std::unordered_set<std::string> special_;
  std::string prefix_;
  std::string suffix_;
  bool fuse_unknown_;
  bool ignore_merges_;
  std::vector<int32_t> byte_ids_;  // empty: a character that is no token is unknown
  BpeMerges merges_;
};

class UnigramModel final : public HfModel {
 public:
  UnigramModel(const HfNode& node, const std::unordered_set<std::string>& special) {
    const HfNode vocab = node.at("vocab");
    std::vector<double> scores;
    double least = std::numeric_limits<double>::max();
    for (const HfNode& entry : vocab.elements()) {
      const std::vector<HfNode> parts = entry.elements();
      if (parts.size() != 2) throw entry.wrong("[token, score]");
      const double score = parts[1].number();
      if (!std::isfinite(score)) throw parts[1].wrong("a finite number");
      vocabulary_->add(parts[0].string(), static_cast<int32_t>(scores.size()), entry.place());
      scores.push_back(score);
      least = std::min(least, score);
    }
    if (scores.empty()) throw Error(vocab.place(), "must hold tokens", "none");
    if (const auto unknown = node.find("unk_id")) {
      unknown_ = unknown->count();
      if (static_cast<size_t>(*unknown_) >= scores.size()) {
        throw Error(unknown->place(), "must be an id of the vocabulary", std::to_string(*unknown_));
      }
    }
    if (node.boolean_or("byte_fallback", false)) byte_ids_ = vocabulary_->byte_ids();
    spells_bytes_ = !byte_ids_.empty();

    std::vector<PrefixTable::Entry> entries;
    const std::vector<std::string>& spellings = vocabulary_->spellings();
    for (size_t id = 0; id < spellings.size(); ++id) {
      const bool is_unknown = unknown_ && static_cast<size_t>(*unknown_) == id;
      if (spellings[id].empty() || is_unknown || special.contains(spellings[id])) continue;
      if (vocabulary_->find(spellings[id]) != static_cast<int32_t>(id)) continue;
      entries.push_back({spellings[id], static_cast<int32_t>(id)});
    }
    model_ = Unigram(std::move(entries), std::move(scores), least - Unigram::kUnknownPenalty);
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    std::vector<Unigram::Piece> pieces;
    model_.cut(word, pieces);
    for (const Unigram::Piece& piece : pieces) {
      const std::string_view text = word.substr(0, piece.size);
      word.remove_prefix(piece.size);
      if (piece.id >= 0) {
        ids.push_back(piece.id);
      } else if (!spells_bytes_ || !append_bytes(text, byte_ids_, ids)) {
        if (unknown_) ids.push_back(*unknown_);
      }
    }
  }

 private:
  Unigram model_;
  std::vector<int32_t> byte_ids_;
};

class WordPieceModel final : public HfModel {
 public:
  WordPieceModel(const HfNode& node, const std::unordered_set<std::string>& special)
      : pieces_(max_characters(node)) {
    read_vocabulary(node.at("vocab"), *vocabulary_);
    const std::string prefix = node.string_or("continuing_subword_prefix", "##");
    const HfNode unknown = node.at("unk_token");
    unknown_ = vocabulary_->find(unknown.string());
    if (!unknown_) {
      throw Error(unknown.place(), "must be a token of the vocabulary",
                  "\"" + unknown.string() + "\"");
    }
    const std::vector<std::string>& spellings = vocabulary_->spellings();
    for (size_t id = 0; id < spellings.size(); ++id) {
      const std::string_view text = spellings[id];
      if (special.contains(spellings[id])) continue;
      pieces_.add_beginning(text, static_cast<int32_t>(id));
      if (text.starts_with(prefix)) {
        pieces_.add_continuation(text.substr(prefix.size()), static_cast<int32_t>(id));
      }
    }
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    if (!pieces_.cut(word, ids)) ids.push_back(*unknown_);
  }

 private:
  static size_t max_characters(const HfNode& node) {
    const auto stated = node.find("max_input_chars_per_word");
    return stated ? static_cast<size_t>(stated->count()) : WordPiece::kMaxCharacters;
  }

  WordPiece pieces_;
};

class WordLevel final : public HfModel {
 public:
  explicit WordLevel(const HfNode& node) {
    read_vocabulary(node.at("vocab"), *vocabulary_);
    unknown_ = vocabulary_->find(node.at("unk_token").string());
  }
  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    if (const auto id = vocabulary_->find(word)) {
      ids.push_back(*id);
    } else if (unknown_) {
      ids.push_back(*unknown_);
    }
  }
};

// Older files do not name it.
std::string type_of(const HfNode& node) {
  if (node.find("type")) return node.type();
  if (node.find("merges")) return "BPE";
  return node.find("max_input_chars_per_word") ? "WordPiece" : "";
}

}  // namespace

std::unique_ptr<HfModel> make_hf_model(const HfNode& node,
                                       const std::unordered_set<std::string>& special) {
  const std::string type = type_of(node);
  if (type == "BPE") return std::make_unique<Bpe>(node, special);
  if (type == "Unigram") return std::make_unique<UnigramModel>(node, special);
  if (type == "WordPiece") return std::make_unique<WordPieceModel>(node, special);
  if (type == "WordLevel") return std::make_unique<WordLevel>(node);
  throw node.unknown_type("BPE, Unigram, WordPiece, WordLevel");
}

}  // namespace ropewalk
