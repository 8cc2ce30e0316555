import { deflateSync } from 'node:zlib'

/** Cells of the pattern, in each direction. */
const CELLS = 8

/** A PNG of this size in two colours: a pattern of cells, mirrored, which the seed alone decides. Small, and drawn in a moment. */
export function patternPng(width: number, height: number, seed: string): Buffer {
  const hash = new Bun.CryptoHasher('sha256').update(seed).digest()
  const rowBytes = Math.ceil(width / 8)
  const pixels = Buffer.alloc((rowBytes + 1) * height)
  const rows = Array.from({ length: CELLS }, (_, cell) => patternRow(hash[cell] ?? 0, width, rowBytes))
  for (let y = 0; y < height; y++) rows[Math.floor((y * CELLS) / height)]?.copy(pixels, y * (rowBytes + 1) + 1)
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  // One bit per pixel, which is an index into a palette.
  head.set([1, 3], 8)
  const palette = Buffer.from([255, 255, 255, ...hash.subarray(CELLS, CELLS + 3)])
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('PLTE', palette),
    chunk('IDAT', deflateSync(pixels, { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function patternRow(bits: number, width: number, bytes: number): Buffer {
  const row = Buffer.alloc(bytes)
  for (let x = 0; x < width; x++) {
    const cell = Math.floor((x * CELLS) / width)
    const isSet = (bits >> Math.min(cell, CELLS - 1 - cell)) & 1
    if (isSet) row[x >> 3] = (row[x >> 3] ?? 0) | (0x80 >> (x & 7))
  }
  return row
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const frame = Buffer.alloc(body.length + 8)
  frame.writeUInt32BE(data.length, 0)
  body.copy(frame, 4)
  frame.writeUInt32BE(Bun.hash.crc32(body), body.length + 4)
  return frame
}
