import type { AuditEntry } from '../../audit'
import type { AccountId, PaymentId, RefundId } from '../../ids'
import type { Money } from '../../money'

/**
 * A refund of a card payment that an operator asked for. `asked`: nothing moved yet. `sent`: the money left the balance and the
 * processor was asked, or was about to be. `pending`: the processor accepted it. `refused` and `failed`: the balance has the money
 * back.
 */
export interface CardRefund {
  readonly id: RefundId
  readonly payment: PaymentId
  readonly accountId: AccountId
  readonly amount: Money
  readonly reason: string
  readonly reference: string
  readonly state: 'asked' | 'sent' | 'pending' | 'succeeded' | 'refused' | 'failed'
  readonly processorId: string | null
  readonly lastError: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

/** Refunds of card payments. Writes are durable when their promise resolves. */
export interface CardRefundStore {
  /** Returns false when there is a refund with this reference. */
  open(refund: CardRefund, audit: AuditEntry): Promise<boolean>
  update(refund: CardRefund): Promise<void>
  byReference(reference: string): Promise<CardRefund | null>
  ofPayment(payment: PaymentId): Promise<readonly CardRefund[]>
  /** Newest first, starting after `after`. */
  ofAccount(account: AccountId, limit: number, after: RefundId | null): Promise<readonly CardRefund[]>
  /** Those whose outcome is still open, oldest first, starting after `after`. */
  unfinished(limit: number, after: RefundId | null): Promise<readonly CardRefund[]>
}
