import { describe, expect, test } from 'bun:test'
import { isTooDeep, MAX_DEPTH } from '../../../server/pipeline/models/wires/json/json-depth'
import { StreamGuard, streamBounds } from '../../../server/pipeline/models/wires/stream-bounds'

const bytes = (text: string) => new TextEncoder().encode(text)

describe('the limits of a stream', () => {
  const BOUNDS = { bytes: 10_000, lines: 5, quietBytes: 100, quietMs: 1000 }
  const guarded = () => {
    let now = 0
    const guard = new StreamGuard(BOUNDS, () => now)
    return {
      at(ms: number, text: string) {
        now = ms
        return guard.problemWith(bytes(text))
      },
    }
  }
  const content = `data: {"text":"${'x'.repeat(40)}"}\n\n`

  test('end one of only newlines, comments, empty events or pings', () => {
    for (const quiet of ['\n', '\r\n', ': keep-alive\n\n', 'data: {}\n\n', 'event: ping\ndata: {"type": "ping"}\n\n']) {
      const stream = guarded()
      let sent = 0
      while (sent <= BOUNDS.quietBytes && stream.at(0, quiet) === null) sent += quiet.length
      expect(sent).toBeLessThanOrEqual(BOUNDS.quietBytes)
    }
  })

  test('count a comment once, however long it is and wherever the network splits it', () => {
    const stream = guarded()
    expect(stream.at(0, ': ')).toBeNull()
    expect(stream.at(0, 'x'.repeat(90))).toBeNull()
    expect(stream.at(0, 'x'.repeat(10))).toContain('without content')
  })

  test('end one with only keep-alives for too long; content restarts the timer, in pieces too', () => {
    const stream = guarded()
    expect(stream.at(900, ': ping\n\n')).toBeNull()
    for (const [i, piece] of [...(content.match(/.{1,20}/gs) ?? [])].entries())
      expect(stream.at(901 + i, piece)).toBeNull()
    expect(stream.at(1900, ': ping\n\n')).toBeNull()
    expect(stream.at(1950, ': ping\n\n')).toContain('no content for')
  })

  test('end one with too many events or bytes', () => {
    const events = guarded()
    for (let i = 0; i < BOUNDS.lines; i++) expect(events.at(0, content)).toBeNull()
    expect(events.at(0, content)).toContain('lines')
    expect(guarded().at(0, content.repeat(200))).toContain('bytes')
  })

  test('leave room for a token with all its probabilities in one event', () => {
    const { bytes: most, lines } = streamBounds(1000, 1)
    expect(most / 1000).toBeGreaterThan(4000)
    expect(lines).toBeGreaterThan(1000)
  })
})

describe('the depth of JSON', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

  test('is limited without parsing it', () => {
    expect(isTooDeep(bytes(nested(MAX_DEPTH)), false)).toBe(false)
    expect(isTooDeep(bytes(nested(MAX_DEPTH + 1)), false)).toBe(true)
    expect(isTooDeep(bytes(`{"a":${nested(400_000)}}`), true)).toBe(true)
  })

  test('ignores brackets in strings', () => {
    const code = JSON.stringify({ text: `"${'[{('.repeat(1000)}\\` })
    expect(isTooDeep(bytes(`data: ${code}\n\n`), true)).toBe(false)
  })

  test('is counted per event, however many arrive at once', () => {
    const event = `data: ${'['.repeat(60)}\n\n`
    expect(isTooDeep(bytes(event.repeat(50)), true)).toBe(false)
    expect(isTooDeep(bytes(event.replaceAll('\n', '\r\n').repeat(50)), true)).toBe(false)
    expect(isTooDeep(bytes(`data: ${'['.repeat(60)}\ndata: ${'['.repeat(60)}\n\n`), true)).toBe(true)
  })

  test('is not hidden by a stray quote in a comment, nor in an array by empty lines', () => {
    expect(isTooDeep(bytes(`: "\ndata: ${nested(200)}\n\n`), true)).toBe(true)
    expect(isTooDeep(bytes('[\n\n'.repeat(200)), false)).toBe(true)
  })
})
