import type { Clock } from '../../core/clock'
import { type Failure, failure } from '../../core/failure'
import {
  type IdempotencyId,
  type IdempotencyRecord,
  type IdempotencyRecords,
  MAX_STORED_BYTES,
  type SentAnswer,
  sentAnswer,
  storedAnswer,
} from '../../core/idempotency/idempotency-record'
import type { RequestId } from '../../core/ids'
import type { Ledger } from '../../core/ledger/ledger'
import { err, ok, type Result } from '../../core/result'

export type KeyUse =
  /** The request was answered before: this is the answer. */
  ({ readonly kind: 'repeat' } & SentAnswer) | { readonly kind: 'first'; readonly first: FirstCaller }

export type Ending = 'done' | 'nothing' | 'unknown'

/** The first caller with a key, who does the work. The others wait until `end`. */
export interface FirstCaller {
  /** The record of the answer, written in the same commit as the charge. */
  answer(body: string | Uint8Array, headers: Readonly<Record<string, string>>, status?: number): IdempotencyRecord
  /** The record of an answer that broke off and is charged for what was delivered. A repeat is refused and not charged again. */
  cut(): IdempotencyRecord
  /**
   * `done`: charged and recorded. `nothing`: nothing happened, and the key is free again. `unknown`: the outcome of a reserved call
   * is unknown, so a repeat is refused, not sent again. Must be called on every way out, or repeats wait forever. Only the first
   * call has an effect.
   */
  end(how: Ending): Promise<void>
}

export interface KeyedRequest extends IdempotencyId {
  readonly fingerprint: string
  readonly requestId: RequestId
  /** `write`: a write or a stream, which must not be done twice. */
  readonly effect: 'read' | 'write'
}

/** Collects the bytes that a stream has sent, up to the size that can be recorded. */
export class DeliveredBytes {
  private readonly parts: Uint8Array[] = []
  private size = 0

  push(bytes: Uint8Array): void {
    // Keep the chunk that crosses the limit, so that the total is recognized as too large.
    if (this.size <= MAX_STORED_BYTES) this.parts.push(bytes)
    this.size += bytes.length
  }

  whole(): Uint8Array {
    return Buffer.concat(this.parts)
  }
}

/**
 * `Idempotency-Key` (spec D5): per account and operation, a repeat with the same key and request gets the first response
 * for 24 hours, without a second charge. A repeat waits while the first call is in flight. A write or a stream is reserved
 * durably before its upstream is called.
 */
export class Idempotency {
  private readonly records: IdempotencyRecords
  private readonly clock: Clock
  private readonly charges: Pick<Ledger, 'giveAgain'>
  private readonly underWay = new Map<string, Promise<void>>()

  constructor(records: IdempotencyRecords, clock: Clock, charges: Pick<Ledger, 'giveAgain'>) {
    this.records = records
    this.clock = clock
    this.charges = charges
  }

  async use(request: KeyedRequest): Promise<Result<KeyUse, Failure>> {
    const name = JSON.stringify([request.account, request.operation, request.key])
    for (;;) {
      const running = this.underWay.get(name)
      if (!running) break
      await running
    }
    const ended = Promise.withResolvers<void>()
    this.underWay.set(name, ended.promise)
    const leave = () => {
      // When this runs again after a wait, another waiting caller may have become the first one.
      if (this.underWay.get(name) === ended.promise) this.underWay.delete(name)
      ended.resolve()
    }
    try {
      const use = (await this.known(request)) ?? (await this.begin(request, leave))
      if (!use.ok || use.value.kind === 'repeat') leave()
      return use
    } catch (error) {
      leave()
      throw error
    }
  }

  /** The decision of an earlier request's record; null if there is none. */
  private async known(request: KeyedRequest): Promise<Result<KeyUse, Failure> | null> {
    const known = await this.records.find(request, this.clock.now())
    if (!known) return null
    const use = useOf(known, request)
    if (!use.ok) return use
    const given = await this.charges.giveAgain(known.requestId, () => this.records.give(known))
    if (given === 'undecided') return err(UNDECIDED)
    // Its charge was reversed just now, if it is gone.
    return given === 'given' ? use : null
  }

  private async begin(request: KeyedRequest, leave: () => void): Promise<Result<KeyUse, Failure>> {
    const { account, operation, key, fingerprint, requestId, effect } = request
    const blank = { account, operation, key, fingerprint, requestId, at: this.clock.now(), body: null, headers: {} }
    if (effect === 'write' && !(await this.records.reserve({ ...blank, state: 'reserved' }))) return err(UNKNOWN)
    return ok({
      kind: 'first',
      first: {
        answer(body, headers, status) {
          const stored = storedAnswer({ body, headers, ...(status !== undefined && { status }) })
          return stored ? { ...blank, ...stored, state: 'kept' } : { ...blank, state: 'too_large' }
        },
        cut: () => ({ ...blank, state: 'cut' }),
        end: async (how) => {
          try {
            if (how === 'nothing' && effect === 'write') await this.records.free(request, requestId)
          } finally {
            leave()
          }
        },
      },
    })
  }
}

function useOf(known: IdempotencyRecord, request: KeyedRequest): Result<KeyUse, Failure> {
  if (known.fingerprint !== request.fingerprint)
    return err(failure('idempotency_conflict', 'This Idempotency-Key was already used for a different request.'))
  switch (known.state) {
    case 'reserved':
      return err(UNKNOWN)
    case 'too_large':
      return err(
        failure('answer_not_kept', 'This request was answered and charged, but the answer was too large to store.'),
      )
    case 'cut':
      return err(
        failure(
          'answer_not_kept',
          'The answer to this request broke off and was charged for the part that was sent. It was not stored.',
        ),
      )
    case 'kept':
    case 'given':
      return ok({ kind: 'repeat', ...sentAnswer(known) })
  }
}

const UNDECIDED = failure(
  'service_unavailable',
  'It is not known yet whether an earlier request with this Idempotency-Key was charged. This one was not. Try again.',
  { retryAfterSeconds: 1 },
)

const UNKNOWN = failure(
  'outcome_unknown',
  'An earlier request with this key started, but its outcome is unknown. It will not be retried; check whether it took effect.',
)
