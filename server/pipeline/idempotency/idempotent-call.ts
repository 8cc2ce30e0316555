import type { SoldName } from '../../core/catalogue/operation'
import { type Failure, failure } from '../../core/failure'
import { no, ok, type Result } from '../../core/result'
import type { AuthenticatedCall, CallOptions, Repeated } from '../call'
import type { Ending, FirstTurn, Idempotency, Turn } from './idempotency'

/** A priced call, as far as its `Idempotency-Key` is concerned. */
export interface Keyed {
  readonly authenticated: AuthenticatedCall
  readonly options: CallOptions
  /** Equal for two tries of one request only. */
  readonly fingerprint: () => string
  /** Aborts when the caller hangs up. It counts until the upstream is asked. */
  readonly hangUp: AbortSignal
}

/**
 * The turn of a call, ahead of any money; null where it named no key. A stream counts as a write: what went through is charged also
 * when its process dies, so that it is reserved before it begins.
 */
export async function firstTurn(
  idempotency: Idempotency,
  { authenticated, options, fingerprint, hangUp }: Keyed,
  operation: SoldName,
  effect: 'read' | 'write',
): Promise<Result<Turn | null, Failure>> {
  const { caller, incoming } = authenticated
  if (options.idempotencyKey === null || caller.kind === 'anonymous') return ok(null)
  const turn = await idempotency.turn({
    account: caller.account.id,
    operation,
    key: options.idempotencyKey,
    fingerprint: fingerprint(),
    requestId: incoming.id,
    effect,
  })
  // Who left while it waited for the first has not begun anything.
  if (!turn.ok || turn.value.kind === 'repeat' || !hangUp.aborted) return turn
  await turn.value.first.end('nothing')
  return no(failure('upstream_timeout', 'The caller hung up.'))
}

/**
 * A model's call within its turn: answered as the first time, or worked on, with the turn given back on every way out; a stream
 * takes it along, to its end.
 */
export async function inTurn<T extends { readonly kind: string }>(
  idempotency: Idempotency,
  call: Keyed,
  operation: SoldName,
  stream: boolean,
  work: (first: FirstTurn | null) => Promise<T>,
): Promise<T | Repeated | { readonly kind: 'refused'; readonly failure: Failure }> {
  const turn = await firstTurn(idempotency, call, operation, stream ? 'write' : 'read')
  if (!turn.ok) return { kind: 'refused', failure: turn.error }
  if (turn.value?.kind === 'repeat') return { ...turn.value, kind: 'repeated' }
  const { first = null } = turn.value ?? {}
  let end: Ending | null = 'nothing'
  try {
    const outcome = await work(first)
    // What was refused was not charged, and a model changes nothing outside.
    end = outcome.kind === 'streaming' ? null : outcome.kind === 'served' ? 'done' : 'nothing'
    return outcome
  } finally {
    if (end) await first?.end(end)
  }
}
