#include "cli/golden/value.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/math/double_double.h"

namespace ropewalk::golden {
namespace {

// Golden values are rounded to double, and so are ours.
constexpr double kUlps = 4;

double ulp(double x) {
  const double size = std::abs(x);
  return size == 0 ? 0 : std::nextafter(size, INFINITY) - size;
}

std::string decimal(double value) { return fmt::format("{:.17g}", value); }

std::string shortened(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

// A number of a case: a decimal string, or a JSON number.
std::optional<DoubleDouble> number_of(const Json& wanted) {
  if (wanted.is_number_integer()) return DoubleDouble(wanted.get<int64_t>());
  if (wanted.is_number()) return DoubleDouble(wanted.get<double>());
  if (!wanted.is_string()) return std::nullopt;
  try {
    return from_decimal(wanted.get<std::string>());
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Value Value::exact(Json value) {
  Value made;
  made.exact_ = std::move(value);
  return made;
}

Value Value::disputed(Json value, std::string reason) {
  Value made = exact(std::move(value));
  made.dispute_ = std::move(reason);
  return made;
}

Value Value::reworded(const std::string& ours, const std::string& theirs) {
  Value made = exact(theirs);
  if (ours != theirs) made.note("\"" + theirs + "\" is taken for \"" + ours + "\"");
  return made;
}

Value Value::real(double value, double bound) {
  Value made;
  made.kind_ = Kind::kReal;
  made.real_ = value;
  made.bound_ = bound;
  return made;
}

Value Value::list(std::vector<Value> items) {
  Value made;
  made.kind_ = Kind::kList;
  made.items_ = std::move(items);
  return made;
}

Value Value::object() {
  Value made;
  made.kind_ = Kind::kObject;
  return made;
}

Value Value::reals(const std::vector<double>& values) {
  Value made = list();
  for (const double value : values) made.push(real(value));
  return made;
}

Value Value::given(const Json& value) {
  Value echoed = exact(value);
  echoed.is_given_ = true;
  return echoed;
}

Value& Value::set(const std::string& name, Value value) {
  fields_.emplace_back(name, std::move(value));
  return *this;
}

Value& Value::push(Value value) {
  items_.push_back(std::move(value));
  return *this;
}

Value& Value::note(std::string text) {
  notes_.push_back(std::move(text));
  return *this;
}

Json Value::to_json() const {
  switch (kind_) {
    case Kind::kExact:
      break;
    case Kind::kReal:
      return decimal(real_);
    case Kind::kList: {
      Json list = Json::array();
      for (const Value& item : items_) list.push_back(item.to_json());
      return list;
    }
    case Kind::kObject: {
      Json object = Json::object();
      for (const auto& [name, value] : fields_) object[name] = value.to_json();
      return object;
    }
  }
  return exact_;
}

class Comparison {
 public:
  void compare(const Value& computed, const Json& golden, const std::string& where) {
    add_notes(computed, where);
    switch (computed.kind_) {
      case Value::Kind::kExact:
        return compare_exact(computed, golden, where);
      case Value::Kind::kReal:
        return compare_real(computed, golden, where);
      case Value::Kind::kList:
        return compare_list(computed.items_, golden, where);
      case Value::Kind::kObject:
        return compare_object(computed, golden, where, {});
    }
  }

  void compare_object(const Value& computed, const Json& golden, const std::string& where,
                      const std::vector<std::string>& ignored) {
    if (!golden.is_object()) return fail(where, "got an object", golden);
    if (where.empty()) add_notes(computed, where);
    const std::string before = where.empty() ? "" : where + ".";
    for (const auto& [name, value] : computed.fields_) {
      if (golden.contains(name)) compare(value, golden[name], before + name);
    }
    for (const auto& [name, value] : golden.items()) {
      if (std::ranges::find(ignored, name) != ignored.end()) continue;
      const auto has_name = [&](const auto& field) { return field.first == name; };
      if (std::ranges::none_of(computed.fields_, has_name)) {
        failures.push_back({before + name, "no value is computed for this field"});
      }
    }
  }

  std::vector<Failure> failures;
  size_t n_compared = 0;  // values that were computed

 private:
  void add_notes(const Value& computed, const std::string& where) {
    for (const std::string& text : computed.notes_) {
      if (std::ranges::find(failures, text, &Failure::what) != failures.end()) continue;
      failures.push_back({where, text, true});
    }
  }

  void fail(const std::string& where, const std::string& got, const Json& wanted) {
    failures.push_back({where, got + ", want " + shortened(wanted)});
  }

  void compare_exact(const Value& computed, const Json& wanted, const std::string& where) {
    if (!computed.is_given_) ++n_compared;
    const Json& got = computed.exact_;
    // 10000 and 10000.0 are one number, however a file spells it.
    const bool numbers = got.is_number() && wanted.is_number();
    if (numbers ? got.get<double>() == wanted.get<double>() : got == wanted) return;
    fail(where, "got " + shortened(got), wanted);
    if (computed.dispute_.empty()) return;
    failures.back().what += "; " + computed.dispute_;
    failures.back().is_note = true;
  }

  void compare_real(const Value& computed, const Json& golden, const std::string& where) {
    ++n_compared;
    const std::optional<DoubleDouble> wanted = number_of(golden);
    const std::string got = "got " + decimal(computed.real_);
    if (!wanted) return fail(where, got, golden);
    const double bound = std::max(computed.bound_, kUlps * ulp(wanted->hi));
    const auto error = static_cast<double>(abs(DoubleDouble(computed.real_) - *wanted));
    if (error <= bound) return;
    failures.push_back({where, fmt::format("{}, want {}, off by {:.2g}, bound {:.2g}", got,
                                           shortened(golden), error, bound)});
  }

  void compare_list(const std::vector<Value>& items, const Json& golden, const std::string& where) {
    const std::string got = "got a list of " + std::to_string(items.size());
    if (!golden.is_array()) return fail(where, got, golden);
    if (golden.size() != items.size()) {
      failures.push_back({where, got + ", want one of " + std::to_string(golden.size())});
      return;
    }
    for (size_t k = 0; k < items.size(); ++k) {
      compare(items[k], golden[k], where + "[" + std::to_string(k) + "]");
    }
  }
};

std::vector<Failure> compare(const Value& computed, const Json& golden,
                             const std::vector<std::string>& ignored) {
  Comparison comparison;
  comparison.compare_object(computed, golden, "", ignored);
  const bool fails =
      std::ranges::any_of(comparison.failures, [](const Failure& f) { return !f.is_note; });
  if (comparison.n_compared == 0 && !fails) {
    comparison.failures.push_back({"", "the case expects no value: nothing is held to anything"});
  }
  return std::move(comparison.failures);
}

}  // namespace ropewalk::golden
