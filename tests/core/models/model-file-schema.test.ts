import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020'
import fc from 'fast-check'
import { parseModelEntry } from '../../../server/core/models/model-entry'
import { MODEL_FILE_SCHEMA } from '../../../server/core/models/model-file-schema'

const DOCS = join(import.meta.dir, '../../../docs')
const validate = new Ajv2020({ allErrors: true }).compile(MODEL_FILE_SCHEMA)
const byEditor = (entry: unknown) => validate({ models: [entry] })
const byJudge = (entry: unknown) => parseModelEntry(entry, { created: 1, priceVersion: () => 'v1' }).ok

/** Something good, or, rarely, something bad, so that most entries are good but for a little. */
const some = (good: readonly unknown[], bad: readonly unknown[]) =>
  fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: fc.constantFrom(...bad) })
const none = fc.constant(undefined)
const mostly = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 30, arbitrary }, { weight: 1, arbitrary: none as fc.Arbitrary<T | undefined> })
const rarely = (value: unknown) =>
  fc.oneof({ weight: 60, arbitrary: none }, { weight: 1, arbitrary: fc.constant(value) })
const counts = some([undefined, 1, 64, 10_000_000_000], [10_000_000_001, 0, 1.5, '1'])
const texts = some([undefined, 'a', 'x'.repeat(200)], ['x'.repeat(201), '', 7])
const tokenPrice = fc.record({
  input: mostly(some([0, 2.5, 1_000_000], [1_000_001, -1, '1'])),
  output: mostly(some([0, 10], [-0.5])),
  cache_read: some([undefined, 1.25], [true]),
  cache_write: some([undefined, 3.75], ['3']),
  cache_write_1h: some([undefined, 6], ['x']),
  output_audio: some([undefined, 20], [null]),
  request: some([undefined, 0.005], [-1]),
  tools: some(
    [undefined, {}, { web_search: 0.01 }, { web_search: { usd: 0.01, input_tokens: 9000 } }],
    [
      { 'a-b': 1 },
      { web_search: '1' },
      { web_search: { input_tokens: 5 } },
      { web_search: { usd: 1, input_tokens: 0 } },
    ],
  ),
  cache_writes: rarely(1),
})
const condition = some(
  [{ above: 200_000 }, { tier: 'priority' }, { tier: 'flex', above: 272_000 }],
  [{ above: 0 }, { tier: 'default' }, { tier: 'Flex' }, {}],
)
/** Rules with a condition, and one without behind them. */
const rules = fc
  .tuple(fc.array(fc.tuple(condition, tokenPrice), { maxLength: 2 }), tokenPrice)
  .map(([others, last]) => [...others.map(([when, rule]) => ({ ...Object(when), ...rule })), last])
