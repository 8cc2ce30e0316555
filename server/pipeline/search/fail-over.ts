import type { CallOrigin, Provider, ProviderAnswer, UpstreamFailure } from '../../core/providers/provider'
import { err, ok, type Result } from '../../core/result'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { callUpstream } from '../call-upstream'

type Answer = Result<ProviderAnswer, UpstreamFailure>

/** A source, and whether a call costs the operator money. */
export interface Source<I> {
  readonly provider: Provider<I>
  readonly paid: boolean
}

export interface FailOverOptions {
  /** The time for all attempts together. The pipeline aborts the call after it. */
  readonly timeoutMs: number
  /** Whether signup credit may pay for the sources that cost money. */
  readonly creditBuysPaid: boolean
  /** Called with each failure that another source made up for. */
  readonly onTrouble: (provider: string, reason: string) => void
  readonly telemetry: Telemetry
}

/**
 * Combines sources into one: if a source fails, the next one is called, until the time is up. There is at most one answer, so a
 * call is charged at most once, whichever source answered. An invalid or refused request fails at once.
 */
export function failOver<I>(sources: readonly Source<I>[], options: FailOverOptions): Provider<I> {
  const providers = sources.map(({ provider }) => provider)
  const chain = chainOf(providers, options)
  const free = sources.filter(({ paid }) => !paid).map(({ provider }) => provider)
  if (options.creditBuysPaid || free.length === sources.length) return chain
  return { ...chain, onCredit: free.length === 0 ? null : chainOf(free, options) }
}

function chainOf<I>(providers: readonly Provider<I>[], options: FailOverOptions): Provider<I> {
  const [only] = providers
  if (only && providers.length === 1) return only
  return {
    name: providers.map(({ name }) => name).join(','),
    isChain: true,
    ...(providers.every(({ isLocal }) => isLocal) && { isLocal: true as const }),
    call: (input, signal, origin) => attempts(providers, options, input, { signal, origin }),
    async ready() {
      return (await Promise.all(providers.map((provider) => provider.ready()))).includes(true)
    },
  }
}

/** If all sources fail, the result is the first failure: that of the source the operator prefers. */
async function attempts<I>(
  providers: readonly Provider<I>[],
  { timeoutMs, onTrouble, telemetry }: FailOverOptions,
  input: I,
  { signal, origin }: { readonly signal: AbortSignal; readonly origin: CallOrigin },
): Promise<Answer> {
  const end = performance.now() + timeoutMs
  let first: Answer | null = null
  for (const [i, provider] of providers.entries()) {
    const share = Math.max(1, Math.floor((end - performance.now()) / (providers.length - i)))
    const answer = await callUpstream(provider, input, origin, { timeoutMs: share, stop: signal, telemetry })
    if (answer.ok) return ok({ ...answer.value, provider: provider.name })
    if (answer.error.kind === 'invalid_input' || answer.error.kind === 'refused') return answer
    first ??= answer
    if (signal.aborted) break
    if (i < providers.length - 1) onTrouble(provider.name, answer.error.reason)
  }
  return first ?? err({ kind: 'unavailable', reason: 'there is no source' })
}
