#include "net/prometheus.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace weir::net {
namespace {

std::string_view type_name(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::to_string(value);
}

void append_escaped(std::string& out, std::string_view text, bool in_quotes) {
  for (char c : text) {
    if (c == '\\' || (c == '"' && in_quotes)) out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

// {a="x",le="0.5"}; `le` is the bound of a bucket.
void append_labels(std::string& out, const MetricLabels& labels, std::string_view le) {
  char before = '{';
  auto append = [&](std::string_view name, std::string_view value) {
    out += before;
    out += name;
    out += "=\"";
    append_escaped(out, value, true);
    out += '"';
    before = ',';
  };
  for (const auto& [name, value] : labels) append(name, value);
  if (!le.empty()) append("le", le);
  if (before == ',') out += '}';
}

void append_sample(std::string& out, std::string_view name, std::string_view suffix,
                   const MetricLabels& labels, std::string_view value, std::string_view le = {}) {
  out += name;
  out += suffix;
  append_labels(out, labels, le);
  out += ' ';
  out += value;
  out += '\n';
}

void append_histogram(std::string& out, const MetricFamily& family, const MetricSample& sample) {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < sample.bucket_counts.size(); ++i) {
    below += sample.bucket_counts[i];
    std::string bound = i < family.bounds.size() ? number(family.bounds[i]) : "+Inf";
    append_sample(out, family.name, "_bucket", sample.labels, fmt::to_string(below), bound);
  }
  append_sample(out, family.name, "_sum", sample.labels, number(sample.value));
  append_sample(out, family.name, "_count", sample.labels, fmt::to_string(below));
}

}  // namespace

std::string prometheus_text(const MetricsRegistry& registry) {
  std::string out;
  for (const MetricFamily& family : registry.snapshot()) {
    fmt::format_to(std::back_inserter(out), "# HELP {} ", family.name);
    append_escaped(out, family.help, false);
    fmt::format_to(std::back_inserter(out), "\n# TYPE {} {}\n", family.name,
                   type_name(family.type));
    for (const MetricSample& sample : family.samples) {
      if (family.type == MetricType::kHistogram) {
        append_histogram(out, family, sample);
      } else {
        append_sample(out, family.name, "", sample.labels, number(sample.value));
      }
    }
  }
  return out;
}

}  // namespace weir::net