const sizes = fc.array(
  fc.record({
    size: fc.constantFrom('1024x1024', 'auto'),
    quality: some([undefined, 'hd'], ['', 'x y', 1]),
    usd: some([0, 0.04], [-1, '1', undefined]),
    cost: rarely(1),
  }),
  { maxLength: 1 },
)
const price = fc.oneof(
  { weight: 6, arbitrary: tokenPrice },
  { weight: 4, arbitrary: rules },
  { weight: 1, arbitrary: fc.constantFrom([], [{ input: 1, output: 2, tier: 'flex' }]) },
  { weight: 3, arbitrary: fc.record({ characters: some([0, 15], [-1, undefined]), input: rarely(1) }) },
  { weight: 2, arbitrary: fc.record({ seconds: some([0, 100], [-1, undefined]), input: rarely(1) }) },
  { weight: 2, arbitrary: fc.record({ searches: some([0, 0.002], [-1, 'x']), output: rarely(1) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      images: fc.oneof(some([0, 0.04], [-1, 'x']), sizes),
      output: rarely(1),
      edits: some([undefined, 0.01], [-1]),
    }),
  },
)
const upstream = fc.record({
  kind: mostly(some(['openai', 'anthropic', 'gemini'], ['sandbox', 'cohere'])),
  base_url: some([undefined, 'http://127.0.0.1:11434/v1', 'https://example.com'], ['ftp://example.com', '']),
  key_env: some([undefined, 'A_KEY'], ['sk-live-1', '']),
  model: texts,
  concurrency: counts,
  connect_timeout_ms: counts,
  cap_parameter: some([undefined, 'max_tokens', 'max_completion_tokens'], ['tokens']),
  responses: some([undefined, false, true], ['yes']),
  url: rarely('x'),
})
const GOOD_IDS = ['gpt-4o', 'meta/llama-3', 'a/b/c/d/e', 'sandboxes']
const BAD_IDS = ['a/b/c/d/e/f', 'sandbox/echo', '-x', 'a b', '', 1, 'x'.repeat(129)]
const families = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom({}, { family: 'f', family_rpm: 5 }) },
  { weight: 1, arbitrary: fc.constantFrom({ family: 'f' }, { family_rpm: 5 }, { family: '', family_rpm: 5 }) },
)
const where = fc.oneof(
  { weight: 10, arbitrary: fc.record({ upstream }) },
  { weight: 10, arbitrary: fc.record({ upstreams: fc.array(upstream, { minLength: 1, maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.constantFrom({}, { upstreams: [] }, { upstream: 'x' }) },
)
const entry = fc
  .record({
    where,
    families,
    id: mostly(some(GOOD_IDS, BAD_IDS)),
    price: mostly(price),
    owned_by: texts,
    image_tokens: counts,
    recharge_required: some([undefined, true, false], ['yes']),
    context_tokens: counts,
    max_seconds: counts,
    answer_cache: some(
      [undefined, { seconds: 60, percent: 0 }],
      [{ seconds: 60 }, { seconds: 0, percent: 0 }, { seconds: 1, percent: 101 }],
    ),
    order: some([undefined, 'listed', 'fastest'], ['random']),
    access: some(
      [undefined, {}, { tiers: ['free'] }, { accounts: [`acct_${'0'.repeat(32)}`] }],
      [[], { tiers: ['gold'] }, { accounts: ['me'] }],
    ),
    prize: rarely(1),
    purpose: fc.oneof(
      { weight: 2, arbitrary: some([undefined, 'text', 'embeddings'], ['pictures']) },
      { weight: 1, arbitrary: fc.constantFrom('moderation', 'images', 'speech', 'transcription', 'rerank') },
    ),
    stops_billing: some([undefined, true, false], ['yes']),
    tokens_per_second: counts,
  })
  // As it would stand in a file: what is undefined is not there.
  .map(({ where: at, families: of, ...rest }): unknown => JSON.parse(JSON.stringify({ ...rest, ...at, ...of })))

describe('the schema of the models file', () => {
  test('is the published one', async () => {
    expect(await Bun.file(join(DOCS, 'models.schema.json')).json()).toEqual(
      JSON.parse(JSON.stringify(MODEL_FILE_SCHEMA)),
    )
  })

  test('accepts and refuses what the validator of entries does', () => {
    let taken = 0
    let refused = 0
    fc.assert(
      fc.property(entry, (one) => {
        const judged = byJudge(one)
        if (judged) taken++
        else refused++
        expect(byEditor(one)).toBe(judged)
      }),
      { numRuns: 2_000 },
    )
    expect(Math.min(taken, refused)).toBeGreaterThan(50)
  })

  test('leaves to the validator what a schema cannot express: the form of an address, the precision of a price, the order of its rules', () => {
    const good = { id: 'm', upstream: { kind: 'openai' }, price: { input: 1, output: 2 } }
    const onlyJudged = [
      { ...good, upstream: { kind: 'openai', base_url: 'https://user@example.com' } },
      { ...good, upstream: { kind: 'openai', base_url: 'https://example.com?x=1' } },
      { ...good, upstream: { kind: 'openai', base_url: 'https://example.com/v1/chat/completions' } },
      { ...good, price: { input: 0.1234567, output: 1 } },
      {
        ...good,
        price: [
          { input: 1, output: 2 },
          { input: 2, output: 3, above: 10 },
        ],
      },
    ]
    for (const one of onlyJudged) expect([byEditor(one), byJudge(one)]).toEqual([true, false])
  })

  test('and the validator accept every example of docs/models.md', async () => {
    const text = await Bun.file(join(DOCS, 'models.md')).text()
    const examples = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) => JSON.parse(json ?? ''))
    const entries = examples.flatMap((example) => example.models ?? [example])
    expect(entries.length).toBeGreaterThanOrEqual(2)
    for (const one of entries) expect([byEditor(one), byJudge(one)]).toEqual([true, true])
  })
})
