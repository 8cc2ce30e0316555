import { type Money, micros, ZERO } from '../money'
import type { ChargeLine } from '../usage/call-record'
import { type ModelTokens, TOKEN_KINDS, type TokenKind, type TokenPart } from './model-tokens'

/** The price of a million tokens of each kind, and of the parts that have their own. Zero is a valid price (spec D8). */
export type TokenRates = Readonly<Record<TokenKind, Money>> & Readonly<Partial<Record<TokenPart, Money>>>

/** The price of one use of a tool that the vendor runs. */
export interface ToolPrice {
  readonly amount: Money
  /** The most tokens that one use adds to the input. Null: only the context of the model bounds them. */
  readonly inputTokens: number | null
}

/** What a call costs that meets the conditions of the rule. */
export interface PriceRule {
  /** Only calls with more input tokens than this, which then cost the same from their first token on. */
  readonly above?: number
  /** Only calls that were served at this tier, such as `priority`, `flex` or `fast`. */
  readonly tier?: string
  readonly rates: TokenRates
  /** Of each call, in addition to its tokens. */
  readonly request?: Money
  /** By the name of the tool without its date, such as `web_search`. A tool that is not in all rules is not sold. */
  readonly tools?: Readonly<Record<string, ToolPrice>>
}

/** The first rule that a call meets is its price. The last one has no condition. */
export type TokenPrice = readonly PriceRule[]

const MILLION = 1_000_000 as const

/** The charge lines of a metered call: one for each kind of token that it used, then its fees. */
export function tokenLines(price: TokenPrice, tokens: ModelTokens): ChargeLine[] {
  const rule = ruleFor(price, tokens)
  const { request, tools } = rule
  const { cacheRead, cacheWrite, output, uses } = tokens
  const lines: ChargeLine[] = []
  addLines(lines, rule, tokens, 'input', tokens.input - cacheRead - cacheWrite)
  addLines(lines, rule, tokens, 'cache_read', cacheRead)
  addLines(lines, rule, tokens, 'cache_write', cacheWrite)
  addLines(lines, rule, tokens, 'output', output)
  if (request !== undefined) lines.push({ item: 'requests', units: 1, unitPrice: request, per: 1 })
  if (tools && uses)
    for (const name in uses) {
      const [tool, units = 0] = [Object.hasOwn(tools, name) ? tools[name] : undefined, uses[name]]
      if (tool && units > 0) lines.push({ item: `${name}_uses`, units, unitPrice: tool.amount, per: 1 })
    }
  return lines
}

/** The rule that a call with these tokens meets. */
export function ruleFor(price: TokenPrice, { input, tier }: ModelTokens): PriceRule {
  for (const rule of price)
    if ((rule.tier === undefined || rule.tier === tier) && (rule.above === undefined || input > rule.above)) return rule
  throw new Error('a price has no rule for every call')
}

/** Constants, because each call needs some of them. */
const ITEMS: Readonly<Record<TokenKind, string>> = {
  input: 'input_tokens',
  cache_read: 'cache_read_tokens',
  cache_write: 'cache_write_tokens',
  output: 'output_tokens',
}

/** The item of a line, with the conditions of its price: `input_tokens at priority above 272000`. */
function itemOf(name: string, { tier, above }: PriceRule): string {
  if (tier === undefined && above === undefined) return name
  return `${name}${tier === undefined ? '' : ` at ${tier}`}${above === undefined ? '' : ` above ${above}`}`
}

/** One line for a kind of token, and one for each part of it with a price of its own. A part is never more than what is left of its kind. */
function addLines(lines: ChargeLine[], rule: PriceRule, { parts }: ModelTokens, kind: TokenKind, units: number): void {
  if (units <= 0) return
  const { rates } = rule
  const whole = { item: itemOf(ITEMS[kind], rule), units, unitPrice: rates[kind], per: MILLION }
  const at = lines.push(whole) - 1
  if (!parts) return
  for (const part of TOKEN_KINDS[kind]) {
    const rate = rates[part]
    const count = Math.min(parts[part] ?? 0, whole.units)
    if (rate === undefined || count <= 0) continue
    lines.push({ item: itemOf(`${part}_tokens`, rule), units: count, unitPrice: rate, per: MILLION })
    whole.units -= count
  }
  if (whole.units === 0) lines.splice(at, 1)
}

