import type { Clock } from '../../core/clock'
import { type Failure, failure } from '../../core/failure'
import {
  type IdempotencyPlace,
  type IdempotencyRecord,
  type IdempotencyRecords,
  keepable,
  MAX_KEPT_BYTES,
} from '../../core/idempotency/idempotency-record'
import type { RequestId } from '../../core/ids'
import { err, ok, type Result } from '../../core/result'

/** What a request may do under its key. */
export type KeyUse =
  /** It was answered before: this is the answer. */
  | { readonly kind: 'repeat'; readonly body: string; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'first'; readonly first: FirstCaller }

export type Ending = 'done' | 'nothing' | 'unknown'

/** The first caller under a key, who does the work. The others wait until `end`. */
export interface FirstCaller {
  /** The record that is written in the same commit as the charge. */
  answer(body: string | Uint8Array, headers: Readonly<Record<string, string>>): IdempotencyRecord
  /** The same for an answer that broke off and is charged for what went through: a repeat is refused, and not charged again. */
  cut(): IdempotencyRecord
  /**
   * `done`: charged and kept. `nothing`: nothing happened, and the key is free again. `unknown`: the outcome of a reserved call is not
   * known, so a repeat is refused rather than sent again. Call it on every way out, or repeats wait for ever. Only the first call counts.
   */
  end(how: Ending): Promise<void>
}

export interface Asked extends IdempotencyPlace {
  readonly fingerprint: string
  readonly requestId: RequestId
  /** `write`: a write or a stream, which must not simply be done again. */
  readonly effect: 'read' | 'write'
}

/** Collects what a stream has given so far, up to the size that can be kept. */
export class GivenBytes {
  private readonly parts: Uint8Array[] = []
  private size = 0

  push(bytes: Uint8Array): void {
    // The part that crosses the bound is kept, so that the whole is found to be too large.
    if (this.size <= MAX_KEPT_BYTES) this.parts.push(bytes)
    this.size += bytes.length
  }

  whole(): Uint8Array {
    return Buffer.concat(this.parts)
  }
}

/**
 * `Idempotency-Key` (spec-answers 5): per account and operation, the same key and request get the first answer again for 24 h,
 * without a second charge. A repeat in flight waits for the first; a write or a stream is reserved durably before its upstream
 * is called.
 */
export class Idempotency {
  private readonly kept: IdempotencyRecords
  private readonly clock: Clock
  private readonly underWay = new Map<string, Promise<void>>()

  constructor(kept: IdempotencyRecords, clock: Clock) {
    this.kept = kept
    this.clock = clock
  }

  async use(asked: Asked): Promise<Result<KeyUse, Failure>> {
    const name = JSON.stringify([asked.account, asked.operation, asked.key])
    for (;;) {
      const running = this.underWay.get(name)
      if (!running) break
      await running
    }
    const ended = Promise.withResolvers<void>()
    this.underWay.set(name, ended.promise)
    const leave = () => {
      // A caller who waited may have begun since, when this runs twice.
      if (this.underWay.get(name) === ended.promise) this.underWay.delete(name)
      ended.resolve()
    }
    try {
      const known = await this.kept.find(asked, this.clock.now())
      const use = known ? useOf(known, asked) : await this.begin(asked, leave)
      if (!use.ok || use.value.kind === 'repeat') leave()
      return use
    } catch (error) {
      leave()
      throw error
    }
  }

  private async begin(asked: Asked, leave: () => void): Promise<Result<KeyUse, Failure>> {
    const { account, operation, key, fingerprint, requestId, effect } = asked
    const blank = { account, operation, key, fingerprint, requestId, at: this.clock.now(), body: null, headers: {} }
    if (effect === 'write' && !(await this.kept.reserve({ ...blank, state: 'reserved' }))) return err(UNKNOWN)
    return ok({
      kind: 'first',
      first: {
        answer(body, headers) {
          const text = keepable(body)
          if (text === null) return { ...blank, state: 'too_large' }
          return { ...blank, state: 'kept', body: text, headers }
        },
        cut: () => ({ ...blank, state: 'cut' }),
        end: async (how) => {
          try {
            if (how === 'nothing' && effect === 'write') await this.kept.free(asked, requestId)
          } finally {
            leave()
          }
        },
      },
    })
  }
}

function useOf(known: IdempotencyRecord, asked: Asked): Result<KeyUse, Failure> {
  if (known.fingerprint !== asked.fingerprint)
    return err(failure('idempotency_conflict', 'This Idempotency-Key was already used for a different request.'))
  switch (known.state) {
    case 'reserved':
      return err(UNKNOWN)
    case 'too_large':
      return err(
        failure('answer_not_kept', 'This request was answered and charged, but the answer was too large to keep.'),
      )
    case 'cut':
      return err(
        failure(
          'answer_not_kept',
          'The answer to this request broke off and was charged for what went through. It was not kept.',
        ),
      )
    case 'kept':
      return ok({ kind: 'repeat', body: known.body ?? '', headers: known.headers })
  }
}

const UNKNOWN = failure(
  'outcome_unknown',
  'An earlier request with this key started, but its outcome is unknown. It will not be retried; check whether it took effect.',
)
