// Computes the fields of a case with the library: from what the case gives, never from what it
// expects.
#ifndef ROPEWALK_CLI_GOLDEN_COMPUTE_H_
#define ROPEWALK_CLI_GOLDEN_COMPUTE_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "cli/golden/value.h"
#include "ropewalk/math/spectrum.h"
#include "ropewalk/math/turns.h"

namespace ropewalk::golden {

// Fields that describe a case or are what it gives: neither computed nor compared, at its outermost
// level.
const std::vector<std::string>& given_fields();

// The fields that the case carries, computed. Throws Error where the kind or the rule is not known,
// and std::exception where the case lacks what its kind needs.
Value compute(const Json& golden);

// ---- one function for each kind; see golden/README.md for their fields

Value compute_frequencies(const Json& golden);
Value compute_vision(const Json& golden);
Value compute_gguf(const Json& golden);
Value compute_layers(const Json& golden);
Value compute_malformed(const Json& golden);
Value compute_far(const Json& golden);

Value compute_buckets(const Json& golden);
Value compute_slopes(const Json& golden);
Value compute_table(const Json& golden);
Value compute_bias(const Json& golden);
Value compute_positions(const Json& golden);
Value compute_xpos(const Json& golden);
Value compute_distance(const Json& golden);
Value compute_scale(const Json& golden);
Value compute_apply(const Json& golden);
Value compute_layout(const Json& golden);

// ---- what they share

std::string rule_of(const Json& golden);
[[noreturn]] void refuse_rule(const Json& golden);

// Copies the fields of that name that the case has.
void echo(const Json& golden, Value& out, std::initializer_list<const char*> names);

// A number that a case gives: a JSON number, exactly, or a decimal string.
DoubleDouble number(const Json& value);

// The same as a scheme string holds it.
std::string text_of(const Json& value);

// The bound of golden/README.md on cos and sin of pairs that turn by `radians` in all.
double table_bound(double radians);

// inv_freq, n_pairs, attention_factor, and the table of the pairs and positions that `golden`
// names.
void set_spectrum(Value& out, const Spectrum& spectrum, const Json& golden);

// What set_spectrum() sets, and the axis of each pair, with the tables of the `cases` that the case
// gives, each of a position with several coordinates.
void set_axes(Value& out, const Spectrum& spectrum, const Json& golden);

// {"__float__": "nan"} as the number that JSON has no word for.
Json with_floats(const Json& value);

}  // namespace ropewalk::golden

#endif  // ROPEWALK_CLI_GOLDEN_COMPUTE_H_
