// The tokenizer of a Hugging Face directory: the steps of its tokenizer.json, in their order.
// Source: github.com/huggingface/tokenizers.
#ifndef ROPEWALK_TEXT_HF_TOKENIZER_H_
#define ROPEWALK_TEXT_HF_TOKENIZER_H_

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

// tokenizer  the document; "truncation" and "padding" are not looked at
// config     tokenizer_config.json, or null: which tokens are BOS and EOS, and whether they are
//            added (add_bos_token and add_eos_token, where stated, overrule the post-processor)
// place      names the document in messages
// Text that two characters of Unicode's normal forms, or the model's own rules, rewrite does not come
// back as it was; all other text does where bytes can be spelled.
// Safe on hostile input. Throws Error on any type of step, or setting of one, that we do not know.
std::unique_ptr<Tokenizer> make_hf_tokenizer(const nlohmann::ordered_json& tokenizer,
                                             const nlohmann::ordered_json& config,
                                             const std::string& place);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_HF_TOKENIZER_H_
