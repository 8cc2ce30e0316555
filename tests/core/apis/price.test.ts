import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { ApiPrice, Figure } from '../../../server/core/apis/api'
import { parseDecimal, roundedUp } from '../../../server/core/apis/prices/decimal'
import { isSuccess, ReadAnswer, readFigure } from '../../../server/core/apis/prices/figure'
import { apiCharge, maximumOf } from '../../../server/core/apis/prices/price'
import { micros } from '../../../server/core/money'

const DATA: Figure = { kind: 'pointer', pointer: '/data' }

function answer(
  body: string,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
) {
  return new ReadAnswer({
    status,
    body: new TextEncoder().encode(body),
    headers: { get: (name) => headers[name] ?? null },
  })
}

function units(part: Partial<Extract<ApiPrice, { mode: 'units' }>> = {}): ApiPrice {
  return {
    mode: 'units',
    amount: micros(1000),
    figure: DATA,
    block: 10,
    minimum: 2,
    maximum: 100,
    onMissing: null,
    ...part,
  }
}

function reported(part: Partial<Extract<ApiPrice, { mode: 'reported' }>> = {}): ApiPrice {
  const figure: Figure = { kind: 'pointer', pointer: '/cost' }
  return {
    mode: 'reported',
    figure,
    unit: 'usd',
    multiplier: '1.2',
    minimum: micros(0),
    maximum: micros(500_000),
    onMissing: null,
    ...part,
  }
}

const none = () => 0

function cost(price: ApiPrice, body: string, numberOf = none) {
  const figure = price.mode === 'fixed' ? null : readFigure(price.figure, answer(body))
  const charge = apiCharge({ price, version: 'v' }, figure, numberOf)
  return charge.ok ? charge.value.charged.cost : charge.error
}

describe('units', () => {
  test('a list counts by its length, in whole blocks, at least the minimum', () => {
    expect(cost(units(), '{"data":[1,2,3]}')).toBe(micros(1000))
    expect(cost(units(), `{"data":[${Array(11).fill(0)}]}`)).toBe(micros(2000))
    expect(cost(units({ block: 1, minimum: 5 }), '{"data":[]}')).toBe(micros(5000))
  })

  test('an upstream figure beyond the maximum is not charged, but reported', () => {
    const charge = apiCharge({ price: units({ block: 1 }), version: 'v' }, parseDecimal('1000000000'), none)
    expect(charge).toMatchObject({
      ok: true,
      value: { charged: { cost: 100_000, units: 100 }, overrun: 999_999_900_000 },
    })
  })

  test('the maximum may come from an integer of the request', () => {
    const price = units({ block: 1, maximum: { parameter: 'limit' } })
    expect(maximumOf(price, (name) => (name === 'limit' ? 7 : 0))).toBe(micros(7000))
  })

  test('a missing or wrong figure charges nothing, unless the price says otherwise', () => {
    for (const body of [
      '{}',
      '{"data":-1}',
      '{"data":"many"}',
      '{"data":null}',
      '{"data":{}}',
      'no json',
      '{"data":1e400}',
    ])
      expect(cost(units(), body)).toBe('no_figure')
    expect(cost(units({ onMissing: 20 }), '{}')).toBe(micros(2000))
  })

  test('a missing figure is no claim of the upstream, although it counts more than this request allows', () => {
    const price = units({ block: 1, maximum: { parameter: 'limit' }, onMissing: 20 })
    const charge = apiCharge({ price, version: 'v' }, null, () => 5)
    expect(charge).toMatchObject({ ok: true, value: { charged: { cost: 5000, units: 5 }, overrun: 0 } })
  })

  test('the charge includes its calculation', () => {
    const charge = apiCharge({ price: units(), version: 'v' }, parseDecimal('37'), none)
    expect(charge.ok && charge.value.charged.lines).toEqual([
      { item: '37 units, in blocks of 10', units: 4, unitPrice: micros(1000), per: 1 },
    ])
  })
})

