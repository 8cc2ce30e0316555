import type { Failure } from '../../core/failure'
import { err, ok, type Result } from '../../core/result'
import type { PaidCall } from '../call'
import { HUNG_UP } from '../call-upstream'
import type { Work } from '../work'
import type { Idempotency, KeyUse } from './idempotency'

/**
 * Decides about a call under its `Idempotency-Key`, before any money is held; null for a caller without an account. A stream counts
 * as a write: it is charged for what was sent even if the process dies, so its key is reserved before it begins.
 */
export async function keyUseOf(
  idempotency: Idempotency,
  { authenticated: { caller, incoming }, options, hangUp }: PaidCall,
  { operation, effect, streams, fingerprint }: Pick<Work, 'operation' | 'effect' | 'streams' | 'fingerprint'>,
): Promise<Result<KeyUse | null, Failure>> {
  if (options.idempotencyKey === null || caller.kind === 'anonymous') return ok(null)
  const use = await idempotency.use({
    account: caller.account.id,
    operation,
    key: options.idempotencyKey,
    fingerprint: fingerprint(),
    requestId: incoming.id,
    effect: streams ? 'write' : effect,
  })
  // A caller who hung up while it waited for the first one has begun nothing.
  if (!use.ok || use.value.kind === 'repeat' || !hangUp.aborted) return use
  await use.value.first.end('nothing')
  return err(HUNG_UP)
}
