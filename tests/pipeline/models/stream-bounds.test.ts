import { describe, expect, test } from 'bun:test'
import { READ_DEPTH, readableJson } from '../../../server/pipeline/models/wires/json/readable-json'
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

describe('JSON of any depth', () => {
  const nested = (levels: number) => `${'{"a":['.repeat(levels / 2)}${']}'.repeat(levels / 2)}`

  test('is read without its parts that nest too deeply, and with the parts around them', () => {
    for (const levels of [2, READ_DEPTH, 400_000]) {
      const text = `{"before":1,"deep":${nested(levels)},"list":[${nested(levels)},2],"usage":{"output":7}}`
      expect(readableJson(text)).toMatchObject({ before: 1, list: [{}, 2], usage: { output: 7 } })
    }
    const whole = nested(READ_DEPTH - 2)
    expect(JSON.stringify(readableJson(`[${whole}]`))).toBe(`[${whole}]`)
    expect(JSON.stringify(readableJson(nested(READ_DEPTH + 2)))).toContain('null')
  })

  test('has no depth in its strings, also behind escaped quotes', () => {
    const value = { text: `"${'[{('.repeat(1000)}\\`, next: '\\"]' }
    expect(readableJson(JSON.stringify(value))).toEqual(value)
  })

  test('that is cut within a deep part is no JSON', () => {
    expect(readableJson(`{"a":${'['.repeat(5000)}`)).toBeUndefined()
    expect(readableJson(`{"a":${'['.repeat(5000)}"`)).toBeUndefined()
  })
})
