import { describe, expect, test } from 'bun:test'
import {
  encodedFrame,
  type Frame,
  FrameDecoder,
  HEADER_BYTES,
  type Kind,
} from '../../../server/adapters/workers/frames'

const HEAD = { epoch: 7, number: 1, received: 0, request: 3 }
const of = (kind: Kind, payload: readonly unknown[] = []) => encodedFrame({ ...HEAD, kind }, payload) ?? Buffer.alloc(0)

function decoder() {
  const frames: Frame[] = []
  const reader = new FrameDecoder((frame) => frames.push(frame))
  reader.beginSession('worker', (frame) => frames.push(frame))
  return { frames, reader }
}

/** What a decoder says to these bytes, and how many frames it read. */
function faultOf(bytes: Uint8Array) {
  const { frames, reader } = decoder()
  return [reader.push(bytes), frames.length] as const
}

const withText = (text: string | Uint8Array) => {
  const bytes = Buffer.concat([of('hold'), Buffer.from(text as string)])
  bytes.writeUInt32BE(bytes.length - 4)
  return bytes
}

describe('a frame is refused', () => {
  test('if its kind is unknown, or one that this side does not send', () => {
    const unknown = of('admit', ['x'])
    unknown[4] = 200
    expect(faultOf(unknown)).toEqual(['unknown_kind', 0])
    expect(faultOf(of('push', ['x']))).toEqual(['unknown_kind', 0])
    expect(faultOf(of('hello', ['x']))).toEqual(['unknown_kind', 0])
  })

  test('if it is longer than its kind allows, before any of its payload came', () => {
    const header = of('capture').subarray(0, HEADER_BYTES)
    header.writeUInt32BE(HEADER_BYTES - 4 + 16 * 1024 + 1)
    expect(faultOf(header)).toEqual(['too_large', 0])
    header.writeUInt32BE(0xffffffff)
    expect(faultOf(header)).toEqual(['too_large', 0])
    header.writeUInt32BE(HEADER_BYTES - 5)
    expect(faultOf(header)).toEqual(['too_short', 0])
  })

  test('if a number is not a count', () => {
    for (const at of [9, 17, 25])
      for (const number of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
        const bytes = of('beat')
        bytes.writeDoubleBE(number, at)
        expect(faultOf(bytes)).toEqual(['bad_number', 0])
      }
  })

  test('if its payload is not UTF-8, not JSON, or not a list', () => {
    expect(faultOf(withText(Uint8Array.of(0x5b, 0x22, 0xc3, 0x28, 0x22, 0x5d)))).toEqual(['bad_text', 0])
    for (const text of ['[1', '{}', '"a"', 'null', '\ufeff[]', `${'['.repeat(8000)}`])
      expect(faultOf(withText(text))).toEqual(['bad_payload', 0])
  })

  test('and nothing after it is read', () => {
    const { frames, reader } = decoder()
    expect(reader.push(Buffer.concat([of('admit', ['a']), withText('x'), of('admit', ['b'])]))).toBe('bad_payload')
    expect(reader.push(of('admit', ['c']))).toBe('bad_payload')
    expect(frames.map((frame) => frame.payload)).toEqual([['a']])
  })
})

test('a payload above the limit of its kind is not encoded', () => {
  expect(encodedFrame({ ...HEAD, kind: 'admit' }, ['x'.repeat(8 * 1024)])).toBeNull()
  expect(encodedFrame({ ...HEAD, kind: 'admit' }, ['ü'.repeat(4 * 1024)])).toBeNull()
  expect(encodedFrame({ ...HEAD, kind: 'ack' }, [1])).toBeNull()
})

test('frames of a session are read from the chunk that ended the handshake, and none before', () => {
  const frames: Frame[] = []
  const reader = new FrameDecoder(({ kind }) => {
    if (kind === 'proof') reader.beginSession('primary', (frame) => frames.push(frame))
  })
  expect(reader.push(Buffer.concat([of('hello', [1]), of('proof', [2]), of('push', [3])]))).toBeNull()
  expect(frames).toEqual([{ ...HEAD, kind: 'push', payload: [3], size: 3 }])
  expect(new FrameDecoder(() => undefined).push(of('admit', ['a']))).toBe('unknown_kind')
})
