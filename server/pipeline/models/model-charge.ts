import type { Clock } from '../../core/clock'
import { costOfLines, tokenLines } from '../../core/models/token-price'
import { least, minus } from '../../core/money'
import type { Charge, EndCode } from '../work'
import { countedInput, type InputTokens } from './input-tokens'
import type { ValidatedCall } from './model-call'
import { metered, type Seen, USUAL_BYTES } from './wires/model-wire'

/** Nothing came of a call. */
export const NOTHING: Seen = { counts: null, isFinal: false, textBytes: 0 }

/** The charge for what went through: the written rule of `metered`, at the model's price; at most what was held. */
export function chargeFor(
  { model, bounds, most }: Pick<ValidatedCall, 'model' | 'bounds' | 'most'>,
  seen: Seen,
  code: EndCode = null,
): Charge {
  const counted = metered(seen, { input: bounds.input.likely, output: bounds.output })
  const lines = tokenLines(model.price, counted.tokens)
  const real = costOfLines(lines)
  const cost = least(real, most)
  // What is kept for an hour is among the cache writes; its own price stands in the lines.
  const { hourWrite: _, ...tokens } = counted.tokens
  return {
    charged: { cost, priceVersion: model.priceVersion, units: 1, unitPrice: cost, lines },
    code,
    tokens,
    usageSource: counted.source,
    ...(real > most && { overrun: minus(real, most) }),
  }
}

/**
 * The charge for a call that nobody saw the end of (spec-answers 4): its input, as the vendor told it or by the tokenizer; and of
 * output what came, or, where more may have been written than was sent, what the model writes in the time that it took.
 */
export async function estimatedCharge(
  deps: { readonly clock: Clock; readonly inputs: InputTokens },
  { validated, askedAt }: { readonly validated: ValidatedCall; readonly askedAt: number },
  seen: Seen,
  code: EndCode,
  /** Whether the vendor had stopped when we did: then nothing was written that did not come. */
  wasStopped = false,
): Promise<Charge> {
  const { bounds, request, model } = validated
  const seconds = Math.max(0, deps.clock.now() - askedAt) / 1000
  const likely = seen.counts ? bounds.input.likely : await countedInput(deps.inputs, request, bounds.input)
  const written = wasStopped ? 0 : Math.ceil(seconds * model.tokensPerSecond) * USUAL_BYTES
  const input = { ...bounds.input, likely }
  return chargeFor(
    { ...validated, bounds: { ...bounds, input } },
    { ...seen, isFinal: false, textBytes: Math.max(seen.textBytes, written) },
    code,
  )
}
