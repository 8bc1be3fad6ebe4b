#!/usr/bin/python3
"""An HTTP peer that behaves as it is told, and writes down what it was sent.

    peer.py RECORD BEHAVIOUR...

prints its port, and answers the n-th connection by the n-th behaviour, further ones by
the last: a status, with Retry-After if there is one behind a colon ("429:7"); "silent",
which never answers; "drip", which answers a byte now and then; "cut", which closes in
the middle of an answer; "shut", which closes without one; "elsewhere", which redirects.
Requests go to files RECORD.1, RECORD.2 and so on.
"""

import http
import os
import re
import socket
import sys
import threading
import time

# longer than any test waits
FOREVER = 600


def receive(connection):
    """A whole request, by its Content-Length."""
    data = b""
    while True:
        head, separator, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: (\d+)", head, re.IGNORECASE)
        if separator and len(body) >= (int(length[1]) if length else 0):
            return data
        more = connection.recv(1 << 16)
        if not more:
            return data
        data += more


def answer(status, length, headers=""):
    return (f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\n"
            f"Content-Length: {length}\r\nConnection: close\r\n{headers}\r\n").encode()


def behave(connection, behaviour):
    text = b"said the peer\nand more" if behaviour != "204" else b""
    if behaviour == "silent":
        time.sleep(FOREVER)
    elif behaviour == "drip":
        for byte in answer(200, 1000) + 1000 * b".":
            connection.send(bytes([byte]))
            time.sleep(0.2)
    elif behaviour == "cut":
        connection.sendall(answer(200, 1000) + text)
    elif behaviour == "elsewhere":
        connection.sendall(answer(307, len(text), "Location: http://elsewhere.example/ingest\r\n") + text)
    elif behaviour != "shut":
        status, _, wait = behaviour.partition(":")
        connection.sendall(answer(int(status), len(text), f"Retry-After: {wait}\r\n" if wait else "") + text)


def serve_one(connection, behaviour, record):
    with connection:
        data = receive(connection)
        with open(record + ".tmp", "wb") as file:
            file.write(data)
        os.replace(record + ".tmp", record)
        try:
            behave(connection, behaviour)
        except OSError:
            pass


def run(listener, record, behaviours):
    number = 0
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # a handshake that failed
            continue
        behaviour = behaviours[min(number, len(behaviours) - 1)]
        number += 1
        threading.Thread(target=serve_one, daemon=True,
                         args=(connection, behaviour, f"{record}.{number}")).start()


def start(record, *behaviours, context=None):
    """The port of a peer that lives as long as this process; with a context it speaks TLS."""
    listener = socket.create_server(("127.0.0.1", 0))
    if context:
        listener = context.wrap_socket(listener, server_side=True)
    threading.Thread(target=run, args=(listener, record, behaviours), daemon=True).start()
    return listener.getsockname()[1]


if __name__ == "__main__":
    print(start(*sys.argv[1:]), flush=True)
    time.sleep(FOREVER)