/** The exact sum of all lines, rounded up once to a whole micro-USD (spec D1). Plain integers are exact up to 2^53, and make no objects. */
export function costOfLines(lines: readonly ChargeLine[]): Money {
  let millionths = 0
  for (const { units, unitPrice, per } of lines) millionths += units * unitPrice * (MILLION / per)
  // No line is negative, so a product or sum that was too large to be exact makes the whole sum too large.
  return Number.isSafeInteger(millionths + MILLION) ? roundedUp(millionths) : costOfLargeLines(lines)
}

function roundedUp(millionths: number): Money {
  const rest = millionths % MILLION
  return micros((millionths - rest) / MILLION + (rest > 0 ? 1 : 0))
}

function costOfLargeLines(lines: readonly ChargeLine[]): Money {
  let millionths = 0n
  for (const { units, unitPrice, per } of lines) millionths += BigInt(units) * BigInt(unitPrice) * BigInt(MILLION / per)
  return micros(Number((millionths + BigInt(MILLION - 1)) / BigInt(MILLION)))
}

/** The most that a call can use, and what it may be charged for besides plain tokens. */
export interface CallBounds {
  readonly input: number
  readonly output: number
  /** The tier that was asked for. A vendor may serve the call at its usual one. */
  readonly tier?: string | null | undefined
  /** Another one at which the vendor may serve it unasked. */
  readonly unaskedTier?: string | undefined
  /** The parts that the call can have because it asks for them. */
  readonly parts?: readonly TokenPart[]
  /** The most uses of tools, by name. */
  readonly uses?: Readonly<Record<string, number>> | undefined
  /** The number of requests to the vendor. Default: 1. */
  readonly requests?: number
}

/** The maximum cost of a call: under the dearest rule that it can reach, whatever is cached. */
export function maxTokenCost(price: TokenPrice, bounds: CallBounds): Money {
  let most = ZERO
  for (const rule of price) {
    const { above, tier } = rule
    if (tier !== undefined && tier !== bounds.tier && tier !== bounds.unaskedTier) continue
    if (above !== undefined && bounds.input <= above) continue
    const cost = maxUnder(rule, bounds)
    if (cost > most) most = cost
    // Every call meets this one, so those behind it are not reached.
    if (tier === undefined && above === undefined) break
  }
  return most
}

function maxUnder(
  { rates, request, tools }: PriceRule,
  { input, output, parts, uses, requests = 1 }: CallBounds,
): Money {
  const { input_image = 0, cache_read_audio = 0, output_reasoning = 0, output_image = 0 } = rates
  // The model decides what it reads of a picture, what it reasons, and whether it draws: some do by default.
  let dearestInput = Math.max(rates.input, rates.cache_read, rates.cache_write, input_image, cache_read_audio)
  let dearestOutput = Math.max(rates.output, output_reasoning, output_image)
  for (const part of parts ?? NO_PARTS) {
    const rate = rates[part] ?? 0
    if (part.startsWith('output')) dearestOutput = Math.max(dearestOutput, rate)
    else dearestInput = Math.max(dearestInput, rate)
  }
  let fees = (request ?? 0) * requests
  if (uses && tools)
    for (const name in uses) if (Object.hasOwn(tools, name)) fees += (uses[name] ?? 0) * (tools[name]?.amount ?? 0)
  const millionths = input * dearestInput + output * dearestOutput
  if (Number.isSafeInteger(millionths + MILLION)) return micros(roundedUp(millionths) + fees)
  return costOfLargeLines([
    { item: 'input_tokens', units: input, unitPrice: micros(dearestInput), per: MILLION },
    { item: 'output_tokens', units: output, unitPrice: micros(dearestOutput), per: MILLION },
    { item: 'fees', units: 1, unitPrice: micros(fees), per: 1 },
  ])
}

const NO_PARTS: readonly TokenPart[] = []
