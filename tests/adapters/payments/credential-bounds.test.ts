import { describe, expect, test } from 'bun:test'
import { isCredentialText, readPaymentCredential } from '../../../server/adapters/payments/mpp/credential-text'
import { paymentIn } from '../../../server/mcp/payment'

const encoded = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, i]))
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
const CHALLENGE = { id: 'c', realm: 'r', method: 'evm', intent: 'charge', request: encoded({ amount: '1' }) }

/** Credentials that are more than one can be, and would be read otherwise. */
const HOSTILE = {
  '90,000 members in the payload': encoded({ challenge: CHALLENGE, payload: members(90_000) }),
  '201 objects, arrays and members': encoded(members(200)),
  'a payload 17 deep': encoded(nested(17)),
  'terms 17 deep in the challenge': encoded({ challenge: { ...CHALLENGE, request: encoded(nested(17)) }, payload: {} }),
  'more than 16 KB': encoded({ challenge: CHALLENGE, payload: { signature: 'a'.repeat(16 * 1024) } }),
}

describe('a payment credential of more than 16 KB, depth 16 or 200 parts is malformed before anything parses it', () => {
  for (const [name, text] of Object.entries(HOSTILE))
    test(name, () => {
      expect(isCredentialText(text)).toBe(false)
      expect(readPaymentCredential({ scheme: 'payment', text }, 'evm')).toMatchObject({
        ok: false,
        error: { code: 'malformed_credential' },
      })
    })

  test('one within the bounds is read', () => {
    const text = encoded({ challenge: CHALLENGE, payload: members(150) })
    expect(readPaymentCredential({ scheme: 'payment', text }, 'evm')).toMatchObject({ ok: true })
  })

  test('one in the `_meta` of an MCP message is refused before it is serialized, if it is larger than any credential', () => {
    const message = (credential: unknown) => ({ params: { _meta: { 'org.paymentauth/credential': credential } } })
    for (const credential of [members(90_000), JSON.parse(nested(17)), { challenge: CHALLENGE, payload: members(200) }])
      expect(paymentIn(message(credential))).toEqual({ scheme: 'payment', text: '' })
    expect(paymentIn(message({ challenge: CHALLENGE, payload: members(10) }))?.text.length).toBeGreaterThan(100)
  })
})
