import type { Account } from '../../core/accounts/account'
import type { AccountDirectory } from '../../core/accounts/directory'
import { invalidParameter } from '../../core/accounts/submitted'
import type { Actor } from '../../core/audit'
import { failure, wrongParameters } from '../../core/failure'
import type { DeliveryId } from '../../core/ids'
import { pageOf } from '../../core/page'
import { err, ok } from '../../core/result'
import type { Webhook } from '../../core/webhooks/webhook'
import type { WebhookOwner, Webhooks } from '../../core/webhooks/webhooks'
import { form, text, whole } from '../openapi/json-schema'
import {
  CODE_OF_WEBHOOK,
  type DeliveryPage,
  deliveryRecord,
  type OneWebhook,
  WEBHOOK_SETTINGS,
  WEBHOOK_STATUS,
  type WebhookList,
  type WebhookWithSecret,
  webhookRecord,
} from '../webhooks/record'
import { type CommandResult, findAccount, type OperatorParts } from './operator-commands'
import { type SocketCommand, socketCommand } from './socket-command'

export interface WebhookCommandParts extends Pick<OperatorParts, 'accounts' | 'identity'> {
  readonly directory: Pick<AccountDirectory, 'withRole'>
  readonly webhooks: Webhooks
  readonly now: () => number
}

const MAX_PAGE = 200
const TARGET = { account: text('Id or confirmed email address of an operator. Default: the only operator.') }
const ONE = { ...TARGET, webhook: text('Id of the webhook.') }

const ListCommand = form('The webhooks of an operator.', TARGET, ['account'])
const AddCommand = form('A new webhook.', { ...TARGET, ...WEBHOOK_SETTINGS }, ['account', 'events'])
const SetCommand = form('What to change. The rest stays.', { ...ONE, ...WEBHOOK_SETTINGS, ...WEBHOOK_STATUS }, [
  ...(['account', 'url', 'events', 'status'] as const),
])
const OneCommand = form('A webhook.', ONE, ['account'])
const ConfirmCommand = form('The code of a webhook.', { ...ONE, ...CODE_OF_WEBHOOK }, ['account'])
const DeliveriesCommand = form(
  'A page of its deliveries.',
  {
    ...ONE,
    limit: whole('Maximum number of deliveries.', { minimum: 1, maximum: MAX_PAGE }),
    cursor: text('`next_cursor` of the previous page.'),
  },
  ['account', 'cursor'],
)
const ResendCommand = form('A delivery.', { ...ONE, delivery: text('Id of the delivery.') }, ['account'])

/** Operators' own webhooks, over the control socket (`bun run gateway operator webhooks ...`). Never those of a customer. */
export function webhookCommands(parts: WebhookCommandParts, actor: Actor): Readonly<Record<string, SocketCommand>> {
  const { webhooks, now } = parts
  const owner = async (name: string | undefined): CommandResult<WebhookOwner> => {
    const account = await findOperator(parts, name)
    return account.ok ? ok({ accountId: account.value.id, account: account.value, actor }) : account
  }
  const one = (webhook: Webhook): OneWebhook => ({ webhook: webhookRecord(webhook, now()) })
  const withSecret = ({ webhook, secret }: { webhook: Webhook; secret: string }): WebhookWithSecret => ({
    ...one(webhook),
    secret,
  })
  const queued = (delivery: Parameters<typeof deliveryRecord>[0]) => ({ delivery: deliveryRecord(delivery) })
  /** Runs a step as the operator whose webhooks are meant. */
  const asOperator = async <T, R>(
    name: string | undefined,
    step: (owner: WebhookOwner) => CommandResult<T>,
    shown: (value: T) => R,
  ): CommandResult<R> => {
    const found = await owner(name)
    if (!found.ok) return found
    const done = await step(found.value)
    return done.ok ? ok(shown(done.value)) : done
  }
  return {
    webhooks: socketCommand(ListCommand, ({ account }) =>
      asOperator(
        account,
        async ({ accountId }) => ok(await webhooks.list(accountId)),
        (all): WebhookList => ({ webhooks: all.map((each) => webhookRecord(each, now())) }),
      ),
    ),
    'webhook-add': socketCommand(AddCommand, ({ account, url, events = [] }) =>
      asOperator(account, (operator) => webhooks.create(operator, { url, events }), withSecret),
    ),
    'webhook-set': socketCommand(SetCommand, ({ account, webhook, ...change }) =>
      asOperator(account, (operator) => webhooks.change(operator, webhook, change), one),
    ),
    'webhook-remove': socketCommand(OneCommand, ({ account, webhook }) =>
      asOperator(account, (operator) => webhooks.remove(operator, webhook), one),
    ),
    'webhook-rotate': socketCommand(OneCommand, ({ account, webhook }) =>
      asOperator(account, (operator) => webhooks.rotate(operator, webhook), withSecret),
    ),
    'webhook-confirm': socketCommand(ConfirmCommand, ({ account, webhook, code }) =>
      asOperator(account, (operator) => webhooks.confirm(operator, webhook, code), one),
    ),
    'webhook-code': socketCommand(OneCommand, ({ account, webhook }) =>
      asOperator(account, (operator) => webhooks.sendCode(operator, webhook), queued),
    ),
    'webhook-test': socketCommand(OneCommand, ({ account, webhook }) =>
      asOperator(account, (operator) => webhooks.sendTest(operator, webhook), queued),
    ),
    'webhook-deliveries': socketCommand(DeliveriesCommand, ({ account, webhook, limit, cursor }) =>
      asOperator(
        account,
        ({ accountId }) => webhooks.deliveries(accountId, webhook, limit + 1, (cursor ?? null) as DeliveryId | null),
        (rows): DeliveryPage => {
          const page = pageOf(rows, limit)
          return { deliveries: page.rows.map(deliveryRecord), next_cursor: page.next }
        },
      ),
    ),
    'webhook-resend': socketCommand(ResendCommand, ({ account, webhook, delivery }) =>
      asOperator(account, (operator) => webhooks.resend(operator, webhook, delivery), queued),
    ),
  }
}

/** The operator with this id or email address; without one, the only operator of the gateway. */
async function findOperator(
  parts: Pick<WebhookCommandParts, 'accounts' | 'identity' | 'directory'>,
  name: string | undefined,
): CommandResult<Account> {
  if (name !== undefined) {
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
