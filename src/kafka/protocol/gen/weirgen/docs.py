"""Emits the page of APIs for the documentation."""

_HEAD = """# Kafka APIs

Generated from the schemas in `src/kafka/protocol/schemas`. Versions are those of Apache Kafka 4.4; APIs between brokers and
controllers are left out. An API without a served range is known to the codec but not advertised.

| key | API | versions served | versions known | flexible from | what for |
|---:|---|---|---|---|---|
"""


def emit_docs(apis):
    return _HEAD + "".join(_row(api) for api in apis)


def _row(api):
    served = str(api.served) if api.served else "–"
    if api.advertised_from is not None:
        served += f" (advertised from {api.advertised_from})"
    flexible = str(api.flexible.low) if api.flexible else "never"
    return f"| {api.key} | {api.name} | {served} | {api.versions} | {flexible} | {api.doc} |\n"
