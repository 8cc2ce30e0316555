import type { Clock } from '../core/clock'
import { type Failure, failure } from '../core/failure'
import { KEPT_BYTES, type KeptAnswer, type KeptAnswers, type KeptPlace } from '../core/idempotency/kept-answer'
import type { RequestId } from '../core/ids'
import { no, ok, type Result } from '../core/result'

/** What one request under a key may do. */
export type Turn =
  /** It was done before: this is its answer. */
  | { readonly kind: 'repeat'; readonly body: string; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'first'; readonly first: FirstTurn }

/** The request that does the work; the others under its key wait until `end`. */
export interface FirstTurn {
  /** What goes down in the same commit as the charge. */
  answer(body: string | Uint8Array, headers: Readonly<Record<string, string>>): KeptAnswer
  /**
   * `done`: charged and kept. `nothing`: surely nothing happened, the key is free again. `unknown`: of a write, whose repeat is then
   * refused rather than sent a second time.
   */
  end(how: 'done' | 'nothing' | 'unknown'): Promise<void>
}

export interface Asked extends KeptPlace {
  readonly fingerprint: string
  readonly requestId: RequestId
  readonly effect: 'read' | 'write'
}

/**
 * `Idempotency-Key` (spec-answers 5): per account and operation, the same key and request get the first answer again for 24 h,
 * without a second charge. A repeat in flight waits for the first; a write is reserved durably before its upstream is called.
 */
export class Repeats {
  private readonly kept: KeptAnswers
  private readonly clock: Clock
  private readonly underWay = new Map<string, Promise<void>>()

  constructor(kept: KeptAnswers, clock: Clock) {
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
      this.underWay.delete(name)
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
          const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
          if (Buffer.byteLength(text) > KEPT_BYTES) return { ...blank, state: 'too_large' }
          return { ...blank, state: 'kept', body: text, headers }
        },
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

function judged(known: KeptAnswer, asked: Asked): Result<Turn, Failure> {
  if (known.fingerprint !== asked.fingerprint)
    return no(failure('idempotency_conflict', 'This Idempotency-Key stands for another request.'))
  switch (known.state) {
    case 'reserved':
      return no(UNKNOWN)
    case 'too_large':
      return no(
        failure('answer_not_kept', 'This request was answered and charged; its answer was too large to be kept.'),
      )
    case 'kept':
      return ok({ kind: 'repeat', body: known.body ?? '', headers: known.headers })
  }
}

const UNKNOWN = failure(
  'outcome_unknown',
  'A write was begun under this Idempotency-Key and its outcome is not known. It is not sent a second time; look whether it happened.',
)
