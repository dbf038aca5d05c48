#!/usr/bin/env python3
"""Check events of a ledger by docs/event-encoding.md alone, with Python's own library.

usage: check.py [--gaps] [FILE ...]

Reads JSON documents, one or more per file or on standard input: the answers of GET /v1/events as
they are, or the test vectors beside this program. --gaps allows positions to be missing, as in
the history of one address. Ends with 0 if everything is right, with 1 and one line for each
difference if not.
"""

import hashlib
import ipaddress
import json
import re
import sys

ZEROS = "00" * 32


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def canonical(value):
    """The bytes of a payload: sorted keys, no white space, UTF-8, the shortest escapes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8")


def microseconds(text):
    """An RFC 3339 time in UTC as microseconds since 1970, without floating point."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z", text)
    if not found:
        raise ValueError(f"recorded_at {text!r} is not a time in UTC with up to 6 decimals")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    # Days since 1970 in the Gregorian calendar, counted in years that begin in March.
    shifted = year - (month < 3)
    in_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days = 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400 + in_year - 719468
    seconds = days * 86400 + hour * 3600 + minute * 60 + second
    return seconds * 1_000_000 + int((found[7] or "").ljust(6, "0"))


def header(event, digest, previous):
    """The text that is hashed."""
    address, step = event.get("address"), event.get("step")
    at = event.get("recorded_at_us")
    lines = [
        "ipledger event v1",
        event["space"],
        str(event["seq"]),
        str(event["epoch"]),
        "-" if address is None else ipaddress.ip_address(address).packed.hex(),
        "-" if step is None else str(step),
        str(microseconds(event["recorded_at"]) if at is None else at),
        digest,
        previous,
    ]
    return "".join(line + "\n" for line in lines)


def key(parts):
    return sha256(b"".join(part.encode("utf-8") + b"\0" for part in parts))


class Checker:
    def __init__(self, gaps):
        self.gaps = gaps
        self.heads = {}
        self.counts = {"events": 0, "without payload": 0, "headers": 0, "keys": 0}
        self.problems = []

    def same(self, where, what, stated, computed):
        if stated != computed:
            self.problems.append(f"{where}: {what} is {stated!r}, computed {computed!r}")

    def document(self, document):
        known = [name for name in ("events", "headers", "keys") if name in document]
        if not known:
            raise ValueError("a document has neither events nor headers nor keys")
        for event in document.get("events", []):
            self.event(event)
        for vector in document.get("headers", []):
            self.counts["headers"] += 1
            text = header(vector, vector["digest"], vector["previous_hash"])
            where = f"header {vector['space']} {vector['seq']}"
            self.same(where, "header", vector["header"], text)
            self.same(where, "hash", vector["hash"], sha256(text.encode("utf-8")))
        for vector in document.get("keys", []):
            self.counts["keys"] += 1
            stated = vector["hex"]
            self.same(f"key {vector['of']}", "hex", stated, key(vector["parts"])[: len(stated)])

    def event(self, event):
        self.counts["events"] += 1
        where = f"{event['space']} {event['seq']}"
        self.payload(where, event)
        text = header(event, event["digest"], event["previous_hash"])
        self.same(where, "hash", event["hash"], sha256(text.encode("utf-8")))
        if "header" in event:
            self.same(where, "header", event["header"], text)
        self.link(where, event)

    def payload(self, where, event):
        if event["encoding"] == 0:
            # Moved to a file: the digest still binds it.
            self.counts["without payload"] += 1
            return
        if event["encoding"] != 1:
            self.problems.append(f"{where}: encoding {event['encoding']} is not known here")
            return
        body = canonical(event["payload"])
        self.same(where, "digest", event["digest"], sha256(body))
        self.same(where, "kind", event["kind"], event["payload"].get("kind"))
        if "body" in event:
            self.same(where, "body", event["body"], body.decode("utf-8"))
        if event.get("step") is not None:
            kind = "released" if event["step"] % 2 else "allocated"
            self.same(where, f"kind of step {event['step']}", event["kind"], kind)

    def link(self, where, event):
        space, seq = event["space"], event["seq"]
        first, last, head = self.heads.get(space, (seq, 0, ZEROS))
        if seq == last + 1:
            self.same(where, "previous_hash", event["previous_hash"], head)
        elif seq <= last:
            self.problems.append(f"{where}: stands after position {last}")
        elif not self.gaps:
            self.problems.append(f"{where}: position {last + 1} is missing")
        self.heads[space] = (first, seq, event["hash"])


def documents(text):
    decoder, place = json.JSONDecoder(), 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        document, place = decoder.raw_decode(text, place)
        yield document


def main(arguments):
    gaps = "--gaps" in arguments
    files = [argument for argument in arguments if argument != "--gaps"]
    if any(name.startswith("-") for name in files):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    checker = Checker(gaps)
    try:
        texts = [open(name, encoding="utf-8").read() for name in files] or [
            sys.stdin.buffer.read().decode("utf-8")
        ]
        for text in texts:
            for document in documents(text):
                checker.document(document)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"cannot read: {type(error).__name__}: {error}")
        return 1
    for problem in checker.problems:
        print(problem)
    for space, (first, last, head) in sorted(checker.heads.items()):
        print(f"{space}: {first} to {last}, head {head}")
    counted = ", ".join(f"{count} {what}" for what, count in checker.counts.items() if count)
    print(f"{len(checker.problems)} differences in {counted or 'nothing'}")
    return 1 if checker.problems or not counted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
