// The registry's metrics in Prometheus' text format, version 0.0.4.
#pragma once
#include "runtime/metrics.h"

#include <string>
#include <string_view>

namespace weir::net {

constexpr std::string_view kPrometheusContentType = "text/plain; version=0.0.4; charset=utf-8";

[[nodiscard]] std::string prometheus_text(const MetricsRegistry& registry);

}  // namespace weir::net
