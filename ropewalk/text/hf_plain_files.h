// Tokenizers of directories from before tokenizer.json: vocab.json with merges.txt, or vocab.txt.
// What the class of the tokenizer makes of them is written down as the tokenizer.json that it would
// save. Source: transformers, tokenization_{gpt2,roberta,qwen2,bert}.py and
// tokenization_utils_base.py.
#ifndef ROPEWALK_TEXT_HF_PLAIN_FILES_H_
#define ROPEWALK_TEXT_HF_PLAIN_FILES_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace ropewalk {

// What lies beside the vocabulary; null where there is no such file.
struct HfTokenizerFiles {
  nlohmann::ordered_json config;          // tokenizer_config.json
  nlohmann::ordered_json special_tokens;  // special_tokens_map.json
  nlohmann::ordered_json added_tokens;    // added_tokens.json
  std::string model_type;                 // config.json's; empty: it says none
};

// The arguments of make_hf_tokenizer().
struct HfTokenizerDocument {
  nlohmann::ordered_json tokenizer;
  nlohmann::ordered_json config;
};

// Byte-level BPE.
//   vocabulary  vocab.json: ids by token
//   merges      merges.txt: a line for each, "left right", most important first
//   place       the directory, for messages
// Throws Error where the tokenizer's class is not one of GPT-2's, RoBERTa's and Qwen2's, where
// neither file nor model_type says which it is, and where a file does not read as it must.
HfTokenizerDocument read_bpe_files(nlohmann::ordered_json vocabulary, std::string_view merges,
                                   const HfTokenizerFiles& files, const std::string& place);

// WordPiece.
//   vocabulary  vocab.txt: a line for each token, in the order of their ids; of equal ones the last
//               counts
// Throws Error as above where the class is not BERT's.
HfTokenizerDocument read_wordpiece_file(std::string_view vocabulary, const HfTokenizerFiles& files,
                                        const std::string& place);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_HF_PLAIN_FILES_H_
