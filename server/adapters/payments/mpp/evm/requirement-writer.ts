import type { Terms } from '../../../../core/payments/method'
import { opaqueOf } from '../challenge-writer'
import { bazaarExtension } from '../discovery'
import { FirstOfKind } from '../first-of-kind'
import type { Accepted } from './x402-v1'

/** The parts of an x402 offer that differ between two requests of the same price. */
interface Required {
  readonly accepts: readonly Accepted[]
  readonly resource: { readonly url: string }
  readonly extensions: { readonly mppx: { readonly info: Readonly<Record<string, string>> } }
}

/**
 * Writes x402 offers (`PAYMENT-REQUIRED`). The library makes the first one for each price. In the following ones, only the resource
 * URL and the binding are replaced here, because the library validates its own offer again each time.
 */
export class RequirementWriter {
  private readonly first: (terms: Terms) => Promise<string>
  private readonly prices = new FirstOfKind<Required>()

  constructor(first: (terms: Terms) => Promise<string>) {
    this.first = first
  }

  async write(terms: Terms, url: string): Promise<string> {
    const { extensions, ...known } = await this.required(terms)
    const info = { ...extensions.mppx.info, method: terms.resource.method, opaque: opaqueOf(terms.binding) }
    const offer = {
      ...known,
      resource: { url },
      extensions: { mppx: { ...extensions.mppx, info }, ...bazaarExtension(terms, url) },
    }
    return Buffer.from(JSON.stringify(offer)).toString('base64')
  }

  /** The terms that a payment of this price must accept. */
  async accepted(terms: Terms): Promise<Accepted> {
    const [accepted] = (await this.required(terms)).accepts
    if (!accepted) throw new Error('the payment library has changed: its x402 offer accepts nothing; check its version')
    return accepted
  }

  private required(terms: Terms): Promise<Required> {
    return this.prices.of(String(terms.amount), async () =>
      JSON.parse(Buffer.from(await this.first(terms), 'base64').toString()),
    )
  }
}
