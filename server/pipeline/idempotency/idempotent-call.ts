import { type Failure, failure } from '../../core/failure'
import { no, ok, type Result } from '../../core/result'
import type { PaidCall } from '../call'
import type { Work } from '../work'
import type { Idempotency, Turn } from './idempotency'

/**
 * What a call may do under its `Idempotency-Key`, ahead of any money; null for a caller without an account. A stream counts as a
 * write: what went through is charged also when its process dies, so that it is reserved before it begins.
 */
export async function turnOf(
  idempotency: Idempotency,
  { authenticated: { caller, incoming }, options, hangUp }: PaidCall,
  { operation, effect, streams, fingerprint }: Pick<Work, 'operation' | 'effect' | 'streams' | 'fingerprint'>,
): Promise<Result<Turn | null, Failure>> {
  if (options.idempotencyKey === null || caller.kind === 'anonymous') return ok(null)
  const turn = await idempotency.turn({
    account: caller.account.id,
    operation,
    key: options.idempotencyKey,
    fingerprint: fingerprint(),
    requestId: incoming.id,
    effect: streams ? 'write' : effect,
  })
  // Who left while it waited for the first has not begun anything.
  if (!turn.ok || turn.value.kind === 'repeat' || !hangUp.aborted) return turn
  await turn.value.first.end('nothing')
  return no(failure('upstream_timeout', 'The caller hung up.'))
}
