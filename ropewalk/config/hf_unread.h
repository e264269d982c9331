// Keys of a config.json that may have meant to say something of positions, and that nobody read.
#ifndef ROPEWALK_CONFIG_HF_UNREAD_H_
#define ROPEWALK_CONFIG_HF_UNREAD_H_

#include <string>

#include "ropewalk/config/hf_notes.h"

namespace ropewalk {

// Whether a key may mean to say something of positions: by the words that it is made of.
bool is_position_key(const std::string& key);

// Adds a finding for each such key that nobody read: a warning where the key is near to one that counts ("did you mean
// rope_scaling?"), else a remark.
void note_unread_keys(const JsonFields& fields, HfNotes& notes);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_UNREAD_H_
