import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { micros } from '../../server/core/money'
import { ApiStreamMeter } from '../../server/pipeline/apis/api-stream'
import { SecretGuard } from '../../server/pipeline/apis/secret-guard'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The parts of a text, cut at these places. */
function cut(text: string, places: readonly number[]): Uint8Array[] {
  const bytes = encoder.encode(text)
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...at, bytes.length].map((end, i) => bytes.subarray(at[i - 1] ?? 0, end))
}

function guarded(secrets: readonly string[], parts: readonly Uint8Array[]) {
  const guard = new SecretGuard(secrets)
  let text = ''
  for (const part of parts) {
    text += decoder.decode(guard.pass(part))
    if (guard.isOver) return { text, leaked: true }
  }
  text += decoder.decode(guard.end())
  return { text, leaked: guard.isOver }
}

const piece = fc.string({
  unit: fc.constantFrom('s', 'e', 'c', '-', '\\', 'u', '0', '7', '3', ' ', '"'),
  maxLength: 30,
})

test('a secret never passes, however its bytes are split, and everything before it does', () => {
  const spelling = fc.constantFrom(
    'sec-7',
    '\\u0073ec-7',
    's\\u0065c\\u002D7',
    'sec\\-7',
    '\\u0073\\u0065\\u0063\\u002d\\u0037',
  )
  fc.assert(
    fc.property(piece, spelling, piece, fc.array(fc.nat()), (before, secret, after, places) => {
      const whole = `${before}${secret}${after}`
      const { text, leaked } = guarded(['sec-7', 'sec-7777'], cut(whole, places))
      expect(leaked).toBe(true)
      expect(whole.startsWith(text)).toBe(true)
      expect(text.length).toBeLessThanOrEqual(before.length)
    }),
    { numRuns: 2000 },
  )
})

/** How upstreams write what they echo. */
const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  hex: (text) => Buffer.from(text).toString('hex'),
  'upper-case hex': (text) => Buffer.from(text).toString('hex').toUpperCase(),
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  'base64 in JSON': (text) => Buffer.from(text).toString('base64').replaceAll('/', '\\/'),
  'base64 in a URL': (text) => encodeURIComponent(Buffer.from(text).toString('base64')),
  'a URL': encodeURIComponent,
  'JSON in JSON': (text) => JSON.stringify(JSON.stringify(text)),
  'JSON with escaped slashes in JSON': (text) => JSON.stringify(JSON.stringify(text).replaceAll('/', '\\/')),
  HTML: (text) => Bun.escapeHTML(text),
  'HTML with numbers': (text) => text.replace(/[^\w]/gu, (character) => `&#${character.codePointAt(0)};`),
  'HTML with hexadecimal numbers': (text) =>
    text.replace(/[^\w]/gu, (character) => `&#x${character.codePointAt(0)?.toString(16).toUpperCase()};`),
  'base64 in HTML': (text) => Buffer.from(text).toString('base64').replaceAll('/', '&#x2F;').replaceAll('+', '&#43;'),
  'every byte percent-encoded': (text) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join(''),
}

test.each(Object.entries(ENCODINGS))(
  'a secret in %s never passes, whatever is around it and however it is split',
  (_, encode) => {
    const secret = `key~?>?/+ü"9'&<b1`
    const around = fc.string({ maxLength: 20 })
    fc.assert(
      fc.property(around, around, fc.array(fc.nat()), (before, after, places) => {
        const whole = `{"a":"${encode(before + secret + after)}"}`
        const { text, leaked } = guarded([secret], cut(whole, places))
        expect(leaked).toBe(true)
        expect(text.length).toBeLessThan(whole.length - secret.length)
      }),
      { numRuns: 300 },
    )
  },
)

test('a whole secret behind the beginning of another one does not pass at the end of the stream', () => {
  const secrets = ['abc-secret-1', 'secret-1', 'abc-secret-1-and-more']
  expect(guarded(secrets.slice(1), cut('x abc-secret-1', [3, 5])).leaked).toBe(true)
  expect(guarded(secrets, cut('x abc-secret-', [3])).leaked).toBe(false)
})

test('random base64 and hexadecimal do not look like a short secret', () => {
  const random = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7919 + (i >> 3) * 104_729) & 255))
  for (const text of [random.toString('base64'), random.toString('hex')])
    expect(guarded(['s3cr', 'tok-9x'], cut(text, [1000])).leaked).toBe(false)
})

test('a stream without a secret passes unchanged', () => {
  fc.assert(
    fc.property(piece, fc.array(fc.nat()), (text, places) => {
      expect(guarded(['secret', 'c-7c-7x'], cut(text, places))).toEqual({ text, leaked: false })
    }),
    { numRuns: 1000 },
  )
})

test('the same events are counted and passed, however the bytes are split', () => {
  const line = fc.constantFrom('data: x', 'data', 'datax: 1', 'dat', ': ping', 'id: 4', '')
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const stream = fc
    .array(
      fc.tuple(line, end).map((pair) => pair.join('')),
      { maxLength: 30 },
    )
    .map((lines) => lines.join(''))
  const meter = (maximum: number) =>
    new ApiStreamMeter(
      'events',
      {
        mode: 'units',
        amount: micros(1),
        figure: { kind: 'events' },
        block: 1,
        minimum: 0,
        maximum,
        onMissing: null,
      },
      () => 0,
    )
  fc.assert(
    fc.property(stream, fc.array(fc.nat()), fc.integer({ min: 1, max: 5 }), (text, places, maximum) => {
      const [whole, parted] = [meter(maximum), meter(maximum)]
      const once = decoder.decode(whole.push(encoder.encode(text)))
      let passed = ''
      for (const part of cut(text, places)) if (!parted.isFull) passed += decoder.decode(parted.push(part))
      expect([passed, parted.count, parted.isFull]).toEqual([once, whole.count, whole.isFull])
      expect(whole.count).toBeLessThanOrEqual(maximum)
    }),
    { numRuns: 2000 },
  )
})
