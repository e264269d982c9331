// Which known word an unknown one was meant to be.
#ifndef ROPEWALK_CONFIG_HF_SPELLING_H_
#define ROPEWALK_CONFIG_HF_SPELLING_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ropewalk {

// Insertions, deletions and replacements between two words; case and '_' against '-' count nothing.
int64_t edit_distance(const std::string& a, const std::string& b);

// The nearest known word at a distance of a third of its length at most; empty where there is none.
std::string nearest_spelling(const std::string& word, const std::vector<std::string>& known);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_SPELLING_H_
