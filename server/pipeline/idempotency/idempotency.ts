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
import { no, ok, type Result } from '../../core/result'

/** What one request under a key may do. */
export type Turn =
  /** It was done before: this is its answer. */
  | { readonly kind: 'repeat'; readonly body: string; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'first'; readonly first: FirstTurn }

export type Ending = 'done' | 'nothing' | 'unknown'

/** The request that does the work; the others under its key wait until `end`. */
export interface FirstTurn {
  /** What goes down in the same commit as the charge. */
  answer(body: string | Uint8Array, headers: Readonly<Record<string, string>>): IdempotencyRecord
  /** The same, for a stream that broke off and is charged for what went through: its repeat is refused, and not charged again. */
  cut(): IdempotencyRecord
  /**
   * `done`: charged and kept. `nothing`: surely nothing happened, the key is free again. `unknown`: of what was reserved, whose
   * repeat is then refused rather than sent a second time. Must be called on every way out, or the idempotency wait for good; the
   * first word counts.
   */
  end(how: Ending): Promise<void>
}

export interface Asked extends IdempotencyPlace {
  readonly fingerprint: string
  readonly requestId: RequestId
  /** `write`: of what is not simply done again, a write or a stream. */
  readonly effect: 'read' | 'write'
}

/** Keeps what a stream has given so far, for as long as that may be kept at all. */
export class GivenBytes {
  private readonly parts: Uint8Array[] = []
  private size = 0

  push(bytes: Uint8Array): void {
    // The part that goes above the bound stays, so that the whole is seen to be too large.
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

  async turn(asked: Asked): Promise<Result<Turn, Failure>> {
    const name = JSON.stringify([asked.account, asked.operation, asked.key])
    for (;;) {
      const running = this.underWay.get(name)
      if (!running) break
      await running
    }
    const ended = Promise.withResolvers<void>()
    this.underWay.set(name, ended.promise)
    const leave = () => {
      // Who waited may have begun by now, when this is said twice.
      if (this.underWay.get(name) === ended.promise) this.underWay.delete(name)
      ended.resolve()
    }
    try {
      const known = await this.kept.find(asked, this.clock.now())
      const verdict = known ? judged(known, asked) : await this.begin(asked, leave)
      if (!verdict.ok || verdict.value.kind === 'repeat') leave()
      return verdict
    } catch (error) {
      leave()
      throw error
    }
  }

  private async begin(asked: Asked, leave: () => void): Promise<Result<Turn, Failure>> {
    const { account, operation, key, fingerprint, requestId, effect } = asked
    const blank = { account, operation, key, fingerprint, requestId, at: this.clock.now(), body: null, headers: {} }
    if (effect === 'write' && !(await this.kept.reserve({ ...blank, state: 'reserved' }))) return no(UNKNOWN)
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

function judged(known: IdempotencyRecord, asked: Asked): Result<Turn, Failure> {
  if (known.fingerprint !== asked.fingerprint)
    return no(failure('idempotency_conflict', 'This Idempotency-Key stands for another request.'))
  switch (known.state) {
    case 'reserved':
      return no(UNKNOWN)
    case 'too_large':
      return no(
        failure('answer_not_kept', 'This request was answered and charged; its answer was too large to be kept.'),
      )
    case 'cut':
      return no(
        failure(
          'answer_not_kept',
          'The answer to this request broke off and was charged for what went through; it is not kept.',
        ),
      )
    case 'kept':
      return ok({ kind: 'repeat', body: known.body ?? '', headers: known.headers })
  }
}

const UNKNOWN = failure(
  'outcome_unknown',
  'A request was begun under this Idempotency-Key and its outcome is not known. It is not sent a second time; look whether it happened.',
)
