import type { Money } from '../../core/money'
import type { Provider } from '../../core/providers/provider'
import { ok } from '../../core/result'

/** A provider whose answers say what they cost the operator. Undefined: not known. */
export function withCost<I>(provider: Provider<I>, cost: Money | undefined): Provider<I> {
  if (cost === undefined) return provider
  return {
    ...provider,
    async call(input, signal, origin) {
      const answer = await provider.call(input, signal, origin)
      return answer.ok ? ok({ ...answer.value, cost }) : answer
    },
    ready: () => provider.ready(),
  }
}
