import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseModelEntry } from '../../server/core/models/model-entry'
import { type ModelTokens, TOKEN_KINDS, type TokenPart } from '../../server/core/models/model-tokens'
import { adjustedPrice, WHOLE_PRICE } from '../../server/core/models/price-adjustment'
import type { RuleEntry } from '../../server/core/models/price-entry'
import { costOfLines, maxTokenCost, tokenLines } from '../../server/core/models/token-price'
import { tokenPriceOf } from '../../server/core/models/unit-price'

const TIERS = ['priority', 'flex', 'fast'] as const
const ASKED: readonly TokenPart[] = [
  'cache_write_1h',
  'cache_write_12h',
  'input_audio',
  'cache_read_audio',
  'output_audio',
]
/** What the model decides, whatever a call asks for. */
const ALWAYS: readonly TokenPart[] = ['input_image', 'output_reasoning', 'output_image']
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const usd = fc.oneof(fc.constant(0), fc.nat(200_000_000), fc.nat(2000)).map((micros) => micros / 1_000_000)
const rule = fc.record({
  input: usd,
  output: usd,
  cache_read: maybe(usd),
  cache_write: maybe(usd),
  ...Object.fromEntries([...ASKED, ...ALWAYS].map((part) => [part, maybe(usd)])),
  request: maybe(usd),
  tools: maybe(fc.record({ web_search: fc.oneof(usd, fc.record({ usd })) })),
})
const condition = fc.oneof(
  fc.record({ above: fc.constantFrom(1, 50, 1000, 200_000) }),
  fc.record({ tier: fc.constantFrom(...TIERS) }),
  fc.record({ above: fc.constantFrom(50, 1000), tier: fc.constantFrom(...TIERS) }),
)
const rules = fc
  .tuple(fc.array(fc.tuple(condition, rule), { maxLength: 6 }), rule)
  .map(([others, last]) => JSON.parse(JSON.stringify([...others.map(([when, one]) => ({ ...when, ...one })), last])))

/** Often all or nothing: only calls near their bounds can cost more than is held. */
const share = fc.oneof(
  fc.constantFrom(0, 1),
  fc.nat(100).map((percent) => percent / 100),
)
const call = fc.record({
  input: fc.oneof(fc.nat(2000), fc.nat(2_000_000)),
  output: fc.nat(200_000),
  tier: fc.option(fc.constantFrom(...TIERS), { nil: null }),
  parts: fc.subarray([...ASKED]),
  searches: fc.nat(5),
})
/** How much of its bounds a call uses, and which tier the answer names. */
const use = fc.record({
  input: share,
  output: share,
  cached: share,
  written: share,
  parts: fc.array(share, { minLength: 8, maxLength: 8 }),
  searches: share,
  names: fc.constantFrom('asked', 'default', 'none'),
})

type Call = typeof call extends fc.Arbitrary<infer T> ? T : never
type Use = typeof use extends fc.Arbitrary<infer T> ? T : never

function tokensOf(asked: Call, used: Use): ModelTokens {
  const part = (of: number, by: number) => Math.floor(of * by)
  const input = part(asked.input, used.input)
  const cacheRead = part(input, used.cached)
  const cacheWrite = part(input - cacheRead, used.written)
  const left = {
    input: input - cacheRead - cacheWrite,
    cache_read: cacheRead,
    cache_write: cacheWrite,
    output: part(asked.output, used.output),
  }
  const parts: Partial<Record<TokenPart, number>> = {}
  const output = left.output
  for (const [kind, names] of Object.entries(TOKEN_KINDS) as [keyof typeof left, readonly TokenPart[]][])
    for (const name of names) {
      if (!ALWAYS.includes(name) && !asked.parts.includes(name)) continue
      const some = part(left[kind], used.parts[[...ASKED, ...ALWAYS].indexOf(name)] ?? 0)
      parts[name] = some
      left[kind] -= some
    }
  const tier = { asked: asked.tier ?? undefined, default: 'default', none: undefined }[used.names]
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    parts,
    tier,
    uses: { web_search: part(asked.searches, used.searches) },
  }
}

