import { CATALOG_VERSION } from '../../core/catalog/operation'
import type { ParameterTable } from '../../core/catalog/parameters'
import { isoTime } from '../../core/clock'
import type { WorkerCredential, WorkerCredentials } from '../../core/credentials/worker-credentials'
import type { ModelCatalog } from '../../core/models/model-catalog'
import { listings, mcpServerJson, type Published } from '../../core/payments/publication'
import { ok } from '../../core/result'
import type { ModelBackend } from '../../pipeline/models/model-backend'
import { LIMIT_REQUEST_STATES } from '../account/limit-request-record'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, type Id } from '../routing/api-access'
import { OperatorCommands, type OperatorParts } from './operator-commands'
import { CONSOLE_ONLY, command, operatorRoles } from './operator-roles'
import {
  Approval,
  Decline,
  NewWorker,
  NoBody,
  type OperatorLimitRequestPage,
  type Publication,
  type UpstreamList,
  upstreamRecord,
  type WorkerCredentialList,
  type WorkerList,
  type WorkerRecord,
} from './record'

const REQUESTS_QUERY = {
  ...PAGE_QUERY,
  status: {
    in: 'query',
    kind: 'enum',
    values: LIMIT_REQUEST_STATES,
    description: 'Only requests with this status.',
  },
} as const satisfies ParameterTable

export interface OperatorRouteParts extends OperatorParts {
  readonly owners: OwnerSessions
  readonly models: ModelCatalog
  readonly upstreams: ModelBackend['states']
  readonly workers: () => readonly WorkerRecord[]
  readonly workerCredentials: WorkerCredentials
  /** Network details for a wallet on this machine; null if no payment method is configured. */
  readonly network: () => Promise<unknown>
  readonly published: () => Promise<Published>
}

/**
 * For operators: decides requests for higher limits, and shows the state of the model upstreams. Every
 * change is audited.
 */
export function operatorRoutes(parts: OperatorRouteParts) {
  const { models, upstreams, workerCredentials } = parts
  const orders = new OperatorCommands(parts)
  const { operator } = operatorRoles(parts.owners)
  return routeGroup({ name: 'operator', prefix: '/api/operator' })
    .get(
      '/limit-requests',
      ...allowed(operator(), UNDOCUMENTED, async ({ context }): Promise<OperatorLimitRequestPage> => {
        const { status = null, ...page } = queryOf(REQUESTS_QUERY, context)
        return orders.requestPage(status, page)
      }),
    )
    .post(
      '/limit-requests/:id/approve',
      ...command(operator(), Approval, (actor, form, { id }: Id) => orders.approve(actor, id, form)),
    )
    .post(
      '/limit-requests/:id/decline',
      ...command(operator(), Decline, (actor, form, { id }: Id) => orders.decline(actor, id, form)),
    )
    .get(
      '/upstreams',
      ...allowed(
        operator(),
        UNDOCUMENTED,
        async (): Promise<UpstreamList> => ({ upstreams: upstreams(models.list()).map(upstreamRecord) }),
      ),
    )
    .get(
      '/workers',
      ...allowed(operator(), UNDOCUMENTED, async (): Promise<WorkerList> => ({ workers: parts.workers() })),
    )
    .get(
      '/worker-credentials',
      ...allowed(CONSOLE_ONLY, UNDOCUMENTED, async (): Promise<WorkerCredentialList> => {
        const listed = ({ name, createdAt }: WorkerCredential) => ({ name, created_at: isoTime(createdAt) })
        return { credentials: (await workerCredentials.all()).map(listed) }
      }),
    )
    .post(
      '/worker-credentials',
      ...command(CONSOLE_ONLY, NewWorker, async (actor, { name }) => {
        const credential = await workerCredentials.add(actor, name)
        return credential.ok ? ok({ credential: credential.value }) : credential
      }),
    )
    .delete(
      '/worker-credentials/:id',
      ...command(CONSOLE_ONLY, NoBody, async (actor, _form, { id }: Id) => {
        const removed = await workerCredentials.remove(actor, id)
        return removed.ok ? ok({ removed: id }) : removed
      }),
    )
    .get('/payments', ...allowed(CONSOLE_ONLY, UNDOCUMENTED, async () => ({ network: await parts.network() })))
    .get(
      '/publication',
      ...allowed(CONSOLE_ONLY, UNDOCUMENTED, async (): Promise<Publication> => {
        const published = await parts.published()
        return { directories: listings(published), server_json: mcpServerJson(published.origin, CATALOG_VERSION) }
      }),
    )
}
