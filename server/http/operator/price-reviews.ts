import type { Actor } from '../../core/audit'
import { DAY_MS, isoTime } from '../../core/clock'
import { type Failure, failure } from '../../core/failure'
import { idTime } from '../../core/ids'
import { isJson } from '../../core/json'
import type { ModelAdmin } from '../../core/models/model-admin'
import type { ModelCatalog } from '../../core/models/model-catalog'
import { type PriceReview, reviewPrices } from '../../core/models/price-review'
import type { CurrentSheet } from '../../core/models/price-sheet'
import { err, ok, type Result } from '../../core/result'
import { type ModelRecord, wirePrice } from '../models/record'
import type { PriceReviews } from './model-record'

const USUAL_AGE_DAYS = 90

export interface PriceReviewParts {
  readonly models: ModelCatalog
  readonly modelAdmin: ModelAdmin
  /** Vendors' prices for requests without a sheet. */
  readonly priceSheet: CurrentSheet
}

interface ReviewForm {
  readonly sheet?: object
  readonly markup_percent?: number
  readonly older_than_days?: number
  readonly apply?: readonly string[]
}

/** Compares all prices with a sheet, and takes over those that are named. Changes nothing if one of them cannot be taken over. */
export async function reviewedPrices(
  { models, modelAdmin, priceSheet }: PriceReviewParts,
  actor: Actor,
  { sheet, markup_percent: markup = 0, older_than_days: days = USUAL_AGE_DAYS, apply = [] }: ReviewForm,
): Promise<Result<PriceReviews, Failure>> {
  const reviews = reviewPrices(models.list(), isJson(sheet) ? sheet : priceSheet.prices, markup)
  const chosen = apply.map((id) =>
    reviews.find(({ model, proposed }) => model.id === id && proposed && modelAdmin.has(id)),
  )
  const wrong = apply.find((_, at) => !chosen[at])
  if (wrong !== undefined) return err(notApplicable(wrong))
  for (const { model, vendor, proposed } of chosen.filter((review) => review !== undefined)) {
    if (!vendor || !proposed) continue
    const done = await modelAdmin.change(actor, model.id, {
      price: proposed.entry,
      purchase_price: vendor.price,
    })
    if (!done.ok) return done
  }
  const date = sheet ? null : priceSheet.prices['$date']
  return ok({
    sheet_date: typeof date === 'string' ? date : null,
    models: reviews.map((review) => ({
      ...reviewRecord(review),
      is_old: (modelAdmin.priceAge(review.model) ?? 0) > days * DAY_MS,
      in_database: modelAdmin.has(review.model.id),
      applied: apply.includes(review.model.id),
    })),
  })
}

function reviewRecord({ model, vendor, proposed, below }: PriceReview) {
  const price = wirePrice(model.price)
  const pricedAt = idTime('price', model.priceVersion)
  return {
    id: model.id,
    vendor_model: vendor?.name ?? null,
    price,
    proposed: proposed && wirePrice(proposed.price),
    changes: proposed ? differences(price, wirePrice(proposed.price)) : [],
    below_vendor: [...below],
    priced_at: pricedAt === null ? null : isoTime(pricedAt),
  }
}

type Pricing = ModelRecord['pricing']

/** The differences of two prices, rule by rule. */
function differences(from: Pricing, to: Pricing): string[] {
  const [before, after] = [amountsOf(from), amountsOf(to)]
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [old, next] = [before.get(name) ?? 'none', after.get(name) ?? 'none']
    return old === next ? [] : [`${name} ${old} -> ${next}`]
  })
}

function amountsOf({ rules, ...single }: Pricing): ReadonlyMap<string, number> {
  const amounts = new Map<string, number>()
  for (const { tier, above, tools, ...rates } of rules ?? [single]) {
    const when = [tier, above === undefined ? undefined : `above ${above}`].filter((part) => part !== undefined)
    for (const [name, usd] of Object.entries({ ...rates, ...tools }))
      if (typeof usd === 'number') amounts.set([...when, name].join(' '), usd)
  }
  return amounts
}

function notApplicable(id: string): Failure {
  return failure(
    'invalid_parameter',
    `The price of "${id.slice(0, 80)}" cannot be changed here: it is not a model of the database, or the sheet has no price for it.`,
    { param: 'apply' },
  )
}
