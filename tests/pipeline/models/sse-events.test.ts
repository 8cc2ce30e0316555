import { describe, expect, spyOn, test } from 'bun:test'
import { JsonElements } from '../../../server/pipeline/models/wires/json/json-elements'
import { SseEvents } from '../../../server/pipeline/models/wires/sse-events'
import { WaitingBytes } from '../../../server/pipeline/models/wires/waiting-bytes'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (parts: readonly Uint8Array[]) => parts.map((part) => new TextDecoder().decode(part)).join('')

/** Cuts a text into chunks of these lengths, over and over. */
function* cut(whole: string, lengths: readonly number[]): Generator<Uint8Array> {
  const all = bytes(whole)
  for (let at = 0, i = 0; at < all.length; i++) {
    const length = lengths[i % lengths.length] ?? 1
    yield all.slice(at, at + length)
    at += length
  }
}

describe('a stream split anywhere by the network', () => {
  const events = [
    'data: 1\n\n',
    'event: x\r\ndata: 22\r\n\r\n',
    ': quiet\n\n',
    'data: a\ndata: b\n\n',
    'data: 333\r\n\r\n',
  ]

  test.each([[[1]], [[2]], [[3, 1]], [[1, 7, 2]], [[13]], [[200]]])(
    'yields the same events, split by %j',
    (lengths) => {
      const seen: string[] = []
      const stream = new SseEvents({
        read(event) {
          seen.push(text([event]))
          return null
        },
      })
      const out = [...cut(events.join('').repeat(3), lengths)].map((chunk) => stream.push(chunk))
      expect(text([...out, stream.end()])).toBe(events.join('').repeat(3))
      expect(seen).toEqual([...events, ...events, ...events])
    },
  )

  test('leaves emitted events unchanged, whatever follows', () => {
    const stream = new SseEvents({ read: () => null })
    const elements = new JsonElements(() => undefined)
    const given: [Uint8Array, string][] = []
    for (const [followed, whole] of [
      [stream, events.join('').repeat(20)],
      [elements, `[${Array.from({ length: 40 }, (_, n) => `{"n":${n}}`).join(',\n')}]`],
    ] as const)
      for (const chunk of cut(whole, [3, 5])) {
        const out = followed.push(chunk)
        given.push([out, text([out])])
      }
    for (const [out, was] of given) expect(text([out])).toBe(was)
  })
})

describe('an event that does not end, in many small chunks', () => {
  test('is not copied as a whole with every chunk', () => {
    const waiting = new WaitingBytes()
    const rooms = new Set<ArrayBufferLike>()
    for (let n = 0; n < 4096; n++) {
      const whole = waiting.with(bytes('0123456789abcdef'))
      rooms.add(whole.buffer)
      waiting.keep(whole)
    }
    expect(text([waiting.take()])).toBe('0123456789abcdef'.repeat(4096))
    expect(rooms.size).toBeLessThan(20)
  })

  test('is not scanned from its beginning with every chunk', () => {
    const looks = (chunks: number) => {
      const stream = new SseEvents({ read: () => null })
      const spies = [Uint8Array.prototype, Buffer.prototype].flatMap((bytesOf) => [
        spyOn(bytesOf, 'indexOf'),
        spyOn(bytesOf, 'lastIndexOf'),
      ])
      for (let n = 0; n < chunks; n++) stream.push(bytes('data: abcdef\n'.repeat(8)))
      const calls = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0)
      for (const spy of spies) spy.mockRestore()
      return calls
    }
    expect(looks(400)).toBeLessThan(5 * looks(100))
  })
})
