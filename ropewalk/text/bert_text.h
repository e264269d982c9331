// How BERT prepares text: cleaned, lower-cased, cut into words and single punctuation characters.
// Source: Devlin et al. 2018 (arxiv.org/abs/1810.04805), tokenization.py, with the choices of
// Hugging Face's BertNormalizer and BertPreTokenizer.
#ifndef ROPEWALK_TEXT_BERT_TEXT_H_
#define ROPEWALK_TEXT_BERT_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

struct BertNormalization {
  bool clean_text = true;            // white space becomes ' ', control characters go
  bool handle_chinese_chars = true;  // a space on either side of an ideograph
  bool strip_accents = true;         // NFD without its nonspacing marks
  bool lowercase = true;
};

// Bytes that belong to no character count as U+FFFD, which cleaning takes out.
std::string bert_normalize(std::string_view text, const BertNormalization& rules);

// Returns the words of `text`, without the white space; a punctuation character is one by itself.
std::vector<std::string_view> bert_words(std::string_view text);

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_BERT_TEXT_H_
