import { expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  encodedFrame,
  type Frame,
  FrameDecoder,
  type FrameFault,
  HEADER_BYTES,
  KINDS,
  type Kind,
  payloadText,
} from '../../server/adapters/workers/frames'

const FROM_WORKER = [
  'ack',
  'beat',
  'answer',
  'claim',
  'capture',
  'keep',
  'note',
  'hold',
  'release',
  'admit',
  'items',
] as const
const FROM_PRIMARY = ['ack', 'beat', 'answer', 'push'] as const

const count = fc.oneof(fc.nat(300), fc.maxSafeNat())
const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const value = fc.oneof(
  text,
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.maxSafeInteger(),
  fc.boolean(),
  fc.constant(null),
)
const payload = fc.array(
  fc.oneof(value, fc.array(value, { maxLength: 3 }), fc.dictionary(text, value, { maxKeys: 2 })),
  {
    maxLength: 6,
  },
)

function framesOf(kinds: readonly Kind[]) {
  const frame = fc.record({
    kind: fc.constantFrom(...kinds),
    epoch: fc.oneof(fc.nat(9), fc.nat(0xffffffff)),
    number: count,
    received: count,
    request: count,
    payload,
  })
  return fc.array(
    frame.map((one) => sized(KINDS[one.kind].maxBytes === 0 ? { ...one, payload: [] } : one)),
    { minLength: 1, maxLength: 4 },
  )
}

function sized(frame: Omit<Frame, 'size'>): Frame {
  return { ...frame, size: Buffer.byteLength(payloadText(frame.payload)) }
}

function encoded(frame: Frame): Buffer {
  const bytes = encodedFrame(frame, frame.payload)
  if (bytes === null) throw new Error(`a ${frame.kind} frame that is too large`)
  return bytes
}

/** The longest payload that each may send. */
const MOST = { worker: KINDS.items.maxBytes, primary: KINDS.push.maxBytes, handshake: KINDS.hello.maxBytes }

interface Read {
  readonly frames: readonly Frame[]
  readonly fault: FrameFault | null
}

/** Reads the bytes in chunks of these lengths, again and again. */
function read(bytes: Buffer, cuts: readonly number[], from: 'worker' | 'primary' | 'handshake' = 'worker'): Read {
  const frames: Frame[] = []
  const sink = (frame: Frame) => void frames.push(frame)
  const decoder = new FrameDecoder(sink)
  if (from !== 'handshake') decoder.beginSession(from, sink)
  let fault: FrameFault | null = null
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const end = at + (cuts[i % cuts.length] ?? bytes.length)
    fault = decoder.push(bytes.subarray(at, end))
    at = end
    const waiting: Buffer | null = Reflect.get(decoder, 'partial')
    expect(waiting?.length ?? 0).toBeLessThanOrEqual(HEADER_BYTES + MOST[from])
    if (fault !== null) expect(waiting).toBeNull()
  }
  return { frames, fault }
}

const cuts = fc.array(fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 400 })), {
  minLength: 1,
  maxLength: 8,
})

test('frames come out as they went in, wherever their bytes are cut', () => {
  for (const [from, kinds] of [
    ['worker', FROM_WORKER],
    ['primary', FROM_PRIMARY],
    ['handshake', ['hello', 'proof', 'welcome', 'refusal']],
  ] as const)
    fc.assert(
      fc.property(framesOf(kinds), cuts, (frames, lengths) => {
        const bytes = Buffer.concat(frames.map(encoded))
        expect(read(bytes, lengths, from)).toEqual({ frames, fault: null })
      }),
      { numRuns: 300 },
    )
})

/** What was changed must read as other frames or be refused; what came before is as it was. */
function checkChanged(frames: readonly Frame[], changed: Buffer, at: number, lengths: readonly number[]): void {
  const result = read(changed, lengths)
  let end = 0
  let whole = 0
  for (const frame of frames) {
    end += encoded(frame).length
    if (end > at) break
    whole++
  }
  expect(result.frames.slice(0, whole)).toEqual(frames.slice(0, whole))
  for (const frame of result.frames.slice(whole)) {
    expect(Array.isArray(frame.payload)).toBe(true)
    expect([frame.number, frame.received, frame.request].every((one) => Number.isSafeInteger(one) && one >= 0)).toBe(
      true,
    )
    expect(KINDS[frame.kind]).toBeDefined()
    expect(encodedFrame(frame, frame.payload)).not.toBeNull()
  }
}

test('each byte that is changed or lost gives other frames or a refusal, never an exception', () => {
  fc.assert(
    fc.property(framesOf(FROM_WORKER), cuts, fc.integer({ min: 1, max: 255 }), (frames, lengths, mask) => {
      const bytes = Buffer.concat(frames.map(encoded))
      for (let at = 0; at < bytes.length; at++) {
        const flipped = Buffer.from(bytes)
        flipped[at] = (flipped[at] ?? 0) ^ mask
        checkChanged(frames, flipped, at, lengths)
        checkChanged(frames, Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]), at, lengths)
      }
    }),
    { numRuns: 60 },
  )
})

test('bytes of nobody are read without an exception', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), cuts, (bytes, lengths) => {
      read(Buffer.from(bytes), lengths)
      read(Buffer.from(bytes), lengths, 'primary')
      read(Buffer.from(bytes), lengths, 'handshake')
    }),
    { numRuns: 1000 },
  )
})
