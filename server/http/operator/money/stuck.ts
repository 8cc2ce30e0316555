import type { Actor } from '../../../core/audit'
import type { Parameters } from '../../../core/catalog/parameters'
import type { StuckId } from '../../../core/ids'
import type { StuckRecords } from '../../../core/ledger/stuck-records'
import { ok } from '../../../core/result'
import { type OwnerSessions, SIGNED_IN_JUST_NOW } from '../../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf } from '../../middleware/input/list-query'
import { routeGroup } from '../../middleware/request-context'
import { taken } from '../../middleware/response/failures'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed, type Id } from '../../routing/api-access'
import { type CommandResult, command, operatorRoles } from '../operator-roles'
import { NoBody } from '../record'
import { DiscardForm, type OneStuck, type StuckPage, stuckPage, stuckRecord } from './stuck-record'

export interface StuckParts {
  readonly stuck: StuckRecords
}

/** Decisions of operators about records that the tables refuse (ADR 10). Ids come from outside and may be unknown. */
class StuckOrders {
  private readonly stuck: StuckRecords

  constructor({ stuck }: StuckParts) {
    this.stuck = stuck
  }

  async list({ limit, cursor }: Parameters<typeof PAGE_QUERY>): Promise<StuckPage> {
    return stuckPage(await this.stuck.page(limit, (cursor ?? null) as StuckId | null))
  }

  async show(id: string): CommandResult<OneStuck> {
    const found = await this.stuck.find(id as StuckId)
    return found.ok ? ok(stuckRecord(found.value)) : found
  }

  async retry(actor: Actor, id: string): CommandResult<OneStuck> {
    const booked = await this.stuck.retry(actor, id as StuckId)
    return booked.ok ? ok(stuckRecord(booked.value)) : booked
  }

  async discard(actor: Actor, id: string, note: string): CommandResult<OneStuck> {
    const given = await this.stuck.discard(actor, id as StuckId, note)
    return given.ok ? ok(stuckRecord(given.value)) : given
  }
}

export function stuckRoutes(parts: StuckParts & { readonly owners: OwnerSessions }) {
  const orders = new StuckOrders(parts)
  const { operator } = operatorRoles(parts.owners)
  return routeGroup({ name: 'operator-stuck', prefix: '/api/operator/stuck' })
    .get('', ...allowed(operator(), UNDOCUMENTED, ({ context }) => orders.list(queryOf(PAGE_QUERY, context))))
    .get('/:id', ...allowed(operator(), UNDOCUMENTED, async (_call, { id }: Id) => taken(await orders.show(id))))
    .post(
      '/:id/retry',
      ...command(operator(SIGNED_IN_JUST_NOW), NoBody, (actor, _form, { id }: Id) => orders.retry(actor, id)),
    )
    .post(
      '/:id/discard',
      ...command(operator(SIGNED_IN_JUST_NOW), DiscardForm, (actor, { note }, { id }: Id) =>
        orders.discard(actor, id, note),
      ),
    )
}
