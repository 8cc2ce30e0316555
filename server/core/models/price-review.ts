import { formatUsd, type Money } from '../money'
import { isLocal, type Model, type ModelUpstream } from './model'
import { RATE_NAMES } from './model-file-schema'
import { TOKEN_KINDS, type TokenKind } from './model-tokens'
import { type PriceEntry, priceOrNull } from './price-entry'
import { markedUp, type PriceSheet, type VendorPrice, vendorPrice } from './price-sheet'
import { ruleFor, type TokenPrice, type TokenRates } from './token-price'
import { COUNTED_UNITS, isUnitPrice, type ModelPrice } from './unit-price'

/** A model's price next to what its vendor charges. */
export interface PriceReview {
  readonly model: Model
  /** Null if the sheet has no price for any of its upstreams. */
  readonly vendor: VendorPrice | null
  /** The vendor's price with the markup, and in the form that it has once it is taken over. Null if the model cannot have it. */
  readonly proposed: { readonly entry: PriceEntry; readonly price: ModelPrice } | null
  /** Where the model costs less than its vendor charges, such as `input 2 < 3`. */
  readonly below: readonly string[]
}

/** Reviews all models with an upstream outside the gateway. */
export function reviewPrices(models: readonly Model[], sheet: PriceSheet, markupPercent: number): PriceReview[] {
  return models.filter((model) => !isLocal(model)).map((model) => reviewOf(model, sheet, markupPercent))
}

function reviewOf(model: Model, sheet: PriceSheet, markupPercent: number): PriceReview {
  const vendors = model.upstreams.flatMap((upstream) => {
    const vendor = vendorPrice(sheet, upstream, model.purpose)
    return vendor ? [{ upstream, vendor }] : []
  })
  const vendor = vendors[0]?.vendor ?? null
  const entry = vendor && markedUp(vendor.price, markupPercent)
  const price = entry && priceOrNull(entry, model)
  return {
    model,
    vendor,
    proposed: price && { entry, price },
    below: [...new Set(vendors.flatMap(({ upstream, vendor }) => belowVendor(model, upstream, vendor.price)))],
  }
}

function belowVendor(model: Model, upstream: ModelUpstream, entry: PriceEntry): readonly string[] {
  const [ours, vendors] = [model.price, priceOrNull(entry, { ...model, upstreams: [upstream] })]
  if (vendors === null) return []
  if (isUnitPrice(ours) || isUnitPrice(vendors)) {
    if (!isUnitPrice(ours) || !isUnitPrice(vendors) || ours.unit === 'image' || ours.unit !== vendors.unit) return []
    return less(COUNTED_UNITS[ours.unit].item, ours.amount, vendors.amount)
  }
  // Only what the sheet states: the defaults of an entry are not the vendor's.
  const stated = Array.isArray(entry) ? entry : [entry]
  return vendors.flatMap(({ above, tier, rates }, at) => {
    const isReached = above === undefined || model.contextTokens === null || model.contextTokens > above
    if (!isReached || (tier !== undefined && !sellsTier(model, ours, tier))) return []
    const rule = ruleFor(ours, { input: (above ?? 0) + 1, output: 0, cacheRead: 0, cacheWrite: 0, tier })
    const when = [tier, above !== undefined && `above ${above}`].filter(Boolean).join(' ')
    return RATE_NAMES.filter((name) => Object.hasOwn(Object(stated[at]), name)).flatMap((name) =>
      less(`${when} ${name}`.trim(), rateFor(rule.rates, name), rates[name]),
    )
  })
}

function sellsTier({ extraMembers }: Model, price: TokenPrice, tier: string): boolean {
  return price.some((rule) => rule.tier === tier) || extraMembers.some((name) => /^(service_?tier|speed)\b/i.test(name))
}

/** Parts without a price are charged as their kind, but for those that are refused without one. */
function rateFor(rates: TokenRates, name: keyof TokenRates): Money | undefined {
  if (rates[name] !== undefined || (name !== 'input_image' && name !== 'output_reasoning')) return rates[name]
  const kinds = Object.keys(TOKEN_KINDS) as TokenKind[]
  const kind = kinds.find((one) => (TOKEN_KINDS[one] as readonly string[]).includes(name))
  return kind && rates[kind]
}

function less(what: string, ours: Money | null | undefined, vendors: Money | null | undefined): readonly string[] {
  if (ours === undefined || ours === null || vendors === undefined || vendors === null || ours >= vendors) return []
  return [`${what} ${formatUsd(ours)} < ${formatUsd(vendors)}`]
}
