import type { UpstreamFailure } from '../../../core/providers/provider'
import { err, ok, type Result } from '../../../core/result'
import type { SearxngClient, SearxngQuestion, SearxngResult, SearxngSearch } from './searxng-client'
import { nearestCorrection, searchableWords } from './searxng-query'

export interface SearxngOptions {
  readonly question: SearxngQuestion
  readonly spellcheck: boolean
  /** Number of results to collect. */
  readonly count: number
  readonly maxPages: number
  /** The key by which results are deduplicated. */
  readonly sameness: (result: SearxngResult) => string
  readonly timeoutMs: number
}

/**
 * Searches, once more with a correction when the engines offer one, and turns pages until there are enough results, a page
 * brings nothing new, or the time is over. A later page that fails ends the turning; the first one's failure is the answer.
 */
export async function searxngSearch(
  client: SearxngClient,
  options: SearxngOptions,
  signal: AbortSignal,
): Promise<Result<SearxngSearch, UpstreamFailure>> {
  const end = performance.now() + options.timeoutMs
  const left = () => Math.max(1, Math.floor(end - performance.now()))
  let { question } = options
  if (question.words === '')
    return err({
      kind: 'invalid_input',
      reason: 'searxng: the query contains no words',
      input: { param: 'q', rule: 'must contain at least one word to search for' },
    })
  let page = await client.ask(question, 1, left(), signal)
  if (!page.ok) return page
  const suggestion = options.spellcheck
    ? nearestCorrection(question.words, page.value.corrections.map(searchableWords))
    : null
  let altered: string | null = null
  if (suggestion !== null) {
    const corrected = await client.ask({ ...question, words: suggestion }, 1, left(), signal)
    if (corrected.ok) {
      altered = suggestion
      question = { ...question, words: suggestion }
      page = corrected
    }
  }
  const found = new Map<string, SearxngResult>()
  for (let number = 1; ; number++) {
    const before = found.size
    for (const result of page.value.results) {
      const name = options.sameness(result)
      if (name !== '' && !found.has(name)) found.set(name, result)
    }
    if (found.size >= options.count || found.size === before || number >= options.maxPages || end <= performance.now())
      break
    const next = await client.ask(question, number + 1, left(), signal)
    if (!next.ok) break
    page = next
  }
  return ok({ results: [...found.values()], corrections: [], altered })
}

/**
 * Why a search without results asked no engine, which SearXNG does not say: no engine of that category is on, or none that can search by age.
 * Null when an engine was asked. Otherwise an empty answer without a search would be charged.
 */
export async function unasked(
  client: SearxngClient,
  question: SearxngQuestion,
  timeoutMs: number,
  nowMs: number,
): Promise<Result<never, UpstreamFailure> | null> {
  const engines = await client.enginesFor(question, timeoutMs, nowMs)
  if (engines?.length === 0) return noEngine(`no engine that is on searches ${question.category}`)
  if (question.timeRange === null || engines?.some((one) => one.canSearchByAge)) return null
  return noEngine('freshness was asked for, but no engine that is on has time_range_support')
}

function noEngine(why: string): Result<never, UpstreamFailure> {
  return err({ kind: 'error', reason: `searxng: ${why}`, isAboutRequest: true })
}
