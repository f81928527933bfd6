# SPDX-License-Identifier: MIT
"""A client of `uncore serve`.

  scrape.py get ADDRESS [--openmetrics]       the text
  scrape.py wait ADDRESS COUNT                the text, when so many intervals have been counted
  scrape.py check ADDRESS [PARSER]            both formats are right, and have the same samples;
                                              PARSER: also by python3-prometheus-client
  scrape.py race ADDRESS COUNT                two clients at different intervals see the same sums
  scrape.py raw ADDRESS < REQUEST             first line of the answer to these bytes; "closed" without one
  scrape.py whole ADDRESS < REQUEST           the answer to these bytes
  scrape.py body ADDRESS PATH                 the document at a path
  scrape.py stream ADDRESS COUNT [LAST]       events of /api/v1/stream as JSON, until so many windows, a line for each; what the
                                              client has had before: LAST, an id
  scrape.py value NAME < TEXT                 a sample's value, by its name with labels; fails without one"""

import json
import re
import socket
import sys
import threading
import time

SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)$')
SUFFIXES = {"counter": ["_total"], "gauge": [""], "info": ["_info"], "summary": ["_sum", "_count"],
            "histogram": ["_bucket", "_sum", "_count"]}


def connect(address):
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(address[5:])
        return s
    host, port = re.match(r"http://\[?(.*?)\]?:(\d+)/", address).groups()
    return socket.create_connection((host, int(port)))


def exchange(address, request):
    with connect(address) as s:
        answer = b""
        try:
            s.sendall(request)
            while piece := s.recv(65536):
                answer += piece
        except ConnectionError:
            pass
    return answer


def get(address, openmetrics=False):
    accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5" if openmetrics else "text/plain"
    answer = exchange(address, f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n"
                               "Connection: close\r\n\r\n".encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    kind = b"application/openmetrics-text; version=1.0.0" if openmetrics else b"text/plain; version=0.0.4"
    assert b"Content-Type: " + kind in head, head
    return body.decode()


def open_stream(address, last=None):
    """The socket, and a file of the lines behind the head of the answer."""
    s = connect(address)
    told = f"Last-Event-ID: {last}\r\n" if last else ""
    s.sendall(f"GET /api/v1/stream HTTP/1.0\r\nHost: localhost\r\n{told}\r\n".encode())
    lines = s.makefile("r", encoding="utf-8")
    head = list(iter(lambda: lines.readline().strip(), ""))
    assert head[0].endswith(" 200 OK") and "Content-Type: text/event-stream" in head, head
    return s, lines


def events(lines):
    event = {}
    for line in lines:
        name, _, value = line.rstrip("\n").partition(": ")
        if name:
            event[name] = json.loads(value) if name == "data" else value
        else:
            yield event
            event = {}


def stream(address, count, last=None):
    for event in events(open_stream(address, last)[1]):
        print(json.dumps(event))
        count -= event["event"] == "window"
        if not count:
            return


def samples(text):
    """{name and labels: value}; each comes once."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = SAMPLE.match(line)
        assert match, line
        key = line.rpartition(" ")[0]
        assert key not in found, f"twice: {key}"
        assert match.group(3) not in ("NaN", "nan", "inf", "-inf"), line
        found[key] = float(match.group(3))
    return found


def intervals(text):
    """uncore_intervals_total, without a look at the others."""
    return float(re.search(r"^uncore_intervals_total (\S+)$", text, re.M).group(1))


def check_families(text, openmetrics):
    """Each family is in one piece behind its HELP and TYPE, and its samples have the suffixes of the type."""
    seen, family, suffixes, unit = set(), None, [], None
    lines = text.splitlines()
    assert (lines[-1] == "# EOF") == openmetrics
    for line in lines[:-1] if openmetrics else lines:
        word = line.split(" ")
        if word[:2] == ["#", "HELP"]:
            family, unit = word[2], None
            assert family not in seen, f"two pieces: {family}"
            assert line.endswith(".") and family.startswith(("uncore_", "process_")), line
            seen.add(family)
        elif word[:2] == ["#", "TYPE"]:
            assert word[2] == family, line
            suffixes = SUFFIXES[word[3]] if openmetrics or word[3] in ("summary", "histogram") else [""]
            assert openmetrics or (word[3] == "counter") == family.endswith("_total"), line
        elif word[:2] == ["#", "UNIT"]:
            assert openmetrics and word[2] == family and family.endswith("_" + word[3]), line
        else:
            assert any(re.match(family + suffix + r"[{ ]", line) for suffix in suffixes), (family, line)


def same(text):
    """What does not change between two requests."""
    return {key: value for key, value in samples(text).items()
            if not key.startswith(("process_", "uncore_exposition", "uncore_scrapes"))}


def check(address, parser):
    for _ in range(1000):
        plain, om, again = get(address), get(address, True), get(address)
        if same(plain) == same(again):  # no interval has ended between them
            break
    check_families(plain, False)
    check_families(om, True)
    assert same(plain) == same(om), set(same(plain).items()) ^ set(same(om).items())
    if parser:
        import prometheus_client.openmetrics.parser as strict
        import prometheus_client.parser as lenient
        for module, text in (strict, om), (lenient, plain):
            count = sum(len(family.samples) for family in module.text_string_to_metric_families(text))
            assert count == len(samples(text)), (count, len(samples(text)))


def race(address, count):
    """Every text of so many intervals has the same sums, whoever asked for it."""
    seen, errors = {}, []

    def client(pause):
        try:
            last = 0
            while last < count:
                found = same(get(address))
                found.pop("process_resident_memory_bytes", None)
                number = found["uncore_intervals_total"]
                assert number >= last, "went back"
                last = number
                assert seen.setdefault(number, found) == found, number
                time.sleep(pause)
        except Exception as error:  # a thread's own error is not the program's
            errors.append(error)

    clients = [threading.Thread(target=client, args=[pause]) for pause in (0, 0.013, 0.1)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert not errors, errors


def main():
    mode, *args = sys.argv[1:]
    if mode == "get":
        print(get(args[0], "--openmetrics" in args), end="")
    elif mode == "wait":
        while intervals(text := get(args[0])) < int(args[1]):
            time.sleep(0.02)
        samples(text)
        print(text, end="")
    elif mode == "check":
        check(args[0], len(args) > 1)
    elif mode == "race":
        race(args[0], int(args[1]))
    elif mode == "raw":
        print(exchange(args[0], sys.stdin.buffer.read()).split(b"\r\n")[0].decode() or "closed")
    elif mode == "whole":
        print(exchange(args[0], sys.stdin.buffer.read()).decode())
    elif mode == "body":
        request = f"GET {args[1]} HTTP/1.0\r\nHost: localhost\r\n\r\n"
        head, _, body = exchange(args[0], request.encode()).partition(b"\r\n\r\n")
        assert b" 200 OK" in head, head
        print(body.decode(), end="")
    elif mode == "stream":
        stream(args[0], int(args[1]), *args[2:])
    elif mode == "value":
        print("%.15g" % samples(sys.stdin.read())[args[0]])


if __name__ == "__main__":
    main()
