import { CONSOLE } from '../../core/audit'
import { CATALOG_VERSION } from '../../core/catalog/operation'
import { failure } from '../../core/failure'
import { makeId } from '../../core/ids'
import { listings, mcpServerJson, type Published } from '../../core/payments/publication'
import { err, ok } from '../../core/result'
import type { Intake } from '../middleware/input/intake'
import { OPERATOR_BODY, readJson } from '../middleware/input/json-body'
import { FAILURES, failureBody, failureOf, type OnFault } from '../middleware/response/failures'
import type { Readiness } from '../system/readiness'
import { type ApiCommandParts, apiCommands } from './apis/api-commands'
import { type ApiReportNeeds, readApiReport } from './apis/api-report'
import { type CustomerMoneyParts, moneySocketCommands } from './customers/customer-money'
import { customerSocketCommands } from './customers/customer-socket'
import type { CustomerViewParts } from './customers/customer-views'
import { type ModelCommandParts, modelCommands } from './model-commands'
import { type BooksParts, bookCommands } from './money/books'
import { type ReconcileParts, reconcileCommands } from './money/reconcile'
import { type RevenueParts, revenueCommands } from './money/revenue'
import { type StuckParts, stuckCommands } from './money/stuck'
import { OperatorCommands } from './operator-commands'
import {
  ApproveCommand,
  DeclineCommand,
  GrantCommand,
  LimitRequestsCommand,
  LimitsCommand,
  ListCommand,
  MaxKeysCommand,
  NewPrice,
  NoBody,
  type Publication,
  ResetLinkCommand,
  ResetSecondFactorCommand,
} from './record'
import { type AfterRestoreParts, afterRestoreCommand } from './restore/after-restore'
import { type ArchiveCommandParts, archiveCommands } from './restore/archive-commands'
import { type BackupCommandParts, backupCommands } from './restore/backup-commands'
import { type SocketCommand, socketCommand } from './socket-command'
import { type WebhookCommandParts, webhookCommands } from './webhook-commands'

/** The control socket in the data folder. Access to the folder is what makes a user an operator here. */
export const CONTROL_SOCKET = 'control.sock'

type ControlParts = CustomerViewParts &
  CustomerMoneyParts &
  ReconcileParts &
  AfterRestoreParts &
  BooksParts &
  RevenueParts &
  ApiCommandParts &
  ApiReportNeeds &
  ModelCommandParts &
  WebhookCommandParts &
  BackupCommandParts &
  ArchiveCommandParts &
  StuckParts & {
    /** Network details for a wallet on this machine; null if no payment method is configured. */
    readonly network: () => Promise<unknown>
    readonly published: () => Promise<Published>
    readonly intake: Intake
    readonly readiness: Readiness
    readonly onFault: OnFault
    readonly now: () => number
  }

/**
 * Handles operator commands (`bun run gateway operator ...`), which reach the running server over its control socket. Bodies,
 * records and errors are those of HTTP, except that a body also names the account or the request.
 */
export function controlHandler(parts: ControlParts): (request: Request) => Promise<Response> {
  const commands = new Map(Object.entries(socketCommands(parts)))
  const answered = async (request: Request) => {
    const name = new URL(request.url).pathname.slice(1)
    const command = commands.get(name)
    if (!command) return err(failure('unknown_endpoint', `There is no operator command "${name}".`))
    const body = await readJson({ request, intake: parts.intake, bodyOwner: 'address control socket' }, OPERATOR_BODY)
    return body.ok ? command(body.value) : body
  }
  return async (request) => {
    const requestId = makeId('req', parts.now())
    const outcome = await answered(request).catch((error: unknown) => err(failureOf(error, requestId, parts.onFault)))
    if (outcome.ok) return outcome.value instanceof Response ? outcome.value : Response.json(outcome.value)
    return Response.json(failureBody(outcome.error, requestId, '/'), { status: FAILURES[outcome.error.code].status })
  }
}

/** All of them by name. */
function socketCommands(parts: ControlParts): Readonly<Record<string, SocketCommand>> {
  const orders = new OperatorCommands(parts)
  return {
    list: socketCommand(ListCommand, (form) => orders.list(form)),
    grant: socketCommand(GrantCommand, (form) => orders.grant(CONSOLE, form)),
    limits: socketCommand(LimitsCommand, (form) => orders.setLimits(CONSOLE, form)),
    keys: socketCommand(MaxKeysCommand, (form) => orders.setMaxKeys(CONSOLE, form)),
    price: socketCommand(NewPrice, (form) => orders.setPrice(CONSOLE, form)),
    requests: socketCommand(LimitRequestsCommand, (form) => orders.requests(form)),
    approve: socketCommand(ApproveCommand, (form) => orders.approve(CONSOLE, form)),
    decline: socketCommand(DeclineCommand, (form) => orders.decline(CONSOLE, form)),
    'reset-link': socketCommand(ResetLinkCommand, (form) => orders.resetLink(CONSOLE, form)),
    publish: socketCommand(NoBody, async () => {
      const published = await parts.published()
      const server_json = mcpServerJson(published.origin, CATALOG_VERSION)
      return ok({ directories: listings(published), server_json } satisfies Publication)
    }),
    'reset-second-factor': socketCommand(ResetSecondFactorCommand, (form) => orders.resetSecondFactor(CONSOLE, form)),
    payments: socketCommand(NoBody, async () => ok({ network: await parts.network() })),
    ready: socketCommand(NoBody, async () => ok(await parts.readiness.details())),
    'api-report': socketCommand(NoBody, async () => ok(await readApiReport(parts))),
    ...customerSocketCommands(parts, CONSOLE),
    ...moneySocketCommands(parts, CONSOLE),
    ...reconcileCommands(parts, CONSOLE),
    'after-restore': afterRestoreCommand(parts, CONSOLE),
    ...bookCommands(parts, CONSOLE),
    ...stuckCommands(parts, CONSOLE),
    ...revenueCommands(parts),
    ...apiCommands(parts, CONSOLE),
    ...modelCommands(parts, CONSOLE),
    ...webhookCommands(parts, CONSOLE),
    ...backupCommands(parts, CONSOLE),
    ...archiveCommands(parts, CONSOLE),
  }
}