/** The bill in millionths of a micro-USD, from the rules as an operator wrote them. */
function bill(
  list: readonly RuleEntry[],
  { input, output, cacheRead, cacheWrite, parts = {}, tier, uses = {} }: ModelTokens,
): bigint {
  const price = list.find(
    ({ above, tier: of }) => (of === undefined || of === tier) && (above === undefined || input > above),
  )
  if (!price) throw new Error('no rule')
  const micros = (amount: number) => Math.round(amount * 1_000_000)
  const exact = (amount: number) => BigInt(micros(amount))
  const twice = 2 * micros(price.input)
  const write = price.cache_write === undefined ? Math.ceil((5 * micros(price.input)) / 4) : micros(price.cache_write)
  const hour = price.cache_write_1h === undefined ? Math.max(write, twice) : micros(price.cache_write_1h)
  const half = price.cache_write_12h === undefined ? Math.max(hour, twice) : micros(price.cache_write_12h)
  const read = exact(price.cache_read ?? price.input)
  const of = (name: TokenPart, usual: bigint) => {
    const own = price[name]
    return BigInt(parts[name] ?? 0) * (own === undefined ? usual : exact(own))
  }
  const sound = price.input_audio === undefined ? read : exact(price.input_audio)
  const count = (name: TokenPart) => parts[name] ?? 0
  const fresh = input - cacheRead - cacheWrite - count('input_audio') - count('input_image')
  const { request, tools } = { ...list.at(-1), ...price }
  const search = tools?.['web_search'] ?? 0
  return (
    BigInt(fresh) * exact(price.input) +
    of('input_audio', exact(price.input)) +
    of('input_image', exact(price.input)) +
    BigInt(cacheRead - count('cache_read_audio')) * read +
    of('cache_read_audio', sound) +
    BigInt(cacheWrite - count('cache_write_1h') - count('cache_write_12h')) * BigInt(write) +
    BigInt(count('cache_write_1h')) * BigInt(hour) +
    BigInt(count('cache_write_12h')) * BigInt(half) +
    BigInt(output - count('output_reasoning') - count('output_audio') - count('output_image')) * exact(price.output) +
    of('output_reasoning', exact(price.output)) +
    of('output_audio', exact(price.output)) +
    of('output_image', exact(price.output)) +
    exact(request ?? 0) * 1_000_000n +
    BigInt(uses['web_search'] ?? 0) * exact(typeof search === 'number' ? search : search.usd) * 1_000_000n
  )
}

function priceOf(list: readonly RuleEntry[]) {
  const entry = { id: 'm', upstream: { kind: 'openai' }, price: list.length === 1 ? list[0] : list }
  const model = parseModelEntry(entry, { created: 1, priceVersion: () => 'v1' })
  if (!model.ok) throw new Error(model.error)
  return tokenPriceOf(model.value)
}

describe('any usage under any price rules', () => {
  test('costs what the rules say, rounded up once, and never more than was held', () => {
    let long = 0
    let tiers = 0
    const property = fc.property(rules, call, use, (list: readonly RuleEntry[], asked, used) => {
      const price = priceOf(list)
      const tokens = tokensOf(asked, used)
      const cost = costOfLines(tokenLines(price, tokens))
      expect(BigInt(cost)).toBe((bill(list, tokens) + 999_999n) / 1_000_000n)
      const held = maxTokenCost(price, { ...asked, uses: { web_search: asked.searches } })
      expect(cost).toBeLessThanOrEqual(held)
      if (list.some(({ above = Number.POSITIVE_INFINITY }) => tokens.input > above)) long++
      if (list.some(({ tier }) => tier !== undefined && tier === tokens.tier)) tiers++
    })
    fc.assert(property, { numRuns: 3000 })
    expect(Math.min(long, tiers)).toBeGreaterThan(100)
  })

  test("at an account's part of the list price costs no less than that part, hardly more, and never more than was held", () => {
    const property = fc.property(rules, call, use, fc.nat(100_000), (list: readonly RuleEntry[], asked, used, part) => {
      const price = tokenPriceOf({ id: 'm', price: adjustedPrice(priceOf(list), part) })
      const tokens = tokensOf(asked, used)
      const lines = tokenLines(price, tokens)
      const exact = (bill(list, tokens) * BigInt(part)) / BigInt(WHOLE_PRICE)
      const cost = BigInt(costOfLines(lines))
      expect(cost * 1_000_000n).toBeGreaterThanOrEqual(exact)
      // Each amount is rounded up to a micro-USD, and the sum once more.
      const rounded = lines.reduce((sum, { units, per }) => sum + BigInt(units) * BigInt(1_000_000 / per), 1_000_000n)
      expect(cost * 1_000_000n).toBeLessThanOrEqual(exact + rounded)
      expect(cost).toBeLessThanOrEqual(BigInt(maxTokenCost(price, { ...asked, uses: { web_search: asked.searches } })))
    })
    fc.assert(property, { numRuns: 1000 })
  })

  test('is charged for no more tokens than there are, whatever a vendor says of their parts', () => {
    const wrong = fc.record(Object.fromEntries([...ASKED, ...ALWAYS].map((part) => [part, fc.nat(10_000)])))
    const property = fc.property(rules, call, use, wrong, (list: readonly RuleEntry[], asked, used, parts) => {
      const tokens = { ...tokensOf(asked, used), parts }
      const units = tokenLines(priceOf(list), tokens).reduce(
        (sum, { units: some, per }) => sum + (per === 1 ? 0 : some),
        0,
      )
      expect(units).toBe(tokens.input + tokens.output)
    })
    fc.assert(property, { numRuns: 1000 })
  })
})
