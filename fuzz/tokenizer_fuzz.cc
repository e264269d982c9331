// Any vocabulary, any text: a tokenizer is refused with an Error or keeps its contract.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/text/byte_alphabet.h"
#include "ropewalk/text/pretokenizers.h"
#include "ropewalk/text/tokenizer.h"

namespace {

using ropewalk::Vocabulary;

void require(bool holds) {
  if (!holds) std::abort();
}

// Reads values off the front; zeros once the input is used up.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::string bytes(size_t count) {
    const std::string value(rest_.substr(0, count));
    rest_.remove_prefix(value.size());
    return value;
  }
  // Now and then -1, which no vocabulary has.
  std::optional<int32_t> maybe_id(int32_t end) {
    const uint8_t value = byte();
    if (value == 255) return -1;
    return value < 128 ? std::nullopt : std::optional<int32_t>(value % end);
  }
  std::optional<bool> maybe_bool() {
    const uint8_t value = byte() % 3;
    return value == 0 ? std::nullopt : std::optional<bool>(value == 1);
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Every byte, so that all text can be spelled.
void add_bytes(Vocabulary& vocabulary) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    const bool llama = vocabulary.model == "llama";
    vocabulary.tokens.push_back(llama ? std::string("<0x") + kDigits[byte / 16] +
                                            kDigits[byte % 16] + '>'
                                      : ropewalk::to_alphabet(static_cast<uint8_t>(byte)));
    vocabulary.token_types.push_back(llama ? 6 : 1);
    vocabulary.scores.push_back(0);
  }
}

std::string spelled(const std::string& raw) {
  std::string text;
  for (const char c : raw) text += ropewalk::to_alphabet(static_cast<uint8_t>(c));
  return text;
}

Vocabulary read_vocabulary(Input& input, bool has_bytes) {
  Vocabulary vocabulary;
  vocabulary.model = input.byte() % 2 != 0 ? "llama" : "gpt2";
  vocabulary.tokens = {"<unk>", "<s>", "</s>"};
  vocabulary.token_types = {2, 3, 3};
  vocabulary.scores = {0, 0, 0};
  const auto known = ropewalk::known_pretokenizers();
  vocabulary.pre = std::string(known[input.byte() % known.size()].names[0]);
  for (int count = input.byte() % 64; count > 0; --count) {
    const std::string raw = input.bytes(input.byte() % 8);
    const bool in_alphabet = vocabulary.model == "gpt2" && input.byte() % 4 != 0;
    vocabulary.tokens.push_back(in_alphabet ? spelled(raw) : raw);
    vocabulary.token_types.push_back(input.byte() % 8);
    vocabulary.scores.push_back(static_cast<float>(input.byte() % 16));
  }
  const auto n_others = static_cast<int32_t>(vocabulary.tokens.size());
  if (has_bytes) add_bytes(vocabulary);
  for (int count = input.byte() % 64; count > 0; --count) {
    const std::string left = spelled(input.bytes(input.byte() % 4));
    vocabulary.merges.push_back(left + " " + spelled(input.bytes(input.byte() % 4)));
  }
  // Not one of the bytes: a control token spells no text.
  vocabulary.bos = input.maybe_id(n_others);
  vocabulary.eos = input.maybe_id(n_others);
  vocabulary.unknown = input.maybe_id(n_others);
  vocabulary.add_bos = input.maybe_bool();
  vocabulary.add_eos = input.maybe_bool();
  vocabulary.add_space_prefix = input.maybe_bool();
  return vocabulary;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const bool has_bytes = input.byte() % 4 != 0;
  try {
    const Vocabulary vocabulary = read_vocabulary(input, has_bytes);
    const auto tokenizer = ropewalk::make_tokenizer(vocabulary);
    const std::string_view text = input.rest();

    const std::vector<int32_t> ids = tokenizer->encode(text);
    const std::string decoded = tokenizer->decode(ids);
    const bool holds_space_mark = text.find("\xe2\x96\x81") != std::string_view::npos;
    if (has_bytes && (vocabulary.model == "gpt2" || !holds_space_mark)) require(decoded == text);

    for (const int32_t id : tokenizer->encode(text, {.parse_special = true})) {
      require(id >= 0 && static_cast<size_t>(id) < tokenizer->size());
      tokenizer->piece(id);
    }
  } catch (const ropewalk::Error&) {
    // Refused: as good an answer as any.
  }
  return 0;
}
