import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { KeyRing } from '../../../server/adapters/sealing/key-ring'
import { type SealContext, Unsealable } from '../../../server/core/sealing'

const key = (id: string) => ({ id, bytes: new Uint8Array(randomBytes(32)) })
const [k1, k2] = [key('k1'), key('k2')]
const CONTEXT: SealContext = { table: 'social_sessions', row: 'soc_1', column: 'access_token' }
const TOKEN = 'a token of another service, with ünïcödé'

describe('a sealed value', () => {
  const ring = new KeyRing([k1])

  test('opens to the sealed text', () => {
    for (const text of [TOKEN, '', 'x'.repeat(100_000)])
      expect(ring.open(ring.seal(text, CONTEXT), CONTEXT)).toEqual({ text, stale: false })
  })

  test('shows its version and key id, and nothing about the text; two of the same text differ', () => {
    const [one, two] = [ring.seal(TOKEN, CONTEXT), ring.seal(TOKEN, CONTEXT)]
    expect(one).toMatch(/^v1\.k1\.[\w-]{16}\.[\w-]+$/)
    expect(one).not.toBe(two)
    for (const form of [TOKEN, Buffer.from(TOKEN).toString('base64url')]) expect(one).not.toContain(form)
  })

  test('opens only in its own place: not in another row, column or table', () => {
    const sealed = ring.seal(TOKEN, CONTEXT)
    for (const other of [{ row: 'soc_2' }, { column: 'refresh_token' }, { table: 'webhooks' }])
      expect(() => ring.open(sealed, { ...CONTEXT, ...other })).toThrow(Unsealable)
    // No two places are the same text to the cipher.
    const joined = ring.seal(TOKEN, { table: 'a', row: 'b","c', column: 'd' })
    expect(() => ring.open(joined, { table: 'a', row: 'b', column: 'c","d' })).toThrow(Unsealable)
  })

  test('is refused if any character was changed or is missing', () => {
    const sealed = ring.seal(TOKEN, CONTEXT)
    for (let i = 0; i < sealed.length - 1; i++) {
      const changed = sealed[i] === 'A' ? 'B' : 'A'
      expect(() => ring.open(sealed.slice(0, i) + changed + sealed.slice(i + 1), CONTEXT)).toThrow(Unsealable)
    }
    for (const length of [0, 1, 10, sealed.length - 4])
      expect(() => ring.open(sealed.slice(0, length), CONTEXT)).toThrow(Unsealable)
    expect(() => ring.open(`${sealed}.more`, CONTEXT)).toThrow(Unsealable)
    expect(() => ring.open(sealed.replace('v1', 'v2'), CONTEXT)).toThrow('form')
  })

  test('that cannot be opened does not appear in the message', () => {
    const sealed = ring.seal(TOKEN, CONTEXT)
    try {
      ring.open(sealed, { ...CONTEXT, row: 'soc_2' })
      expect.unreachable()
    } catch (error) {
      expect(String(error)).not.toContain(sealed.split('.')[3] ?? '')
      expect(String(error)).not.toContain(TOKEN)
    }
  })
})

describe('key rotation', () => {
  const before = new KeyRing([k1]).seal(TOKEN, CONTEXT)
  const rotated = new KeyRing([k2, k1])

  test('the newest key seals, every key of the ring opens, and an old seal is reported', () => {
    expect(rotated.open(before, CONTEXT)).toEqual({ text: TOKEN, stale: true })
    const after = rotated.seal(TOKEN, CONTEXT)
    expect(after).toStartWith('v1.k2.')
    expect(rotated.open(after, CONTEXT)).toEqual({ text: TOKEN, stale: false })
  })

  test('a key that was removed from the ring opens nothing', () => {
    expect(() => new KeyRing([k2]).open(before, CONTEXT)).toThrow('not in the ring')
  })

  test('another key under the same id opens nothing', () => {
    expect(() => new KeyRing([key('k1')]).open(before, CONTEXT)).toThrow(Unsealable)
  })
})
