import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildIndex } from '../../server/adapters/websearch/local/build/build-index'
import { openLocalWebsearch } from '../../server/adapters/websearch/local/open-local-websearch'
import { OwnIndex } from '../../server/adapters/websearch/local/own/own-index'
import { contextInput } from '../adapters/websearch/local/fixture-index'
import { SOMEBODY } from '../support/somebody'

/**
 * How fast an operator's documents are read, and how fast a large index answers: `bun run bench:index`. Documents are made
 * of seeded words with the frequencies of a language, each the size of a README.
 */

const { values } = parseArgs({
  options: {
    documents: { type: 'string', default: '1000' },
    passages: { type: 'string', default: '50000' },
    queries: { type: 'string', default: '400' },
  },
})
const WORDS_PER_DOCUMENT = 900
const folder = mkdtempSync(join(tmpdir(), 'bench-index-'))
const indexPath = join(folder, 'data', 'search.db')
const random = seeded(42)
const vocabulary = Array.from({ length: 20_000 }, (_, at) => wordOf(at))

/** Zipf: the word of rank n stands 1/n as often as the first. */
function word(): string {
  return vocabulary[Math.floor(vocabulary.length ** random()) - 1] ?? 'the'
}

function wordOf(at: number): string {
  const syllables = [
    'ba',
    'ke',
    'lo',
    'mi',
    'nu',
    'ra',
    'se',
    'ti',
    'vo',
    'zu',
    'dan',
    'fel',
    'gor',
    'pim',
    'sul',
    'tor',
  ]
  let rest = at + 17
  let text = ''
  while (rest > 0) {
    text += syllables[rest % syllables.length]
    rest = Math.floor(rest / syllables.length)
  }
  return text
}

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

function readme(at: number): string {
  const parts = [`# ${word()} ${word()} ${at}`]
  for (let words = 0; words < WORDS_PER_DOCUMENT; words += 120) {
    parts.push(`## ${word()} ${word()}`, Array.from({ length: 100 }, word).join(' '))
    parts.push(`\`\`\`ts\nconst ${word()} = ${word()}(${word()})\nreturn ${word()}\n\`\`\``)
  }
  return parts.join('\n\n')
}

function writeDocuments(name: string, count: number): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  for (let at = 0; at < count; at++) writeFileSync(join(path, `${at}.md`), readme(at))
  return path
}

function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; seconds: number }> {
  const started = performance.now()
  const value = await work()
  return { value, seconds: (performance.now() - started) / 1000 }
}

const megabytes = () => Math.round(process.memoryUsage().rss / 1e6)

async function measure(): Promise<void> {
  mkdirSync(join(folder, 'empty'), { recursive: true })
  await buildIndex({ indexPath, nodeModules: resolve(folder, 'empty'), projectRoot: resolve(folder, 'empty') })
  const own = new OwnIndex({ indexPath, fetch: () => Promise.reject(new Error('nothing is fetched here')) })
  const before = megabytes()
  const first = writeDocuments('first', Number(values.documents))
  const reading = await timed(() => own.add({ location: first }))
  console.log(
    `read ${reading.value.added} documents in ${reading.seconds.toFixed(1)} s; memory ${before} -> ${megabytes()} MB`,
  )
  const again = await timed(() => own.add({ location: first }))
  console.log(`read them again, ${again.value.unchanged} unchanged, in ${again.seconds.toFixed(1)} s`)
  for (let round = 0; Number((await own.totals())?.['passages'] ?? 0) < Number(values.passages); round++) {
    await own.add({ location: writeDocuments(`more-${round}`, 1080) })
    console.log(`passages ${(await own.totals())?.['passages']}; memory ${megabytes()} MB`)
  }
  await ask()
}

async function ask(): Promise<void> {
  const search = openLocalWebsearch({ indexPath, baseUrl: 'http://localhost', now: () => Date.now() })
  const times: number[] = []
  let before = process.cpuUsage()
  let longestStall = 0
  let last = performance.now()
  const pulse = setInterval(() => {
    longestStall = Math.max(longestStall, performance.now() - last - 1)
    last = performance.now()
  }, 1)
  for (let at = 0; at < Number(values.queries) + 20; at++) {
    const q = Array.from({ length: 1 + (at % 5) }, word).join(' ')
    const started = performance.now()
    const answer = await search.context.call(contextInput(q), AbortSignal.timeout(60_000), SOMEBODY)
    if (!answer.ok) throw new Error(answer.error.reason)
    if (at === 20) {
      longestStall = 0
      before = process.cpuUsage()
    }
    if (at >= 20) times.push(performance.now() - started)
  }
  clearInterval(pulse)
  const cpu = process.cpuUsage(before)
  await search.close()
  times.sort((a, b) => a - b)
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((part) => percentile(times, part).toFixed(1))
  console.log(`${times.length} questions of 1 to 5 words: p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms`)
  console.log(
    `processor time ${((cpu.user + cpu.system) / 1000 / times.length).toFixed(1)} ms a question, of both threads`,
  )
  console.log(`the calling thread stood still for at most ${longestStall.toFixed(1)} ms; memory ${megabytes()} MB`)
}

try {
  await measure()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
