"""Emits the list of API keys and the table of versions."""


def emit_keys(apis):
    lines = [
        "// Generated from the schemas: do not edit. The APIs of the Kafka protocol that clients may send.",
        "#pragma once",
        "#include <cstdint>",
        "",
        "namespace weir::kafka {",
        "",
        "enum class ApiKey : std::int16_t {",
    ]
    lines += [f"  k{api.name} = {api.key}," for api in apis]
    return "\n".join(lines + ["};", "", "}  // namespace weir::kafka", ""])


def emit_table(apis):
    lines = [
        "// Generated from the schemas: do not edit.",
        '#include "kafka/protocol/api.h"',
        "",
        "namespace weir::kafka {",
        "namespace {",
        "",
        "constexpr ApiInfo kApis[] = {",
    ]
    for api in apis:
        lines.append(f"    {{{_row(api)}}},")
    lines += ["};", "", "}  // namespace", "", "std::span<const ApiInfo> all_apis() { return kApis; }", ""]
    return "\n".join(lines + ["}  // namespace weir::kafka", ""])


def _row(api):
    flexible = api.flexible.low if api.flexible else "kNeverFlexible"
    served = "std::nullopt"
    if api.served:
        served = f"VersionRange{{{api.served.low}, {api.served.high}}}"
    first = "std::nullopt" if api.advertised_from is None else api.advertised_from
    versions = f"{{{api.versions.low}, {api.versions.high}}}"
    return f'ApiKey::k{api.name}, "{api.name}", {versions}, {flexible}, {served}, {first}'
