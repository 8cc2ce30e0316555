import type { Actor } from '../../../core/audit'
import type { Parameters, ParameterTable } from '../../../core/catalog/parameters'
import type { AccountId } from '../../../core/ids'
import { ok } from '../../../core/result'
import { PAGE_QUERY } from '../../middleware/input/list-query'
import { GROUPED_QUERY, LOG_QUERY } from '../../usage/owner-routes'
import { findAccount } from '../operator-commands'
import { queryOfBody } from '../query-command'
import { type SocketCommand, socketCommand } from '../socket-command'
import { CustomerCommands } from './customer-commands'
import {
  AccountCommand,
  EraseCommand,
  KeyActionCommand,
  NoteCommand,
  RoleCommand,
  SuspendCommand,
} from './customer-record'
import { type CustomerViewParts, CustomerViews } from './customer-views'

const NAMED = {
  account: { in: 'query', kind: 'text', min: 1, max: 320, required: true, description: 'The account.' },
} as const satisfies ParameterTable
const CALL = {
  request: { in: 'query', kind: 'text', min: 1, max: 64, required: true, description: 'Id of the call.' },
} as const satisfies ParameterTable

/** The commands of the control socket for one customer. */
export function customerSocketCommands(
  parts: CustomerViewParts,
  actor: Actor,
): Readonly<Record<string, SocketCommand>> {
  const orders = new CustomerCommands(parts)
  return {
    show: socketCommand(AccountCommand, (form) => orders.show(form)),
    suspend: socketCommand(SuspendCommand, (form) => orders.suspend(actor, form)),
    lift: socketCommand(SuspendCommand, (form) => orders.lift(actor, form)),
    role: socketCommand(RoleCommand, (form) => orders.setRole(actor, form)),
    key: socketCommand(KeyActionCommand, (form) => orders.actOnKey(actor, form)),
    note: socketCommand(NoteCommand, (form) => orders.addNote(actor, form)),
    'end-sessions': socketCommand(AccountCommand, (form) => orders.endSessions(actor, form)),
    erase: socketCommand(EraseCommand, (form) => orders.erase(actor, form)),
    export: socketCommand(AccountCommand, async (form) => {
      const stream = await orders.export(actor, form)
      return stream.ok ? ok(await new Response(stream.value).json()) : stream
    }),
    ...customerViewCommands(parts),
  }
}

/** The views of `/api/operator/accounts/:id`, with the parameters of their queries. */
function customerViewCommands(parts: CustomerViewParts): Readonly<Record<string, SocketCommand>> {
  const views = new CustomerViews(parts)
  const command = <T extends ParameterTable>(
    table: T,
    view: (account: AccountId, query: Parameters<T>) => Promise<unknown>,
  ): SocketCommand => {
    return async (body) => {
      const name = queryOfBody(NAMED, body)
      if (!name.ok) return name
      const query = queryOfBody(table, body)
      if (!query.ok) return query
      const account = await findAccount(parts, name.value.account)
      return account.ok ? ok(await view(account.value.id, query.value)) : account
    }
  }
  return {
    'customer-usage': command(GROUPED_QUERY, (account, query) => views.usage(account, query)),
    'customer-requests': command(LOG_QUERY, (account, query) => views.requests(account, query)),
    'customer-request': command(CALL, (account, { request }) => views.request(account, request)),
    'customer-limits': command(PAGE_QUERY, (account, query) => views.limits(account, query)),
    'customer-transactions': command(PAGE_QUERY, (account, query) => views.transactions(account, query)),
    'customer-adjustments': command(PAGE_QUERY, (account, query) => views.adjustments(account, query)),
    'customer-payments': command(PAGE_QUERY, (account, query) => views.payments(account, query)),
    refunds: command(PAGE_QUERY, (account, query) => views.refunds(account, query)),
    'customer-keys': command({}, (account) => views.keys(account)),
    'customer-audit': command(PAGE_QUERY, (account, query) => views.audit(account, query)),
  }
}
