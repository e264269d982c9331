#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/check_report.h"
#include "cli/terminal_text.h"
#include "cli/text_layout.h"
#include "ropewalk/formats/json_file.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void print_faults(const CheckReport& report) {
  for (const CheckFault& fault : report.faults) {
    std::string text = fault.rule;
    if (!fault.value.empty()) text += ", got " + fault.value;
    if (fault.kind != FaultKind::kUnspecified) text += " [" + to_string(fault.kind) + "]";
    const std::string place = fault.key == report.path ? "" : fault.key + ": ";  // told above
    fmt::print("{}", paragraph(text, "  fault: " + place, 9));
    if (!fault.mend.empty()) fmt::print("{}", paragraph(fault.mend, "         mend: ", 9));
    for (const std::string& engine : fault.engines) {
      fmt::print("{}", paragraph(engine, "         ", 11));
    }
  }
}

std::string tensors_text(const TensorCheck& tensors) {
  if (!tensors.not_read.empty()) {
    return (tensors.n_tensors == 0 ? "" : counted(tensors.n_tensors, "tensor") + ", ") +
           "not looked at: " + tensors.not_read;
  }
  std::string text;
  size_t not_looked_at = 0;
  for (const auto& [type, count] : tensors.not_decodable) {
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", count, type);
    not_looked_at += count;
  }
  const size_t looked_at = tensors.n_tensors - not_looked_at;
  const bool all_finite = tensors.n_finite == looked_at;
  std::string head =
      not_looked_at == 0 && all_finite
          ? counted(tensors.n_tensors, "tensor") + ", all finite"
          : fmt::format("{}, {} of {} looked at finite", counted(tensors.n_tensors, "tensor"),
                        tensors.n_finite, looked_at);
  return text.empty() ? head : head + "; not looked at, their types are not decoded: " + text;
}

std::string weights_text(const CheckReport& report) {
  if (report.weights_in_place) {
    const std::string text = "all where the " + report.architecture + " architecture expects them";
    if (report.encoder) return text + "; whether they fit it, an encoder's states do not tell";
    if (!report.text) {
      return text + (report.text_given
                         ? "; the text that was given does not tell whether they fit it"
                         : "; without --text nothing tells whether they fit it");
    }
    return text +
           (report.faults.empty() ? "; the weights fit this architecture" : "; they do not fit");
  }
  if (!report.obstacle.empty()) return "not run: " + report.obstacle;
  if (!report.tensors.not_read.empty()) return "not run: there are none to be read";
  return report.faults.empty() ? "not run" : "not run, because of the faults";
}

std::string towers_text(const CheckReport& report) {
  return fmt::format("{} of towers for images or sounds ({}): not run, a text goes without them",
                     counted(static_cast<size_t>(report.tower_tensors), "tensor"),
                     fmt::join(report.towers, ", "));
}

std::string memory_text(const MemoryCheck& memory) {
  const std::string text =
      fmt::format("{} at the peak of {} of {} tokens in {}{}: {}",
                  bytes_text(memory.estimate.peak()), memory.of, memory.tokens, memory.precision,
                  memory.streamed ? ", streamed" : "", memory.estimate.text());
  if (memory.fits()) return text;
  return text + "; more than the " + bytes_text(memory.available->bytes) + " that are left (" +
         memory.available->source + ")";
}

Json json_of(const MemoryCheck& memory) {
  Json json = {{"of", memory.of},
               {"tokens", memory.tokens},
               {"precision", memory.precision},
               {"streamed", memory.streamed}};
  for (const auto& [name, bytes] : memory.estimate.parts()) json["bytes"][name] = bytes;
  json["peak"] = memory.estimate.peak();
  json["wanted"] = memory.estimate.wanted();
  json["available"] = nullptr;
  if (memory.available) json["available"] = memory.available->bytes;
  json["fits"] = memory.fits();
  return json;
}

