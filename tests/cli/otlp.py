# SPDX-License-Identifier: MIT
"""A collector of OpenTelemetry, for tests of `uncore serve --otlp`.

  otlp.py collect DIRECTORY ANSWER...    a server: writes its port to DIRECTORY/port, each request to DIRECTORY/N.json and
                                         N.headers, and gives these answers, the last one again and again: a status, or
                                         "never"; TLS with CERTIFICATE and KEY in the environment
  otlp.py text FILE                      a request as samples of Prometheus, with the names that a collector's exporter makes;
                                         fails when it is not a request of OTLP/JSON, metrics v1"""

import http.server
import json
import os
import pathlib
import re
import ssl
import sys
import time

# The fields of opentelemetry/proto/metrics/v1/metrics.proto that uncore uses, by their names in JSON. fixed64 is a text of digits.
POINT = {"attributes": ["KeyValue"], "startTimeUnixNano": "fixed64", "timeUnixNano": "fixed64"}
MESSAGES = {
    "Request": {"resourceMetrics": ["ResourceMetrics"]},
    "ResourceMetrics": {"resource": "Resource", "scopeMetrics": ["ScopeMetrics"]},
    "Resource": {"attributes": ["KeyValue"]},
    "KeyValue": {"key": "string", "value": "AnyValue"},
    "AnyValue": {"stringValue": "string"},
    "ScopeMetrics": {"scope": "Scope", "metrics": ["Metric"]},
    "Scope": {"name": "string", "version": "string"},
    "Metric": {"name": "string", "description": "string", "unit": "string", "gauge": "Gauge", "sum": "Sum",
               "histogram": "Histogram", "summary": "Summary"},
    "Gauge": {"dataPoints": ["Number"]},
    "Sum": {"dataPoints": ["Number"], "aggregationTemporality": "cumulative", "isMonotonic": "bool"},
    "Histogram": {"dataPoints": ["HistogramPoint"], "aggregationTemporality": "cumulative"},
    "Summary": {"dataPoints": ["SummaryPoint"]},
    "Number": {**POINT, "asDouble": "double"},
    "HistogramPoint": {**POINT, "count": "fixed64", "sum": "double", "bucketCounts": ["fixed64"],
                       "explicitBounds": ["double"]},
    "SummaryPoint": {**POINT, "count": "fixed64", "sum": "double"},
}
SCALARS = {
    "string": lambda v: isinstance(v, str),
    "bool": lambda v: isinstance(v, bool),
    "double": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "fixed64": lambda v: isinstance(v, str) and re.fullmatch(r"\d+", v) and int(v) < 1 << 64,
    "cumulative": lambda v: v == 2 and isinstance(v, int),
}
UNITS = {"By": "bytes", "s": "seconds", "J": "joules", "W": "watts", "Hz": "hertz", "Cel": "celsius", "1": ""}


def check(kind, value):
    if isinstance(kind, list):
        assert isinstance(value, list), (kind, value)
        for v in value:
            check(kind[0], v)
    elif kind in SCALARS:
        assert SCALARS[kind](value), (kind, value)
    else:
        assert isinstance(value, dict) and value.keys() <= MESSAGES[kind].keys(), (kind, value)
        for k, v in value.items():
            check(MESSAGES[kind][k], v)


def load(path):
    def pairs(found):
        assert len(dict(found)) == len(found), f"a key comes twice: {found}"
        return dict(found)

    def constant(text):
        raise AssertionError(text)  # NaN and Infinity are not JSON

    request = json.loads(pathlib.Path(path).read_text(encoding="utf-8"), object_pairs_hook=pairs, parse_constant=constant)
    check("Request", request)
    return request


def prometheus_name(metric):
    """OTLP Metric points to Prometheus, in OpenTelemetry's "Prometheus and OpenMetrics Compatibility"."""
    name = re.sub(r"_+", "_", re.sub(r"[^a-zA-Z0-9_:]", "_", metric["name"]))
    unit = metric.get("unit", "")
    main, _, per = unit.partition("/")
    words = [] if "{" in main else [UNITS[main]] if main else []
    words += ["per", {"s": "second"}[per]] if per else []
    suffix = "_".join(filter(None, words))
    if suffix and suffix not in name:
        name += "_" + suffix
    if "gauge" in metric and unit == "1":
        name = re.sub("_ratio(_|$)", r"\1", name) + "_ratio"
    return name + ("_total" if metric.get("sum", {}).get("isMonotonic") else "")


def samples(request):
    [resource] = request["resourceMetrics"]
    [scope] = resource["scopeMetrics"]
    names = [metric["name"] for metric in scope["metrics"]]
    assert len(set(names)) == len(names), "a name comes twice"
    for metric in scope["metrics"]:
        [kind] = metric.keys() & {"gauge", "sum", "histogram", "summary"}
        name = prometheus_name(metric)
        assert re.fullmatch(r"uncore(\.[a-z0-9]+)+", metric["name"]) and metric["description"].endswith("."), metric["name"]
        assert metric[kind]["dataPoints"], metric["name"]
        for point in metric[kind]["dataPoints"]:
            labels = ",".join(f'{a["key"]}={json.dumps(a["value"]["stringValue"], ensure_ascii=False)}'
                              for a in point.get("attributes", []))
            braces = f"{{{labels}}}" if labels else ""
            assert ("startTimeUnixNano" in point) == (kind != "gauge")
            assert int(point.get("startTimeUnixNano", 1)) < int(point["timeUnixNano"]) < (time.time() + 1) * 1e9
            if kind in ("gauge", "sum"):
                yield name + braces, point["asDouble"]
                continue
            yield f"{name}_sum{braces}", point["sum"]
            yield f"{name}_count{braces}", int(point["count"])
            if kind == "histogram":
                counts, limits = [int(c) for c in point["bucketCounts"]], point["explicitBounds"]
                assert len(counts) == len(limits) + 1 and sum(counts) == int(point["count"]) and limits == sorted(limits)
                for i, limit in enumerate([*limits, None]):
                    text = "+Inf" if limit is None else "1.0" if limit == 1 else "%.15g" % limit
                    yield f'{name}_bucket{{{labels},le="{text}"}}', sum(counts[:i + 1])


def collect(directory, answers):
    seen = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            number = len(seen)
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append(number)
            (directory / f"{number}.headers").write_text(f"{self.command} {self.path}\n{self.headers}")
            (directory / "new").write_bytes(body)
            (directory / "new").rename(directory / f"{number}.json")
            answer = answers[min(number, len(answers) - 1)]
            while answer == "never":
                time.sleep(1)
            status, _, text = answer.partition(" ")
            self.send_response(int(status))
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.daemon_threads = True
    if "CERTIFICATE" in os.environ:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.environ["CERTIFICATE"], os.environ["KEY"])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    (directory / "new").write_text(str(server.server_port))
    (directory / "new").rename(directory / "port")
    server.serve_forever()


if sys.argv[1] == "collect":
    collect(pathlib.Path(sys.argv[2]), sys.argv[3:])
else:
    for key, value in samples(load(sys.argv[2])):
        print(key, "%.15g" % value)
