import type { LlmContextInput } from '../../core/catalogue/llm-context'
import { LLM_CONTEXT } from '../../core/catalogue/llm-context'
import { parseInput } from '../../core/catalogue/operation'
import { type PriceStore, priceOf } from '../../core/catalogue/prices'
import { type Failure, failure } from '../../core/failure'
import type { Model } from '../../core/models/model'
import { costOfLines, mostCost, tokenLines } from '../../core/models/token-price'
import { least, type Money, micros } from '../../core/money'
import type { CallOrigin, Provider, UpstreamFailure } from '../../core/providers/provider'
import type { ChargeLine, TokenCounts, UsageSource } from '../../core/usage/call-record'
import { callUpstream, toFailure } from '../call-upstream'
import type { ModelDeps } from '../models/model-call'
import { ask, questionBody } from './research-model'
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

/** The whole of a job, and of one search. */
export const MAX_RESEARCH_MS = 300_000
const SEARCH_MS = 20_000
/** Output caps of the steps that plan. */
const PLAN_CAP = 300
/** Bytes of our own words around a prompt, at most. */
const FRAME_BYTES = 1500
/** Each byte of a prompt is at most two in its body: a quote or a line feed is written with a backslash. */
const ESCAPED = 2

export interface ResearchAsked {
  readonly model: Model
  readonly question: string
  readonly maxSearches: number
  /** Most tokens of the answer. */
  readonly cap: number
}

export interface ResearchParts extends ModelDeps {
  readonly prices: PriceStore
  readonly search: Provider<LlmContextInput>
}

/** Whom a job is done for. */
interface ResearchCaller {
  readonly account: Parameters<typeof priceOf>[2]
  readonly origin: CallOrigin
}

/** What a caller sees of the work. */
export type ResearchProgress =
  | { readonly step: 'plan' | 'check' | 'answer' }
  | { readonly step: 'search'; readonly query: string; readonly found: number }
  | { readonly step: 'text'; readonly text: string }

/** What a job has come to: also when it is not at its end. */
export interface ResearchState {
  readonly lines: readonly ChargeLine[]
  readonly tokens: TokenCounts
  readonly source: UsageSource
  readonly text: string
  readonly queries: readonly string[]
  readonly citations: readonly ResearchSource[]
}

/** The most that a job can cost: its searches, and three questions to the model with as many sources as a prompt holds. */
export function mostResearchCost(asked: ResearchAsked, searchPrice: Money): Money {
  const question = Buffer.byteLength(asked.question) * ESCAPED
  const frame = FRAME_BYTES + asked.model.id.length
  const sources = asked.maxSearches > 0 ? MAX_SOURCE_BYTES * ESCAPED : 0
  const input = 3 * (question + frame) + 2 * sources
  const tokens = mostCost(asked.model.price, { input, output: 2 * PLAN_CAP + asked.cap })
  return micros(tokens + asked.maxSearches * searchPrice)
}

/** The likely tokens of a job, for the window: what it reads, and all it may write. */
export function likelyResearchTokens(asked: ResearchAsked): number {
  return Math.ceil((2 * MAX_SOURCE_BYTES) / 8) + asked.question.length + 2 * PLAN_CAP + asked.cap
}

/**
 * One job: plan, search, read, check, search again, answer with numbered sources. Bounded in searches, tokens and time. Never
 * charges by itself: `state` tells what it has come to at any moment, and `run` why it is not whole.
 */
export class DeepResearch {
  private readonly parts: ResearchParts
  private readonly asked: ResearchAsked
  private readonly caller: ResearchCaller
  /** Breaks off the step under way. */
  private readonly signal: AbortSignal
  /** Whether no further step is begun; the one under way goes to its end. */
  private readonly isLeft: () => boolean
  private readonly tell: (progress: ResearchProgress) => void
  private readonly lines: ChargeLine[] = []
  private tokens: TokenCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  private source: UsageSource = 'exact'
  private text = ''
  private readonly queries: string[] = []
  private readonly sources: ResearchSource[] = []

  constructor(
    parts: ResearchParts,
    asked: ResearchAsked,
    caller: ResearchCaller,
    { signal, isLeft }: { readonly signal: AbortSignal; readonly isLeft: () => boolean },
    tell: (progress: ResearchProgress) => void,
  ) {
    this.parts = parts
    this.asked = asked
    this.caller = caller
    this.signal = signal
    this.isLeft = isLeft
    this.tell = tell
  }

