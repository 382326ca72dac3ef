"""The server's end of a WebSocket (RFC 6455), as far as texts go: no extensions, no fragments."""

import base64
import hashlib
import struct
import threading

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Socket:
    """One connection."""

    def __init__(self, reader, writer):
        self.reader, self.writer, self.lock = reader, writer, threading.Lock()
        # The code that the client closed with, None without one.
        self.code = None
        # Whether nothing is answered any more, as over a line that is cut.
        self.mute = False

    def frame(self, kind, data):
        size = len(data)
        if size < 126:
            head = bytes([0x80 | kind, size])
        elif size < 65536:
            head = bytes([0x80 | kind, 126]) + struct.pack(">H", size)
        else:
            head = bytes([0x80 | kind, 127]) + struct.pack(">Q", size)
        # The writer of a handler has no buffer. To flush it all the same fails if the client has hung up by then, as it does after
        # a close, and the connection's own thread has closed the writer.
        with self.lock:
            self.writer.write(head + data)

    def send(self, text):
        self.frame(TEXT, text.encode())

    def close(self, code, words):
        self.frame(CLOSE, struct.pack(">H", code) + words.encode())

    def receive(self):
        """The next text; None where there is none any more."""
        while True:
            head = self.reader.read(2)
            if len(head) < 2:
                return None
            size = head[1] & 0x7F
            # RFC 6455 5.1: what a client sends is masked; nothing that this double hears of is longer or in pieces.
            if size == 127 or not head[1] & 0x80 or not head[0] & 0x80:
                return None
            if size == 126:
                (size,) = struct.unpack(">H", self.reader.read(2))
            mask = self.reader.read(4)
            data = bytes(byte ^ mask[n % 4] for n, byte in enumerate(self.reader.read(size)))
            kind = head[0] & 0x0F
            if kind == TEXT:
                return data.decode()
            if kind == CLOSE:
                self.code = struct.unpack(">H", data[:2])[0] if len(data) >= 2 else None
                return None
            if kind == PING and not self.mute:
                self.frame(PONG, data)


def accept(handler):
    """Opens one over an HTTP request that asks for it (RFC 6455 4.2.2)."""
    key = handler.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    handler.send_response(101)
    handler.send_header("Upgrade", "websocket")
    handler.send_header("Connection", "Upgrade")
    handler.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
    handler.end_headers()
    return Socket(handler.rfile, handler.wfile)
