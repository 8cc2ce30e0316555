import type { AppGrants, AppsEnd } from '../../../core/accounts/app-grants'
import type { AccountDirectory } from '../../../core/accounts/directory'
import type { SetupTokenUse } from '../../../core/accounts/staff/setup-token'
import type { AccountStore } from '../../../core/accounts/store'
import type { CellMessage } from '../../../core/cluster/cell-messages'
import { MAIN_CELL } from '../../../core/cluster/cells'
import type { OAuthGrants, TokenHolder } from '../../../core/credentials/oauth-grant'
import type { EventPublisher } from '../../../core/events/live-events'
import type { AccountId } from '../../../core/ids'
import type { UndecidedCharge } from '../../../core/ledger/ledger'
import { reasonOf } from '../../../core/result'
import type { WebhookStore } from '../../../core/webhooks/webhook'
import type { Log } from '../../../log'
import type { TakeOffSale } from '../../apis/off-sale'
import { type CellMembership, ownsControl } from './cell-membership'

interface Parts {
  /** Undefined with a single cell. */
  readonly membership: CellMembership | undefined
  readonly accounts: Pick<AccountStore, 'byUser'>
  readonly directory: Pick<AccountDirectory, 'homeOf'>
  readonly events: EventPublisher
  readonly appGrants: Pick<AppGrants, 'disconnect'>
  readonly grants: Pick<OAuthGrants, 'disconnect'>
  readonly webhooks: Pick<WebhookStore, 'pauseOfApp'>
  readonly log: Log
}

/** Applies sign-in events to the account of a user, which may be in another cell: all users sign in at `main`. */
export class UsersOfCells {
  private readonly parts: Parts

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** Null for a user without an account. */
  readonly accountIdOf = async (userId: string): Promise<AccountId | null> => {
    const { accounts, directory } = this.parts
    return (await accounts.byUser(userId))?.id ?? (await directory.homeOf(userId))?.accountId ?? null
  }

  /** Open pages of the user notice it immediately, or at their next request if the account's cell cannot be reached. */
  readonly sessionEnded = async (userId: string): Promise<void> => {
    const { accounts, events } = this.parts
    const account = await accounts.byUser(userId)
    if (account) events.publish(account.id, { type: 'session' })
    else await this.notifyCellOf(userId, { kind: 'session_ended', userId })
  }

  /** Disconnects all apps. No token is valid once it resolves, even if the account's cell cannot be reached. */
  readonly disconnectApps = async (
    userId: string,
    address: string | null,
    because: AppsEnd,
    keptKeys: readonly string[] = [],
  ): Promise<void> => {
    const { accounts, appGrants, grants } = this.parts
    const account = await accounts.byUser(userId)
    const actor = { kind: 'owner', id: userId, address } as const
    if (account) {
      await appGrants.disconnect(account, 'all', actor, { because, keptKeys })
      return
    }
    await grants.disconnect(userId, 'all')
    await this.notifyCellOf(userId, { kind: 'apps_ended', userId, address, because })
  }

  /** An app without a token receives no more events. */
  readonly appLeft = async ({ userId, clientId }: TokenHolder): Promise<void> => {
    const { accounts, webhooks } = this.parts
    if (await accounts.byUser(userId)) await webhooks.pauseOfApp({ userId, clientId })
    else await this.notifyCellOf(userId, { kind: 'app_left', userId, clientId })
  }

  /** Handles a message of another gateway about a user of this cell. */
  async receive(message: Extract<CellMessage, { readonly userId: string }>): Promise<void> {
    if ((await this.parts.accounts.byUser(message.userId)) === null) return
    if (message.kind === 'session_ended') await this.sessionEnded(message.userId)
    else if (message.kind === 'app_left') await this.appLeft(message)
    else await this.disconnectApps(message.userId, message.address, message.because)
  }

  private async notifyCellOf(userId: string, message: CellMessage): Promise<void> {
    const { membership, directory, log } = this.parts
    const cell = membership && (await directory.homeOf(userId))?.cell
    if (!membership || !cell || cell === membership.name) return
    await membership.messages.send(cell, message).catch((error: unknown) => {
      log.warn('could not notify another cell', { cell, what: message.kind, reason: reasonOf(error) })
    })
  }
}

/** Handles messages from the gateways of other cells. Resolves to whether it accepts the message. */
export function receiver(parts: {
  readonly users: Pick<UsersOfCells, 'receive'>
  readonly setupToken: Pick<SetupTokenUse, 'use'>
  readonly takeOffSale: TakeOffSale
  readonly syncDirectory: () => Promise<void>
  readonly reverseUndecided: (charges: readonly UndecidedCharge[]) => Promise<void>
  /** The term under which this node owns the cell; null for a single process. */
  readonly term: () => number | null
}) {
  const { users, setupToken, takeOffSale, syncDirectory, reverseUndecided, term } = parts
  return async (message: CellMessage): Promise<boolean> => {
    if (message.kind === 'setup_token') return setupToken.use(message.token)
    if (message.kind === 'api_off_sale') await takeOffSale(message)
    else if (message.kind === 'tell_directory') await syncDirectory()
    else if (message.kind === 'undecided_charges') {
      // Only for a later owner is it certain that no write of the earlier one is still in flight.
      const own = term()
      if (own === null || own <= message.term) return false
      await reverseUndecided(message.charges)
    } else await users.receive(message)
    return true
  }
}

/** The one-time token that makes an account the operator. `main` printed it, so the gateways of other cells ask `main`. */
export function setupTokenOf(membership: CellMembership | undefined, own: SetupTokenUse): SetupTokenUse {
  if (ownsControl(membership)) return own
  return {
    issue: () => own.issue(),
    withdraw: () => own.withdraw(),
    use: async (token) => (await membership?.messages.send(MAIN_CELL, { kind: 'setup_token', token })) ?? false,
  }
}