  get state(): ResearchState {
    const { lines, tokens, source, text, queries, sources } = this
    return { lines, tokens, source, text, queries, citations: citedSources(text, sources) }
  }

  /** Whether anything was done that costs. */
  get hasBegun(): boolean {
    return this.lines.length > 0
  }

  /** Works to the end. Gives why it ended before, or null. */
  async run(): Promise<Failure | null> {
    const { question, maxSearches } = this.asked
    const first = Math.max(1, Math.ceil(maxSearches / 2))
    this.tell({ step: 'plan' })
    const plan = await this.ask('plan', planPrompt(question, first), PLAN_CAP)
    if (plan.problem) return plan.problem
    const planned = plannedQueries(plan.text, first, [])
    const problem = await this.searchAll(planned.length > 0 ? planned : questionQueries(question, first))
    if (problem && this.sources.length === 0) return problem
    const left = maxSearches - this.queries.length
    if (left > 0 && this.sources.length > 0) {
      this.tell({ step: 'check' })
      const gaps = await this.ask('check', gapPrompt(question, this.sources, left), PLAN_CAP)
      if (gaps.problem) return gaps.problem
      await this.searchAll(plannedQueries(gaps.text, left, this.queries))
    }
    this.tell({ step: 'answer' })
    if (this.sources.length === 0) {
      this.say('No source was found that answers this.')
      return null
    }
    return (await this.ask('answer', answerPrompt(question, this.sources), this.asked.cap, (text) => this.say(text)))
      .problem
  }

  private get isOver(): boolean {
    return this.signal.aborted || this.isLeft()
  }

  private say(text: string): void {
    this.text += text
    this.tell({ step: 'text', text })
  }

  /** Asks the model, and puts down what it took. */
  private async ask(part: string, turns: readonly ChatTurn[], cap: number, onText?: (text: string) => void) {
    const { model } = this.asked
    if (this.isOver) return { text: '', problem: ENDED }
    const question = { model, turns, cap, ...(onText && { onText }) }
    if (
      questionBody(question).length >
      FRAME_BYTES + ESCAPED * (Buffer.byteLength(this.asked.question) + MAX_SOURCE_BYTES) + model.id.length
    )
      throw new Error('a prompt is longer than what was held for')
    const answered = await ask(this.parts, question, this.signal)
    if (!answered.ok) return { text: '', problem: this.problemOf(answered.error) }
    const { text, metered, broken } = answered.value
    for (const line of tokenLines(model.price, metered.tokens))
      this.lines.push({ ...line, item: `${part} ${line.item}` })
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

  /** Searches one after the other; a search that fails costs nothing. Gives the last problem. */
  private async searchAll(queries: readonly string[]): Promise<Failure | null> {
    let problem: Failure | null = null
    for (const query of queries.slice(0, this.asked.maxSearches - this.queries.length)) {
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
    const { search, prices, onTrouble } = this.parts
    const answer = await callUpstream(search, input.value, this.caller.origin, {
      timeoutMs: SEARCH_MS,
      stop: this.signal,
      onTrouble,
    })
    if (!answer.ok) {
      this.tell({ step: 'search', query, found: 0 })
      return answer.error.failure
    }
    const unitPrice = priceOf(prices, 'llm-context', this.caller.account).amount
    this.lines.push({ item: `search "${query.replaceAll('"', "'")}"`, units: 1, unitPrice, per: 1 })
    const { body } = answer.value
    const pages = foundPages(JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)))
    for (const page of pages)
      if (!this.sources.some(({ url }) => url === page.url))
        this.sources.push({ number: this.sources.length + 1, ...page })
    this.tell({ step: 'search', query, found: pages.length })
    return null
  }

  private problemOf(error: UpstreamFailure): Failure {
    if (!this.signal.aborted) this.parts.onTrouble('research', error.reason)
    return toFailure(error)
  }
}

const ENDED = failure('upstream_timeout', 'The research was stopped before it finished.')

/** What a job has come to, in money; never above what was held. */
export function researchCost(state: ResearchState, most: Money): Money {
  return least(costOfLines(state.lines), most)
}
