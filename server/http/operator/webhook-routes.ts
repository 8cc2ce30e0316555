import type { Account } from '../../core/accounts/account'
import type { AccountDirectory } from '../../core/accounts/directory'
import type { Identity } from '../../core/accounts/identity'
import type { AccountStore } from '../../core/accounts/store'
import { invalidParameter } from '../../core/accounts/submitted'
import { failure, wrongParameters } from '../../core/failure'
import { err } from '../../core/result'
import type { WebhookOwner, Webhooks } from '../../core/webhooks/webhooks'
import { routeGroup } from '../middleware/request-context'
import { taken } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { ApiAccess, type KnownOwner } from '../routing/api-access'
import { mirroredRoutes } from '../webhooks/routes'
import { CONSOLE_ONLY, type CommandResult, findAccount } from './operator-roles'

export interface OperatorWebhookParts {
  readonly accounts: AccountStore
  readonly identity: Identity
  readonly directory: Pick<AccountDirectory, 'withRole'>
  readonly webhooks: Webhooks
  readonly now: () => number
}

/** Webhooks of the operator that `?account=` names, for the console; without it, of the only operator. Never those of a customer. */
export function operatorWebhookRoutes(parts: OperatorWebhookParts) {
  const access = new ApiAccess<KnownOwner<WebhookOwner>>('console', null, async (context) => {
    const { actor } = await CONSOLE_ONLY.admit(context)
    const account = taken(await findOperator(parts, context.url.searchParams.get('account')))
    return { accountId: account.id, owner: { accountId: account.id, account, actor } }
  })
  return routeGroup({ name: 'operator-webhooks', prefix: '/api/operator/webhooks' }).use(
    mirroredRoutes('operators-webhooks', parts, { read: access, write: access, recent: access }, () => UNDOCUMENTED),
  )
}

async function findOperator(parts: OperatorWebhookParts, name: string | null): CommandResult<Account> {
  if (name !== null) {
    const account = await findAccount(parts, name)
    if (!account.ok || account.value.operator) return account
    return err(
      wrongParameters([invalidParameter('account', 'is not an operator: only operators have webhooks here', name)]),
    )
  }
  const [only, ...others] = parts.directory.withRole('operator')
  if (!only) return err(failure('invalid_state', 'This gateway has no operator yet. Make an account operator first.'))
  if (others.length === 0) return findAccount(parts, only)
  const ids = [only, ...others].join(', ')
  return err(
    wrongParameters([
      invalidParameter('account', `is required, because there are several operators: ${ids}`, undefined),
    ]),
  )
}
