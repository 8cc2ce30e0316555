import { describe, expect, test } from 'bun:test'
import { IMAGE_SEARCH } from '../../server/core/catalog/image-search'
import type { PriceOverride, PriceStore } from '../../server/core/catalog/prices'
import { makeId } from '../../server/core/ids'
import { micros } from '../../server/core/money'
import { quoteOf } from '../../server/pipeline/provider-work'

const override: PriceOverride = {
  id: makeId('price', 0),
  operation: 'llm-context',
  accountId: null,
  amount: micros(30),
  at: 0,
}

const prices: PriceStore = {
  newest: (operation) => (operation === 'llm-context' ? override : null),
  modelOverride: () => null,
  add: async () => {},
  all: () => [override],
}

/** An operation that sells what `count` asks for, at the price of another name. */
const METERED = {
  ...IMAGE_SEARCH,
  unit: 'image',
  metering: {
    priceName: () => 'llm-context' as const,
    maxUnits: ({ count }: { count: number }) => count,
  },
}

const INPUT = { count: 7 } as Parameters<typeof quoteOf<typeof IMAGE_SEARCH.parameters>>[2]

describe('a quote', () => {
  test('of a fixed price is one unit, whatever the input (spec 1.3)', () => {
    const quote = quoteOf(prices, IMAGE_SEARCH, INPUT, null)
    expect(quote).toMatchObject({ maxCost: micros(5000), version: '2.0.0', fixed: true })
    expect(quote.charge(1)).toEqual({ cost: micros(5000), priceVersion: '2.0.0', units: 1, unitPrice: micros(5000) })
  })

  test('of a metered price holds the maximum, and charges the units of the answer (spec D7)', () => {
    const quote = quoteOf(prices, METERED, INPUT, null)
    expect(quote).toMatchObject({ maxCost: micros(210), version: override.id, fixed: false })
    expect(quote.charge(3)).toMatchObject({ cost: micros(90), units: 3, unitPrice: micros(30) })
    expect(quote.charge(0).cost).toBe(micros(0))
  })

  test('never charges more than was held', () => {
    expect(() => quoteOf(prices, METERED, INPUT, null).charge(8)).toThrow('7 were held')
  })
})
