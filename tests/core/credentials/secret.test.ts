import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { hashSecret, looksLikeSecret, newSecret } from '../../../server/core/credentials/secret'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

describe('a new secret', () => {
  test('is gwk_, 43 base62 characters, and 6 check characters (spec D3)', () => {
    for (let i = 0; i < 200; i++) expect(newSecret().secret).toMatch(/^gwk_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/)
  })

  test('ends in the CRC32 of the rest, as any scanner can compute it', () => {
    const { secret } = newSecret()
    let value = crc32(secret.slice(0, 47))
    let text = ''
    for (let i = 0; i < 6; i++) {
      text = BASE62[value % 62] + text
      value = Math.floor(value / 62)
    }
    expect(secret.slice(47)).toBe(text)
  })

  test('is never generated twice, and uses the whole alphabet', () => {
    const secrets = Array.from({ length: 500 }, () => newSecret().secret)
    expect(new Set(secrets).size).toBe(500)
    expect(new Set(secrets.map((secret) => secret.slice(4, 47)).join('')).size).toBe(62)
  })

  test('shows eight characters and the last four, and is stored only as its SHA-256', () => {
    const { secret, hash, prefix, last4 } = newSecret()
    expect(prefix).toBe(secret.slice(0, 8))
    expect(last4).toBe(secret.slice(-4))
    expect(hash).toBe(createHash('sha256').update(secret).digest('hex'))
    expect(hashSecret(secret)).toBe(hash)
  })
})

describe('a typo', () => {
  test('of any single character is refused without a look-up', () => {
    const { secret } = newSecret()
    expect(looksLikeSecret(secret)).toBe(true)
    const accepted: string[] = []
    for (let place = 0; place < secret.length; place++)
      for (const other of `${BASE62}-_. é`)
        if (other !== secret[place]) {
          const typo = secret.slice(0, place) + other + secret.slice(place + 1)
          if (looksLikeSecret(typo)) accepted.push(typo)
        }
    expect(accepted).toEqual([])
  })

  test('that swaps two neighbors, drops or adds a character is refused', () => {
    const { secret } = newSecret()
    for (let place = 0; place < secret.length - 1; place++) {
      const swapped = secret.slice(0, place) + secret[place + 1] + secret[place] + secret.slice(place + 2)
      if (swapped !== secret) expect(looksLikeSecret(swapped)).toBe(false)
      expect(looksLikeSecret(secret.slice(0, place) + secret.slice(place + 1))).toBe(false)
    }
    for (const text of ['', 'gwk_', `${secret}a`, ` ${secret}`, secret.toUpperCase(), 'x'.repeat(53)])
      expect(looksLikeSecret(text)).toBe(false)
  })
})
