import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gateway, plainBm25 } from './relevance/engines'
import { buildPinned, type Judged, mean, type Scored, scoresOf } from './relevance/scored'

/**
 * How well search ranks: `bun run bench:search`. Questions with graded pages over a pinned copy of the default index's
 * documents; half of them were kept from the choosing of weights. Plain BM25 over the same index is the control. `--each`
 * shows every question.
 */

const PARTS: readonly (readonly [string, (judged: Judged) => boolean])[] = [
  ['tuned on', (judged) => !judged.held],
  ['held out', (judged) => judged.held],
  ['all', () => true],
]

function show(control: readonly Scored[], ours: readonly Scored[]): void {
  console.log('| questions | engine | nDCG@10 | MRR |\n| --- | --- | --- | --- |')
  for (const [name, isIn] of PARTS) {
    for (const [engine, scored] of [['plain BM25', control] as const, ['gateway', ours] as const]) {
      const part = scored.filter(({ judged }) => isIn(judged))
      const [gain, rank] = [mean(part.map((one) => one.ndcg)), mean(part.map((one) => one.reciprocalRank))]
      console.log(`| ${name} (${part.length}) | ${engine} | ${gain.toFixed(3)} | ${rank.toFixed(3)} |`)
    }
  }
}

function showEach(control: readonly Scored[], ours: readonly Scored[]): void {
  for (const [at, { judged, ndcg, found }] of ours.entries()) {
    console.log(`\n${judged.held ? '-' : '+'} ${judged.q}: ${ndcg.toFixed(2)} against ${control[at]?.ndcg.toFixed(2)}`)
    for (const url of found) console.log(`   ${judged.grades[url] ?? 0} ${url}`)
  }
}

const folder = mkdtempSync(join(tmpdir(), 'bench-search-'))
try {
  const { path, counts } = await buildPinned(folder)
  console.log(`${counts.documents} documents, ${counts.passages} passages\n`)
  const [control, ours] = [await scoresOf(plainBm25, path), await scoresOf(gateway, path)]
  show(control, ours)
  if (process.argv.includes('--each')) showEach(control, ours)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
