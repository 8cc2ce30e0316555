import type { Terms } from '../../../core/payments/method'
import { opaqueOf } from './challenge-writer'
import { FirstOfKind } from './first-of-kind'

/** The parts of an x402 offer that differ between two requests of the same price. */
interface Required {
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
    const { extensions, ...known } = await this.prices.of(String(terms.amount), async () =>
      JSON.parse(Buffer.from(await this.first(terms), 'base64').toString()),
    )
    const info = { ...extensions.mppx.info, method: terms.resource.method, opaque: opaqueOf(terms.binding) }
    const offer = { ...known, resource: { url }, extensions: { mppx: { ...extensions.mppx, info } } }
    return Buffer.from(JSON.stringify(offer)).toString('base64')
  }
}
