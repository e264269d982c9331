#include "ropewalk/text/wordpiece_tokenizer.h"

#include "ropewalk/text/sentencepiece_spelling.h"

namespace ropewalk {
namespace {

// BERT's sequences lie between [CLS] and [SEP], whatever else the file names as BOS and EOS.
Vocabulary with_ends(Vocabulary vocabulary) {
  if (vocabulary.classification) vocabulary.bos = vocabulary.classification;
  vocabulary.eos = vocabulary.separator;
  if (vocabulary.add_separator) vocabulary.add_eos = vocabulary.add_separator;
  return vocabulary;
}

constexpr TokenizerDefaults kDefaults = {
    .bos = 101, .eos = 102, .unknown = 100, .add_bos = true, .add_eos = true};

}  // namespace

WordPieceTokenizer::WordPieceTokenizer(const Vocabulary& vocabulary)
    : TokenizerBase(with_ends(vocabulary), kDefaults) {
  rules_.lowercase = vocabulary.lowercase.value_or(true);
  rules_.strip_accents = vocabulary.strip_accents.value_or(rules_.lowercase);
  for (int32_t id = 0; id < static_cast<int32_t>(size()); ++id) {
    if (!spells_text(type_of(id))) continue;
    const std::string_view text = spelling(id);
    // Alone it is no mark but the character, going on with a word.
    if (text.starts_with(kSpelledSpace) && text != kSpelledSpace) {
      pieces_.add_beginning(text.substr(kSpelledSpace.size()), id);
    } else {
      pieces_.add_continuation(text, id);
    }
  }
}

void WordPieceTokenizer::encode_text(std::string_view text, std::vector<int32_t>& ids) const {
  const std::string normal = bert_normalize(text, rules_);
  for (const std::string_view word : bert_words(normal)) {
    if (!pieces_.cut(word, ids) && unknown()) ids.push_back(*unknown());
  }
}

std::string WordPieceTokenizer::piece(int32_t id) const {
  check_id(id);
  return is_hidden(id) ? spelling(id) : unescape_spaces(spelling(id));
}

std::string WordPieceTokenizer::decode(std::span<const int32_t> ids, DecodeOptions options) const {
  std::string text;
  for (const int32_t id : ids) {
    check_id(id);
    if (!is_hidden(id) || options.show_control) text += piece(id);
  }
  return options.strip_space_prefix && text.starts_with(' ') ? text.substr(1) : text;
}

}  // namespace ropewalk
