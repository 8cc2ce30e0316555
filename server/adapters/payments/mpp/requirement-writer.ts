import type { Money } from '../../../core/money'
import type { Terms } from '../../../core/payments/method'
import { opaqueOf } from './challenge-writer'

/** What of x402's offer differs between two requests of one price. */
interface Required {
  readonly resource: { readonly url: string }
  readonly extensions: { readonly mppx: { readonly info: Readonly<Record<string, string>> } }
}

const MOST_PRICES = 200

/**
 * Writes x402's offers, `PAYMENT-REQUIRED`. The library makes the first of each price; in those that follow the address and the
 * binding are put in here, for the library judges its own offer again each time.
 */
export class RequirementWriter {
  private readonly first: (terms: Terms) => Promise<string>
  private readonly prices = new Map<Money, Required>()

  constructor(first: (terms: Terms) => Promise<string>) {
    this.first = first
  }

  async write(terms: Terms, url: string): Promise<string> {
    const { extensions, ...known } = await this.of(terms)
    const info = { ...extensions.mppx.info, method: terms.resource.method, opaque: opaqueOf(terms.binding) }
    const offer = { ...known, resource: { url }, extensions: { mppx: { ...extensions.mppx, info } } }
    return Buffer.from(JSON.stringify(offer)).toString('base64')
  }

  private async of(terms: Terms): Promise<Required> {
    const known = this.prices.get(terms.amount)
    if (known) return known
    const made = JSON.parse(Buffer.from(await this.first(terms), 'base64').toString()) as Required // what the library writes
    // Prices are few; amounts of top-ups are anyone's choice.
    if (this.prices.size >= MOST_PRICES) this.prices.clear()
    this.prices.set(terms.amount, made)
    return made
  }
}
