"""Pictures of the page for documents, for scripts/screenshots and scripts/broken_programs. They keep all colours: with fewer
colours the files would be smaller, but colours and legends would no longer match."""

import struct
import zlib


def packed(png):
    """The same picture in a fifth less: what is flat packs best without the filters that Chromium has put on it."""
    at, packed_rows, others = 8, b"", []
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IDAT":
            packed_rows += png[at + 8:at + 8 + size]
        else:
            others.append((kind, png[at + 8:at + 8 + size]))
        at += 12 + size
    width, height, _, colours = struct.unpack(">IIBB", others[0][1][:10])
    step = {2: 3, 6: 4}[colours]
    length = width * step
    rows, above, plain = zlib.decompress(packed_rows), bytes(length), b""
    for number in range(height):
        kind, row = rows[number * (length + 1)], bytearray(rows[number * (length + 1) + 1:(number + 1) * (length + 1)])
        for i in range(length if kind else 0):
            left, corner = (row[i - step], above[i - step]) if i >= step else (0, 0)
            guess = left + above[i] - corner
            nearest = min((left, above[i], corner), key=lambda one: abs(guess - one))
            row[i] = (row[i] + (0, left, above[i], (left + above[i]) // 2, nearest)[kind]) & 255
        above = bytes(row)
        plain += b"\0" + above
    chunks = [others[0], (b"IDAT", zlib.compress(plain, 9)), (b"IEND", b"")]
    return png[:8] + b"".join(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
                              for kind, body in chunks)


def take(page, picture):
    """Writes a picture of the part of the page that is visible."""
    page.screenshot(picture)
    picture.write_bytes(packed(picture.read_bytes()))
    print(f"{picture.name}: {picture.stat().st_size / 1024:.0f} KiB", flush=True)
