import type { Clock } from '../../core/clock'
import type { Model } from '../../core/models/model'
import { USUAL_TIERS } from '../../core/models/model-file-schema'
import type { ModelTokens, TokenPart } from '../../core/models/model-tokens'
import { costOfLines, type TokenPrice, tokenLines } from '../../core/models/token-price'
import { isUnitPrice, repricedLine, tokenPriceOf, type UnitLines } from '../../core/models/unit-price'
import { type Money, min, minus } from '../../core/money'
import type { ChargeLine, EndCode, TokenCounts } from '../../core/usage/call-record'
import type { Charge } from '../work'
import type { InputTokens, ValidatedCall } from './model-call'
import { type ModelRequest, partsAsked, type TokenBounds, USUAL_BYTES, USUAL_IMAGE_TOKENS } from './wires/model-request'
import { type MeteredOutput, metered } from './wires/model-wire'

export const NO_OUTPUT: MeteredOutput = { counts: null, isFinal: false, textBytes: 0 }

/** The charge for what was delivered, by the rule of `metered` and the model's price; at most what was held. */
export function modelCharge(
  {
    model,
    request,
    bounds,
    maxCost,
    unitLines,
    servedTier,
  }: Pick<ValidatedCall, 'model' | 'request' | 'bounds' | 'maxCost' | 'unitLines' | 'servedTier'>,
  seen: MeteredOutput,
  code: EndCode | null = null,
): Charge {
  if (unitLines) {
    const units = likelyUnits(request) ?? unitLines[0].units
    return unitCharge(model, unitLines, { units, ...seen }, code)
  }
  const counted = metered(seen, bounds.input.likely, bounds.output)
  const named = counted.tokens.tier ?? servedTier
  const tokens = completeTokens(counted.tokens, request, named ?? request.tier ?? undefined)
  const price = tokenPriceOf(model)
  const lines = named === undefined && request.tier ? dearerLines(price, tokens) : tokenLines(price, tokens)
  const real = costOfLines(lines)
  const cost = min(real, maxCost)
  const charge: Charge = {
    charged: { cost, priceVersion: model.priceVersion, units: 1, unitPrice: cost, lines },
    code,
    tokens: plainCounts(tokens),
    upstreamCost: purchaseCost(model, tokens),
    usageSource: counted.source,
  }
  return real > maxCost ? { ...charge, overrun: minus(real, maxCost) } : charge
}

/** The lines at the tier that was asked for, or at the usual one if that is dearer: a server may know no tiers. */
function dearerLines(price: TokenPrice, tokens: ModelTokens): ChargeLine[] {
  const asked = tokenLines(price, tokens)
  const usual = tokenLines(price, { ...tokens, tier: undefined })
  return costOfLines(asked) < costOfLines(usual) ? usual : asked
}

/** The tier of an answer that its model has no price for, which is charged as the usual one; null if there is none. */
export function unpricedTier({ price, upstreams }: Model, { counts }: MeteredOutput): string | null {
  const tier = counts?.tier ?? null
  // At Anthropic such a tier is capacity that the operator has bought.
  if (tier === null || isUnitPrice(price) || upstreams.some(({ kind }) => kind === 'anthropic')) return null
  return USUAL_TIERS.has(tier) || price.some((rule) => rule.tier === tier) ? null : tier.slice(0, 40)
}

/** The counts with their tier and, where the answer does not say it, how long a cache keeps what was written. */
function completeTokens(tokens: ModelTokens, request: ModelRequest, tier: string | undefined): ModelTokens {
  const { parts, cacheWrite } = tokens
  const isSplit = parts?.cache_write_1h !== undefined
  const lasting = cacheWrite > 0 && !isSplit ? longestLifetime(partsAsked(request)) : null
  if (lasting !== null) return { ...tokens, tier, parts: { ...parts, [lasting]: cacheWrite } }
  return tier === tokens.tier ? tokens : { ...tokens, tier }
}

function longestLifetime(asked: readonly TokenPart[]): TokenPart | null {
  return LIFETIMES.find((part) => asked.includes(part)) ?? null
}

const LIFETIMES = ['cache_write_12h', 'cache_write_1h'] as const satisfies readonly TokenPart[]

/** Only the price lines list parts, tiers and tools. */
function plainCounts(tokens: ModelTokens): TokenCounts {
  if (!tokens.parts && tokens.tier === undefined && !tokens.uses) return tokens
  const { input, output, cacheRead, cacheWrite } = tokens
  return { input, output, cacheRead, cacheWrite }
}

/** The operator's cost of a model's tokens; undefined if not known. */
export function purchaseCost({ purchasePrice }: Pick<Model, 'purchasePrice'>, tokens: ModelTokens): Money | undefined {
  return purchasePrice && !isUnitPrice(purchasePrice) ? costOfLines(tokenLines(purchasePrice, tokens)) : undefined
}

/** The charge for the characters of a call, or for the pictures that arrived: never for more than it asked for. */
function unitCharge(
  { priceVersion, purchasePrice }: ValidatedCall['model'],
  [asked, ...others]: UnitLines,
  { units = asked.units, isFinal }: MeteredOutput,
  code: EndCode | null,
): Charge {
  const line = { ...asked, units: Math.min(asked.units, units) }
  const above = costOfLines([{ ...asked, units: Math.max(0, units - asked.units) }])
  const lines = [line, ...others]
  const bought = purchasePrice && lines.map((one) => repricedLine(purchasePrice, one))
  const cost = costOfLines(lines)
  return {
    charged: { cost, priceVersion, units: 1, unitPrice: cost, lines },
    code,
    upstreamCost: bought?.every((one) => one !== null) ? costOfLines(bought) : undefined,
    usageSource: isFinal ? 'exact' : 'estimated',
    ...(above > 0 && { overrun: above }),
  }
}

function likelyUnits({ units }: ModelRequest): number | undefined {
  return units && 'likely' in units ? units.likely : undefined
}

/**
 * The charge for a call whose end was not received (spec D4). Input: the vendor's count, or the tokenizer's. Output: what
 * arrived, or, if the model may have written more than it sent, what it writes in the time that the call took.
 */
export async function estimatedCharge(
  deps: { readonly clock: Clock; readonly inputs: InputTokens },
  { validated, startedAt }: { readonly validated: ValidatedCall; readonly startedAt: number },
  seen: MeteredOutput,
  code: EndCode | null,
  /** Whether the vendor stopped when the gateway did, so that nothing was written that did not arrive. */
  wasStopped = false,
): Promise<Charge> {
  const { bounds, request, model } = validated
  if (validated.unitLines) return modelCharge(validated, seen, code)
  const seconds = Math.max(0, deps.clock.now() - startedAt) / 1000
  const likely = seen.counts ? bounds.input.likely : await countedInput(deps.inputs, request, bounds.input)
  const written = wasStopped ? 0 : Math.ceil(seconds * model.tokensPerSecond) * USUAL_BYTES
  const input = { ...bounds.input, likely }
  return modelCharge(
    { ...validated, bounds: { ...bounds, input } },
    { ...seen, isFinal: false, textBytes: Math.max(seen.textBytes, written) },
    code,
  )
}

/** Estimates a call's input tokens where no vendor reported them; never above the proven maximum. */
async function countedInput(
  tokens: InputTokens,
  { bytes, parts }: Pick<ModelRequest, 'bytes' | 'parts'>,
  { max, likely }: TokenBounds['input'],
): Promise<number> {
  const text = await tokens.count(bytes)
  // A file has no text to count.
  if (text === null || parts.opaque > 0) return likely
  return Math.min(max, text + parts.images * USUAL_IMAGE_TOKENS)
}
