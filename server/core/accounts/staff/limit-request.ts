import type { AuditEntry } from '../../audit'
import type { ParameterError } from '../../catalog/parameters'
import type { AccountId, LimitRequestId } from '../../ids'
import type { Limits } from '../../limits/tier'
import type { Account } from '../account'
import { invalidParameter } from '../submitted'

/** An owner's request for higher limits (spec 8). Immutable: a decision creates a new record. */
export interface LimitRequest extends LimitRequestForm {
  readonly id: LimitRequestId
  readonly accountId: AccountId
  readonly at: number
  readonly status: 'pending' | 'approved' | 'declined'
  /** The operator's reason for the decision. */
  readonly reason: string | null
  readonly decidedAt: number | null
}

/** The owner's description of the need. */
export interface LimitRequestForm {
  readonly peakRpm: number
  readonly peakTpm: number
  readonly endpoints: readonly string[]
  readonly useCase: string
}

/** Requests for higher limits. Each write is one atomic batch with its audit row, durable when it resolves. */
export interface LimitRequestStore {
  byId(id: LimitRequestId): Promise<LimitRequest | null>
  /** The account's undecided request. */
  pending(account: AccountId): Promise<LimitRequest | null>
  /** Requests of one account or of all, newest first, starting after `after`. */
  list(
    filter: { readonly accountId: AccountId | null; readonly status: LimitRequest['status'] | null },
    limit: number,
    after: LimitRequestId | null,
  ): Promise<readonly LimitRequest[]>
  /** Returns false when the account already has an undecided request, even if two arrive at once. */
  open(request: LimitRequest, audit: AuditEntry): Promise<boolean>
  /** Writes the decision and the account that it changes in one batch. */
  decide(decided: LimitRequest, account: Account | null, audit: AuditEntry): Promise<void>
}

/** The rule that needs the account: one of the peaks is above what its limits allow. */
export function brokenLimitRequestRules(
  { peakRpm: rpm, peakTpm: tpm }: { readonly peakRpm?: number | undefined; readonly peakTpm?: number | undefined },
  current: Limits,
): ParameterError[] {
  if (rpm === undefined || tpm === undefined || rpm > current.rpm || tpm > current.tpm) return []
  const rule = `must be above ${current.rpm}, or peak_tpm above ${current.tpm}: your current limits already allow this`
  return [invalidParameter('peak_rpm', rule, rpm)]
}
