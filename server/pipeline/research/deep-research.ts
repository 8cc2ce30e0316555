import { LLM_CONTEXT, type LlmContextInput } from '../../core/catalog/llm-context'
import { parseInput } from '../../core/catalog/operation'
import { currentPrice, type Prices } from '../../core/catalog/prices'
import { type Failure, failure } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import type { Model } from '../../core/models/model'
import { costOfLines, maxTokenCost, tokenLines } from '../../core/models/token-price'
import { tokenPriceOf } from '../../core/models/unit-price'
import { type Money, micros, min, plus, ZERO } from '../../core/money'
import type { CallOrigin, Provider, UpstreamFailure } from '../../core/providers/provider'
import type { ChargeLine, TokenCounts, UsageSource } from '../../core/usage/call-record'
import { callUpstream, toFailure } from '../call-upstream'
import type { ModelDeps } from '../models/model-call'
import { purchaseCost } from '../models/model-charge'
import { askModel, questionBody } from './research-model'
import {
  answerPrompt,
  type ChatTurn,
  citedSources,
  foundPages,
  gapPrompt,
  MAX_SOURCE_BYTES,
  plannedQueries,
  planPrompt,
  questionQueries,
  type ResearchSource,
} from './research-prompts'

/** Time limits of a job and of one search. */
export const MAX_RESEARCH_MS = 300_000
const SEARCH_MS = 20_000
/** Output cap of the planning steps. */
const PLAN_CAP = 300
/** Maximum bytes that the gateway's own prompts add. */
const FRAME_BYTES = 1500
/** A byte of a prompt becomes at most two in JSON: a quote or a line feed gets a backslash. */
const ESCAPED = 2

export interface ResearchRequest {
  readonly model: Model
  readonly question: string
  readonly maxSearches: number
  /** Maximum tokens of the answer. */
  readonly cap: number
}

export interface ResearchParts extends ModelDeps {
  readonly prices: Prices
  readonly search: Provider<LlmContextInput>
}

interface ResearchCaller {
  readonly account: AccountId
  /** The concurrent calls that its tier allows a key. */
  readonly concurrency: number
  readonly origin: CallOrigin
}

export type ResearchProgress =
  | { readonly step: 'plan' | 'check' | 'answer' }
  | { readonly step: 'search'; readonly query: string; readonly found: number }
  | { readonly step: 'text'; readonly text: string }

export interface ResearchState {
  readonly lines: readonly ChargeLine[]
  readonly tokens: TokenCounts
  /** The operator's cost of its steps so far; undefined if one of them is not known. */
  readonly upstreamCost: Money | undefined
  readonly source: UsageSource
  readonly text: string
  readonly queries: readonly string[]
  readonly citations: readonly ResearchSource[]
}

/** The maximum cost of a job: its searches, and three model calls with as many sources as fit in a prompt. */
export function maxResearchCost(request: ResearchRequest, searchPrice: Money): Money {
  const question = Buffer.byteLength(request.question) * ESCAPED
  const frame = FRAME_BYTES + request.model.id.length
  const sources = request.maxSearches > 0 ? MAX_SOURCE_BYTES * ESCAPED : 0
  const input = 3 * (question + frame) + 2 * sources
  const output = 2 * PLAN_CAP + request.cap
  const tokens = maxTokenCost(tokenPriceOf(request.model), { input, output, requests: 3 })
  return micros(tokens + request.maxSearches * searchPrice)
}

/** The likely tokens of a job, for the rate window: an estimate of its input plus its maximum output. */
export function likelyResearchTokens(request: ResearchRequest): number {
  return Math.ceil((2 * MAX_SOURCE_BYTES) / 8) + request.question.length + 2 * PLAN_CAP + request.cap
}

/**
 * One job: plan, search, read, check, search again, answer with numbered sources. Searches, tokens and time are bounded. It does
 * not charge: `state` has the work so far at any time, and `run` returns why the job is incomplete.
 */
export class DeepResearch {
  private readonly parts: ResearchParts
  private readonly request: ResearchRequest
  private readonly caller: ResearchCaller
  /** Aborts the current step. */
  private readonly signal: AbortSignal
  /** When true, the current step finishes and no further step starts. */
  private readonly isLeft: () => boolean
  private readonly report: (progress: ResearchProgress) => void
  private readonly lines: ChargeLine[] = []
  private upstreamCost: Money | undefined = ZERO
  private tokens: TokenCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  private source: UsageSource = 'exact'
  private text = ''
  private readonly queries: string[] = []
  private readonly sources: ResearchSource[] = []

  constructor(
    parts: ResearchParts,
    request: ResearchRequest,
    caller: ResearchCaller,
    { signal, isLeft }: { readonly signal: AbortSignal; readonly isLeft: () => boolean },
    report: (progress: ResearchProgress) => void,
  ) {
    this.parts = parts
    this.request = request
    this.caller = caller
    this.signal = signal
    this.isLeft = isLeft
    this.report = report
  }

  get state(): ResearchState {
    const { lines, tokens, upstreamCost, source, text, queries, sources } = this
    return { lines, tokens, upstreamCost, source, text, queries, citations: citedSources(text, sources) }
  }

