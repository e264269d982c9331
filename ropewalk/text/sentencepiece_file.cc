#include "ropewalk/text/sentencepiece_file.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/text/sentencepiece_spelling.h"

namespace ropewalk {
namespace {

// One field of a protobuf message: a number, or bytes.
struct Field {
  uint32_t number;
  uint64_t value = 0;
  std::string_view bytes = {};

  bool boolean() const { return value != 0; }
  float real() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
};

class Message {
 public:
  Message(std::string_view bytes, const std::string& place) : rest_(bytes), place_(place) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const uint64_t key = varint();
    if (key >> 3 == 0 || key >> 3 > std::numeric_limits<uint32_t>::max()) throw damaged();
    Field field{.number = static_cast<uint32_t>(key >> 3)};
    switch (key & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = little_endian(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.value = little_endian(4);
        break;
      default:
        throw damaged();
    }
    return field;
  }

 private:
  Error damaged() const {
    return Error(place_, "must be a SentencePiece model", "a damaged message",
                 "fetch the file again");
  }
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) throw damaged();
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  uint64_t little_endian(size_t size) {
    uint64_t value = 0;
    const std::string_view bytes = take(size);
    for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw damaged();
  }

  std::string_view rest_;
  const std::string& place_;
};

void read_piece(Message message, Vocabulary& vocabulary) {
  std::string_view spelling;
  float score = 0;
  auto type = static_cast<int32_t>(TokenType::kNormal);  // the numbers are the same
  while (const auto field = message.next()) {
    if (field->number == 1) spelling = field->bytes;
    if (field->number == 2) score = field->real();
    if (field->number == 3) type = static_cast<int32_t>(field->value);
  }
  if (type == static_cast<int32_t>(TokenType::kUserDefined)) {
    // Its own program looks for these once spaces are spelled U+2581; we look in the text itself.
    const bool unreachable = spelling.find(' ') != std::string_view::npos;
    if (unreachable) type = static_cast<int32_t>(TokenType::kUnused);
    vocabulary.tokens.push_back(unreachable ? std::string(spelling) : unescape_spaces(spelling));
  } else {
    vocabulary.tokens.emplace_back(spelling);
  }
  vocabulary.scores.push_back(score);
  vocabulary.token_types.push_back(type);
}

std::optional<int32_t> id_of(const Field& field) {
  const auto id = static_cast<int32_t>(field.value);
  return id < 0 ? std::nullopt : std::optional<int32_t>(id);
}

void read_training(Message message, const std::string& place, Vocabulary& vocabulary) {
  uint64_t model = 1;
  bool spaces_after = false;
  while (const auto field = message.next()) {
    if (field->number == 3) model = field->value;
    if (field->number == 24) spaces_after = field->boolean();
    if (field->number == 40) vocabulary.unknown = id_of(*field);
    if (field->number == 41) vocabulary.bos = id_of(*field);
    if (field->number == 42) vocabulary.eos = id_of(*field);
  }
  if (model != 1 && model != 2) {
    throw Error(place + ": trainer_spec.model_type", "must be 1 (unigram) or 2 (BPE)",
                std::to_string(model))
        .of(FaultKind::kUnknownValue);
  }
  if (spaces_after) {
    throw Error(place + ": trainer_spec.treat_whitespace_as_suffix", "must be false", "true")
        .of(FaultKind::kUnknownValue);
  }
  vocabulary.model = model == 1 ? "t5" : "llama";
}

void read_normalization(Message message, const std::string& place, Vocabulary& vocabulary) {
  while (const auto field = message.next()) {
    if (field->number == 2) vocabulary.precompiled_charsmap = field->bytes;
    if (field->number == 3) vocabulary.add_space_prefix = field->boolean();
    if (field->number == 4) vocabulary.remove_extra_whitespaces = field->boolean();
    if (field->number == 5 && !field->boolean()) {
      throw Error(place + ": normalizer_spec.escape_whitespaces", "must be true", "false")
          .of(FaultKind::kUnknownValue);
    }
  }
}

}  // namespace

Vocabulary read_sentencepiece(std::string_view file, const std::string& place) {
  // The defaults of the message's definition.
  Vocabulary vocabulary = {.model = "t5",
                           .bos = 1,
                           .eos = 2,
                           .unknown = 0,
                           .add_space_prefix = true,
                           .remove_extra_whitespaces = true,
                           .normalizes_llama = true};
  Message message(file, place);
  while (const auto field = message.next()) {
    const Message inner(field->bytes, place);
    if (field->number == 1) read_piece(inner, vocabulary);
    if (field->number == 2) read_training(inner, place, vocabulary);
    if (field->number == 3) read_normalization(inner, place, vocabulary);
  }
  if (vocabulary.tokens.empty()) throw Error(place, "must be a SentencePiece model", "no tokens");
  return vocabulary;
}

}  // namespace ropewalk
