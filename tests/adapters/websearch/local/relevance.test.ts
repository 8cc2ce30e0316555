import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { gateway, plainBm25 } from '../../../bench/relevance/engines'
import { ndcg, reciprocalRank } from '../../../bench/relevance/measures'
import { buildPinned, mean, type Scored, scoresOf } from '../../../bench/relevance/scored'
import { temporaryFolder } from './fixture-index'

/** The figures themselves: `bun run bench:search`, and docs/search.md. */
describe('ranking, on the labeled queries', () => {
  const folder = temporaryFolder()
  let control: Scored[] = []
  let ours: Scored[] = []

  beforeAll(async () => {
    const { path } = await buildPinned(folder.path)
    control = await scoresOf(plainBm25, path)
    ours = await scoresOf(gateway, path)
  }, 60_000)
  afterAll(() => folder.remove())

  const gain = (scored: readonly Scored[]) => mean(scored.map((one) => one.ndcg))
  const rank = (scored: readonly Scored[]) => mean(scored.map((one) => one.reciprocalRank))

  test('beats plain BM25, on all queries and on the held-out ones', () => {
    const held = (scored: readonly Scored[]) => scored.filter(({ judged }) => judged.held)
    expect(gain(ours)).toBeGreaterThan(gain(control) + 0.03)
    expect(rank(ours)).toBeGreaterThan(rank(control) + 0.03)
    expect(gain(held(ours))).toBeGreaterThan(gain(held(control)) + 0.02)
    expect(rank(held(ours))).toBeGreaterThan(rank(held(control)) + 0.02)
  })

  test('has enough queries, half of them or more held out, each with a relevant page', () => {
    expect(ours.length).toBeGreaterThanOrEqual(50)
    expect(ours.filter(({ judged }) => judged.held).length).toBeGreaterThanOrEqual(ours.length / 2)
    for (const { judged } of ours) expect(Math.max(...Object.values(judged.grades))).toBe(3)
  })
})

describe('the metrics', () => {
  test('nDCG is 1 for the best order, less for another, 0 for nothing', () => {
    const grades = { a: 3, b: 1 }
    expect(ndcg(['a', 'b', 'x'], grades)).toBe(1)
    expect(ndcg(['b', 'a'], grades)).toBeCloseTo((1 + 7 / Math.log2(3)) / (7 + 1 / Math.log2(3)), 10)
    expect(ndcg(['x'], grades)).toBe(0)
  })

  test('the reciprocal rank is that of the first relevant page among ten', () => {
    expect(reciprocalRank(['x', 'b', 'a'], { a: 3, b: 1 })).toBeCloseTo(1 / 3, 10)
    expect(reciprocalRank([...'0123456789', 'a'], { a: 3 })).toBe(0)
  })
})
