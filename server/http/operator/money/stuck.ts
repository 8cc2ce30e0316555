import type { Actor } from '../../../core/audit'
import type { StuckId } from '../../../core/ids'
import type { StuckRecords } from '../../../core/ledger/stuck-records'
import { DEFAULT_ROWS } from '../../../core/page'
import { ok } from '../../../core/result'
import { type OwnerSessions, SIGNED_IN_JUST_NOW } from '../../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf } from '../../middleware/input/list-query'
import { routeGroup } from '../../middleware/request-context'
import { taken } from '../../middleware/response/failures'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed, type Id } from '../../routing/api-access'
import type { CommandResult } from '../operator-commands'
import { command, operatorRoles } from '../operator-roles'
import { NoBody } from '../record'
import { type SocketCommand, socketCommand } from '../socket-command'
import {
  DiscardCommand,
  DiscardForm,
  type OneStuck,
  StuckCommand,
  StuckListCommand,
  type StuckPage,
  stuckPage,
  stuckRecord,
} from './stuck-record'

export interface StuckParts {
  readonly stuck: StuckRecords
}

/** Decisions of operators about records that the tables refuse (ADR 10). Ids come from outside and may be unknown. */
class StuckOrders {
  private readonly stuck: StuckRecords

  constructor({ stuck }: StuckParts) {
    this.stuck = stuck
  }

  async list({ limit = DEFAULT_ROWS, cursor }: StuckListCommand): Promise<StuckPage> {
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

export function stuckCommands(parts: StuckParts, actor: Actor): Readonly<Record<string, SocketCommand>> {
  const orders = new StuckOrders(parts)
  return {
    'stuck-list': socketCommand(StuckListCommand, async (form) => ok(await orders.list(form))),
    'stuck-show': socketCommand(StuckCommand, ({ id }) => orders.show(id)),
    'stuck-retry': socketCommand(StuckCommand, ({ id }) => orders.retry(actor, id)),
    'stuck-discard': socketCommand(DiscardCommand, ({ id, note }) => orders.discard(actor, id, note)),
  }
}
