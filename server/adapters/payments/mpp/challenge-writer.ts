import { createHmac } from 'node:crypto'
import { Challenge, PaymentRequest } from 'mppx'
import { isoTime, MINUTE_MS } from '../../../core/clock'
import type { Terms } from '../../../core/payments/method'
import { FirstOfKind } from './first-of-kind'

const LIFE_MS = 5 * MINUTE_MS

/** The parts that all challenges of one price and text share: of the HMAC's input and of the header, before and after the expiry. */
interface Kind {
  readonly input: readonly [string, string]
  readonly header: readonly [string, string]
}

/**
 * Writes challenges. The library makes the first one for each price and text. For the following ones only the parts that differ are
 * made here: expiry, binding, and the id, an HMAC over everything in the order that the Payment scheme defines. That is three times
 * as fast, because the library's HMAC is JavaScript. The library verifies every credential, so a wrong challenge here buys nothing.
 */
export class ChallengeWriter {
  private readonly secret: string
  private readonly first: (terms: Terms) => Promise<Challenge.Challenge>
  private readonly lifeMs: number
  private readonly kinds = new FirstOfKind<Kind>()

  constructor(secret: string, first: (terms: Terms) => Promise<Challenge.Challenge>, lifeMs = LIFE_MS) {
    this.secret = secret
    this.first = first
    this.lifeMs = lifeMs
  }

  async write(terms: Terms): Promise<{ readonly challengeId: string; readonly challenge: string }> {
    const name = `${terms.besideKey === true} ${terms.amount} ${terms.description}`
    const { input, header } = await this.kinds.of(name, async () => kindOf(await this.first(terms)))
    const expires = isoTime(Date.now() + this.lifeMs)
    const opaque = opaqueOf(terms.binding)
    const challengeId = createHmac('sha256', this.secret)
      .update(`${input[0]}|${expires}|${input[1]}|${opaque}`)
      .digest('base64url')
    const challenge = `Payment id="${challengeId}", ${header[0]}, expires="${expires}"${header[1]}, opaque="${opaque}"`
    return { challengeId, challenge }
  }
}

function kindOf({ id, realm, method, intent, request, description, header }: Challenge.Challenge): Kind {
  const terms = { id, realm, method, intent, request, ...(description !== undefined && { description }) }
  const before = Challenge.serialize(terms).slice(`Payment id="${id}", `.length)
  const input = [realm, method, intent, PaymentRequest.serialize(request)].join('|')
  if (header === undefined) return { input: [input, ''], header: [before, ''] }
  return { input: [input, `|${header}`], header: [before, `, header="${header}"`] }
}

/** A binding in the library's format (RFC 8785), for a flat record of strings. */
export function opaqueOf(binding: Terms['binding']): string {
  const sorted = Object.fromEntries(Object.entries(binding).sort(([a], [b]) => (a < b ? -1 : 1)))
  return Buffer.from(JSON.stringify(sorted)).toString('base64url')
}
