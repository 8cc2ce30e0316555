import { MINUTE_MS } from '../../../../core/clock'
import { isJson, parsedJson } from '../../../../core/json'
import type { OutboundFetch } from '../../../../core/outbound/outbound-fetch'
import { bazaarExtension } from '../discovery'
import { payloadOf } from './eip3009'
import type { EvmCredential } from './evm-credential'

/** A server that settles x402 payments for others. */
export interface FacilitatorOptions {
  readonly url: string
  /** The value of `Authorization` in each request; null for none. */
  readonly authorization: string | null
  readonly fetch: OutboundFetch
}

/** A request to a facilitator to verify or settle. */
export interface FacilitatorRequest {
  readonly x402Version: 2
  readonly paymentPayload: unknown
  readonly paymentRequirements: unknown
}

/** `unknown`: it did not answer, or not clearly. Then only the chain can tell what it did. */
export type FacilitatorSettlement =
  | { readonly kind: 'sent'; readonly transaction: string }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string }

/** `problem`: it did not say. */
export type FacilitatorVerdict =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid' | 'problem'; readonly reason: string }

/** Two settlements, and what the chain is asked between them, fit into the time that an attempt has for settling. */
const SETTLE_MS = 8_000
const ASK_MS = 5_000
const MAX_BYTES = 256 * 1024
/** How long its list of networks is reused. */
const LIST_MS = MINUTE_MS

/** Reasons for which it cannot have sent anything. After any other, a transaction may be on its way. */
const SENT_NOTHING =
  /^(insufficient_funds|invalid_exact_evm_(?!transaction_failed|transfer_event)[a-z0-9_]+|invalid_signature)$/

/** Asks a facilitator over HTTP. Its word on amounts and recipients never counts: the caller checks those, and the chain. */
export class Facilitator {
  private readonly options: FacilitatorOptions
  private readonly network: string
  private readonly now: () => number
  private listedAt = Number.NEGATIVE_INFINITY

  constructor(options: FacilitatorOptions, chainId: number, now: () => number) {
    this.options = options
    this.network = `eip155:${chainId}`
    this.now = now
  }

  /** Why it cannot settle payments on our chain now; null when it can. */
  async problem(): Promise<string | null> {
    const age = this.now() - this.listedAt
    if (age >= 0 && age < LIST_MS) return null
    const answer = await this.ask('supported', null, ASK_MS)
    if (!answer.ok) return `the facilitator does not answer: ${answer.reason}`
    const { kinds } = answer.body
    const settles = (kind: unknown) =>
      isJson(kind) && kind['x402Version'] === 2 && kind['scheme'] === 'exact' && kind['network'] === this.network
    if (!Array.isArray(kinds) || !kinds.some(settles))
      return `the facilitator does not settle the scheme exact on ${this.network}`
    this.listedAt = this.now()
    return null
  }

  /** Whether it would settle a payment. `reason` is its own, for the payer. */
  async verify(request: FacilitatorRequest): Promise<FacilitatorVerdict> {
    const answer = await this.ask('verify', request, ASK_MS)
    if (!answer.ok) return { kind: 'problem', reason: answer.reason }
    const { isValid, invalidReason } = answer.body
    if (isValid === true) return { kind: 'valid' }
    if (isValid !== false) return { kind: 'problem', reason: 'it does not say whether the payment is valid' }
    return { kind: 'invalid', reason: wordOf(invalidReason) }
  }

  /** Lets it send the payment to the chain. Safe to repeat, because the chain accepts each authorization once. */
  async settle(request: FacilitatorRequest): Promise<FacilitatorSettlement> {
    const answer = await this.ask('settle', request, SETTLE_MS)
    if (!answer.ok) return { kind: 'unknown', reason: `the facilitator does not answer: ${answer.reason}` }
    const { success, transaction, errorReason } = answer.body
    if (typeof transaction === 'string' && /^0x[0-9a-f]{64}$/i.test(transaction)) return { kind: 'sent', transaction }
    const reason = wordOf(errorReason)
    if (success === false && SENT_NOTHING.test(reason)) return { kind: 'refused', reason }
    return {
      kind: 'unknown',
      reason: `the facilitator answers ${success === false ? reason : 'without a transaction'}`,
    }
  }

  private async ask(
    path: string,
    request: FacilitatorRequest | null,
    timeoutMs: number,
  ): Promise<{ ok: true; body: Readonly<Record<string, unknown>> } | { ok: false; reason: string }> {
    const { url, authorization, fetch } = this.options
    const answer = await fetch({
      url: `${url.replace(/\/$/, '')}/${path}`,
      method: request ? 'POST' : 'GET',
      headers: {
        accept: 'application/json',
        ...(request && { 'content-type': 'application/json' }),
        ...(authorization !== null && { authorization }),
      },
      ...(request && { body: JSON.stringify(request) }),
      timeoutMs,
      maxBytes: MAX_BYTES,
    })
    if (!answer.ok) return { ok: false, reason: answer.error.kind }
    const { status } = answer.value
    const body = parsedJson(new TextDecoder().decode(answer.value.body))
    // Facilitators refuse payments with 200 or with 400; other statuses are about us or them.
    if (!isJson(body) || (status !== 200 && status !== 400)) return { ok: false, reason: `status ${status}` }
    return { ok: true, body }
  }
}

/** Its reasons are words in snake case; anything longer may contain a credential. */
function wordOf(reason: unknown): string {
  return typeof reason === 'string' && /^[a-z0-9_]{1,80}$/.test(reason) ? reason : 'no reason'
}

interface Exact {
  readonly chainId: number
  readonly token: string
  readonly tokenName: string
  readonly tokenVersion: string
  readonly recipient: string
  readonly origin: string
}

/**
 * An authorization as a facilitator reads it, in our own words: directories publish what it settles, and neither what a caller asks
 * for nor what it writes into its payment may appear there.
 */
export function facilitatorRequest(
  { chainId, token, tokenName, tokenVersion, recipient, origin }: Exact,
  { authorization, listed }: EvmCredential,
): FacilitatorRequest {
  const paymentRequirements = {
    scheme: 'exact',
    network: `eip155:${chainId}`,
    amount: String(authorization.value),
    asset: token,
    payTo: recipient,
    maxTimeoutSeconds: 300,
    extra: { name: tokenName, version: tokenVersion },
  }
  const url = listed ? origin + listed.pathname : origin
  const extensions = listed && bazaarExtension({ resource: { method: listed.method, url }, binding: {} }, url)
  const paymentPayload = {
    x402Version: 2,
    resource: { url },
    accepted: paymentRequirements,
    payload: payloadOf(authorization),
    ...(extensions && { extensions }),
  }
  return { x402Version: 2, paymentPayload, paymentRequirements }
}