  /** Whether anything chargeable was done. */
  get hasBegun(): boolean {
    return this.lines.length > 0
  }

  /** Runs the job. Returns why it ended early, or null. */
  async run(): Promise<Failure | null> {
    const { question, maxSearches } = this.request
    const first = Math.max(1, Math.ceil(maxSearches / 2))
    this.report({ step: 'plan' })
    const plan = await this.ask('plan', planPrompt(question, first), PLAN_CAP)
    if (plan.problem) return plan.problem
    const planned = plannedQueries(plan.text, first, [])
    const problem = await this.searchAll(planned.length > 0 ? planned : questionQueries(question, first))
    if (problem && this.sources.length === 0) return problem
    const left = maxSearches - this.queries.length
    if (left > 0 && this.sources.length > 0) {
      this.report({ step: 'check' })
      const gaps = await this.ask('check', gapPrompt(question, this.sources, left), PLAN_CAP)
      if (gaps.problem) return gaps.problem
      await this.searchAll(plannedQueries(gaps.text, left, this.queries))
    }
    this.report({ step: 'answer' })
    if (this.sources.length === 0) {
      this.reportText('No sources were found that answer this question.')
      return null
    }
    return (
      await this.ask('answer', answerPrompt(question, this.sources), this.request.cap, (text) => this.reportText(text))
    ).problem
  }

  private get isOver(): boolean {
    return this.signal.aborted || this.isLeft()
  }

  private reportText(text: string): void {
    this.text += text
    this.report({ step: 'text', text })
  }

  /** Calls the model and records the tokens it used. */
  private async ask(part: string, turns: readonly ChatTurn[], cap: number, onText?: (text: string) => void) {
    const { model } = this.request
    if (this.isOver) return { text: '', problem: ENDED }
    const { account, concurrency } = this.caller
    const question = { account, concurrency, model, turns, cap, ...(onText && { onText }) }
    if (
      questionBody(question).length >
      FRAME_BYTES + ESCAPED * (Buffer.byteLength(this.request.question) + MAX_SOURCE_BYTES) + model.id.length
    )
      throw new Error('a prompt is longer than what was held for')
    const answered = await askModel(this.parts, question, this.signal)
    if (!answered.ok) return { text: '', problem: this.problemOf(answered.error) }
    const { text, metered, broken } = answered.value
    for (const line of tokenLines(tokenPriceOf(model), metered.tokens))
      this.lines.push({ ...line, item: `${part} ${line.item}` })
    this.spent(purchaseCost(model, metered.tokens))
    const { input, output, cacheRead, cacheWrite } = metered.tokens
    this.tokens = {
      input: this.tokens.input + input,
      output: this.tokens.output + output,
      cacheRead: this.tokens.cacheRead + cacheRead,
      cacheWrite: this.tokens.cacheWrite + cacheWrite,
    }
    if (metered.source === 'estimated') this.source = 'estimated'
    return { text, problem: broken && this.problemOf(broken) }
  }

  /** Runs the searches one after the other. A failed search costs nothing. Returns the last problem. */
  private async searchAll(queries: readonly string[]): Promise<Failure | null> {
    let problem: Failure | null = null
    for (const query of queries.slice(0, this.request.maxSearches - this.queries.length)) {
      if (this.isOver) return ENDED
      problem = await this.search(query)
    }
    return problem
  }

  private async search(query: string): Promise<Failure | null> {
    const input = parseInput(LLM_CONTEXT, {
      query: (name) => (name === 'q' ? [query] : []),
      header: () => null,
    })
    if (!input.ok) return null
    this.queries.push(query)
    const { search, prices, telemetry, onTrouble } = this.parts
    const bounds = { timeoutMs: SEARCH_MS, stop: this.signal, telemetry }
    const answer = await callUpstream(search, input.value, this.caller.origin, bounds)
    if (!answer.ok) {
      const { kind, reason } = answer.error
      if (kind !== 'refused' && !this.signal.aborted) onTrouble(search.name, reason)
      this.report({ step: 'search', query, found: 0 })
      return toFailure(answer.error)
    }
    const unitPrice = currentPrice(prices, 'llm-context', this.caller.account).amount
    this.lines.push({ item: `search "${query.replaceAll('"', "'")}"`, units: 1, unitPrice, per: 1 })
    const { body, cost } = answer.value
    this.spent(cost)
    const pages = foundPages(JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)))
    for (const page of pages)
      if (!this.sources.some(({ url }) => url === page.url))
        this.sources.push({ number: this.sources.length + 1, ...page })
    this.report({ step: 'search', query, found: pages.length })
    return null
  }

  private spent(cost: Money | undefined): void {
    this.upstreamCost =
      this.upstreamCost === undefined || cost === undefined ? undefined : plus(this.upstreamCost, cost)
  }

  private problemOf(error: UpstreamFailure): Failure {
    if (!this.signal.aborted) this.parts.onTrouble('research', error.reason)
    return toFailure(error)
  }
}

const ENDED = failure('upstream_timeout', 'The research was stopped before it finished.')

/** The cost of a job so far, never above what was held. */
export function researchCost(state: ResearchState, maxCost: Money): Money {
  return min(costOfLines(state.lines), maxCost)
}