std::string verdict(const CheckReport& report, bool strict) {
  if (!report.faults.empty()) return counted(report.faults.size(), "fault");
  std::string doubts;
  if (!report.warnings.empty()) doubts = counted(report.warnings.size(), "warning");
  if (!report.assumed.empty()) {
    doubts += (doubts.empty() ? "" : ", ") + counted(report.assumed.size(), "assumed value");
  }
  if (!report.obstacle.empty() && report.tensors.not_read.empty())
    doubts += doubts.empty() ? "weights not run" : ", weights not run";
  if (doubts.empty()) return "clean";
  return "no fault, " + doubts + (strict ? ": refused, as --strict says" : "");
}

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back(
        {{"key", or_null(finding.key)}, {"kind", to_string(finding.kind)}, {"text", finding.text}});
  }
  return list;
}

}  // namespace

void print_check_text(const CheckReport& report, bool strict) {
  fmt::print("{}\n", terminal_text(report.path));
  std::string head = report.format;
  if (!report.architecture.empty()) head += ", architecture " + report.architecture;
  if (!head.empty()) fmt::print("  {}\n", head);
  print_faults(report);
  for (const Finding& finding : report.warnings) {
    fmt::print("{}", paragraph(finding.text, "  warning: ", 11));
  }
  for (const DeclaredField& field : report.assumed) {
    fmt::print("{}",
               paragraph(field.name + " " + field.value + ": " + field.from, "  assumed: ", 11));
  }
  for (const Finding& finding : report.remarks) {
    fmt::print("{}", paragraph(finding.text, "  note: ", 8));
  }
  if (report.text) {
    fmt::print("  mean loss {:.4f} nats over {} tokens; knowing nothing would cost {:.4f}\n",
               report.text->mean_loss, report.text->tokens, report.text->ignorance);
  }
  if (!report.format.empty()) {
    Table table;
    table.add({"tensors", tensors_text(report.tensors)});
    table.add({"weights", weights_text(report)});
    if (report.tower_tensors != 0) table.add({"left out", towers_text(report)});
    if (report.memory) table.add({"memory", memory_text(*report.memory)});
    fmt::print("{}", table.text());
  }
  fmt::print("{}\n", verdict(report, strict));
}

void print_check_json(const CheckReport& report, bool strict) {
  Json json = {{"file", report.path},
               {"format", or_null(report.format)},
               {"architecture", or_null(report.architecture)}};
  json["faults"] = Json::array();
  for (const CheckFault& fault : report.faults) {
    json["faults"].push_back({{"key", fault.key},
                              {"kind", to_string(fault.kind)},
                              {"rule", fault.rule},
                              {"value", or_null(fault.value)},
                              {"mend", or_null(fault.mend)},
                              {"engines", fault.engines}});
  }
  json["warnings"] = json_of(report.warnings);
  json["assumed"] = Json::array();
  for (const DeclaredField& field : report.assumed) {
    json["assumed"].push_back({{"name", field.name}, {"value", field.value}, {"from", field.from}});
  }
  json["notes"] = json_of(report.remarks);
  json["tensors"] = {{"count", report.tensors.n_tensors},
                     {"finite", report.tensors.n_finite},
                     {"not_decodable", report.tensors.not_decodable},
                     {"not_read", or_null(report.tensors.not_read)}};
  json["left_out"] = {{"count", report.tower_tensors}, {"starts", report.towers}};
  json["runs"] = report.weights_in_place;
  json["obstacle"] = or_null(report.obstacle);
  json["memory"] = report.memory ? json_of(*report.memory) : Json();
  json["text"] = nullptr;
  if (report.text) {
    json["text"] = {{"mean_loss", report.text->mean_loss},
                    {"tokens", report.text->tokens},
                    {"ignorance", report.text->ignorance}};
  }
  json["exit_status"] = report.exit_status(strict);
  fmt::print("{}\n", dump_json(json, 2));
}

}  // namespace ropewalk