describe('reported cost', () => {
  test("the upstream's bill is multiplied exactly and rounded up once", () => {
    expect(cost(reported(), '{"cost":0.0000013}')).toBe(micros(2))
    expect(cost(reported({ multiplier: '1' }), '{"cost":0.1}')).toBe(micros(100_000))
    expect(cost(reported({ unit: 'cents', multiplier: '1.1' }), '{"cost":"2.5"}')).toBe(micros(27_500))
    expect(cost(reported({ unit: 'micros', multiplier: '3' }), '{"cost":7}')).toBe(micros(21))
  })

  test('a number is read as written, not as a double', () => {
    expect(
      cost(reported({ multiplier: '1', unit: 'micros', maximum: micros(2 ** 53 - 1) }), '{"cost":9007199254740.9911}'),
    ).toBe(micros(9_007_199_254_741))
    expect(cost(reported({ multiplier: '1' }), '{"a":{"cost":9},"cost":0.300000000000000001}')).toBe(micros(300_001))
    expect(cost(reported({ multiplier: '1' }), '{"cost":0.3000000000000000000001}')).toBe('no_figure')
  })

  test('negative, infinite and overlong figures are refused', () => {
    for (const wrong of ['-0.01', '1e400', '"NaN"', '"Infinity"', '1234567890123456789', '"0x10"', 'true', 'null'])
      expect(cost(reported(), `{"cost":${wrong}}`)).toBe('no_figure')
  })
})

test('figures may come from headers and lengths too', () => {
  expect(readFigure({ kind: 'header', name: 'x-units' }, answer('', { headers: { 'x-units': ' 12 ' } }))?.digits).toBe(
    12n,
  )
  expect(readFigure({ kind: 'characters' }, answer('añ😀'))?.digits).toBe(3n)
  expect(readFigure({ kind: 'kilobytes' }, answer('x'.repeat(1025)))?.digits).toBe(2n)
})

test('a success requires a status and all conditions', () => {
  const rule = {
    minStatus: 200,
    maxStatus: 299,
    conditions: [
      { pointer: '/ok', equals: true },
      { pointer: '/results', notEmpty: true },
    ] as const,
  }
  expect(isSuccess(rule, answer('{"ok":true,"results":[1]}'))).toBe(true)
  for (const body of ['{"ok":true,"results":[]}', '{"ok":1,"results":[1]}', '{}', 'x'])
    expect(isSuccess(rule, answer(body))).toBe(false)
  expect(isSuccess(rule, answer('{"ok":true,"results":[1]}', { status: 302 }))).toBe(false)
  expect(isSuccess({ ...rule, conditions: [{ pointer: '/constructor', notEmpty: true }] }, answer('{}'))).toBe(false)
})

const amount = fc.integer({ min: 0, max: 1_000_000 }).map((value) => micros(value))
const anyPrice: fc.Arbitrary<ApiPrice> = fc.oneof(
  fc
    .record({ amount, block: fc.integer({ min: 1, max: 1000 }), minimum: fc.integer({ min: 0, max: 100 }) })
    .chain((part) => fc.integer({ min: part.minimum, max: 100_000 }).map((maximum) => units({ ...part, maximum }))),
  fc
    .record({
      minimum: amount,
      unit: fc.constantFrom('usd', 'cents', 'micros'),
      multiplier: fc.constantFrom('1', '1.2', '0.05', '100'),
    })
    .chain((part) =>
      fc
        .integer({ min: part.minimum, max: 2_000_000 })
        .map((maximum) => reported({ ...part, maximum: micros(maximum) } as never)),
    ),
)
const anyFigure = fc.oneof(
  fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }).map(String),
  fc.double({ min: 0, max: 1e12, noNaN: true }).map(String),
  fc.constantFrom('-1', '1e18', '1000000000', '0', '1e-9', 'x', ''),
)

test('the charge is at most the hold, whatever the upstream reports', () => {
  fc.assert(
    fc.property(anyPrice, anyFigure, (price, figure) => {
      const held = maximumOf(price, none)
      const charge = apiCharge({ price, version: 'v' }, parseDecimal(figure), none)
      if (!charge.ok) return
      const { charged, overrun } = charge.value
      expect(charged.cost).toBeLessThanOrEqual(held)
      expect(charged.cost).toBeGreaterThanOrEqual(0)
      expect(overrun).toBeGreaterThanOrEqual(0)
      expect(charged.units * charged.unitPrice).toBe(charged.cost as number)
    }),
    { numRuns: 2000 },
  )
})

test('rounding up is exact at the borders', () => {
  for (const [text, rounded] of [
    ['1', 1],
    ['1.00000000000000001', 2],
    ['0', 0],
    ['0.5e1', 5],
    ['1e3', 1000],
  ] as const)
    expect(roundedUp(parseDecimal(text) ?? { digits: -1n, scale: 0 })).toBe(rounded)
})
